import MediaWire
import Testing

/// Bytes of hex digits; everything that is not one (spaces, bars) only separates.
func wireBytes(_ hex: some StringProtocol) -> [UInt8] {
    let digits = hex.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

func wireHex(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
}

extension SeededRandom {
    mutating func uint8() -> UInt8 { .random(in: 0...255, using: &self) }
    mutating func uint16() -> UInt16 { .random(in: 0...0xFFFF, using: &self) }
    mutating func uint32() -> UInt32 { .random(in: 0...0xFFFF_FFFF, using: &self) }
    mutating func chance(_ n: Int) -> Bool { Int.random(in: 0..<n, using: &self) == 0 }
}

/// Runs `write` on a buffer of `capacity` bytes that is full of 0xEE, with 16 guard bytes behind it, and returns what it says it
/// wrote. A byte behind the buffer that changed is a failure.
func written(
    _ capacity: Int, sourceLocation: SourceLocation = #_sourceLocation,
    _ write: (UnsafeMutableRawBufferPointer) -> Int?
) -> [UInt8]? {
    var storage = [UInt8](repeating: 0xEE, count: capacity + 16)
    let count = storage.withUnsafeMutableBytes { write(.init(rebasing: $0[..<capacity])) }
    #expect(storage[capacity...].allSatisfy { $0 == 0xEE }, "wrote past the end", sourceLocation: sourceLocation)
    guard let count else { return nil }
    #expect(count <= capacity, sourceLocation: sourceLocation)
    return Array(storage[..<count])
}
