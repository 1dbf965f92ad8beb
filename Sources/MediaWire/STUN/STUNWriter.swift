/// Writes a STUN message into a buffer: the header at once, then attributes, MESSAGE-INTEGRITY, FINGERPRINT, `finish`.
///
/// What does not fit makes `finish` return `nil`; nothing is written past the buffer.
package struct STUNWriter {
    private let buffer: UnsafeMutableRawBufferPointer
    private let transactionID: STUNTransactionID
    private var count = STUNMessage.headerLength
    private var fits: Bool

    package init(
        into buffer: UnsafeMutableRawBufferPointer, kind: STUNMessage.Kind, transactionID: STUNTransactionID
    ) {
        self.buffer = buffer
        self.transactionID = transactionID
        fits = buffer.count >= STUNMessage.headerLength
        guard fits else { return }
        buffer.storeBigEndian(kind.rawValue, at: 0)
        buffer.storeBigEndian(0 as UInt16, at: 2)
        buffer.storeBigEndian(STUNMessage.magicCookie, at: 4)
        buffer.storeBigEndian(transactionID.high, at: 8)
        buffer.storeBigEndian(transactionID.low, at: 12)
    }

    /// Claims an attribute with its padding, which is zero, and returns where its value belongs.
    private mutating func place(_ type: UInt16, length: Int) -> Int? {
        let value = count &+ 4
        let padded = (length &+ 3) & ~3
        guard fits, length <= STUNMessage.longest, value &+ padded <= min(buffer.count, STUNMessage.longest) else {
            fits = false
            return nil
        }
        buffer.storeBigEndian(type, at: count)
        buffer.storeBigEndian(UInt16(truncatingIfNeeded: length), at: count &+ 2)
        for offset in length..<padded { buffer.storeBytes(of: 0, toByteOffset: value &+ offset, as: UInt8.self) }
        count = value &+ padded
        // Both checks at the end cover the header with the length up to and with themselves.
        buffer.storeBigEndian(UInt16(truncatingIfNeeded: count &- STUNMessage.headerLength), at: 2)
        return value
    }

    /// An attribute without a value, such as USE-CANDIDATE.
    package mutating func append(_ type: UInt16) { _ = place(type, length: 0) }

    package mutating func append(_ type: UInt16, uint32 number: UInt32) {
        if let offset = place(type, length: 4) { buffer.storeBigEndian(number, at: offset) }
    }

    package mutating func append(_ type: UInt16, uint64 number: UInt64) {
        if let offset = place(type, length: 8) { buffer.storeBigEndian(number, at: offset) }
    }

    package mutating func append(_ type: UInt16, text: some Collection<UInt8>) {
        guard let offset = place(type, length: text.count) else { return }
        for (index, byte) in text.enumerated() {
            buffer.storeBytes(of: byte, toByteOffset: offset &+ index, as: UInt8.self)
        }
    }

    /// XOR-MAPPED-ADDRESS (RFC 8489, section 14.2). An IPv4-mapped address is written as the IPv4 address that it stands for.
    package mutating func append(mapped address: TransportAddress) {
        let address = address.unmapped
        guard let offset = place(STUNAttribute.xorMappedAddress, length: address.isIPv4 ? 8 : 20) else { return }
        buffer.storeBigEndian(address.isIPv4 ? 1 : 2 as UInt16, at: offset)
        let port = address.port ^ UInt16(truncatingIfNeeded: STUNMessage.magicCookie >> 16)
        buffer.storeBigEndian(port, at: offset &+ 2)
        if address.isIPv4 {
            buffer.storeBigEndian(
                UInt32(truncatingIfNeeded: address.low) ^ STUNMessage.magicCookie, at: offset &+ 4)
        } else {
            let mask = UInt64(STUNMessage.magicCookie) << 32 | UInt64(transactionID.high)
            buffer.storeBigEndian(address.high ^ mask, at: offset &+ 4)
            buffer.storeBigEndian(address.low ^ transactionID.low, at: offset &+ 12)
        }
    }

    /// ERROR-CODE without a reason phrase (section 14.8).
    package mutating func append(errorCode code: Int) {
        let word = UInt32(truncatingIfNeeded: code / 100) << 8 | UInt32(truncatingIfNeeded: code % 100)
        append(STUNAttribute.errorCode, uint32: word)
    }

    /// UNKNOWN-ATTRIBUTES with the one that an answer is about (section 14.9).
    package mutating func append(unknown type: UInt16) {
        if let offset = place(STUNAttribute.unknownAttributes, length: 2) { buffer.storeBigEndian(type, at: offset) }
    }

    /// Claims MESSAGE-INTEGRITY. The caller computes the HMAC-SHA1 of the buffer up to the offset returned, and stores
    /// its 20 bytes 4 bytes behind it. `nil`: it did not fit.
    package mutating func reserveIntegrity() -> Int? {
        place(STUNAttribute.messageIntegrity, length: 20).map { $0 &- 4 }
    }

    package mutating func appendFingerprint() {
        guard let offset = place(STUNAttribute.fingerprint, length: 4) else { return }
        let sum = STUNFingerprint.checksum(UnsafeRawBufferPointer(rebasing: buffer[..<(offset &- 4)]).bytes)
        buffer.storeBigEndian(sum ^ STUNMessage.fingerprintMask, at: offset)
    }

    /// The length of the message; `nil`: something did not fit.
    package func finish() -> Int? { fits ? count : nil }
}
