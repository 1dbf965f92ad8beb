import MediaWire
package import RoomControl

/// What a webhook's body says: one thing that happened in a room. The design is ours; docs/webhooks.md explains it to
/// those who receive it.
package struct WebhookEvent: Codable, Hashable, Sendable {
    package enum Kind: String, Codable, Hashable, Sendable, CaseIterable {
        case roomCreated = "room.created"
        case roomClosed = "room.closed"
        case userJoined = "user.joined"
        case userLeft = "user.left"
        case userReconnecting = "user.reconnecting"
        case userReconnected = "user.reconnected"
        case userKicked = "user.kicked"
        case trackPublished = "track.published"
        case trackUnpublished = "track.unpublished"
        case trackMuted = "track.muted"
        case trackUnmuted = "track.unmuted"
    }

    package struct Track: Codable, Hashable, Sendable {
        package var trackId: String
        /// `audio` or `video`; as the next two, of `track.published` only.
        package var kind: String?
        /// The encoding name of `a=rtpmap`: `opus`, `VP8`, ….
        package var codec: String?
        /// The publisher's own word for the track; may be empty.
        package var tag: String?
    }

    /// Unique, and the same in every attempt to deliver the event.
    package var id: String
    /// Of this format: 1.
    package var version: Int
    package var event: Kind
    /// When it happened, in milliseconds since 1970.
    package var time: Int64
    package var appId: String
    package var roomName: String
    /// Names one life of the room; a later room of the same name has another.
    package var roomSession: String
    /// Counts this session's events up from 1, those too that were dropped and never come.
    package var sequence: UInt64
    /// Whom it is about; room events have none.
    package var userId: String?
    /// Why a room closed (`CloseReason`), or why a user left (`EndReason`).
    package var reason: String?
    package var track: Track?
    /// The user who kicked; `nil` when the back end did.
    package var kickedBy: String?
    /// Whether the back end did it, by the server API; of rooms created, users kicked, tracks muted and unmuted.
    package var byServer: Bool?

    package static let currentVersion = 1

    /// What a back end hears of a notice; `nil`: nothing, for it is about the node's own works.
    package init?(
        _ notice: RoomNotice, in room: RoomKey, session: String, sequence: UInt64, unixMilliseconds: Int64
    ) {
        guard let kind = Kind(notice) else { return nil }
        id = "\(session)-\(sequence)"
        version = Self.currentVersion
        event = kind
        time = unixMilliseconds
        appId = room.app
        roomName = room.room
        roomSession = session
        self.sequence = sequence
        switch notice {
        case .created(let byServer): self.byServer = byServer
        case .closed(let reason): self.reason = reason.rawValue
        case .joined(let user), .reconnecting(let user), .reconnected(let user): userId = user
        case .left(let user, let reason):
            userId = user
            self.reason = reason.rawValue
        case .kicked(let user, let by):
            userId = user
            kickedBy = by
            byServer = by == nil
        case .published(let user, let track, let codec, let tag):
            userId = user
            self.track = Track(
                trackId: track, kind: codec.kind == .audio ? "audio" : "video", codec: codec.name, tag: tag)
        case .unpublished(let user, let track):
            userId = user
            self.track = Track(trackId: track)
        case .muted(let user, let track, _, let byServer):
            userId = user
            self.track = Track(trackId: track)
            self.byServer = byServer
        case .legStarted, .legEnded, .subscriptionRefused: return nil
        }
    }

    package var room: RoomKey { RoomKey(app: appId, room: roomName) }
}

extension WebhookEvent.Kind {
    /// Each notice on purpose, so that a new one has to be thought about here.
    package init?(_ notice: RoomNotice) {
        switch notice {
        case .created: self = .roomCreated
        case .closed: self = .roomClosed
        case .joined: self = .userJoined
        case .left: self = .userLeft
        case .reconnecting: self = .userReconnecting
        case .reconnected: self = .userReconnected
        case .kicked: self = .userKicked
        case .published: self = .trackPublished
        case .unpublished: self = .trackUnpublished
        case .muted(_, _, let isMuted, _): self = isMuted ? .trackMuted : .trackUnmuted
        // Parts of a member: the user joins with the first and leaves with the last, which is what counts outside.
        case .legStarted, .legEnded: return nil
        // A defect of the node's, for its log.
        case .subscriptionRefused: return nil
        }
    }
}
