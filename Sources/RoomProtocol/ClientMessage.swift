import FoundationEssentials

/// Everything that a client may send.
public enum ClientMessage: Hashable, Sendable {
    case auth(AuthRequest)
    case pong
    /// The client leaves.
    case disconnect
    /// pubpc
    case publishConnection(PublishRequest)
    /// pub-tracks
    case publishTracks(PublishRequest)
    /// unpub-tracks
    case unpublishTracks(TracksRequest)
    /// subpc
    case subscribeConnection(SubscribeRequest)
    /// sub-tracks
    case subscribeTracks(SubscribeRequest)
    /// unsub-tracks
    case unsubscribeTracks(TracksRequest)
    /// pubpc-restart
    case restartPublishConnection(ConnectionRequest)
    /// subpc-restart
    case restartSubscribeConnection(ConnectionRequest)
    /// pubpc-close
    case closePublishConnection(ConnectionRequest)
    /// subpc-close
    case closeSubscribeConnection(ConnectionRequest)
    case muteTracks(MuteTracks)
    case setSubscribeProfile(SetSubscribeProfile)
    case sendMessage(SendMessage)
    case sendQoSMessage(SendQoSMessage)
    case control(ControlRequest)
    case setPrivileges(SetPrivileges)
    /// Jobs and the media relay, which this server does not have.
    case unsupported(type: String, rpcid: String?)
}

extension ClientMessage {
    /// The wire's name of it.
    public var type: String {
        switch self {
        case .auth: "auth"
        case .pong: "pong"
        case .disconnect: "disconnect"
        case .publishConnection: "pubpc"
        case .publishTracks: "pub-tracks"
        case .unpublishTracks: "unpub-tracks"
        case .subscribeConnection: "subpc"
        case .subscribeTracks: "sub-tracks"
        case .unsubscribeTracks: "unsub-tracks"
        case .restartPublishConnection: "pubpc-restart"
        case .restartSubscribeConnection: "subpc-restart"
        case .closePublishConnection: "pubpc-close"
        case .closeSubscribeConnection: "subpc-close"
        case .muteTracks: "mute-tracks"
        case .setSubscribeProfile: "set-sub-profile"
        case .sendMessage: "send-message"
        case .sendQoSMessage: "send-qos-message"
        case .control: "control"
        case .setPrivileges: "set-privileges"
        case .unsupported(let type, _): type
        }
    }

    /// What its answer repeats.
    public var rpcid: String? {
        switch self {
        case .pong, .disconnect, .muteTracks, .setSubscribeProfile, .sendMessage: nil
        case .auth(let request): request.rpcid
        case .publishConnection(let request), .publishTracks(let request): request.rpcid
        case .subscribeConnection(let request), .subscribeTracks(let request): request.rpcid
        case .unpublishTracks(let request), .unsubscribeTracks(let request): request.rpcid
        case .restartPublishConnection(let request), .restartSubscribeConnection(let request),
            .closePublishConnection(let request), .closeSubscribeConnection(let request):
            request.rpcid
        case .sendQoSMessage(let request): request.rpcid
        case .control(let request): request.rpcid
        case .setPrivileges(let request): request.rpcid
        case .unsupported(_, let rpcid): rpcid
        }
    }
}

/// Why a frame is no message: what to answer, and under which type.
public struct MalformedMessage: Error, Hashable, Sendable {
    /// The frame's type, if it has one.
    public var type: String?
    public var rpcid: String?
    public var refused: Refused

    public init(type: String?, rpcid: String? = nil, _ refused: Refused) {
        self.type = type
        self.rpcid = rpcid
        self.refused = refused
    }
}

extension ClientMessage {
    /// Types that a client sends and this server refuses: merge and forward jobs, the media relay.
    public static let unsupportedTypes: Set<String> = [
        "create-merge-job", "update-merge-tracks", "stop-merge", "create-forward-job", "stop-forward",
        "start-media-relay", "update-media-relay", "stop-media-relay",
    ]

