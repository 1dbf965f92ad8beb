/// Writes RTCP packets one behind the other into a buffer: the compound is the first `count` bytes.
///
/// Every method returns `false` when the packet does not fit (or a count is beyond what the format can say); then nothing
/// was added. All bytes of a packet are written, and the P bit is never set.
package struct RTCPWriter {
    package private(set) var count = 0
    private let buffer: UnsafeMutableRawBufferPointer

    package init(into buffer: UnsafeMutableRawBufferPointer) { self.buffer = buffer }

    /// A sender report with up to 31 report blocks (RFC 3550, section 6.4.1).
    package mutating func senderReport(
        _ report: RTCPSenderReport, blocks: UnsafeBufferPointer<RTCPReportBlock> = .init(start: nil, count: 0)
    ) -> Bool {
        guard blocks.count <= RTCPReportBlock.maxCount,
            var packet = begin(
                RTCPType.senderReport, count: blocks.count,
                length: RTCPSenderReport.fixedLength &+ blocks.count &* RTCPReportBlock.length)
        else { return false }
        packet.put(report.ssrc)
        packet.put(UInt32(truncatingIfNeeded: report.ntp.bits >> 32))
        packet.put(UInt32(truncatingIfNeeded: report.ntp.bits))
        packet.put(report.rtpTimestamp)
        packet.put(report.packetCount)
        packet.put(report.octetCount)
        packet.put(blocks)
        return end(packet)
    }

    /// A receiver report with up to 31 report blocks (RFC 3550, section 6.4.2).
    package mutating func receiverReport(
        ssrc: UInt32, blocks: UnsafeBufferPointer<RTCPReportBlock> = .init(start: nil, count: 0)
    ) -> Bool {
        guard blocks.count <= RTCPReportBlock.maxCount,
            var packet = begin(
                RTCPType.receiverReport, count: blocks.count,
                length: RTCPReceiverReport.fixedLength &+ blocks.count &* RTCPReportBlock.length)
        else { return false }
        packet.put(ssrc)
        packet.put(blocks)
        return end(packet)
    }

    /// A source description of one source with its canonical name, at most 255 bytes of UTF-8 (RFC 3550, section 6.5.1).
    package mutating func sourceDescription(ssrc: UInt32, cname: UnsafeRawBufferPointer) -> Bool {
        // SSRC, type, length, text, and one to four zero bytes up to the next word.
        guard cname.count <= 255,
            var packet = begin(
                RTCPType.sourceDescription, count: 1, length: 4 &+ (4 &+ 2 &+ cname.count &+ 4) & ~3)
        else { return false }
        packet.put(ssrc)
        packet.put(RTCPSourceDescriptionItem.canonicalName)
        packet.put(UInt8(truncatingIfNeeded: cname.count))
        for byte in cname { packet.put(byte) }
        packet.fill()
        return end(packet)
    }

    /// A generic NACK (RFC 4585, section 6.2.1) for `sequences` in ascending order modulo 2^16; repeated ones are sent once.
    /// Nothing is written for an empty list.
    package mutating func nack(senderSSRC: UInt32, mediaSSRC: UInt32, sequences: UnsafeBufferPointer<UInt16>) -> Bool {
        let entries = RTCPWriter.nackEntryCount(sequences)
        guard entries > 0 else { return true }
        guard
            var packet = begin(
                RTCPType.transportFeedback, count: Int(RTCPFeedbackFormat.nack),
                length: RTCPNackReader.firstEntry &+ entries &* 4)
        else { return false }
        packet.put(senderSSRC)
        packet.put(mediaSSRC)
        var index = 0
        while index < sequences.count {
            let base = sequences[index]
            var mask: UInt16 = 0
            index &+= 1
            // The mask has 16 bits: base + 1 up to and with base + 16.
            while index < sequences.count, sequences[index] &- base <= 16 {
                let distance = sequences[index] &- base
                if distance > 0 { mask |= 1 << (distance &- 1) }
                index &+= 1
            }
            packet.put(base)
            packet.put(mask)
        }
        return end(packet)
    }

    /// How many entries of 4 bytes `nack` needs for these sequence numbers.
    private static func nackEntryCount(_ sequences: UnsafeBufferPointer<UInt16>) -> Int {
        var entries = 0
        var index = 0
        while index < sequences.count {
            let base = sequences[index]
            index &+= 1
            while index < sequences.count, sequences[index] &- base <= 16 { index &+= 1 }
            entries &+= 1
        }
        return entries
    }

    /// A request for a key frame (RFC 4585, section 6.3.1).
    package mutating func pictureLossIndication(senderSSRC: UInt32, mediaSSRC: UInt32) -> Bool {
        guard
            var packet = begin(
                RTCPType.payloadFeedback, count: Int(RTCPFeedbackFormat.pictureLossIndication), length: 12)
        else { return false }
        packet.put(senderSSRC)
        packet.put(mediaSSRC)
        return end(packet)
    }

    /// A request for a key frame of one stream (RFC 5104, section 4.3.1); `sequence` goes up by one with each new request.
    package mutating func fullIntraRequest(senderSSRC: UInt32, mediaSSRC: UInt32, sequence: UInt8) -> Bool {
        guard
            var packet = begin(RTCPType.payloadFeedback, count: Int(RTCPFeedbackFormat.fullIntraRequest), length: 20)
        else { return false }
        packet.put(senderSSRC)
        packet.put(UInt32(0))
        packet.put(mediaSSRC)
        packet.put(sequence)
        packet.fill()
        return end(packet)
    }

    /// Ends up to 31 streams (RFC 3550, section 6.6).
    package mutating func goodbye(ssrcs: UnsafeBufferPointer<UInt32>) -> Bool {
        guard ssrcs.count <= 31,
            var packet = begin(RTCPType.goodbye, count: ssrcs.count, length: 4 &+ ssrcs.count &* 4)
        else { return false }
        for ssrc in ssrcs { packet.put(ssrc) }
        return end(packet)
    }

    // MARK: - One packet

    /// A packet being written. What would pass its end is not written, and noted.
    struct Packet {
        let buffer: UnsafeMutableRawBufferPointer
        let start: Int
        var cursor: Int
        let end: Int
        private(set) var overflowed = false

        init(_ buffer: UnsafeMutableRawBufferPointer, start: Int, end: Int) {
            self.buffer = buffer
            self.start = start
            self.end = end
            cursor = start
        }

        private mutating func claim(_ bytes: Int) -> Bool {
            if bytes <= end &- cursor { return true }
            overflowed = true
            return false
        }

        mutating func put(_ value: UInt8) {
            guard claim(1) else { return }
            buffer.storeBytes(of: value, toByteOffset: cursor, as: UInt8.self)
            cursor &+= 1
        }

        mutating func put(_ value: UInt16) {
            guard claim(2) else { return }
            buffer.storeBigEndian(value, at: cursor)
            cursor &+= 2
        }

        mutating func put(_ value: UInt32) {
            guard claim(4) else { return }
            buffer.storeBigEndian(value, at: cursor)
            cursor &+= 4
        }

        mutating func put(_ blocks: UnsafeBufferPointer<RTCPReportBlock>) {
            for block in blocks {
                let lost = min(max(block.cumulativeLost, -0x80_0000), 0x7F_FFFF)
                put(block.ssrc)
                put(UInt32(block.fractionLost) << 24 | UInt32(bitPattern: lost) & 0xFF_FFFF)
                put(block.highestSequence)
                put(block.jitter)
                put(block.lastSenderReport)
                put(block.delaySinceLastSenderReport)
            }
        }

        /// Zeros up to the end.
        mutating func fill() { while cursor < end { put(UInt8(0)) } }
    }

    /// Writes the common header of a packet of `length` bytes, a multiple of 4.
    func begin(_ type: UInt8, count field: Int, length: Int) -> Packet? {
        guard length <= buffer.count &- count, length >> 2 <= 0x1_0000 else { return nil }
        var packet = Packet(buffer, start: count, end: count &+ length)
        packet.put(0x80 | UInt8(truncatingIfNeeded: field) & 0x1F)
        packet.put(type)
        packet.put(UInt16(truncatingIfNeeded: length >> 2 &- 1))
        return packet
    }

    mutating func end(_ packet: Packet) -> Bool {
        guard !packet.overflowed, packet.cursor == packet.end else { return false }
        count = packet.end
        return true
    }

    /// Writes the common header of a packet that may grow up to the end of the buffer.
    func beginOpenEnded(_ type: UInt8, count field: Int) -> Packet? {
        let room = min(buffer.count &- count, 0x1_0000 &* 4) & ~3
        guard room >= 4 else { return nil }
        var packet = Packet(buffer, start: count, end: count &+ room)
        packet.put(0x80 | UInt8(truncatingIfNeeded: field) & 0x1F)
        packet.put(type)
        packet.put(UInt16(0))
        return packet
    }

    /// Pads with zero bytes to a whole word and fills in the length.
    mutating func endOpenEnded(_ packet: Packet) -> Bool {
        var packet = packet
        while (packet.cursor &- packet.start) & 3 != 0 { packet.put(UInt8(0)) }
        guard !packet.overflowed else { return false }
        let words = (packet.cursor &- packet.start) >> 2
        buffer.storeBigEndian(UInt16(truncatingIfNeeded: words &- 1), at: packet.start &+ 2)
        count = packet.cursor
        return true
    }
}
