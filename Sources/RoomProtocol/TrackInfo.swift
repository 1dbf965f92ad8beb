public enum TrackKind: String, Codable, Hashable, Sendable {
    case audio, video
}

/// A user as others see it.
public struct PlayerInfo: Codable, Hashable, Sendable {
    public var playerID: String
    /// What the user gave at its join; up to 1024 bytes.
    public var playerData: String?

    public init(playerID: String, playerData: String? = nil) {
        self.playerID = playerID
        self.playerData = playerData
    }

    enum CodingKeys: String, CodingKey {
        case playerID = "playerid"
        case playerData = "playerdata"
    }
}

/// A published track as others see it.
public struct TrackInfo: Codable, Hashable, Sendable {
    /// Unique in the room.
    public var trackID: String
    /// Whose it is.
    public var playerID: String
    public var kind: TrackKind
    /// The publisher's own word for it.
    public var tag: String
    /// The user's first of its kind.
    public var master: Bool
    public var muted: Bool
    /// Always 1 here, for a track that is published anew gets a new id. Clients compare it on a resume: another value under the
    /// same id is a track that went and came.
    public var versionID: Int
    /// The `a=mid` of the track at every subscriber; unique among the room's tracks.
    public var mid: String
    /// The layers of a simulcast track, the best first.
    public var profiles: [String]?

    public init(
        trackID: String, playerID: String, kind: TrackKind, tag: String = "", master: Bool = true, muted: Bool = false,
        versionID: Int = 1, mid: String, profiles: [String]? = nil
    ) {
        self.trackID = trackID
        self.playerID = playerID
        self.kind = kind
        self.tag = tag
        self.master = master
        self.muted = muted
        self.versionID = versionID
        self.mid = mid
        self.profiles = profiles
    }

    enum CodingKeys: String, CodingKey {
        case trackID = "trackid"
        case playerID = "playerid"
        case kind, tag, master, muted
        case versionID = "versionid"
        case mid, profiles
    }

    /// Tag, master, muted and version may be absent.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        trackID = try container.decode(String.self, forKey: .trackID)
        playerID = try container.decode(String.self, forKey: .playerID)
        kind = try container.decode(TrackKind.self, forKey: .kind)
        tag = try container.decodeIfPresent(String.self, forKey: .tag) ?? ""
        master = try container.decodeIfPresent(Bool.self, forKey: .master) ?? false
        muted = try container.decodeIfPresent(Bool.self, forKey: .muted) ?? false
        versionID = try container.decodeIfPresent(Int.self, forKey: .versionID) ?? 1
        mid = try container.decodeIfPresent(String.self, forKey: .mid) ?? ""
        profiles = try container.decodeIfPresent([String].self, forKey: .profiles)
    }
}

/// `{"trackid"}`.
public struct TrackReference: Codable, Hashable, Sendable {
    public var trackID: String
    public init(_ trackID: String) { self.trackID = trackID }
    enum CodingKeys: String, CodingKey { case trackID = "trackid" }
}

/// `{"trackid","muted"}`.
public struct TrackMute: Codable, Hashable, Sendable {
    public var trackID: String
    public var muted: Bool

    public init(trackID: String, muted: Bool) {
        self.trackID = trackID
        self.muted = muted
    }

    enum CodingKeys: String, CodingKey {
        case trackID = "trackid"
        case muted
    }
}

/// A layer that a subscriber wishes to get.
public enum SubscribeProfile: String, Codable, Hashable, Sendable {
    case high, medium, low
}

/// What a user may do, as `auth` and `set-privileges` name it.
public enum Privilege: String, Codable, Hashable, Sendable {
    case subscribe, publish
}
