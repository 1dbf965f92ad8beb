import MediaWire

/// The payload of Opus with redundancy (RFC 2198): headers, blocks of earlier packets, and the primary one at the end.
enum RedundantAudio {
    /// More blocks than this are nobody's real packet.
    static var blockLimit: Int { 16 }

    /// Where the primary block starts; `nil`: malformed, or nothing in it.
    static func primaryOffset(_ payload: RawSpan) -> Int? {
        var cursor = 0
        var blocks = 0
        for _ in 0..<blockLimit {
            guard cursor < payload.byteCount else { return nil }
            let first = payload.unsafeLoad(fromByteOffset: cursor, as: UInt8.self)
            if first & 0x80 == 0 {
                let primary = cursor &+ 1 &+ blocks
                return primary < payload.byteCount ? primary : nil
            }
            guard cursor &+ 4 <= payload.byteCount else { return nil }
            // F and PT, 14 bits of timestamp offset, 10 bits of length.
            let low = payload.unsafeLoad(fromByteOffset: cursor &+ 2, as: UInt8.self)
            let lowest = payload.unsafeLoad(fromByteOffset: cursor &+ 3, as: UInt8.self)
            blocks &+= Int(low & 0x03) << 8 | Int(lowest)
            cursor &+= 4
        }
        return nil
    }

    /// Names the blocks' payload type as the subscriber knows it. The payload has passed `primaryOffset`.
    static func rename(_ payload: UnsafeMutableRawBufferPointer, to type: UInt8) {
        var cursor = 0
        while cursor < payload.count {
            let first = payload[cursor]
            payload[cursor] = first & 0x80 | type
            if first & 0x80 == 0 { return }
            cursor &+= 4
        }
    }
}
