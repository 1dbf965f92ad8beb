/// What a receiver says about one stream, in sender and receiver reports (RFC 3550, section 6.4.1).
package struct RTCPReportBlock: Equatable, Sendable {
    /// The stream reported on.
    package var ssrc: UInt32
    /// Lost since the last report, in 1/256.
    package var fractionLost: UInt8
    /// Lost since the start; negative with duplicates. Written clamped to the wire's signed 24 bits.
    package var cumulativeLost: Int32
    /// Highest sequence number received, with the count of wraps in the upper half.
    package var highestSequence: UInt32
    /// Interarrival jitter in ticks of the stream's clock.
    package var jitter: UInt32
    /// The middle 32 bits of the last sender report's NTP time; 0 before the first.
    package var lastSenderReport: UInt32
    /// In 1/65536 s; 0 before the first sender report.
    package var delaySinceLastSenderReport: UInt32

    package init(
        ssrc: UInt32, fractionLost: UInt8, cumulativeLost: Int32, highestSequence: UInt32, jitter: UInt32,
        lastSenderReport: UInt32, delaySinceLastSenderReport: UInt32
    ) {
        self.ssrc = ssrc
        self.fractionLost = fractionLost
        self.cumulativeLost = cumulativeLost
        self.highestSequence = highestSequence
        self.jitter = jitter
        self.lastSenderReport = lastSenderReport
        self.delaySinceLastSenderReport = delaySinceLastSenderReport
    }

    /// In bytes.
    static let length = 24
    /// The count field has five bits.
    package static let maxCount = 31

    /// How many report blocks a sender or receiver report carries: 0 for other types, and for a report too short for the
    /// number it declares.
    package static func count(_ block: RTCPBlock) -> Int {
        guard let start = start(block), fit(in: block, after: start) else { return 0 }
        return Int(block.count)
    }

    /// Report block `index` of a sender or receiver report; `nil` unless `0 <= index < count(block)`.
    package static func parse(_ bytes: RawSpan, _ block: RTCPBlock, index: Int) -> RTCPReportBlock? {
        guard let start = start(block), index >= 0, index < count(block), block.isInside(bytes) else { return nil }
        let offset = block.offset &+ start &+ index &* length
        // Signed 24 bits: up into the high bytes and back down with the sign.
        let lost = Int32(bitPattern: bytes.bigEndian24(at: offset &+ 5) << 8) >> 8
        return RTCPReportBlock(
            ssrc: bytes.bigEndian32(at: offset), fractionLost: bytes.octet(at: offset &+ 4), cumulativeLost: lost,
            highestSequence: bytes.bigEndian32(at: offset &+ 8), jitter: bytes.bigEndian32(at: offset &+ 12),
            lastSenderReport: bytes.bigEndian32(at: offset &+ 16),
            delaySinceLastSenderReport: bytes.bigEndian32(at: offset &+ 20))
    }

    private static func start(_ block: RTCPBlock) -> Int? {
        switch block.type {
        case RTCPType.senderReport: RTCPSenderReport.fixedLength
        case RTCPType.receiverReport: RTCPReceiverReport.fixedLength
        default: nil
        }
    }

    /// Whether the declared number of report blocks lies within the block.
    static func fit(in block: RTCPBlock, after start: Int) -> Bool {
        Int(block.count) &* length <= block.length &- start
    }
}
