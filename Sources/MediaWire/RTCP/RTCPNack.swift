/// A generic NACK: which packets of a stream are missing (RFC 4585, section 6.2.1). The sequence numbers are read by
/// `RTCPNackReader`.
package struct RTCPNack: Equatable, Sendable {
    /// Who asks.
    package var senderSSRC: UInt32
    /// The stream the packets are missing from.
    package var mediaSSRC: UInt32

    package init(senderSSRC: UInt32, mediaSSRC: UInt32) {
        self.senderSSRC = senderSSRC
        self.mediaSSRC = mediaSSRC
    }

    /// `nil`: another type or format, no entry, or an entry cut in half.
    package static func parse(_ bytes: RawSpan, _ block: RTCPBlock) -> RTCPNack? {
        guard
            block.holds(
                RTCPType.transportFeedback, format: RTCPFeedbackFormat.nack, atLeast: RTCPNackReader.firstEntry &+ 4,
                in: bytes),
            block.length & 3 == 0
        else { return nil }
        return RTCPNack(
            senderSSRC: bytes.bigEndian32(at: block.offset &+ 4), mediaSSRC: bytes.bigEndian32(at: block.offset &+ 8))
    }
}

/// Yields the sequence numbers of a NACK, modulo 2^16: of each entry the number itself (PID), then those its bit mask (BLP)
/// stands for. An entry names up to 17 packets; the same number can come more than once.
package struct RTCPNackReader: Sendable {
    static let firstEntry = 12

    private var cursor: Int
    private let end: Int
    private var base: UInt16 = 0
    private var mask: UInt16 = 0

    /// `block` is one that `RTCPNack.parse` accepted.
    package init(_ block: RTCPBlock) {
        cursor = block.offset &+ Self.firstEntry
        end = block.end
    }

    package mutating func next(_ bytes: RawSpan) -> UInt16? {
        if mask != 0 {
            // Bit i of the mask stands for PID + i + 1.
            let bit = UInt16(truncatingIfNeeded: mask.trailingZeroBitCount)
            mask &= mask &- 1
            return base &+ bit &+ 1
        }
        guard cursor >= 0, end <= bytes.byteCount, cursor <= end &- 4 else { return nil }
        base = bytes.bigEndian16(at: cursor)
        mask = bytes.bigEndian16(at: cursor &+ 2)
        cursor &+= 4
        return base
    }
}
