package import MediaWire

/// Bounds for what the room document leaves open. Exceeding one is answered with 10055 for rates and counts, and with
/// 10053 for sizes and values.
package struct RoomLimits: Hashable, Sendable {
    /// Bytes of a frame that comes in.
    package var frameBytes = 1 << 20
    /// Bytes of a custom message's text.
    package var messageBytes = 64 * 1024
    /// Bytes of a message's id.
    package var messageIDBytes = 128
    /// Bytes of userData: 1024 as documented.
    package var userDataBytes = 1024
    /// Bytes of a track's tag and of its local id.
    package var tagBytes = 256
    /// Custom messages and qos messages of one user, per second; twice as many at once.
    package var messagesPerSecond = 50
    /// Times that one user publishes, unpublishes or mutes, per second; twice as many at once.
    package var changesPerSecond = 50
    /// Tracks that one user names to subscribe, unsubscribe or unpublish, or for another layer, per second; twice as many, or
    /// those of two requests, at once.
    package var subscriptionsPerSecond = 1000
    /// Tracks that one request names.
    package var tracksPerRequest = 5000
    /// Frames on one connection, per second; twice as many at once.
    package var framesPerSecond = 200
    /// Tracks that one user publishes at once.
    package var tracksPerUser = 32
    /// Users of one room, whatever its app allows.
    package var usersPerRoom = 5000
    /// Rooms of the node.
    package var rooms = 10_000
    /// Users of the node.
    package var users = 100_000
    /// Users banned from one room at once.
    package var bansPerRoom = 1000
    /// Messages, and bytes of them, that a room keeps for users who come back.
    package var replayMessages = 1000
    package var replayBytes = 1 << 20
    /// A connection that has not sent `auth` after this long is closed.
    package var authDeadline = MediaDuration.seconds(10)
    /// A WebRTC transport of which nothing authentic was heard for so long is gone (RFC 7675, section 5.1).
    package var transportSilence = MediaDuration.seconds(30)
    /// A connected one of which nothing was heard for so long: a client whose signalling is alive is asked to restart ICE. Longer
    /// than browsers need to see by themselves that a path is gone (5 to 8 s).
    package var transportQuiet = MediaDuration.seconds(10)
    /// Between two restarts of a connection, whoever wished the first one, before the client is asked for another: a restart that does
    /// not help is not made better by the next.
    package var restartPause = MediaDuration.seconds(30)

    package init() {}
}

/// The times of signalling, as the vendor's clients know them.
package enum SignallingTimes {
    /// Between two pings.
    package static let ping = MediaDuration.seconds(3)
    /// A user from whom something came within so long, two pings, is there for certain.
    package static let aliveness = MediaDuration.seconds(6)
    /// A user from whom nothing came for so long is shown as reconnecting.
    package static let pongTimeout = MediaDuration.seconds(9)
}
