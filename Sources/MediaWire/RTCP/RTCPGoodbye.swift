/// Says which streams end (RFC 3550, section 6.6). A reason, if there is one, is not read.
package struct RTCPGoodbye: Equatable, Sendable {
    /// How many streams end: 0...31.
    package var count: Int

    /// `nil`: another type, or shorter than the streams it declares.
    package static func parse(_ bytes: RawSpan, _ block: RTCPBlock) -> RTCPGoodbye? {
        guard block.holds(RTCPType.goodbye, atLeast: 4 &+ Int(block.count) &* 4, in: bytes) else { return nil }
        return RTCPGoodbye(count: Int(block.count))
    }

    /// `nil` unless `0 <= index < count`, and for a block that `parse` refuses.
    package static func ssrc(_ bytes: RawSpan, _ block: RTCPBlock, index: Int) -> UInt32? {
        guard let goodbye = parse(bytes, block), index >= 0, index < goodbye.count else { return nil }
        return bytes.bigEndian32(at: block.offset &+ 4 &+ index &* 4)
    }
}
