/// The VP9 payload descriptor as the depacketizer needs it (RFC 9628, section 4.2).
package struct VP9PayloadHeader: Hashable, Sendable {
    /// Where the VP9 bytes begin.
    package var length: Int
    /// B and E: the payload begins or ends the frame of one layer.
    package var isStart: Bool
    package var isEnd: Bool
    /// P: the frame depends on another picture.
    package var isInterPicture: Bool
    /// 7 or 15 bits, as it was sent.
    package var pictureID: UInt16?
    package var spatialLayer: UInt8 = 0
    package var temporalLayer: UInt8 = 0

    /// `nil` when the payload ends inside the descriptor, or when a fourth reference follows.
    package init?(_ payload: RawSpan) {
        var cursor = PayloadCursor()
        guard let first = cursor.next(payload) else { return nil }
        isInterPicture = first & 0x40 != 0
        isStart = first & 0x08 != 0
        isEnd = first & 0x04 != 0
        let isFlexible = first & 0x10 != 0
        if first & 0x80 != 0 {
            guard let high = cursor.next(payload) else { return nil }
            pictureID = UInt16(high)
            if high & 0x80 != 0 {
                guard let low = cursor.next(payload) else { return nil }
                pictureID = UInt16(high & 0x7F) << 8 | UInt16(low)
            }
        }
        if first & 0x20 != 0 {
            guard let layers = cursor.next(payload) else { return nil }
            temporalLayer = layers >> 5
            spatialLayer = layers >> 1 & 0x07
            // TL0PICIDX is there only in non-flexible mode.
            if !isFlexible, !cursor.skip(1, payload) { return nil }
        }
        if isFlexible, isInterPicture {
            // Up to three references; N says that one more follows.
            var count = 0
            var more = true
            while more {
                guard count < 3, let reference = cursor.next(payload) else { return nil }
                more = reference & 1 != 0
                count &+= 1
            }
        }
        if first & 0x02 != 0, !Self.skipStructure(&cursor, payload) { return nil }
        length = cursor.offset
    }

    /// The scalability structure (section 4.2.1): sizes per spatial layer, then the picture group.
    private static func skipStructure(_ cursor: inout PayloadCursor, _ payload: RawSpan) -> Bool {
        guard let head = cursor.next(payload) else { return false }
        let layers = Int(head >> 5) &+ 1
        if head & 0x10 != 0, !cursor.skip(layers &* 4, payload) { return false }
        guard head & 0x08 != 0 else { return true }
        guard let pictures = cursor.next(payload) else { return false }
        for _ in 0..<pictures {
            guard let picture = cursor.next(payload), cursor.skip(Int(picture >> 2 & 0x03), payload) else {
                return false
            }
        }
        return true
    }

    /// Whether assembled bytes begin a key frame; `nil` if they are no VP9 frame (bitstream specification, section 6.2).
    package static func isKeyFrame(_ frame: [UInt8]) -> Bool? {
        guard let first = frame.first, first >> 6 == 2 else { return nil }
        // Frame marker (2 bits), profile low and high bit, one reserved bit with profile 3, show_existing_frame,
        // frame_type (0: key frame), show_frame, error_resilient_mode, then the sync code on key frames.
        let hasReservedBit = first & 0x30 == 0x30
        let flags = hasReservedBit ? first << 1 : first
        if flags & 0x08 != 0 { return false }
        if flags & 0x04 != 0 { return false }
        guard frame.count >= 5 else { return nil }
        if hasReservedBit { return true }
        return frame[1] == 0x49 && frame[2] == 0x83 && frame[3] == 0x42 ? true : nil
    }
}
