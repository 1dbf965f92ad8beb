// The bodies of what clients send. An absent `rpcid` is allowed everywhere: the answer then has none.

/// `auth`: joins, or with a reconnect token comes back.
public struct AuthRequest: Codable, Hashable, Sendable {
    /// The access token that the HTTP step gave.
    public var token: String
    /// From the last auth-res; 0 or absent on a first join.
    public var reconnectToken: Int?
    public var agent: String?
    public var sdkVersion: String?
    /// An SDP offer that shows what the client can send and receive.
    public var capabilitiesSDP: String?
    /// The serial of the last message seen.
    public var messageSerial: Int?
    public var privileges: [String]?
    /// Up to 1024 bytes.
    public var playerData: String?
    /// Our extension: the client takes tracks of other codecs than the room's.
    public var multicodec: Bool?
    public var rpcid: String?

    /// Whether the client comes back rather than in.
    public var isResume: Bool { (reconnectToken ?? 0) != 0 }

    public init(token: String, rpcid: String) {
        self.token = token
        self.rpcid = rpcid
    }

    enum CodingKeys: String, CodingKey {
        case token
        case reconnectToken = "reconntoken"
        case agent
        case sdkVersion = "sdkversion"
        case capabilitiesSDP = "capsdp"
        case messageSerial = "msgsn"
        case privileges
        case playerData = "playerdata"
        case multicodec, rpcid
    }
}

/// A track that a client wants to publish.
public struct PublishedTrack: Codable, Hashable, Sendable {
    /// The client's own name of it.
    public var localID: String
    /// The mid of its section in the offer.
    public var localMid: String?
    public var master: Bool?
    public var kind: TrackKind
    /// Wished bitrate in kbit/s, not whole with every client; a server does not need it.
    public var kbps: Double?
    public var tag: String?

    public init(
        localID: String, localMid: String?, master: Bool? = nil, kind: TrackKind, kbps: Double? = nil,
        tag: String? = nil
    ) {
        self.localID = localID
        self.localMid = localMid
        self.master = master
        self.kind = kind
        self.kbps = kbps
        self.tag = tag
    }

    enum CodingKeys: String, CodingKey {
        case localID = "localid"
        case localMid = "localmid"
        case master, kind, kbps, tag
    }
}

/// `pubpc` and `pub-tracks`.
public struct PublishRequest: Codable, Hashable, Sendable {
    public var sdp: String
    public var tracks: [PublishedTrack]
    /// `pubpc` only.
    public var policy: String?
    public var rpcid: String?

    public init(sdp: String, tracks: [PublishedTrack], policy: String? = nil, rpcid: String) {
        self.sdp = sdp
        self.tracks = tracks
        self.policy = policy
        self.rpcid = rpcid
    }
}

/// A track that a client wants to receive.
public struct WantedTrack: Codable, Hashable, Sendable {
    public var trackID: String
    public var profile: String?

    public init(trackID: String, profile: String? = nil) {
        self.trackID = trackID
        self.profile = profile
    }

    enum CodingKeys: String, CodingKey {
        case trackID = "trackid"
        case profile
    }
}

/// `subpc` and `sub-tracks`.
public struct SubscribeRequest: Codable, Hashable, Sendable {
    public var tracks: [WantedTrack]
    /// `subpc` only.
    public var policy: String?
    public var rpcid: String?

    public init(tracks: [WantedTrack], policy: String? = nil, rpcid: String) {
        self.tracks = tracks
        self.policy = policy
        self.rpcid = rpcid
    }
}

/// `unpub-tracks` and `unsub-tracks`.
public struct TracksRequest: Codable, Hashable, Sendable {
    public var tracks: [TrackReference]
    public var rpcid: String?

    public init(tracks: [TrackReference], rpcid: String) {
        self.tracks = tracks
        self.rpcid = rpcid
    }
}

/// `pubpc-restart`, `subpc-restart`, `pubpc-close`, `subpc-close`.
public struct ConnectionRequest: Codable, Hashable, Sendable {
    public var connectionID: String
    public var rpcid: String?

    public init(connectionID: String, rpcid: String) {
        self.connectionID = connectionID
        self.rpcid = rpcid
    }

    enum CodingKeys: String, CodingKey {
        case connectionID = "pcid"
        case rpcid
    }
}

/// `mute-tracks`, both ways. One-way.
public struct MuteTracks: Codable, Hashable, Sendable {
    public var tracks: [TrackMute]
    public init(tracks: [TrackMute]) { self.tracks = tracks }
}

/// `set-sub-profile`. One-way.
public struct SetSubscribeProfile: Codable, Hashable, Sendable {
    public var tracks: [WantedTrack]
    public init(tracks: [WantedTrack]) { self.tracks = tracks }
}

/// `send-message`. One-way.
public struct SendMessage: Codable, Hashable, Sendable {
    /// The sender's own name of it.
    public var messageID: String?
    /// Absent: everybody.
    public var target: [String]?
    public var type: String?
    public var text: String

    public init(messageID: String, target: [String]? = nil, text: String) {
        self.messageID = messageID
        self.target = target
        type = "normal"
        self.text = text
    }

    enum CodingKeys: String, CodingKey {
        case messageID = "msgid"
        case target, type, text
    }
}

/// `send-qos-message`. Answered only when it is refused.
public struct SendQoSMessage: Codable, Hashable, Sendable {
    /// JSON as text; passed on as it is.
    public var qos: String
    public var rpcid: String?

    public init(qos: String, rpcid: String? = nil) {
        self.qos = qos
        self.rpcid = rpcid
    }
}

/// `control`.
public struct ControlRequest: Codable, Hashable, Sendable {
    /// "kickplayer"
    public var command: String
    public var playerID: String?
    public var rpcid: String?

    public init(command: String, playerID: String, rpcid: String) {
        self.command = command
        self.playerID = playerID
        self.rpcid = rpcid
    }

    enum CodingKeys: String, CodingKey {
        case command
        case playerID = "playerid"
        case rpcid
    }
}

/// `set-privileges`: another role.
public struct SetPrivileges: Codable, Hashable, Sendable {
    public var privileges: [String]
    public var rpcid: String?

    public init(privileges: [Privilege], rpcid: String) {
        self.privileges = privileges.map(\.rawValue)
        self.rpcid = rpcid
    }
}
