/// The sender's half of a sender report (RFC 3550, section 6.4.1). Its report blocks are read by `RTCPReportBlock`.
package struct RTCPSenderReport: Equatable, Sendable {
    package var ssrc: UInt32
    /// Wall-clock time of the report.
    package var ntp: NTPTime
    /// The same instant on the stream's own clock.
    package var rtpTimestamp: UInt32
    package var packetCount: UInt32
    /// Payload bytes sent, without headers and padding, modulo 2^32.
    package var octetCount: UInt32

    package init(ssrc: UInt32, ntp: NTPTime, rtpTimestamp: UInt32, packetCount: UInt32, octetCount: UInt32) {
        self.ssrc = ssrc
        self.ntp = ntp
        self.rtpTimestamp = rtpTimestamp
        self.packetCount = packetCount
        self.octetCount = octetCount
    }

    /// Header, sender SSRC and sender info, in bytes.
    static let fixedLength = 28

    /// `nil`: another type, or shorter than its fixed part and the report blocks it declares.
    package static func parse(_ bytes: RawSpan, _ block: RTCPBlock) -> RTCPSenderReport? {
        guard block.holds(RTCPType.senderReport, atLeast: fixedLength, in: bytes),
            RTCPReportBlock.fit(in: block, after: fixedLength)
        else { return nil }
        let start = block.offset
        return RTCPSenderReport(
            ssrc: bytes.bigEndian32(at: start &+ 4), ntp: NTPTime(bits: bytes.bigEndian64(at: start &+ 8)),
            rtpTimestamp: bytes.bigEndian32(at: start &+ 16), packetCount: bytes.bigEndian32(at: start &+ 20),
            octetCount: bytes.bigEndian32(at: start &+ 24))
    }
}
