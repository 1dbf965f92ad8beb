import Foundation
import MediaWire
import Testing

struct STUNMessageTests {
    private static let transaction = STUNTransactionID(high: 0xB7E7_A701, low: 0xBC34_D686_FA87_DFAE)
    private static let ours = "0123456789abcdef"

    private func parse(_ bytes: [UInt8]) -> STUNMessage? { STUNMessage.parse(bytes.span.bytes) }
    private func request(_ bytes: [UInt8]) -> STUNBindingRequest? { STUNBindingRequest.parse(bytes.span.bytes) }
    private func response(_ bytes: [UInt8]) -> STUNBindingResponse? { STUNBindingResponse.parse(bytes.span.bytes) }

    /// A message without FINGERPRINT: attributes with their values, padded with zeros.
    private func message(type: UInt16 = 1, _ attributes: [(UInt16, [UInt8])]) -> [UInt8] {
        var body: [UInt8] = []
        for (type, value) in attributes {
            body += [UInt8(type >> 8), UInt8(type & 0xFF), UInt8(value.count >> 8), UInt8(value.count & 0xFF)] + value
            while body.count % 4 != 0 { body.append(0) }
        }
        let head = [type, UInt16(body.count)].flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        return head + wireBytes("2112A442 B7E7A701BC34D686FA87DFAE") + body
    }

    private func check(_ more: [(UInt16, [UInt8])] = [], username: String = ours + ":abcd") -> [UInt8] {
        message([(STUNAttribute.username, Array(username.utf8))] + more + [(8, [UInt8](repeating: 7, count: 20))])
    }

    // RFC 5769

    @Test func requestVector() throws {
        let bytes = wireBytes(STUNVectors.request)
        let found = request(bytes)
        let read = try #require(found)
        #expect(String(decoding: bytes[read.usernameRange], as: UTF8.self) == "evtj:h6vY")
        #expect(read.transactionID == Self.transaction && read.priority == 0x6E00_01FF)
        #expect(read.isControlled && !read.isControlling && !read.usesCandidate)
        #expect(read.localFragment == nil, "not one of ours")
        #expect(read.integrityOffset == 76 && read.unknownAttribute == nil)
        #expect(parse(bytes)?.tieBreaker == 0x932F_F9B1_5126_3B36)
        #expect(response(bytes) == nil)
    }

    @Test func responseVectors() throws {
        let first = response(wireBytes(STUNVectors.ipv4Response))
        #expect(first?.mappedAddress == TransportAddress(host: "192.0.2.1", port: 32853))
        #expect(first?.transactionID == Self.transaction && first?.errorCode == nil)
        let second = response(wireBytes(STUNVectors.ipv6Response))
        #expect(second?.mappedAddress == TransportAddress(host: "2001:db8:1234:5678:11:2233:4455:6677", port: 32853))
        #expect(request(wireBytes(STUNVectors.ipv4Response)) == nil)
    }

    @Test func longTermVector() throws {
        let bytes = wireBytes(STUNVectors.longTerm)
        let found = request(bytes)
        let read = try #require(found)
        #expect(String(decoding: bytes[read.usernameRange], as: UTF8.self) == "マトリックス")
    }

    /// The writer gives the response vectors byte by byte, but for SOFTWARE's padding, which is a blank there.
    @Test func theWriterGivesTheVectors() {
        for (vector, address, digest) in [
            (STUNVectors.ipv4Response, "192.0.2.1", "2B91F599FD9E90C38C7489F92AF9BA53F06BE7D7"),
            (
                STUNVectors.ipv6Response, "2001:db8:1234:5678:11:2233:4455:6677",
                "A382954E4BE67BF11784C97C8292C275BFE3ED41"
            ),
        ] {
            let expected = wireBytes(vector)
            let bytes = written(expected.count) { buffer in
                var writer = STUNWriter(into: buffer, kind: .success, transactionID: Self.transaction)
                writer.append(STUNAttribute.software, text: "test vector ".utf8)
                buffer.storeBigEndian(11 as UInt16, at: 22)
                TransportAddress(host: address, port: 32853).map { writer.append(mapped: $0) }
                guard let place = writer.reserveIntegrity() else { return nil }
                for (index, byte) in wireBytes(digest).enumerated() { buffer[place + 4 + index] = byte }
                writer.appendFingerprint()
                return writer.finish()
            }
            #expect(bytes == expected)
        }
    }

    // What is refused

