/// What tells a STUN response which request it belongs to: 96 random bits (RFC 8489, section 5).
package struct STUNTransactionID: Hashable, Sendable {
    package var high: UInt32
    package var low: UInt64

    @inlinable package init(high: UInt32, low: UInt64) {
        self.high = high
        self.low = low
    }

    package init(using random: inout some RandomNumberGenerator) {
        high = UInt32(truncatingIfNeeded: random.next() as UInt64)
        low = random.next()
    }
}

/// Attributes that ICE uses, or that must at least be understood (RFC 8489, section 18.3; RFC 8445, section 16.1).
package enum STUNAttribute {
    package static let mappedAddress: UInt16 = 0x0001
    package static let username: UInt16 = 0x0006
    package static let messageIntegrity: UInt16 = 0x0008
    package static let errorCode: UInt16 = 0x0009
    package static let unknownAttributes: UInt16 = 0x000A
    package static let realm: UInt16 = 0x0014
    package static let nonce: UInt16 = 0x0015
    package static let messageIntegritySHA256: UInt16 = 0x001C
    package static let xorMappedAddress: UInt16 = 0x0020
    package static let priority: UInt16 = 0x0024
    package static let useCandidate: UInt16 = 0x0025
    package static let software: UInt16 = 0x8022
    package static let fingerprint: UInt16 = 0x8028
    package static let iceControlled: UInt16 = 0x8029
    package static let iceControlling: UInt16 = 0x802A
}

