/// Where the client stands towards its room.
public enum ConnectionState: Sendable, Hashable {
    /// In no room: at the start, after leaving, and after being put out. The only state in which `join` acts.
    case disconnected
    /// Joining.
    case connecting
    /// In the room.
    case connected
    /// In the room for the others, but cut off; trying to come back.
    case reconnecting
    /// In the room, back after a loss. Means the same as `connected`, which only a join gives.
    case reconnected
}

/// Why a client is out of its room.
public enum DisconnectedReason: Sendable, Hashable {
    /// By its own `leave()`.
    case leave
    /// By the app's back end, or by a user with an admin's token.
    case kickedOut
    /// The app's back end closed the room.
    case roomClosed
    /// The room has as many users as it may have.
    case roomFull
    /// Anything else; `DisconnectedInfo.error` says what.
    case error
}

/// What comes with the state `disconnected`.
public struct DisconnectedInfo: Sendable, Hashable {
    /// Which kind of end it was: what an app decides by, for example whether to join again.
    public var reason: DisconnectedReason
    /// `nil` after `leave()`; else the code and a sentence, also for kicks and closed or full rooms.
    public var error: RTCError?

    /// For an app's own tests and previews: the client makes its values itself.
    ///
    /// - Parameters:
    ///   - reason: which kind of end it was.
    ///   - error: what failed; `nil` for a `leave()`.
    public init(reason: DisconnectedReason, error: RTCError? = nil) {
        self.reason = reason
        self.error = error
    }
}
