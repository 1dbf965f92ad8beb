/// The VP9 payload descriptor (RFC 9628, section 4.2), in the flexible and the non-flexible mode.
package struct VP9Descriptor: Equatable, Sendable {
    /// P: the frame refers to earlier pictures.
    package var isInterPredicted = false
    /// F: references are listed in the packet.
    package var isFlexible = false
    /// B: a layer frame starts with this payload.
    package var startsFrame = false
    /// E: a layer frame ends with this payload.
    package var endsFrame = false
    /// Z: no higher spatial layer of a following picture refers to this layer frame.
    package var isNotReferenceForUpperLayers = false
    /// 7 or 15 bits; valid if `pictureIDLength` is not 0.
    package var pictureID: UInt16 = 0
    /// 0: absent, 1: 7 bits, 2: 15 bits.
    package var pictureIDLength = 0
    /// Where it lies in the payload, the M bit included.
    package var pictureIDOffset = 0
    /// L: whether the layer indices are there.
    package var hasLayers = false
    /// TID, 0...7.
    package var temporalLayer: UInt8 = 0
    /// U: a receiver can go up to this temporal layer here.
    package var isSwitchingUpPoint = false
    /// SID, 0...7.
    package var spatialLayer: UInt8 = 0
    /// D: refers to the next lower spatial layer of the same picture.
    package var isInterLayerPredicted = false
    /// Counts pictures of the temporal base layer; valid if `temporalLevelOffset` is not 0.
    package var temporalLevelZeroIndex: UInt8 = 0
    /// Where TL0PICIDX lies in the payload; 0: absent (always in the flexible mode).
    package var temporalLevelOffset = 0
    /// Flexible mode: how many earlier pictures are referred to, 0...3, and how many pictures back they lie (1...127).
    package var referenceCount = 0
    package var references: (UInt8, UInt8, UInt8) = (0, 0, 0)
    /// V: the scalability structure.
    package var structure: ScalabilityStructure?
    /// Length of the descriptor in bytes: where the VP9 data starts.
    package var length = 0

    /// What layers the stream has (RFC 9628, section 4.2.1).
    package struct ScalabilityStructure: Equatable, Sendable {
        /// N_S + 1: 1...8.
        package var spatialLayerCount = 1
        /// Where the width and height of each spatial layer lie in the payload, 4 bytes a layer, lowest first; 0: absent.
        package var resolutionsOffset = 0
        /// N_G: pictures in the picture group, 0...255; 0 as well when not said.
        package var pictureGroupSize = 0

        /// Width and height in pixels of a spatial layer.
        package func resolution(ofLayer layer: Int, _ payload: RawSpan) -> (width: UInt16, height: UInt16)? {
            let offset = resolutionsOffset &+ layer &* 4
            guard resolutionsOffset > 0, layer >= 0, layer < spatialLayerCount, offset <= payload.byteCount &- 4
            else { return nil }
            return (payload.bigEndian16(at: offset), payload.bigEndian16(at: offset &+ 2))
        }
    }

    package init() {}

    package static func == (a: VP9Descriptor, b: VP9Descriptor) -> Bool {
        a.isInterPredicted == b.isInterPredicted && a.isFlexible == b.isFlexible && a.startsFrame == b.startsFrame
            && a.endsFrame == b.endsFrame && a.isNotReferenceForUpperLayers == b.isNotReferenceForUpperLayers
            && a.pictureID == b.pictureID && a.pictureIDLength == b.pictureIDLength
            && a.pictureIDOffset == b.pictureIDOffset && a.hasLayers == b.hasLayers
            && a.temporalLayer == b.temporalLayer && a.isSwitchingUpPoint == b.isSwitchingUpPoint
            && a.spatialLayer == b.spatialLayer && a.isInterLayerPredicted == b.isInterLayerPredicted
            && a.temporalLevelZeroIndex == b.temporalLevelZeroIndex && a.temporalLevelOffset == b.temporalLevelOffset
            && a.referenceCount == b.referenceCount && a.references == b.references && a.structure == b.structure
            && a.length == b.length
    }

    /// `nil`: the descriptor is cut off, or lists more than three references.
    package static func parse(_ payload: RawSpan) -> VP9Descriptor? {
        let count = payload.byteCount
        guard count >= 1 else { return nil }
        let flags = payload.octet(at: 0)
        var result = VP9Descriptor()
        result.isInterPredicted = flags & 0x40 != 0
        result.isFlexible = flags & 0x10 != 0
        result.startsFrame = flags & 0x08 != 0
        result.endsFrame = flags & 0x04 != 0
        result.isNotReferenceForUpperLayers = flags & 0x01 != 0
        var cursor = 1
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
        if flags & 0x20 != 0 {
            guard result.parseLayers(payload, &cursor) else { return nil }
        }
        if result.isFlexible, result.isInterPredicted {
            guard result.parseReferences(payload, &cursor) else { return nil }
        }
        if flags & 0x02 != 0 {
            guard let structure = parseStructure(payload, &cursor) else { return nil }
            result.structure = structure
        }
        result.length = cursor
        return result
    }

    private mutating func parseLayers(_ payload: RawSpan, _ cursor: inout Int) -> Bool {
        guard cursor < payload.byteCount else { return false }
        let byte = payload.octet(at: cursor)
        cursor &+= 1
        hasLayers = true
        temporalLayer = byte >> 5
        isSwitchingUpPoint = byte & 0x10 != 0
        spatialLayer = byte >> 1 & 0x07
        isInterLayerPredicted = byte & 0x01 != 0
        if isFlexible { return true }
        guard cursor < payload.byteCount else { return false }
        temporalLevelZeroIndex = payload.octet(at: cursor)
        temporalLevelOffset = cursor
        cursor &+= 1
        return true
    }

    private mutating func parseReferences(_ payload: RawSpan, _ cursor: inout Int) -> Bool {
        while true {
            guard referenceCount < 3, cursor < payload.byteCount else { return false }
            let byte = payload.octet(at: cursor)
            cursor &+= 1
            switch referenceCount {
            case 0: references.0 = byte >> 1
            case 1: references.1 = byte >> 1
            default: references.2 = byte >> 1
            }
            referenceCount &+= 1
            // N: another reference follows.
            if byte & 0x01 == 0 { return true }
        }
    }

    private static func parseStructure(_ payload: RawSpan, _ cursor: inout Int) -> ScalabilityStructure? {
        let count = payload.byteCount
        guard cursor < count else { return nil }
        let head = payload.octet(at: cursor)
        cursor &+= 1
        var result = ScalabilityStructure()
        result.spatialLayerCount = Int(head >> 5) &+ 1
        // Y: resolutions.
        if head & 0x10 != 0 {
            guard result.spatialLayerCount &* 4 <= count &- cursor else { return nil }
            result.resolutionsOffset = cursor
            cursor &+= result.spatialLayerCount &* 4
        }
        // G: the picture group.
        if head & 0x08 != 0 {
            guard cursor < count else { return nil }
            result.pictureGroupSize = Int(payload.octet(at: cursor))
            cursor &+= 1
            for _ in 0..<result.pictureGroupSize {
                guard cursor < count else { return nil }
                // TID (3), U, R (2), then R bytes of references.
                let references = Int(payload.octet(at: cursor) >> 2 & 0x03)
                cursor &+= 1
                guard references <= count &- cursor else { return nil }
                cursor &+= references
            }
        }
        return result
    }

    package func facts(_ payload: RawSpan, marker: Bool) -> PayloadFacts {
        PayloadFacts(
            isKeyFrame: startsFrame && spatialLayer == 0 && !isInterPredicted && startsKeyFrameData(payload),
            startsFrame: startsFrame, endsFrame: endsFrame || marker, spatialLayer: spatialLayer,
            temporalLayer: temporalLayer)
    }

    /// Whether the VP9 data itself begins with a key frame. The P bit alone does not tell: an intra-only frame has it clear
    /// as well, and so has every packet of a sender that does not fill it in (FFmpeg's).
    ///
    /// VP9 bitstream specification, section 6.2, from the highest bit: frame_marker (2 bits, `10`), profile low and high
    /// bit, a reserved bit for profile 3 only, show_existing_frame, frame_type (0: key frame).
    private func startsKeyFrameData(_ payload: RawSpan) -> Bool {
        guard length < payload.byteCount else { return false }
        let byte = payload.octet(at: length)
        guard byte >> 6 == 0b10 else { return false }
        let isProfile3 = byte & 0x30 == 0x30
        let flags = (isProfile3 ? byte >> 1 : byte >> 2) & 0x03
        return flags == 0
    }
}
