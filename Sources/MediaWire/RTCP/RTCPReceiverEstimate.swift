/// A receiver's estimate of the bandwidth towards it, "REMB" (draft-alvestrand-rmcat-remb-03, section 2.2).
package struct RTCPReceiverEstimate: Equatable, Sendable {
    /// Who estimates.
    package var senderSSRC: UInt32
    /// In bit/s, over all streams of the receiver together. Saturates: the wire can say up to 2^81.
    package var bitrate: UInt64
    /// How many streams it names: 0...255.
    package var ssrcCount: Int

    package init(senderSSRC: UInt32, bitrate: UInt64, ssrcCount: Int) {
        self.senderSSRC = senderSSRC
        self.bitrate = bitrate
        self.ssrcCount = ssrcCount
    }

    /// "REMB".
    static let identifier: UInt32 = 0x5245_4D42
    static let fixedLength = 20
    /// 18 bits.
    static let maxMantissa: UInt64 = 0x3_FFFF

    /// `nil`: another type, format or application, or shorter than the streams it declares.
    package static func parse(_ bytes: RawSpan, _ block: RTCPBlock) -> RTCPReceiverEstimate? {
        guard
            block.holds(
                RTCPType.payloadFeedback, format: RTCPFeedbackFormat.applicationLayer, atLeast: fixedLength, in: bytes),
            bytes.bigEndian32(at: block.offset &+ 12) == identifier
        else { return nil }
        let ssrcCount = Int(bytes.octet(at: block.offset &+ 16))
        guard ssrcCount &* 4 <= block.length &- fixedLength else { return nil }
        // 6 bits of exponent, 18 bits of mantissa: mantissa * 2^exponent.
        let field = bytes.bigEndian24(at: block.offset &+ 17)
        let exponent = Int(field >> 18)
        let mantissa = UInt64(field) & maxMantissa
        let fits = exponent <= mantissa.leadingZeroBitCount
        return RTCPReceiverEstimate(
            senderSSRC: bytes.bigEndian32(at: block.offset &+ 4), bitrate: fits ? mantissa << exponent : .max,
            ssrcCount: ssrcCount)
    }

    /// `nil` unless `0 <= index < ssrcCount`, and for a block that `parse` refuses.
    package static func ssrc(_ bytes: RawSpan, _ block: RTCPBlock, index: Int) -> UInt32? {
        guard let estimate = parse(bytes, block), index >= 0, index < estimate.ssrcCount else { return nil }
        return bytes.bigEndian32(at: block.offset &+ fixedLength &+ index &* 4)
    }
}

extension RTCPWriter {
    /// A bandwidth estimate in bit/s for up to 255 streams. The wire has 18 significant bits; the rest is rounded down.
    package mutating func receiverEstimate(
        senderSSRC: UInt32, bitrate: UInt64, ssrcs: UnsafeBufferPointer<UInt32>
    ) -> Bool {
        guard ssrcs.count <= 255,
            var packet = begin(
                RTCPType.payloadFeedback, count: Int(RTCPFeedbackFormat.applicationLayer),
                length: RTCPReceiverEstimate.fixedLength &+ ssrcs.count &* 4)
        else { return false }
        let exponent = max(0, 46 &- bitrate.leadingZeroBitCount)
        packet.put(senderSSRC)
        packet.put(UInt32(0))
        packet.put(RTCPReceiverEstimate.identifier)
        packet.put(
            UInt32(truncatingIfNeeded: ssrcs.count) << 24 | UInt32(truncatingIfNeeded: exponent) << 18
                | UInt32(truncatingIfNeeded: bitrate >> exponent))
        for ssrc in ssrcs { packet.put(ssrc) }
        return end(packet)
    }
}
