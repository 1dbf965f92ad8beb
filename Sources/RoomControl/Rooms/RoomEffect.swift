package import MediaContract
package import MediaWire
package import RoomProtocol

/// What a room has decided and its shell has to do, in order.
package enum RoomEffect: Sendable {
    /// To the room's worker.
    case post(MediaCommand)
    /// Something happened that others may want to know.
    case notice(RoomNotice)
    /// To one connection.
    case send(LinkID, Notification)
    /// To every connection of the room, but one.
    case broadcast(Notification, except: LinkID?)
    /// The connection is not the room's any more.
    case release(LinkID, LinkEnd)
    /// The room is over: forget it.
    case closed
}

extension [RoomEffect] {
    /// Those for the worker, and the others, each in their order.
    func splitByReceiver() -> (commands: [RoomEffect], others: [RoomEffect]) {
        var (commands, others): ([RoomEffect], [RoomEffect]) = ([], [])
        for effect in self { if case .post = effect { commands.append(effect) } else { others.append(effect) } }
        return (commands, others)
    }
}

/// What happened in a room, for logs, metrics and webhooks.
package enum RoomNotice: Hashable, Sendable {
    /// A new life of the room began: by the server API, or by the first join.
    case created(byServer: Bool)
    /// The user's first part came.
    case joined(user: String)
    /// The user's last part went.
    case left(user: String, EndReason)
    /// The user's signalling is lost; it still counts, and may come back.
    case reconnecting(user: String)
    case reconnected(user: String)
    case legStarted(user: String, LegKind)
    case legEnded(user: String, LegKind, EndReason)
    case published(user: String, track: String, Codec, tag: String)
    case unpublished(user: String, track: String)
    /// What others see of the track has changed: muted by its publisher, the server or both, or by nobody. `byServer`: by the
    /// back end's word.
    case muted(user: String, track: String, Bool, byServer: Bool)
    /// Comes before the user's `left`. `by` is nil when the back end kicked.
    case kicked(user: String, by: String?)
    /// The media plane refused a subscription: a broken invariant, worth a log line.
    case subscriptionRefused(user: String, SubscriptionID)
    /// The last notice of a room's life.
    case closed(CloseReason)
}

/// Why a room closed.
package enum CloseReason: String, Hashable, Sendable {
    /// The last user left, and nobody came for the app's time.
    case empty
    /// The server made it, and nobody ever came.
    case unused
    /// The server API closed it, or deleted its app.
    case deleted
    /// The node ends.
    case nodeStopping
}

/// Why a leg ended or a user left.
package enum EndReason: String, Hashable, Sendable {
    /// By its own wish.
    case left
    /// A newer join of the user, or a newer leg of the same kind, took its place.
    case replaced
    /// Nothing came for the user timeout, or for a leg nothing authentic for the leg timeout.
    case silent
    /// Nobody listens at its address.
    case unreachable
    /// Nobody renewed its lease.
    case leaseEnded
    /// Its transport failed: the DTLS handshake, or the certificate was another.
    case failed
    case kicked
    case roomClosed
    /// The back end took the permission.
    case notPermitted
}

/// Why a room does not let somebody in.
package enum RoomRefusal: Error, Hashable, Sendable {
    /// `maxUsers` are there already.
    case full
    /// The user has such a leg, and the app does not let a newer one replace it.
    case alreadyJoined
    /// The room is over; a new instance may take its place.
    case closed
    /// There is no session to resume.
    case noSession
    /// The back end has banned the user from the room for a time.
    case banned
    /// The back end has taken this permission from the user.
    case notPermitted
}
