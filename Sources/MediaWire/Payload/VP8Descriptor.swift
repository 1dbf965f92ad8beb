/// The VP8 payload descriptor (RFC 7741, section 4.2).
package struct VP8Descriptor: Equatable, Sendable {
    /// N: no other frame refers to this one.
    package var isNonReference = false
    /// S: a partition starts with this payload.
    package var startsPartition = false
    /// PID: 0...7; the frame's first partition is 0.
    package var partitionIndex: UInt8 = 0
    /// 7 or 15 bits; valid if `pictureIDLength` is not 0.
    package var pictureID: UInt16 = 0
    /// 0: absent, 1: 7 bits, 2: 15 bits.
    package var pictureIDLength = 0
    /// Where it lies in the payload, the M bit included.
    package var pictureIDOffset = 0
    /// Counts frames of the temporal base layer; valid if `temporalLevelOffset` is not 0.
    package var temporalLevelZeroIndex: UInt8 = 0
    /// Where TL0PICIDX lies in the payload; 0: absent.
    package var temporalLevelOffset = 0
    /// TID, 0...3; 0 if absent.
    package var temporalLayer: UInt8 = 0
    /// Y: this frame of a higher temporal layer depends on the base layer only, so a receiver can go up here.
    package var isLayerSync = false
    /// T: whether TID and Y are there.
    package var hasTemporalLayer = false
    /// KEYIDX, 0...31; valid if `hasKeyIndex`.
    package var keyIndex: UInt8 = 0
    /// K: whether KEYIDX is there.
    package var hasKeyIndex = false
    /// Length of the descriptor, 1...6 bytes: where the VP8 data starts.
    package var length = 0

    package init() {}

    /// `nil`: the descriptor is cut off. There need not be a byte behind it.
    @inlinable package static func parse(_ payload: RawSpan) -> VP8Descriptor? {
        let count = payload.byteCount
        guard count >= 1 else { return nil }
        let first = payload.octet(at: 0)
        var result = VP8Descriptor()
        result.isNonReference = first & 0x20 != 0
        result.startsPartition = first & 0x10 != 0
        result.partitionIndex = first & 0x07
        result.length = 1
        guard first & 0x80 != 0 else { return result }

        guard count >= 2 else { return nil }
        let flags = payload.octet(at: 1)
        var cursor = 2
        if flags & 0x80 != 0 {
            guard cursor < count else { return nil }
            let high = payload.octet(at: cursor)
            result.pictureIDOffset = cursor
            if high & 0x80 != 0 {
                guard cursor &+ 1 < count else { return nil }
                result.pictureID = payload.bigEndian16(at: cursor) & 0x7FFF
                result.pictureIDLength = 2
            } else {
                result.pictureID = UInt16(high)
                result.pictureIDLength = 1
            }
            cursor &+= result.pictureIDLength
        }
        if flags & 0x40 != 0 {
            guard cursor < count else { return nil }
            result.temporalLevelZeroIndex = payload.octet(at: cursor)
            result.temporalLevelOffset = cursor
            cursor &+= 1
        }
        // T and K share one byte; the half whose flag is off has no meaning.
        if flags & 0x30 != 0 {
            guard cursor < count else { return nil }
            let byte = payload.octet(at: cursor)
            if flags & 0x20 != 0 {
                result.hasTemporalLayer = true
                result.temporalLayer = byte >> 6
                result.isLayerSync = byte & 0x20 != 0
            }
            if flags & 0x10 != 0 {
                result.hasKeyIndex = true
                result.keyIndex = byte & 0x1F
            }
            cursor &+= 1
        }
        result.length = cursor
        return result
    }

    /// A frame starts with the start of its first partition.
    @inlinable package var startsFrame: Bool { startsPartition && partitionIndex == 0 }

    /// The key frame bit is the inverse of the first VP8 byte's lowest bit (RFC 7741, section 4.3); without that byte no
    /// claim is made.
    package func facts(_ payload: RawSpan, marker: Bool) -> PayloadFacts {
        let isKeyFrame = startsFrame && length < payload.byteCount && payload.octet(at: length) & 1 == 0
        return PayloadFacts(
            isKeyFrame: isKeyFrame, startsFrame: startsFrame, endsFrame: marker, temporalLayer: temporalLayer)
    }
}
