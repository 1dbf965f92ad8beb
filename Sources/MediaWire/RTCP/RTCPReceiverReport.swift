/// A receiver report (RFC 3550, section 6.4.2). Its report blocks are read by `RTCPReportBlock`.
package struct RTCPReceiverReport: Equatable, Sendable {
    /// Who reports.
    package var ssrc: UInt32

    package init(ssrc: UInt32) { self.ssrc = ssrc }

    /// Header and reporter SSRC, in bytes.
    static let fixedLength = 8

    /// `nil`: another type, or shorter than its fixed part and the report blocks it declares.
    package static func parse(_ bytes: RawSpan, _ block: RTCPBlock) -> RTCPReceiverReport? {
        guard block.holds(RTCPType.receiverReport, atLeast: fixedLength, in: bytes),
            RTCPReportBlock.fit(in: block, after: fixedLength)
        else { return nil }
        return RTCPReceiverReport(ssrc: bytes.bigEndian32(at: block.offset &+ 4))
    }
}