    /// All first bytes, and all lengths around the header's (RFC 7983): nothing but 0 to 3 is STUN, and of that only Binding.
    @Test func allFirstBytesAndLengths() {
        let whole = check()
        for first in UInt8.min...UInt8.max {
            for length in Array(0...24) + [whole.count - 1, whole.count] {
                var bytes = Array(whole[..<length])
                if length > 0 { bytes[0] = first }
                let isWhole = length == whole.count
                #expect(STUNMessage.isSTUN(bytes.span.bytes) == (isWhole && first < 4), "\(first), \(length)")
                #expect((request(bytes) != nil) == (isWhole && first == 0), "\(first), \(length)")
                #expect((parse(bytes) != nil) == (isWhole && first < 2), "\(first), \(length)")
                STUNExercise.run(bytes)
            }
        }
    }

    /// Of all types with the two top bits 0, the method Binding has four.
    @Test func allTypes() {
        var bytes = check()
        var parsed: [UInt16] = []
        for type in UInt16(0)..<0x4000 {
            (bytes[0], bytes[1]) = (UInt8(type >> 8), UInt8(type & 0xFF))
            if parse(bytes) != nil { parsed.append(type) }
        }
        #expect(parsed == [0x0001, 0x0011, 0x0101, 0x0111])
    }

