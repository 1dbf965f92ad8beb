/// A request for key frames of one or more streams (RFC 5104, section 4.3.1). The media SSRC of its header is not used.
package struct RTCPFullIntraRequest: Equatable, Sendable {
    package struct Entry: Equatable, Sendable {
        /// The stream that needs a key frame.
        package var ssrc: UInt32
        /// Counts requests: a repeated number is a repeated request.
        package var sequence: UInt8

        package init(ssrc: UInt32, sequence: UInt8) {
            self.ssrc = ssrc
            self.sequence = sequence
        }
    }

    /// Who asks.
    package var senderSSRC: UInt32

    package init(senderSSRC: UInt32) { self.senderSSRC = senderSSRC }

    static let firstEntry = 12
    static let entryLength = 8

    /// `nil`: another type or format, no entry, or an entry cut off.
    package static func parse(_ bytes: RawSpan, _ block: RTCPBlock) -> RTCPFullIntraRequest? {
        guard
            block.holds(
                RTCPType.payloadFeedback, format: RTCPFeedbackFormat.fullIntraRequest,
                atLeast: firstEntry &+ entryLength, in: bytes),
            (block.length &- firstEntry) & 7 == 0
        else { return nil }
        return RTCPFullIntraRequest(senderSSRC: bytes.bigEndian32(at: block.offset &+ 4))
    }

    /// How many entries a request has that `parse` accepted.
    package static func entryCount(_ block: RTCPBlock) -> Int { max(0, block.length &- firstEntry) / entryLength }

    /// `nil` unless `0 <= index < entryCount(block)`.
    package static func entry(_ bytes: RawSpan, _ block: RTCPBlock, index: Int) -> Entry? {
        guard index >= 0, index < entryCount(block), block.isInside(bytes) else { return nil }
        let offset = block.offset &+ firstEntry &+ index &* entryLength
        return Entry(ssrc: bytes.bigEndian32(at: offset), sequence: bytes.octet(at: offset &+ 4))
    }
}
