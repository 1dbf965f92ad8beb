import MediaWire

/// Header extensions: end-to-end ones are kept with the packet and written for each subscriber under its own ids; those of one
/// hop end here.
extension Switchboard {
    /// Notes the bytes that the end-to-end extensions of a packet take in the cache, (kind, length, bytes) each, and the form that they
    /// need.
    func noteEndToEnd(
        _ header: RTPHeader, _ packet: RawSpan, kinds: UnsafePointer<UInt8>, in cached: inout CachedPacket
    ) {
        guard header.extensionLength > 0 else { return }
        var length = 0
        var reader = HeaderExtensionReader(header)
        while let element = reader.next(packet) {
            guard isEndToEnd(kinds[Int(element.id)]), element.length <= 255, length &+ element.length &+ 2 <= 400 else {
                continue
            }
            length &+= element.length &+ 2
            if RTPHeaderWriter.needsTwoByteForm(id: 1, length: element.length) { cached.hasLongExtension = true }
        }
        cached.extensionLength = UInt16(truncatingIfNeeded: length)
    }

    func writeEndToEnd(
        _ header: RTPHeader, _ packet: UnsafeRawBufferPointer, kinds: UnsafePointer<UInt8>,
        into target: UnsafeMutableRawPointer
    ) {
        guard let source = packet.baseAddress else { return }
        var offset = 0
        var reader = HeaderExtensionReader(header)
        while let element = reader.next(packet.bytes) {
            guard isEndToEnd(kinds[Int(element.id)]), element.length <= 255, offset &+ element.length &+ 2 <= 400 else {
                continue
            }
            target.storeBytes(of: kinds[Int(element.id)] &- 1, toByteOffset: offset, as: UInt8.self)
            target.storeBytes(of: UInt8(truncatingIfNeeded: element.length), toByteOffset: offset &+ 1, as: UInt8.self)
            (target + offset + 2).copyMemory(from: source + element.offset, byteCount: element.length)
            offset &+= element.length &+ 2
        }
    }

    @inline(__always) private func isEndToEnd(_ kindPlusOne: UInt8) -> Bool {
        kindPlusOne > 0 && HeaderExtensionKind(rawValue: kindPlusOne &- 1)?.isEndToEnd == true
    }

    /// What this subscriber negotiated, under its own ids; what it did not is dropped here.
    func writeExtensions(
        _ content: UnsafeRawPointer, length: Int, for subscription: UnsafeMutablePointer<Subscription>,
        _ writer: inout RTPHeaderWriter
    ) {
        var offset = 0
        while offset &+ 2 <= length {
            let kind = Int(content.load(fromByteOffset: offset, as: UInt8.self))
            let count = Int(content.load(fromByteOffset: offset &+ 1, as: UInt8.self))
            let id = kind < 16 ? subscription.pointee.extensionIDs[kind] : 0
            if id != 0 {
                _ = writer.append(id: id, bytes: UnsafeRawBufferPointer(start: content + offset + 2, count: count))
            }
            offset &+= 2 &+ count
        }
        let midID = subscription.pointee.extensionIDs[Int(HeaderExtensionKind.mid.rawValue)]
        guard midID != 0, subscription.pointee.mid.count > 0 else { return }
        withUnsafeBytes(of: subscription.pointee.mid.content) { bytes in
            _ = writer.append(
                id: midID, bytes: UnsafeRawBufferPointer(rebasing: bytes[..<Int(subscription.pointee.mid.count)]))
        }
    }
}
