/// `rtpcaps` of auth-res: what the client sends and receives in this room. Clients write their SDP from it, so it
/// repeats the numbers of the client's own offer.
public struct RTPCapabilities: Codable, Hashable, Sendable {
    /// By position: the audio codec, the video codec, then RED and the like.
    public var codecs: [Codec]
    public var headerExtensions: [HeaderExtension]
    public var fecMechanisms: [String]

    public init(codecs: [Codec], headerExtensions: [HeaderExtension], fecMechanisms: [String] = []) {
        self.codecs = codecs
        self.headerExtensions = headerExtensions
        self.fecMechanisms = fecMechanisms
    }

    public struct Codec: Codable, Hashable, Sendable {
        public var name: String
        public var mimeType: String
        public var kind: TrackKind
        /// In Hz.
        public var clockRate: Int
        public var channels: Int?
        /// fmtp: texts and numbers.
        public var parameters: [String: Parameter]
        public var rtcpFeedback: [Feedback]
        public var sendPayloadType: Int
        public var recvPayloadType: Int
        public var sendRtxPayloadType: Int?
        public var recvRtxPayloadType: Int?

        public init(
            name: String, kind: TrackKind, clockRate: Int, channels: Int? = nil, parameters: [String: Parameter] = [:],
            rtcpFeedback: [Feedback] = [], payloadType: Int, rtxPayloadType: Int? = nil
        ) {
            self.name = name
            mimeType = "\(kind.rawValue)/\(name)"
            self.kind = kind
            self.clockRate = clockRate
            self.channels = channels
            self.parameters = parameters
            self.rtcpFeedback = rtcpFeedback
            sendPayloadType = payloadType
            recvPayloadType = payloadType
            sendRtxPayloadType = rtxPayloadType
            recvRtxPayloadType = rtxPayloadType
        }
    }

    public struct Feedback: Codable, Hashable, Sendable {
        public var type: String
        public var parameter: String?

        public init(_ type: String, _ parameter: String? = nil) {
            self.type = type
            self.parameter = parameter
        }
    }

    public struct HeaderExtension: Codable, Hashable, Sendable {
        public var kind: TrackKind
        public var uri: String
        /// 1...14: the clients' SDP knows one-byte headers only.
        public var sendId: Int
        public var recvId: Int

        public init(kind: TrackKind, uri: String, id: Int) {
            self.kind = kind
            self.uri = uri
            sendId = id
            recvId = id
        }
    }

    /// A value of an fmtp parameter.
    public enum Parameter: Codable, Hashable, Sendable {
        case number(Int)
        case text(String)

        public init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let number = try? container.decode(Int.self) {
                self = .number(number)
            } else {
                self = .text(try container.decode(String.self))
            }
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .number(let number): try container.encode(number)
            case .text(let text): try container.encode(text)
            }
        }
    }
}
