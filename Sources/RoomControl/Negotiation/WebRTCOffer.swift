package import MediaContract
package import MediaWire

/// A validated WebRTC offer of a leg (RFC 8829): what each m-line carries, and the one transport that all share.
///
/// Step 1 of 2. Step 2 is `WebRTCAnswer.make`.
package struct WebRTCOffer: Sendable {
    package var purpose: LegPurpose
    /// One for each m-line of the offer, in its order.
    package var lines: [Line]
    package var transport: RemoteTransport
    /// The mids of the accepted m-lines in the order of their bundle; empty: one m-line without a bundle.
    package var bundle: [String]
    /// The m-line that stands for the transport (RFC 9143, section 7.1.1).
    package var taggedLine: Int
    package var allowsMixedExtensions: Bool
    /// The client understands candidates that come later (RFC 8840).
    package var trickles: Bool

    /// More m-lines than this are refused, as on plain legs.
    package static let maximumLines = PlainOffer.maximumLines

    /// The client's end of the transport.
    package struct RemoteTransport: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
        /// At least one (RFC 8122).
        package var fingerprints: [DTLSFingerprint]
        /// The node's part in DTLS, which the client's `a=setup` leaves or gives to it.
        package var role: DTLSRole
        package var iceUfrag: String
        /// A secret of client and node; an ICE-lite agent has no use for it.
        package var icePassword: String

        package var description: String { "\(iceUfrag), \(fingerprints.map(\.text).joined(separator: ", "))" }
        package var customMirror: Mirror {
            Mirror(self, children: ["fingerprints": fingerprints.map(\.text), "iceUfrag": iceUfrag])
        }
    }

    /// One m-line of the offer.
    package typealias Line = OfferLine<AcceptedLine>

    /// An m-line that the answer accepts.
    package struct AcceptedLine: Sendable {
        package var kind: MediaKind
        /// Each codec once, in the client's order, until `settle` leaves or prefers one.
        package var codecs: [OfferedCodec]
        package var mid: String?
        /// Publishing: one to three, from the smallest picture to the largest.
        package var encodings: [EncodingSpec]
        /// Publishing: the layers of `a=simulcast:send` in the client's order; empty: none.
        package var layers: [String]
        package var extensions: [PlainOffer.OfferedExtension]
    }

    /// A codec under its payload types.
    package struct OfferedCodec: Hashable, Sendable {
        package var codec: Codec
        package var payloadType: UInt8
        /// Parameters that the answer repeats; empty: none.
        package var parameters: String
        package var feedback: FeedbackSet
        /// Of retransmissions (RFC 4588).
        package var rtxPayloadType: UInt8?
        /// Of the same with redundancy (RFC 2198).
        package var redPayloadType: UInt8?

        package init(
            codec: Codec, payloadType: UInt8, parameters: String = "", feedback: FeedbackSet = [],
            rtxPayloadType: UInt8? = nil, redPayloadType: UInt8? = nil
        ) {
            self.codec = codec
            self.payloadType = payloadType
            self.parameters = parameters
            self.feedback = feedback
            self.rtxPayloadType = rtxPayloadType
            self.redPayloadType = redPayloadType
        }
    }

    /// The accepted m-lines with their index, in order.
    package var acceptedLines: [(index: Int, line: AcceptedLine)] {
        lines.indices.compactMap { index in lines[index].accepted.map { (index, $0) } }
    }

    /// The codec that the m-line is for.
    ///
    /// Publishing, it becomes the only one, the first if it is not offered. Playing, it goes to the front and the others stay:
    /// who publishes next may have another codec.
    package mutating func settle(_ codec: Codec?, forLine index: Int) {
        guard lines.indices.contains(index), var line = lines[index].accepted, !line.codecs.isEmpty else { return }
        let place = line.codecs.firstIndex { $0.codec == codec } ?? 0
        let chosen = line.codecs.remove(at: place)
        line.codecs = purpose == .publish ? [chosen] : [chosen] + line.codecs
        if purpose == .publish {
            // It numbers the frames of one encoder: only with AV1 is there no other way to know them.
            line.extensions.removeAll { $0.mapping.kind == .dependencyDescriptor && chosen.codec != .av1 }
            // Some clients say that they have it and number nothing.
            if !line.extensions.contains(where: { $0.mapping.kind == .transportWideCC }) {
                line.codecs[0].feedback.remove(.transportCC)
            }
        }
        lines[index].outcome = .accepted(line)
    }
}
