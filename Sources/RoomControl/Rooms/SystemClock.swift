import FoundationEssentials
import MediaWire

extension RoomClock {
    /// The machine's clocks. Monotonic time counts from the first use.
    package static let system: RoomClock = {
        let origin = ContinuousClock.now
        return RoomClock(
            now: {
                let (seconds, attoseconds) = (ContinuousClock.now - origin).components
                return MediaTime(nanoseconds: seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000)
            },
            unixTime: { Int64(Date.now.timeIntervalSince1970) },
            unixMilliseconds: { Int64(Date.now.timeIntervalSince1970 * 1000) },
            schedule: { time, body in
                let task = Task {
                    do {
                        try await Task.sleep(
                            until: origin + .nanoseconds(max(0, time.nanoseconds)), clock: .continuous)
                    } catch {
                        return  // cancelled
                    }
                    await body()
                }
                return { task.cancel() }
            })
    }()
}
