// The bodies of what the server tells without being asked.

/// `on-player-out`, `on-player-reconnect`, `on-player-reconnect-in`.
public struct PlayerReference: Codable, Hashable, Sendable {
    public var playerID: String
    public init(_ playerID: String) { self.playerID = playerID }
    enum CodingKeys: String, CodingKey { case playerID = "playerid" }
}

/// `on-add-tracks`.
public struct TracksAdded: Codable, Hashable, Sendable {
    public var tracks: [TrackInfo]
    public init(tracks: [TrackInfo]) { self.tracks = tracks }
}

/// `on-remove-tracks`: of one player only.
public struct TracksRemoved: Codable, Hashable, Sendable {
    public var tracks: [TrackReference]
    public init(tracks: [TrackReference]) { self.tracks = tracks }
}

/// `on-pubpc-connected` and the like.
public struct ConnectionNotice: Codable, Hashable, Sendable {
    public var connectionID: String
    public var error: String?

    public init(connectionID: String, error: String? = nil) {
        self.connectionID = connectionID
        self.error = error
    }

    enum CodingKeys: String, CodingKey {
        case connectionID = "pcid"
        case error
    }
}

/// `on-sub-profile-changed`.
public struct SubscribeProfileChanged: Codable, Hashable, Sendable {
    public var trackID: String
    public var profile: String

    public init(trackID: String, profile: String) {
        self.trackID = trackID
        self.profile = profile
    }

    enum CodingKeys: String, CodingKey {
        case trackID = "trackid"
        case profile
    }
}

/// A custom message as its receivers get it.
public struct RoomMessage: Codable, Hashable, Sendable {
    public var messageID: String
    /// Counts up in the room.
    public var serial: Int
    /// Unix time in milliseconds at which the server took it.
    public var timestamp: Int64
    /// The sender; empty when the app's back end sent it.
    public var playerID: String
    public var type: String
    public var text: String

    public init(
        messageID: String, serial: Int, timestamp: Int64, playerID: String, type: String = "normal", text: String
    ) {
        self.messageID = messageID
        self.serial = serial
        self.timestamp = timestamp
        self.playerID = playerID
        self.type = type
        self.text = text
    }

    enum CodingKeys: String, CodingKey {
        case messageID = "msgid"
        case serial = "msgsn"
        case timestamp = "msgts"
        case playerID = "playerid"
        case type, text
    }
}

/// `on-messages`; never empty.
public struct RoomMessages: Codable, Hashable, Sendable {
    public var messages: [RoomMessage]
    public init(messages: [RoomMessage]) { self.messages = messages }
}

/// `on-qos-messages`.
public struct QoSMessages: Codable, Hashable, Sendable {
    public struct Message: Codable, Hashable, Sendable {
        public var playerID: String
        public var qos: String
        /// The room's present message serial: clients keep it as the last one seen.
        public var serial: Int

        public init(playerID: String, qos: String, serial: Int) {
            self.playerID = playerID
            self.qos = qos
            self.serial = serial
        }

        enum CodingKeys: String, CodingKey {
            case playerID = "playerid"
            case qos
            case serial = "msgsn"
        }
    }

    public var messages: [Message]
    public init(messages: [Message]) { self.messages = messages }
}

/// `disconnect`, server to client: you are out.
public struct DisconnectNotice: Codable, Hashable, Sendable {
    public var code: ResultCode
    public var error: String
    /// Who kicked; empty or absent when it was the back end.
    public var kickedID: String?

    public init(_ code: ResultCode, _ error: String, kickedID: String? = nil) {
        self.code = code
        self.error = error
        self.kickedID = kickedID
    }

    enum CodingKeys: String, CodingKey {
        case code, error
        case kickedID = "kickedid"
    }
}

/// `error`: a frame that is refused and has no rpcid that an answer could repeat: a one-way message, or what could not be read.
/// Our own; the vendor's clients ignore it.
public struct FrameError: Codable, Hashable, Sendable {
    public var code: ResultCode
    public var error: String
    /// The frame's type, if it has one.
    public var type: String?
    /// Of a custom message that was not delivered.
    public var messageID: String?

    public init(_ refused: Refused, type: String? = nil, messageID: String? = nil) {
        code = refused.code
        error = refused.text
        self.type = type
        self.messageID = messageID
    }

    enum CodingKeys: String, CodingKey {
        case code, error, type
        case messageID = "msgid"
    }
}