    @Test func allPrefixesAndExtensions() {
        for vector in STUNVectors.all {
            let bytes = wireBytes(vector)
            for length in 0..<bytes.count { #expect(parse(Array(bytes[..<length])) == nil) }
            for more in 1...8 { #expect(parse(bytes + [UInt8](repeating: 0, count: more)) == nil) }
        }
    }

    /// FINGERPRINT sees any change of a bit, unless it makes FINGERPRINT something else: another attribute, or part of
    /// the one before, with MESSAGE-INTEGRITY.
    @Test func everyBit() {
        for vector in [STUNVectors.request, STUNVectors.ipv4Response, STUNVectors.ipv6Response] {
            let bytes = wireBytes(vector)
            let type = (bytes.count - 8) * 8..<(bytes.count - 6) * 8
            for bit in 0..<(bytes.count * 8) {
                var changed = bytes
                changed[bit / 8] ^= 1 << UInt8(bit % 8)
                STUNExercise.run(changed)
                let parsed = parse(changed)
                #expect(parsed?.hasFingerprint != true, "bit \(bit)")
                #expect((parsed != nil && parsed?.integrityOffset != 0) == type.contains(bit), "bit \(bit)")
            }
        }
    }

    @Test func whatARequestMustHave() {
        let integrity = (STUNAttribute.messageIntegrity, [UInt8](repeating: 7, count: 20))
        let name = (STUNAttribute.username, Array("\(Self.ours):x".utf8))
        #expect(request(message([name, integrity])) != nil)
        #expect(request(message([name])) == nil)
        #expect(request(message([integrity])) == nil)
        #expect(request(message([(STUNAttribute.username, []), integrity])) == nil)
        #expect(request(message([integrity, name])) == nil, "behind MESSAGE-INTEGRITY nothing counts")
        #expect(request(message(type: 0x0101, [name, integrity])) == nil)
        #expect(request(message(type: 0x0011, [name, integrity])) == nil, "an indication")
        #expect(request(message([name, (8, [UInt8](repeating: 7, count: 32))])) == nil, "20 bytes")
        #expect(request(check(username: String(repeating: "n", count: 513))) != nil)
        #expect(request(check(username: String(repeating: "n", count: 514))) == nil)
        #expect(request(check([(0xC000, [UInt8](repeating: 0, count: 1450))])) == nil, "too long to be a check")
    }

    @Test(arguments: [
        ("0123456789abcdef:x", 0x0123_4567_89AB_CDEF as UInt64?), ("ffffffffffffffff:", UInt64.max),
        ("0000000000000000:0000000000000000", 0), ("0123456789abcdef", nil), ("0123456789abcde:x", nil),
        ("0123456789ABCDEF:x", nil), ("0123456789abcdeg:x", nil), ("0123456789abcdef0:x", nil), (":", nil),
        ("0123456789abcde/:x", nil), ("0123456789abcde`:x", nil), (" 123456789abcdef:x", nil),
    ]) func fragments(username: String, fragment: UInt64?) {
        #expect(request(check(username: username))?.localFragment == fragment)
    }

    @Test func attributesOfARequest() throws {
        let plain = request(check())
        #expect(plain?.usesCandidate == false && plain?.priority == nil && plain?.isControlling == false)
        let full = request(
            check([(0x25, []), (0x24, [1, 2, 3, 4]), (0x802A, [0, 0, 0, 0, 0, 0, 0, 9]), (0xC057, [1, 2, 3])]))
        #expect(full?.usesCandidate == true && full?.priority == 0x0102_0304 && full?.isControlling == true)
        // Of two, the first counts.
        let twice = request(
            check([(0x24, [0, 0, 0, 1]), (0x24, [0, 0, 0, 2]), (6, Array("fedcba9876543210:x".utf8))]))
        #expect(twice?.priority == 1 && twice?.localFragment == 0x0123_4567_89AB_CDEF)
        for (type, length) in [(0x24, 3), (0x24, 5), (0x802A, 4), (0x8029, 9)] as [(UInt16, Int)] {
            #expect(request(check([(type, [UInt8](repeating: 0, count: length))])) == nil, "\(type), \(length)")
        }
    }

    /// RFC 8489, section 6.3.1: what must be understood and is not makes an error, and never a nomination.
    @Test func unknownAttributes() {
        let unknown = request(check([(0x25, []), (0x7ABC, [1]), (0x7ABD, [])]))
        #expect(unknown?.unknownAttribute == 0x7ABC && unknown?.usesCandidate == false)
        #expect(request(check([(0x8ABC, [1])]))?.unknownAttribute == nil)
        let address = (STUNAttribute.xorMappedAddress, wireBytes("0001A147E112A643"))
        #expect(response(message(type: 0x0101, [address])) != nil)
        #expect(response(message(type: 0x0101, [address, (0x7ABC, [])])) == nil)
    }

    @Test func errors() {
        func error(_ value: [UInt8]) -> Int? { response(message(type: 0x0111, [(9, value)]))?.errorCode }
        #expect(error([0, 0, 4, 1] + Array("Unauthorized".utf8)) == 401)
        #expect(error([0, 0, 4, 87]) == 487)
        #expect(error([0, 0, 6, 99]) == 699)
        for wrong in [[0, 0, 2, 0], [0, 0, 7, 0], [0, 0, 4, 100], [0, 0, 4]] as [[UInt8]] {
            #expect(error(wrong) == nil)
        }
        #expect(response(message(type: 0x0111, [])) == nil, "an error without a code")
    }

    @Test func wrongAddresses() {
        for value in ["0001A147E112A6", "0001A147E112A64300", "0002A147E112A643", "0003A147E112A643", ""] {
            #expect(response(message(type: 0x0101, [(0x20, wireBytes(value))])) == nil, "\(value)")
        }
    }

    // The writer

    @Test func tooSmallABuffer() {
        for capacity in 0..<140 {
            let bytes = written(capacity) { buffer in
                var writer = STUNWriter(into: buffer, kind: .request, transactionID: Self.transaction)
                writer.append(STUNAttribute.username, text: "0123456789abcdef:y".utf8)
                writer.append(STUNAttribute.priority, uint32: 1)
                writer.append(STUNAttribute.iceControlling, uint64: 2)
                writer.append(STUNAttribute.useCandidate)
                _ = writer.reserveIntegrity()
                writer.appendFingerprint()
                return writer.finish()
            }
            #expect((bytes != nil) == (capacity >= 20 + 24 + 8 + 12 + 4 + 24 + 8), "\(capacity)")
        }
    }

    @Test(arguments: 1...300 as ClosedRange<UInt64>) func roundTrip(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let address =
            random.chance(2)
            ? TransportAddress(ipv4: random.uint32(), port: random.uint16())
            : TransportAddress(high: random.next(), low: random.next(), port: random.uint16(), isIPv4: false)
        let transaction = STUNTransactionID(using: &random)
        let code = random.chance(3) ? Int.random(in: 300...699, using: &random) : nil
        let written = written(200) { buffer in
            var writer = STUNWriter(
                into: buffer, kind: code == nil ? .success : .error, transactionID: transaction)
            writer.append(mapped: address)
            if let code { writer.append(errorCode: code) }
            _ = writer.reserveIntegrity()
            writer.appendFingerprint()
            return writer.finish()
        }
        let bytes = try #require(written)
        let found = response(bytes)
        #expect(found?.mappedAddress == address.unmapped && found?.transactionID == transaction, "seed \(seed)")
        #expect(found?.errorCode == code && found?.integrityOffset == bytes.count - 32, "seed \(seed)")
    }

    // The fuzzer's corpus

    @Test func corpus() throws {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let folder = tests.deletingLastPathComponent().appending(path: "Fuzz/STUN/corpus")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        try #require(files.count >= 10)
        for file in files { STUNExercise.run([UInt8](try Data(contentsOf: file))) }
    }
}
