/// Reads a payload byte by byte; the end is an answer, not a trap.
struct PayloadCursor {
    private(set) var offset = 0

    mutating func next(_ payload: RawSpan) -> UInt8? {
        guard offset < payload.byteCount else { return nil }
        // The offset was checked above, and every byte is a UInt8.
        defer { offset &+= 1 }
        return payload.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }

    /// `false` when less than `count` bytes are left.
    mutating func skip(_ count: Int, _ payload: RawSpan) -> Bool {
        guard count >= 0, payload.byteCount &- offset >= count else { return false }
        offset &+= count
        return true
    }
}
