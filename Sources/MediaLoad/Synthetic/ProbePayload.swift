/// A small payload that tells whose it is, which one, and when it was sent: for tests of packet rates, where no codec could keep up.
/// It begins like an Opus packet (RFC 6716, section 3.1: 20 ms of CELT, full band), and says no sound.
package struct ProbePayload: Hashable, Sendable {
    package var counter: UInt32
    /// Microseconds since 1970; 56 bits are kept.
    package var microseconds: UInt64
    package var publisher: UInt16

    package init(counter: UInt32, microseconds: UInt64, publisher: UInt16) {
        self.counter = counter
        self.microseconds = microseconds & (1 << 56 - 1)
        self.publisher = publisher
    }

    /// In bytes: the first byte, 2 of publisher, 4 of counter, 7 of time, 2 of checksum.
    package static let smallestSize = 16
    private static let firstByte: UInt8 = 0xF8

    /// - Parameter size: in bytes; what is over is filled with a pattern that the checksum does not cover.
    package func encoded(size: Int) -> [UInt8] {
        var bytes: [UInt8] = [Self.firstByte]
        bytes.reserveCapacity(max(size, Self.smallestSize))
        for shift in [8, 0] as [UInt16] { bytes.append(UInt8(truncatingIfNeeded: publisher >> shift)) }
        for shift in [24, 16, 8, 0] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: counter >> shift)) }
        for shift in [48, 40, 32, 24, 16, 8, 0] as [UInt64] {
            bytes.append(UInt8(truncatingIfNeeded: microseconds >> shift))
        }
        let sum = Self.checksum(bytes[...])
        bytes.append(UInt8(truncatingIfNeeded: sum >> 8))
        bytes.append(UInt8(truncatingIfNeeded: sum))
        while bytes.count < size { bytes.append(UInt8(truncatingIfNeeded: bytes.count)) }
        return bytes
    }

    /// `nil`: too short, or the checksum is wrong.
    package init?(_ payload: RawSpan) {
        guard payload.byteCount >= Self.smallestSize else { return nil }
        let bytes = payload.withUnsafeBytes { Array($0.prefix(Self.smallestSize)) }
        guard bytes[0] == Self.firstByte, UInt16(bytes[14]) << 8 | UInt16(bytes[15]) == Self.checksum(bytes[..<14])
        else { return nil }
        self.init(
            counter: bytes[3..<7].reduce(0) { $0 << 8 | UInt32($1) },
            microseconds: bytes[7..<14].reduce(0) { $0 << 8 | UInt64($1) },
            publisher: UInt16(bytes[1]) << 8 | UInt16(bytes[2]))
    }

    /// FNV-1a (32 bits), folded to 16.
    private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt16 {
        var hash: UInt32 = 0x811C_9DC5
        for byte in bytes { hash = (hash ^ UInt32(byte)) &* 0x0100_0193 }
        return UInt16(truncatingIfNeeded: hash >> 16 ^ hash)
    }
}