/// A STUN message of the method Binding (RFC 8489), as values and offsets into the datagram it was read from.
///
/// Nothing here is authenticated: that takes the password. After MESSAGE-INTEGRITY only FINGERPRINT counts (section 14.5), and
/// of an attribute that stands there twice, the first (section 14).
package struct STUNMessage: Equatable, Sendable {
    /// RFC 8489, section 5: method and class of the Binding method.
    package enum Kind: UInt16, Sendable {
        case request = 0x0001
        case indication = 0x0011
        case success = 0x0101
        case error = 0x0111
    }

    /// Bytes of the header.
    package static let headerLength = 20
    /// Bytes 4 to 8 of every message.
    package static let magicCookie: UInt32 = 0x2112_A442
    /// No longer message is looked at: a USERNAME has 513 bytes at most, and checks must not need fragments.
    package static let longest = 1500
    /// What FINGERPRINT is XORed with (section 14.7).
    static let fingerprintMask: UInt32 = 0x5354_554E

    package var kind: Kind
    package var transactionID: STUNTransactionID
    /// Where the value of USERNAME lies; empty: there is none.
    package var username = 0..<0
    /// Where the attribute MESSAGE-INTEGRITY begins, and the bytes that it covers end; 0: there is none.
    package var integrityOffset = 0
    package var hasFingerprint = false
    package var priority: UInt32?
    package var usesCandidate = false
    package var isControlling = false
    package var isControlled = false
    /// Of whichever of the two roles is there.
    package var tieBreaker: UInt64 = 0
    /// XOR-MAPPED-ADDRESS, plain.
    package var mappedAddress: TransportAddress?
    /// 300...699; 0: there is no ERROR-CODE.
    package var errorCode = 0
    /// The first attribute that must be understood (below 0x8000) and is not; 0: none.
    package var unknownAttribute: UInt16 = 0

    /// Whether the bytes can be STUN at all: the two top bits are 0, the cookie is there, and the length is the datagram's.
    @inlinable package static func isSTUN(_ datagram: RawSpan) -> Bool {
        let count = datagram.byteCount
        guard count >= headerLength, count <= longest, datagram.octet(at: 0) < 4,
            datagram.bigEndian32(at: 4) == magicCookie
        else { return false }
        let length = Int(datagram.bigEndian16(at: 2))
        return length & 3 == 0 && length == count &- headerLength
    }

    /// `nil`: no message of the method Binding, malformed, or with a wrong FINGERPRINT.
    package static func parse(_ datagram: RawSpan) -> STUNMessage? {
        guard isSTUN(datagram), let kind = Kind(rawValue: datagram.bigEndian16(at: 0)) else { return nil }
        var message = STUNMessage(
            kind: kind,
            transactionID: STUNTransactionID(high: datagram.bigEndian32(at: 8), low: datagram.bigEndian64(at: 12)))
        var offset = headerLength
        while offset < datagram.byteCount {
            // FINGERPRINT is the last attribute.
            guard !message.hasFingerprint, offset &+ 4 <= datagram.byteCount else { return nil }
            let type = datagram.bigEndian16(at: offset)
            let length = Int(datagram.bigEndian16(at: offset &+ 2))
            let next = offset &+ 4 &+ (length &+ 3) & ~3
            guard next <= datagram.byteCount, message.take(type, at: offset, length: length, in: datagram) else {
                return nil
            }
            offset = next
        }
        return message
    }

    private init(kind: Kind, transactionID: STUNTransactionID) {
        self.kind = kind
        self.transactionID = transactionID
    }

    /// `false`: the attribute makes the message one to be refused.
    private mutating func take(_ type: UInt16, at offset: Int, length: Int, in datagram: RawSpan) -> Bool {
        let value = offset &+ 4
        if type == STUNAttribute.fingerprint {
            hasFingerprint = true
            guard length == 4 else { return false }
            let sum = STUNFingerprint.checksum(datagram.extracting(0..<offset))
            return datagram.bigEndian32(at: value) == sum ^ STUNMessage.fingerprintMask
        }
        guard integrityOffset == 0 else { return true }
        switch type {
        case STUNAttribute.messageIntegrity:
            integrityOffset = offset
            return length == 20
        case STUNAttribute.username:
            guard length <= 513 else { return false }
            if username.isEmpty { username = value..<(value &+ length) }
        case STUNAttribute.priority:
            guard length == 4 else { return false }
            priority = priority ?? datagram.bigEndian32(at: value)
        case STUNAttribute.useCandidate:
            usesCandidate = true
        case STUNAttribute.iceControlling, STUNAttribute.iceControlled:
            guard length == 8 else { return false }
            guard !isControlling, !isControlled else { return true }
            isControlling = type == STUNAttribute.iceControlling
            isControlled = !isControlling
            tieBreaker = datagram.bigEndian64(at: value)
        case STUNAttribute.xorMappedAddress:
            guard let address = address(at: value, length: length, in: datagram) else { return false }
            mappedAddress = mappedAddress ?? address
        case STUNAttribute.errorCode:
            guard length >= 4 else { return false }
            let (hundreds, rest) = (Int(datagram.octet(at: value &+ 2) & 7), Int(datagram.octet(at: value &+ 3)))
            guard (3...6).contains(hundreds), rest < 100 else { return false }
            if errorCode == 0 { errorCode = hundreds &* 100 &+ rest }
        case STUNAttribute.mappedAddress, STUNAttribute.unknownAttributes, STUNAttribute.realm, STUNAttribute.nonce,
            STUNAttribute.messageIntegritySHA256:
            break
        default:
            if type < 0x8000, unknownAttribute == 0 { unknownAttribute = type }
        }
        return true
    }

    /// RFC 8489, section 14.2.
    private func address(at offset: Int, length: Int, in datagram: RawSpan) -> TransportAddress? {
        guard length >= 8 else { return nil }
        let port = datagram.bigEndian16(at: offset &+ 2) ^ UInt16(truncatingIfNeeded: STUNMessage.magicCookie >> 16)
        switch (datagram.octet(at: offset &+ 1), length) {
        case (1, 8):
            return TransportAddress(
                ipv4: datagram.bigEndian32(at: offset &+ 4) ^ STUNMessage.magicCookie, port: port)
        case (2, 20):
            let mask = UInt64(STUNMessage.magicCookie) << 32 | UInt64(transactionID.high)
            return TransportAddress(
                high: datagram.bigEndian64(at: offset &+ 4) ^ mask,
                low: datagram.bigEndian64(at: offset &+ 12) ^ transactionID.low, port: port, isIPv4: false)
        default: return nil
        }
    }
}

/// The CRC-32 of FINGERPRINT (RFC 8489, section 14.7; ITU V.42).
package enum STUNFingerprint {
    private static let table: [UInt32] = (0..<256).map { (byte: UInt32) -> UInt32 in
        (0..<8).reduce(byte) { remainder, _ in remainder & 1 == 0 ? remainder >> 1 : remainder >> 1 ^ 0xEDB8_8320 }
    }

    /// Without the mask.
    package static func checksum(_ bytes: RawSpan) -> UInt32 {
        table.withUnsafeBufferPointer { table in
            var sum = UInt32.max
            for offset in 0..<bytes.byteCount {
                sum = table[Int((sum ^ UInt32(bytes.octet(at: offset))) & 0xFF)] ^ sum >> 8
            }
            return ~sum
        }
    }
}
