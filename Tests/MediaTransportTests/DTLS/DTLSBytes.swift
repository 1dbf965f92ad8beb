import MediaWire

/// Records and handshake fragments written by hand (RFC 6347, sections 4.1 and 4.2.2).
enum DTLSBytes {
    static func record(
        _ type: UInt8, version: UInt16 = 0xFEFD, epoch: UInt16 = 0, sequence: UInt32 = 0, _ body: [UInt8]
    ) -> [UInt8] {
        [type] + bigEndian(version) + bigEndian(epoch) + [0, 0] + bigEndian(sequence) + bigEndian(UInt16(body.count))
            + body
    }

    /// - Parameters:
    ///   - length: of the whole message.
    ///   - offset: where this part of it begins.
    static func fragment(_ type: UInt8, length: Int, sequence: UInt16 = 0, offset: Int = 0, _ part: [UInt8]) -> [UInt8]
    {
        func triple(_ number: Int) -> [UInt8] { Array(bigEndian(UInt32(number)).dropFirst()) }
        return [type] + triple(length) + bigEndian(sequence) + triple(offset) + triple(part.count) + part
    }

    /// A datagram that is one record with one whole handshake message, cut into fragments of these ranges, each in a record
    /// and a datagram of its own. Record numbers begin where they do not make those that follow repetitions, nor too old.
    static func fragments(of datagram: [UInt8], _ ranges: [Range<Int>], firstRecord: UInt32 = 40) -> [[UInt8]] {
        let message = Array(datagram[25...])
        return ranges.enumerated().map { index, range in
            let part = fragment(datagram[13], length: message.count, offset: range.lowerBound, Array(message[range]))
            return record(22, version: 0xFEFF, sequence: firstRecord + UInt32(index), part)
        }
    }

    /// A ClientHello as of a browser that would rather speak DTLS 1.3 with a post-quantum key: 1.6 kB.
    static func modernClientHello(groups: [UInt16] = [0x11EC, 0x001D, 0x0017], using random: inout SeededRandom)
        -> [UInt8]
    {
        func vector(_ body: [UInt8]) -> [UInt8] { bigEndian(UInt16(body.count)) + body }
        func ext(_ type: UInt16, _ body: [UInt8]) -> [UInt8] { bigEndian(type) + vector(body) }
        let words = { (numbers: [UInt16]) in numbers.flatMap { bigEndian($0) } }
        let shares = words([0x11EC]) + vector(random.bytes(1216)) + words([0x001D]) + vector(random.bytes(32))
        let extensions =
            ext(0x000A, vector(words(groups)))  // supported_groups: X25519MLKEM768, X25519, P-256
            + ext(0x000B, [1, 0]) + ext(0x0017, []) + ext(0xFF01, [0])
            + ext(0x000D, vector(words([0x0403, 0x0804, 0x0401, 0x0503, 0x0805, 0x0501, 0x0806, 0x0601])))
            + ext(0x000E, vector(words([0x0007, 0x0008, 0x0001, 0x0002])) + [0])  // use_srtp
            + ext(0x002B, [4] + words([0xFEFC, 0xFEFD]))  // supported_versions
            + ext(0x0033, vector(shares)) + ext(0x2A2A, [0])
            + ext(0x0015, [UInt8](repeating: 0, count: 150))
        let suites = words([0x2A2A, 0x1301, 0x1302, 0x1303, 0xC02B, 0xC02F, 0xCCA9, 0xC00A])
        let body = [0xFE, 0xFD] + random.bytes(32) + [0, 0] + vector(suites) + [1, 0] + vector(extensions)
        return record(22, version: 0xFEFF, fragment(1, length: body.count, body))
    }

    /// Types of the readable handshake messages of a datagram.
    static func handshakeTypes(_ datagram: [UInt8]) -> [UInt8] {
        var types: [UInt8] = []
        var offset = 0
        while offset + 13 < datagram.count {
            let length = Int(datagram[offset + 11]) << 8 | Int(datagram[offset + 12])
            if datagram[offset] == 22, datagram[offset + 4] == 0 { types.append(datagram[offset + 13]) }
            offset += 13 + length
        }
        return types
    }
}
