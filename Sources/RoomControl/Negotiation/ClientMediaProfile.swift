package import MediaContract
package import MediaWire
package import RoomProtocol

/// What a WebRTC client can send and receive in a room, under its own numbers: read from its throw-away offer.
package struct ClientMediaProfile: Sendable {
    /// `rtpcaps`, as auth-res carries it.
    package var rtpCapabilities: RTPCapabilities
    package var audio: Stream
    package var video: Stream
    /// One entry for each codec in the offer that Parlor knows, for clients that take more than the room's.
    package var codecs: [Codec: RTPCapabilities.Codec]

    /// How the client sends and receives one kind of media.
    package struct Stream: Hashable, Sendable {
        package var codec: Codec
        package var payloadType: UInt8
        /// Of the retransmission stream (RFC 4588); `nil`: the client knows none.
        package var rtxPayloadType: UInt8?
        /// Of Opus with redundancy (RFC 2198); `nil`: the client does not have it.
        package var redPayloadType: UInt8?
        /// Ids of 1 to 14, each URI once.
        package var extensions: [HeaderExtensionMapping]
        /// The client reads one-byte and two-byte forms in one stream (RFC 8285, section 6), though the descriptions that it writes
        /// itself do not say so.
        package var allowsMixedExtensions = false
        package var feedback: ClientFeedback

        /// The id of that extension; `nil`: it is not negotiated.
        package func id(of kind: HeaderExtensionKind) -> UInt8? { extensions.first { $0.kind == kind }?.id }

        /// The feedback as the media plane knows it.
        package var feedbackSet: FeedbackSet { feedback.set }
    }

    /// Opus, or any video codec that the client's offer holds, under the client's payload types. A codec that the client
    /// only receives counts, too. `nil`: the client does not have it.
    package func codec(for codec: Codec) -> RTPCapabilities.Codec? { codecs[codec] }

    /// How the client receives the codec: one of the room's two, or any other that it has. `nil`: it does not have it.
    package func stream(of codec: Codec) -> Stream? {
        for stream in [audio, video] where stream.codec == codec { return stream }
        guard let other = codecs[codec], let payloadType = UInt8(exactly: other.recvPayloadType) else { return nil }
        var stream = codec.kind == .audio ? audio : video
        stream.codec = codec
        stream.payloadType = payloadType
        stream.rtxPayloadType = other.recvRtxPayloadType.flatMap { UInt8(exactly: $0) }
        stream.redPayloadType = nil
        stream.feedback = ClientFeedback(
            ClientFeedback.known.filter { other.rtcpFeedback.contains($0.feedback) }.map(\.value))
        return stream
    }
}

/// Feedback that a client has for a stream: what it understands as sender, and sends as receiver.
package struct ClientFeedback: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Generic NACK (RFC 4585, section 6.2.1).
    package static let nack = ClientFeedback(rawValue: 1)
    /// Picture Loss Indication (RFC 4585, section 6.3.1).
    package static let pli = ClientFeedback(rawValue: 2)
    /// Full Intra Request (RFC 5104, section 4.3.1).
    package static let fir = ClientFeedback(rawValue: 4)
    /// Receiver Estimated Maximum Bitrate (draft-alvestrand-rmcat-remb-03).
    package static let remb = ClientFeedback(rawValue: 8)
    /// Transport-wide congestion control (draft-holmer-rmcat-transport-wide-cc-extensions-01).
    package static let transportCC = ClientFeedback(rawValue: 16)

    /// Those that rtpcaps may name, in that order, with the words behind the payload type in `a=rtcp-fb`.
    static let known: [(value: ClientFeedback, line: String, feedback: RTPCapabilities.Feedback)] = [
        (.transportCC, "transport-cc", .init("transport-cc")),
        (.remb, "goog-remb", .init("goog-remb")),
        (.fir, "ccm fir", .init("ccm", "fir")),
        (.nack, "nack", .init("nack")),
        (.pli, "nack pli", .init("nack", "pli")),
    ]

    /// What Parlor uses with that kind of media.
    static func used(with kind: MediaKind) -> ClientFeedback {
        kind == .audio ? [.transportCC] : [.transportCC, .remb, .fir, .nack, .pli]
    }

    /// As the media plane knows it.
    var set: FeedbackSet {
        var result: FeedbackSet = []
        if contains(.nack) { result.insert(.nack) }
        if contains(.pli) { result.insert(.pli) }
        if contains(.fir) { result.insert(.fir) }
        if contains(.remb) { result.insert(.remb) }
        if contains(.transportCC) { result.insert(.transportCC) }
        return result
    }

    /// As rtpcaps carries it.
    var list: [RTPCapabilities.Feedback] { ClientFeedback.known.filter { contains($0.value) }.map(\.feedback) }
}

extension TrackKind {
    init(_ kind: MediaKind) { self = kind == .audio ? .audio : .video }
}
