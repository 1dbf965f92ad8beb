/// The VP8 payload descriptor as the depacketizer needs it (RFC 7741, section 4.2).
package struct VP8PayloadHeader: Hashable, Sendable {
    /// Where the VP8 bytes begin: 1...6.
    package var length: Int
    /// The payload begins a frame: S with partition 0.
    package var isStart: Bool
    /// 7 or 15 bits, as it was sent.
    package var pictureID: UInt16?

    /// `nil` when the payload ends inside the descriptor.
    package init?(_ payload: RawSpan) {
        var cursor = PayloadCursor()
        guard let first = cursor.next(payload) else { return nil }
        isStart = first & 0x10 != 0 && first & 0x07 == 0
        if first & 0x80 != 0 {
            guard let extensions = cursor.next(payload) else { return nil }
            if extensions & 0x80 != 0 {
                guard let high = cursor.next(payload) else { return nil }
                pictureID = UInt16(high)
                if high & 0x80 != 0 {
                    guard let low = cursor.next(payload) else { return nil }
                    pictureID = UInt16(high & 0x7F) << 8 | UInt16(low)
                }
            }
            // TL0PICIDX, then one byte that TID and KEYIDX share.
            if extensions & 0x40 != 0, !cursor.skip(1, payload) { return nil }
            if extensions & 0x30 != 0, !cursor.skip(1, payload) { return nil }
        }
        length = cursor.offset
    }

    /// Whether assembled bytes begin a key frame; `nil` if they are no VP8 frame (RFC 6386, section 9.1).
    package static func isKeyFrame(_ frame: [UInt8]) -> Bool? {
        guard frame.count >= 3 else { return nil }
        // The frame tag's lowest bit is 0 on key frames; then come a start code and the size of the picture.
        guard frame[0] & 1 == 0 else { return false }
        guard frame.count >= 10, frame[3] == 0x9D, frame[4] == 0x01, frame[5] == 0x2A else { return nil }
        return true
    }
}
