import CAllocationCounter
import MediaTransport
import MediaWire
import Testing

struct ICEPasswordTests {
    /// RFC 5769, section 2: the password of its short-term vectors.
    private let vectorPassword = "VOkJxbRl1RmTxUk/WvJxBt"
    private let request = hex(
        """
        00010058 2112A442 B7E7A701BC34D686FA87DFAE 80220010 5354554E207465737420636C69656E74 00240004 6E0001FF
        80290008 932FF9B151263B36 00060009 6576746A3A68367659202020 00080014 9AEAA70CBFD8CB56781EF2B5B2D3F249C1B571A2
        80280004 E57A3BCF
        """)
    private let responses = [
        """
        0101003C 2112A442 B7E7A701BC34D686FA87DFAE 8022000B 7465737420766563746F7220 00200008 0001A147E112A643
        00080014 2B91F599FD9E90C38C7489F92AF9BA53F06BE7D7 80280004 C07D4C96
        """,
        """
        01010048 2112A442 B7E7A701BC34D686FA87DFAE 8022000B 7465737420766563746F7220 00200014
        0002A147 0113A9FAA5D3F179BC25F4B5BED2B9D9 00080014 A382954E4BE67BF11784C97C8292C275BFE3ED41 80280004 C8FB0B4C
        """,
    ]

    private func verifies(_ password: ICEPassword, _ bytes: [UInt8]) -> Bool? {
        guard let request = STUNBindingRequest.parse(bytes.span.bytes) else { return nil }
        return bytes.withUnsafeBytes { password.verifies($0, request) }
    }

    private func verifiesResponse(_ password: ICEPassword, _ bytes: [UInt8]) -> Bool? {
        guard let response = STUNBindingResponse.parse(bytes.span.bytes) else { return nil }
        return bytes.withUnsafeBytes { password.verifies($0, response) }
    }

