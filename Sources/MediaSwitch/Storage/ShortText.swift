/// Up to 32 bytes of text in place, such as a MID: compared and written without a String.
struct ShortText {
    static var capacity: Int { 32 }

    private(set) var count: UInt8 = 0
    private(set) var content = InlineArray<32, UInt8>(repeating: 0)

    /// `nil` when the text is longer than 32 bytes of UTF-8.
    init?(_ text: String) {
        guard text.utf8.count <= Self.capacity else { return nil }
        for byte in text.utf8 {
            content[Int(count)] = byte
            count += 1
        }
    }

    init() {}

    @inline(__always) subscript(place: Int) -> UInt8 { content[place] }

    func equals(_ other: RawSpan, offset: Int, length: Int) -> Bool {
        guard length == Int(count), offset >= 0, offset &+ length <= other.byteCount else { return false }
        for place in 0..<length
        where other.unsafeLoad(fromByteOffset: offset &+ place, as: UInt8.self) != content[place] { return false }
        return true
    }
}
