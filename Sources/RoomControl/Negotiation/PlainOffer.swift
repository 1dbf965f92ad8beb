package import MediaContract
package import MediaWire

/// A validated offer of a plain SRTP client: what each m-line carries, and which transports are needed for it.
///
/// Step 1 of 3. Step 2 is to open `transports.count` port pairs (`PlannedTransport.needsRTCPPort`), step 3 is
/// `PlainAnswer.make`.
package struct PlainOffer: Sendable {
    package var purpose: LegPurpose
    /// One for each m-line of the offer, in its order.
    package var lines: [Line]
    /// What the answer will need, in the order of their first m-lines.
    package var transports: [PlannedTransport]
    /// The client's address is IPv6, so its ports must be.
    package var isIPv6: Bool
    package var allowsMixedExtensions: Bool

    /// More m-lines than this are refused: each may take two ports of a small range.
    package static let maximumLines = 16
    /// An m-line that declares more is refused; three layers with repair streams have six.
    package static let maximumSSRCs = 16

    /// One m-line of the offer.
    package typealias Line = OfferLine<AcceptedLine>

    /// An m-line that the answer accepts.
    package struct AcceptedLine: Sendable {
        package var kind: MediaKind
        /// Publishing: exactly one. Playing: each codec once, in the client's order, until `pick` leaves one.
        package var codecs: [OfferedCodec]
        /// Index in `PlainOffer.transports`.
        package var transport: Int
        package var mid: String?
        /// The SSRCs that the client declared for its media, without those of repair streams.
        package var ssrcs: [UInt32]
        package var extensions: [OfferedExtension]
    }

    /// One usable payload type of an m-line.
    package struct OfferedCodec: Hashable, Sendable {
        package var codec: Codec
        package var payloadType: UInt8
        /// Parameters that the answer repeats; empty: none.
        package var parameters: String
        package var feedback: FeedbackSet

        package init(codec: Codec, payloadType: UInt8, parameters: String, feedback: FeedbackSet) {
            self.codec = codec
            self.payloadType = payloadType
            self.parameters = parameters
            self.feedback = feedback
        }
    }

    package struct OfferedExtension: Hashable, Sendable {
        package var mapping: HeaderExtensionMapping
        /// As the client wrote it.
        package var direction: SDPDirection?
    }

    /// A transport that the answer will need: one pair of keys, one port or two.
    package struct PlannedTransport: Sendable {
        /// The m-lines on it, in their order; more than one: a bundle.
        package var lines: [Int]
        /// The m-line whose keys and addresses count: the offerer-tagged one (RFC 9143, section 7.1.1).
        package var taggedLine: Int
        /// All mids of the bundle that are accepted, in the order of the group; empty: no bundle.
        package var bundle: [String]
        package var rtcpMux: Bool
        package var reducedSizeRTCP: Bool
        /// The chosen line of the offer; its key opens what the client sends.
        package var cryptoTag: Int
        package var clientKey: SRTPMasterKey
        package var remote: TransportSpec.Remote

        /// Whether RTCP has a port of its own, the one next to RTP's.
        package var needsRTCPPort: Bool { !rtcpMux }
    }

    /// The accepted m-lines with their index, in order.
    package var acceptedLines: [(index: Int, line: AcceptedLine)] {
        lines.indices.compactMap { index in lines[index].accepted.map { (index, $0) } }
    }

    /// Reads an offer that must be a plain one.
    package static func read(
        _ text: String, purpose: LegPurpose, client: TransportAddress
    ) throws(NegotiationError) -> PlainOffer {
        switch try Negotiator.read(text, purpose: purpose, client: client) {
        case .plain(let offer): return offer
        case .webRTC:
            throw NegotiationError(.notAcceptable, reason: "the offer is a WebRTC one, and has no a=crypto")
        }
    }

    /// Playing: the track that the m-line will carry is known, so the answer names its codec alone.
    package mutating func pick(_ codec: Codec, forLine index: Int) throws(NegotiationError) {
        guard lines.indices.contains(index), var line = lines[index].accepted else { return }
        let fitting = line.codecs.filter { $0.codec == codec }
        guard !fitting.isEmpty else {
            throw NegotiationError(
                .notAcceptable, line: lines[index].media.line,
                reason: "the track is \(codec.name), and the m-line offers only "
                    + line.codecs.map(\.codec.name).joined(separator: ", "))
        }
        line.codecs = fitting
        lines[index].outcome = .accepted(line)
    }
}
