package import MediaWire

/// Time as rooms see it: what o'clock it is, and who calls back later. The node has `RoomClock.system`; tests have a
/// clock that they move by hand.
package struct RoomClock: Sendable {
    /// Monotonic time.
    package var now: @Sendable () -> MediaTime
    /// Wall-clock time in Unix seconds: what tokens are judged by.
    package var unixTime: @Sendable () -> Int64
    /// The same in milliseconds: what messages are stamped with.
    package var unixMilliseconds: @Sendable () -> Int64
    /// Runs the body once at the given time or soon after, unless the returned closure was called before.
    package var schedule: @Sendable (MediaTime, @escaping @Sendable () async -> Void) -> @Sendable () -> Void

    package init(
        now: @escaping @Sendable () -> MediaTime, unixTime: @escaping @Sendable () -> Int64,
        unixMilliseconds: @escaping @Sendable () -> Int64,
        schedule:
            @escaping @Sendable (MediaTime, @escaping @Sendable () async -> Void) -> @Sendable () -> Void
    ) {
        self.now = now
        self.unixTime = unixTime
        self.unixMilliseconds = unixMilliseconds
        self.schedule = schedule
    }
}
