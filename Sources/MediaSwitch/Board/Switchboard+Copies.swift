import MediaContract
import MediaTransport
import MediaWire

/// What one subscriber gets of a packet, byte for byte.
extension Switchboard {
    /// Writes one copy, unsealed. The same packet and number always give the same bytes, so that a retransmission is a repetition and
    /// never a second plaintext under one key stream.
    @inline(__always) mutating func write(
        _ packet: UnsafePointer<CachedPacket>, _ content: UnsafeRawPointer,
        for subscription: UnsafeMutablePointer<Subscription>, number: Int64, into slot: Int, encoding: Int
    ) -> Bool {
        let buffer = outbox.bytes(of: slot)
        var payload = content + Int(packet.pointee.extensionLength)
        var payloadLength = Int(packet.pointee.payloadLength)
        var payloadType = subscription.pointee.payloadType
        if packet.pointee.isRedundant {
            if subscription.pointee.redPayloadType != Track.noPayloadType {
                payloadType = subscription.pointee.redPayloadType
            } else {
                payload += Int(packet.pointee.primaryOffset)
                payloadLength &-= Int(packet.pointee.primaryOffset)
            }
        }
        var writer = RTPHeaderWriter(
            into: buffer, marker: packet.pointee.marker, payloadType: payloadType,
            sequenceNumber: UInt16(truncatingIfNeeded: number),
            timestamp: packet.pointee.timestamp &+ subscription.pointee.timestampOffset,
            ssrc: subscription.pointee.ssrc,
            twoByte: subscription.pointee.form.isTwoByte(hasLongElement: packet.pointee.hasLongExtension))
        if subscription.pointee.hasExtensions {
            writeExtensions(content, length: Int(packet.pointee.extensionLength), for: subscription, &writer)
        }
        guard let headerLength = writer.finish(),
            headerLength &+ payloadLength &+ 16 <= Outbox.slotSize, let base = buffer.baseAddress
        else {
            drops.count(.headerTooLarge)
            outbox.giveBack(slot)
            return false
        }
        (base + headerLength).copyMemory(from: payload, byteCount: payloadLength)
        if encodings[encoding].pointee.hasSiblings {
            writePictures(packet, for: subscription, in: base + headerLength)
        }
        if payloadType == subscription.pointee.redPayloadType, packet.pointee.isRedundant {
            RedundantAudio.rename(
                UnsafeMutableRawBufferPointer(start: base + headerLength, count: payloadLength),
                to: subscription.pointee.payloadType)
        }
        let entry = outbox.slots + slot
        entry.pointee.length = Int32(truncatingIfNeeded: headerLength &+ payloadLength)
        entry.pointee.headerLength = UInt16(truncatingIfNeeded: headerLength)
        entry.pointee.ssrc = subscription.pointee.ssrc
        entry.pointee.index = UInt64(bitPattern: number) & 0xFFFF_FFFF_FFFF
        entry.pointee.encoding = Int32(truncatingIfNeeded: encoding)
        entry.pointee.isVideo = encodings[encoding].pointee.isVideo
        entry.pointee.isSealed = false
        subscription.pointee.lastTimestamp = packet.pointee.timestamp &+ subscription.pointee.timestampOffset
        return true
    }

    /// Writes a packet once more, for the stream that repairs its own (RFC 4588, section 4): every one has a number of its own, so
    /// no key stream is used twice.
    mutating func writeRepair(
        _ packet: UnsafePointer<CachedPacket>, _ content: UnsafeRawPointer,
        for subscription: UnsafeMutablePointer<Subscription>, number original: Int64, into slot: Int, encoding: Int
    ) -> Bool {
        guard write(packet, content, for: subscription, number: original, into: slot, encoding: encoding),
            let base = outbox.bytes(of: slot).baseAddress
        else { return false }
        let entry = outbox.slots + slot
        let headerLength = Int(entry.pointee.headerLength)
        let length = Int(entry.pointee.length)
        guard length &+ 2 &+ 16 <= Outbox.slotSize else {
            drops.count(.headerTooLarge)
            outbox.giveBack(slot)
            return false
        }
        let payload = base + headerLength
        // The regions overlap.
        (payload + 2).copyMemory(from: payload, byteCount: length &- headerLength)
        payload.storeBytes(of: UInt16(truncatingIfNeeded: original).bigEndian, as: UInt16.self)
        let number = subscription.pointee.nextRepair
        subscription.pointee.nextRepair &+= 1
        let second = base.load(fromByteOffset: 1, as: UInt8.self) & 0x80 | subscription.pointee.rtxPayloadType
        base.storeBytes(of: second, toByteOffset: 1, as: UInt8.self)
        base.storeBytes(of: UInt16(truncatingIfNeeded: number).bigEndian, toByteOffset: 2, as: UInt16.self)
        base.storeBytes(of: subscription.pointee.rtxSSRC.bigEndian, toByteOffset: 8, as: UInt32.self)
        entry.pointee.length = Int32(truncatingIfNeeded: length &+ 2)
        entry.pointee.ssrc = subscription.pointee.rtxSSRC
        entry.pointee.index = UInt64(bitPattern: number) & 0xFFFF_FFFF_FFFF
        return true
    }
}