    /// Reads a frame.
    ///
    /// - Throws: `MalformedMessage` with 10053: no frame, no JSON object, a field that is missing or of another type,
    ///   an unknown type.
    public init(frame text: String) throws(MalformedMessage) {
        let frame: SignallingFrame
        do { frame = try SignallingFrame(text) } catch { throw MalformedMessage(type: nil, error) }
        switch frame.type {
        case "auth": self = .auth(try frame.decode())
        case "pong": self = .pong
        case "disconnect": self = .disconnect
        case "pubpc": self = .publishConnection(try frame.decode())
        case "pub-tracks": self = .publishTracks(try frame.decode())
        case "unpub-tracks": self = .unpublishTracks(try frame.decode())
        case "subpc": self = .subscribeConnection(try frame.decode())
        case "sub-tracks": self = .subscribeTracks(try frame.decode())
        case "unsub-tracks": self = .unsubscribeTracks(try frame.decode())
        case "pubpc-restart": self = .restartPublishConnection(try frame.decode())
        case "subpc-restart": self = .restartSubscribeConnection(try frame.decode())
        case "pubpc-close": self = .closePublishConnection(try frame.decode())
        case "subpc-close": self = .closeSubscribeConnection(try frame.decode())
        case "mute-tracks": self = .muteTracks(try frame.decode())
        case "set-sub-profile": self = .setSubscribeProfile(try frame.decode())
        case "send-message": self = .sendMessage(try frame.decode())
        case "send-qos-message": self = .sendQoSMessage(try frame.decode())
        case "control": self = .control(try frame.decode())
        case "set-privileges": self = .setPrivileges(try frame.decode())
        case let type where ClientMessage.unsupportedTypes.contains(type):
            self = .unsupported(type: type, rpcid: frame.rpcid)
        default:
            throw MalformedMessage(
                type: frame.type, rpcid: frame.rpcid,
                Refused(.invalidParameter, "there is no message of type \(frame.type)"))
        }
    }
}

extension SignallingFrame {
    /// The rpcid of whatever the body is.
    public var rpcid: String? {
        struct Identified: Decodable { var rpcid: String? }
        do { return try JSONDecoder().decode(Identified.self, from: body).rpcid } catch { return rpcidOfBrokenBody }
    }

    /// Clients wait for their rpcid for ever, also when the rest of the body cannot be read.
    private var rpcidOfBrokenBody: String? {
        let text = String(decoding: body, as: UTF8.self)
        guard let key = text.firstRange(of: "\"rpcid\":\"") else { return nil }
        let rest = text[key.upperBound...].prefix(65)
        guard let end = rest.firstIndex(of: "\""), !rest[..<end].contains("\\") else { return nil }
        return String(rest[..<end])
    }

    /// The body as a message.
    public func decode<Body: Decodable>(_ type: Body.Type = Body.self) throws(MalformedMessage) -> Body {
        do { return try JSONDecoder().decode(Body.self, from: body) } catch {
            throw MalformedMessage(
                type: self.type, rpcid: rpcid, Refused(.invalidParameter, "\(self.type): \(sentence(for: error))"))
        }
    }

    /// What is wrong with the body, and where.
    private func sentence(for error: any Error) -> String {
        func place(_ path: [any CodingKey], _ last: String? = nil) -> String {
            var text = ""
            for key in path {
                if let index = key.intValue {
                    text += "[\(index)]"
                } else {
                    text += text.isEmpty ? key.stringValue : ".\(key.stringValue)"
                }
            }
            if let last { text += text.isEmpty ? last : ".\(last)" }
            return text.isEmpty ? "the body" : text
        }
        guard let error = error as? DecodingError else { return "the body is not JSON" }
        switch error {
        case .keyNotFound(let key, let context):
            return "\(place(context.codingPath, key.stringValue)) is missing"
        case .typeMismatch(let wanted, let context):
            return "\(place(context.codingPath)) has the wrong type, expected \(SignallingFrame.word(for: wanted))"
        case .valueNotFound(let wanted, let context):
            return "\(place(context.codingPath)) is null, expected \(SignallingFrame.word(for: wanted))"
        case .dataCorrupted(let context):
            if context.debugDescription.contains("representable") || context.debugDescription.contains("fit") {
                return "\(place(context.codingPath)) has a number that is too large, or not whole"
            }
            if context.codingPath.isEmpty, isJSON {
                return "the body has a number that is too large, or not whole, where a whole number is needed"
            }
            return context.codingPath.isEmpty
                ? "the body is not JSON" : "\(place(context.codingPath)) has a value that is not allowed"
        @unknown default: return "the body cannot be read"
        }
    }

    /// The decoder says the same of a number that does not fit as of a text that is no JSON.
    private var isJSON: Bool {
        struct Anything: Decodable { init(from decoder: any Decoder) {} }
        do { _ = try JSONDecoder().decode(Anything.self, from: body) } catch { return false }
        return true
    }

    private static func word(for type: Any.Type) -> String {
        switch type {
        case is String.Type: "a text"
        case is Bool.Type: "true or false"
        case is Int.Type, is UInt32.Type, is Int64.Type, is Double.Type: "a number"
        default: "\(type)".hasPrefix("Array") ? "a list" : "an object"
        }
    }
}
