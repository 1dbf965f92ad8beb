package import MediaContract
package import MediaWire

/// What a room has decided and its shell has to do, in order.
package enum RoomEffect: Sendable {
    /// To the room's worker.
    case post(MediaCommand)
    /// Something happened that others may want to know.
    case notice(RoomNotice)
    /// The room is over: forget it.
    case closed
}

/// What happened in a room, for logs and, later, for signalling and webhooks.
package enum RoomNotice: Hashable, Sendable {
    case joined(user: String)
    case left(user: String, EndReason)
    case legStarted(user: String, LegKind)
    case legEnded(user: String, LegKind, EndReason)
    case published(user: String, track: String, Codec)
    case unpublished(user: String, track: String)
    /// The media plane refused a subscription: a broken invariant, worth a log line.
    case subscriptionRefused(user: String, SubscriptionID)
    case closed
}

/// Why a leg ended or a user left.
package enum EndReason: String, Hashable, Sendable {
    /// By its own wish.
    case left
    /// A newer leg of the same kind took its place.
    case replaced
    /// Nothing authentic came for the leg timeout.
    case silent
    /// Nobody listens at its address.
    case unreachable
    /// Nobody renewed its lease.
    case leaseEnded
    case kicked
    case roomClosed
}

/// Why a room does not let somebody in.
package enum RoomRefusal: Error, Hashable, Sendable {
    /// `maxUsers` are there already.
    case full
    /// The user has such a leg, and the app does not let a newer one replace it.
    case alreadyJoined
    /// The room is over; a new instance may take its place.
    case closed
}
