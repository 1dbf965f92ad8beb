/// What an Opus packet says about its length in time (RFC 6716, section 3).
package struct OpusPacketHeader: Hashable, Sendable {
    /// At 48 kHz, 120...5760: the step of the RTP timestamp to the next packet.
    package var samples: Int
    package var isStereo: Bool

    /// `nil` when the packet breaks a rule of section 3.4 that can be seen without decoding.
    package init?(_ packet: RawSpan) {
        var cursor = PayloadCursor()
        guard let toc = cursor.next(packet) else { return nil }
        let configuration = Int(toc >> 3)
        let frame: Int
        switch configuration {
        case 0...11: frame = configuration & 3 == 3 ? 2_880 : 480 << (configuration & 3)
        case 12...15: frame = 480 << (configuration & 1)
        default: frame = 120 << (configuration & 3)
        }
        let frames: Int
        switch toc & 3 {
        case 0: frames = 1
        case 1:
            // Two frames of equal size [R3].
            guard packet.byteCount & 1 == 1 else { return nil }
            frames = 2
        case 2:
            // Two frames, the first with its length [R4].
            guard packet.byteCount >= 2 else { return nil }
            frames = 2
        default:
            guard let count = cursor.next(packet), count & 0x3F != 0 else { return nil }
            frames = Int(count & 0x3F)
        }
        // At most 120 ms [R5].
        guard frame &* frames <= 5_760 else { return nil }
        samples = frame &* frames
        isStereo = toc & 0x04 != 0
    }
}
