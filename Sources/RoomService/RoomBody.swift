import FoundationEssentials
import MediaWire
import RoomControl
import RoomProtocol

/// A room with everybody in it, as the server API gives it.
struct RoomBody: Encodable {
    struct Track: Encodable {
        var trackId: String
        /// audio or video.
        var kind: String
        var codec: String
        var tag: String
        var master: Bool
        /// By its publisher or by the server.
        var muted: Bool
        var mutedByServer: Bool
        /// Of the track's m-line at every subscriber from signalling.
        var mid: String
        /// signalling or whip.
        var source: String

        init(_ track: TrackDetails) {
            trackId = track.info.trackID
            kind = track.info.kind.rawValue
            codec = track.codec.name
            tag = track.info.tag
            master = track.info.master
            muted = track.info.muted
            mutedByServer = track.isMutedByServer
            mid = track.info.mid
            source = track.isFromLeg ? "whip" : "signalling"
        }
    }

    struct User: Encodable {
        var userId: String
        var userData: String
        var since: String
        var sinceMs: Int64
        /// admin or user; users who are in by legs alone have none.
        var permission: String?
        var privileges: [String]
        /// connected, reconnecting, or none for a user who is in by legs alone.
        var signalling: String
        /// whip and whep.
        var legs: [String]
        var tracks: [Track]
        /// Ids of the tracks that it gets or has asked for.
        var subscriptions: [String]

        init(_ user: RoomDetails.User) {
            let member = user.member
            userId = member.user
            userData = member.userData
            since = Timestamp.text(milliseconds: user.since)
            sinceMs = user.since
            permission = member.permission?.rawValue
            privileges = member.privileges.map(\.rawValue)
            signalling = !member.hasSession ? "none" : member.isReconnecting ? "reconnecting" : "connected"
            legs = member.legs.map { $0 == .sending ? "whip" : "whep" }
            tracks = member.tracks.map(Track.init)
            subscriptions = member.subscriptions
        }
    }

    var appId: String
    var name: String
    /// Names this life of the room, as webhooks do.
    var session: String
    /// server or join.
    var createdBy: String
    var since: String
    var sinceMs: Int64
    var settings: SettingsBody
    var users: [User]

    init(_ room: RoomDetails, sessionPrefix: String) {
        appId = room.key.app
        name = room.key.room
        session = (sessionPrefix.isEmpty ? "" : sessionPrefix + "-") + "\(room.instance.rawValue)"
        createdBy = room.isServerMade ? "server" : "join"
        since = Timestamp.text(milliseconds: room.startedAt)
        sinceMs = room.startedAt
        settings = SettingsBody(room.settings)
        users = room.users.map(User.init)
    }
}

/// A user's ban from a room.
struct BanBody: Encodable {
    var userId: String
    var until: String
    var untilMs: Int64
    var reason: String
    /// In the answer to a ban: whether the user was in the room, and is out.
    var removed: Bool?

    init(_ ban: Ban, removed: Bool? = nil) {
        userId = ban.user
        until = Timestamp.text(milliseconds: ban.until * 1000)
        untilMs = ban.until * 1000
        reason = ban.reason
        self.removed = removed
    }
}

/// Times in answers: RFC 3339, in UTC, with milliseconds.
enum Timestamp {
    static func text(milliseconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(milliseconds) / 1000)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
