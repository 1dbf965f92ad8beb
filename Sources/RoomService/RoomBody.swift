import FoundationEssentials
import MediaWire
import RoomControl
import RoomProtocol

/// A room with everybody in it, as the server API gives it and its clients read it.
package struct RoomBody: Codable, Sendable {
    package struct Track: Codable, Sendable {
        package var trackId: String
        /// audio or video.
        package var kind: String
        package var codec: String
        package var tag: String
        package var master: Bool
        /// By its publisher or by the server.
        package var muted: Bool
        package var mutedByServer: Bool
        /// Of the track's m-line at every subscriber from signalling.
        package var mid: String
        /// signalling or whip.
        package var source: String

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

    package struct User: Codable, Sendable {
        package var userId: String
        package var userData: String
        package var since: String
        package var sinceMs: Int64
        /// admin or user; users who are in by legs alone have none.
        package var permission: String?
        package var privileges: [String]
        /// connected, reconnecting, or none for a user who is in by legs alone.
        package var signalling: String
        /// whip and whep.
        package var legs: [String]
        package var tracks: [Track]
        /// Ids of the tracks that it gets or has asked for.
        package var subscriptions: [String]

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

    package var appId: String
    package var name: String
    /// Names this life of the room, as webhooks do.
    package var session: String
    /// server or join.
    package var createdBy: String
    package var since: String
    package var sinceMs: Int64
    var settings: SettingsBody
    package var users: [User]

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
package struct BanBody: Codable, Sendable {
    /// How long a ban can be, in seconds: to ten years.
    package static let seconds: ClosedRange<Int64> = 1...315_360_000

    package var userId: String
    package var until: String
    package var untilMs: Int64
    package var reason: String
    /// In the answer to a ban: whether the user was in the room, and is out.
    package var removed: Bool?

    init(_ ban: Ban, removed: Bool? = nil) {
        userId = ban.user
        until = Timestamp.text(milliseconds: ban.until * 1000)
        untilMs = ban.until * 1000
        reason = ban.reason
        self.removed = removed
    }
}

/// Who is kept out of a room.
package struct BanListBody: Codable, Sendable {
    package var bans: [BanBody]
}

/// Times in answers: RFC 3339, in UTC, with milliseconds.
enum Timestamp {
    static func text(milliseconds: Int64) -> String {
        // Whole seconds are formatted, since 0.304 s is 0.303999… s and would lose a millisecond.
        let (seconds, rest) = (milliseconds / 1000, milliseconds % 1000)
        let text = Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
        let digits = "\(rest)"
        return text.dropLast() + "." + String(repeating: "0", count: max(0, 3 - digits.count)) + digits + "Z"
    }
}
