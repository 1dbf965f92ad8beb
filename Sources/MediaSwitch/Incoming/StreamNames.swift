import MediaWire

/// Where a packet says whose stream it is (RFC 9143, section 15; RFC 8852, section 3).
struct StreamNames {
    var mid: HeaderExtensionElement?
    var rid: HeaderExtensionElement?
    var repairedRid: HeaderExtensionElement?

    /// - Parameter kinds: for each extension id its kind plus one, or 0.
    init(_ header: RTPHeader, _ packet: RawSpan, kinds: UnsafePointer<UInt8>) {
        var reader = HeaderExtensionReader(header)
        while let element = reader.next(packet) {
            switch kinds[Int(element.id)] {
            case HeaderExtensionKind.mid.rawValue + 1: mid = element
            case HeaderExtensionKind.rid.rawValue + 1: rid = element
            case HeaderExtensionKind.repairedRid.rawValue + 1: repairedRid = element
            default: break
            }
        }
    }
}

extension CachedPacket {
    /// Where the picture numbers lie, for subscribers that come from another layer.
    mutating func notePictures(codec: Codec, _ payload: RawSpan) {
        switch codec {
        case .vp8:
            guard let descriptor = VP8Descriptor.parse(payload) else { return }
            pictureIDOffset = UInt8(clamping: descriptor.pictureIDOffset)
            pictureIDLength = UInt8(clamping: descriptor.pictureIDLength)
            temporalLevelOffset = UInt8(clamping: descriptor.temporalLevelOffset)
        case .vp9:
            guard let descriptor = VP9Descriptor.parse(payload) else { return }
            pictureIDOffset = UInt8(clamping: descriptor.pictureIDOffset)
            pictureIDLength = UInt8(clamping: descriptor.pictureIDLength)
            temporalLevelOffset = UInt8(clamping: descriptor.temporalLevelOffset)
        case .opus, .h264, .av1: break
        }
    }
}