    private func written(_ write: (UnsafeMutableRawBufferPointer) -> Int?) throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0xEE, count: 600)
        let length = buffer.withUnsafeMutableBytes { write($0) }
        return Array(buffer[..<(try #require(length))])
    }

    private func check(
        _ password: ICEPassword, username: String = "0123456789abcdef:abcd", nominates: Bool = true
    ) throws -> [UInt8] {
        try written {
            password.writeRequest(
                transactionID: STUNTransactionID(high: 1, low: 2), username: username.utf8, priority: 7, tieBreaker: 9,
                nominates: nominates, into: $0)
        }
    }

    @Test func vectors() {
        let right = ICEPassword(vectorPassword)
        let wrong = ICEPassword(vectorPassword + "t")
        #expect(verifies(right, request) == true && verifies(wrong, request) == false)
        for response in responses {
            #expect(verifiesResponse(right, hex(response)) == true)
            #expect(verifiesResponse(wrong, hex(response)) == false)
        }
    }

    /// Without FINGERPRINT the length field says less, and MESSAGE-INTEGRITY still holds.
    @Test func withoutFingerprint() {
        var bytes = Array(request.dropLast(8))
        bytes[3] -= 8
        #expect(verifies(ICEPassword(vectorPassword), bytes) == true)
        bytes[20] ^= 0x40
        #expect(verifies(ICEPassword(vectorPassword), bytes) == false)
    }

    @Test func everyBitOfTheDigest() throws {
        let password = ICEPassword("secret")
        var bytes = Array(try check(password).dropLast(8))
        bytes[3] -= 8
        #expect(verifies(password, bytes) == true)
        for bit in 0..<(bytes.count * 8) {
            var changed = bytes
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(verifies(password, changed) != true, "bit \(bit)")
        }
    }

    /// Keys of all lengths around the block of SHA-1, against HMAC of the whole message in one go.
    @Test(arguments: [0, 1, 20, 22, 63, 64, 65, 128, 256]) func lengths(count: Int) throws {
        let text = String(repeating: "k", count: count)
        let bytes = try check(ICEPassword(text))
        // RFC 8489, section 14.5: the length counts up to the end of MESSAGE-INTEGRITY.
        var covered = Array(bytes.dropLast(32))
        covered[3] -= 8
        let digest = MessageAuthentication.hmacSHA1(key: Array(text.utf8), message: covered)
        #expect(digest == Array(bytes.dropLast(8).suffix(20)))
        #expect(verifies(ICEPassword(text), bytes) == true)
    }

    @Test func answers() throws {
        let password = ICEPassword("0123456789abcdef0123456789abcdef")
        let bytes = try check(password)
        let parsed = STUNBindingRequest.parse(bytes.span.bytes)
        let request = try #require(parsed)
        #expect(request.usesCandidate && request.isControlling && request.priority == 7)
        #expect(request.localFragment == 0x0123_4567_89AB_CDEF)
        for (host, length) in [("203.0.113.9", 64), ("2001:db8::7", 76), ("::ffff:203.0.113.9", 64)] {
            let address = try #require(TransportAddress(host: host, port: 4711))
            let answer = try written { buffer in
                bytes.withUnsafeBytes {
                    password.writeResponse(to: request, in: $0, mapped: address, into: buffer)
                }
            }
            #expect(answer.count == length)
            let read = STUNBindingResponse.parse(answer.span.bytes)
            #expect(read?.mappedAddress == address.unmapped && read?.transactionID == request.transactionID)
            #expect(verifiesResponse(password, answer) == true)
            #expect(verifiesResponse(ICEPassword("another"), answer) == false)
            for room in 0..<length {
                var small = [UInt8](repeating: 0, count: room)
                let none = small.withUnsafeMutableBytes { buffer in
                    bytes.withUnsafeBytes {
                        password.writeResponse(to: request, in: $0, mapped: address, into: buffer)
                    }
                }
                #expect(none == nil)
            }
        }
    }

    /// The answer to what must be understood and is not: an error 420, signed, no larger than its check.
    @Test func unknownAttribute() throws {
        let password = ICEPassword("0123456789abcdef0123456789abcdef")
        let check = try written { buffer in
            var writer = STUNWriter(into: buffer, kind: .request, transactionID: STUNTransactionID(high: 3, low: 4))
            writer.append(STUNAttribute.username, text: "0123456789abcdef:".utf8)
            writer.append(0x7ABC)
            return writer.finish()
        }
        let digestless = check + [0, 8, 0, 20] + [UInt8](repeating: 0, count: 20)
        var bytes = digestless
        bytes[3] = UInt8(bytes.count - 20)
        let parsed = STUNBindingRequest.parse(bytes.span.bytes)
        let request = try #require(parsed)
        let answer = try written { buffer in
            bytes.withUnsafeBytes {
                password.writeResponse(to: request, in: $0, mapped: .unspecified, into: buffer)
            }
        }
        let read = STUNBindingResponse.parse(answer.span.bytes)
        #expect(read?.errorCode == 420 && read?.mappedAddress == nil)
        #expect(verifiesResponse(password, answer) == true)
        #expect(answer.count <= bytes.count)
    }

    @Test func answersWithoutIntegrityAreNotVerified() {
        let error = hex("01110008 2112A442 000000030000000000000004 00090004 00000401")
        #expect(verifiesResponse(ICEPassword(""), error) == false)
    }

    @Test(.enabled(if: parlor_allocations_available())) func checksAllocateNothing() throws {
        let password = ICEPassword("0123456789abcdef0123456789abcdef")
        let bytes = try check(password)
        var buffer = [UInt8](repeating: 0, count: 100)
        let mapped = TransportAddress(ipv4: 0x7F00_0001, port: 9)
        func round() -> Bool {
            bytes.withUnsafeBytes { datagram in
                guard let request = STUNBindingRequest.parse(datagram.bytes), password.verifies(datagram, request)
                else {
                    return false
                }
                return buffer.withUnsafeMutableBytes {
                    password.writeResponse(to: request, in: datagram, mapped: mapped, into: $0) != nil
                }
            }
        }
        #expect(round())
        parlor_allocations_start()
        var answered = 0
        for _ in 0..<1000 where round() { answered += 1 }
        let count = parlor_allocations_stop()
        #expect(answered == 1000 && count == 0)
    }

    @Test func saysNothing() {
        #expect("\(ICEPassword("hunter2"))" == "ICE password")
        var text = ""
        dump(ICEPassword("hunter2"), to: &text)
        #expect(!text.contains("hunter2") && !text.contains("words"))
    }
}
