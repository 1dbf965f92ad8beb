/// A request for a key frame (RFC 4585, section 6.3.1).
package struct RTCPPictureLossIndication: Equatable, Sendable {
    /// Who asks.
    package var senderSSRC: UInt32
    /// The stream that needs a key frame.
    package var mediaSSRC: UInt32

    package init(senderSSRC: UInt32, mediaSSRC: UInt32) {
        self.senderSSRC = senderSSRC
        self.mediaSSRC = mediaSSRC
    }

    /// `nil`: another type or format, or too short.
    package static func parse(_ bytes: RawSpan, _ block: RTCPBlock) -> RTCPPictureLossIndication? {
        guard
            block.holds(
                RTCPType.payloadFeedback, format: RTCPFeedbackFormat.pictureLossIndication, atLeast: 12, in: bytes)
        else { return nil }
        return RTCPPictureLossIndication(
            senderSSRC: bytes.bigEndian32(at: block.offset &+ 4), mediaSSRC: bytes.bigEndian32(at: block.offset &+ 8))
    }
}
