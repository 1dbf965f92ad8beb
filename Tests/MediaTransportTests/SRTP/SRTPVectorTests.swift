import CCrypto
import MediaTransport
import MediaWire
import Testing

/// The test vectors of the RFCs, which give session keys: so they go to the C face.
@Suite struct SRTPVectorTests {
    @Test func keyDerivationOfRFC3711AppendixB3() {
        var keys = parlor_srtp_keys()
        let derived = parlor_srtp_derive(
            PARLOR_SRTP_AES_CM_128_HMAC_SHA1_80, hex("E1F97A0D3E018BE0D64FA32C06DE4139"),
            hex("0EC675AD498AFEEBB6960B3AABE6"), &keys)
        #expect(derived)
        #expect(bytes(of: keys.rtp_key, 16) == hex("C61E7A93744F39EE10734AFE3FF7A087"))
        #expect(bytes(of: keys.rtp_salt, 14) == hex("30CBBC08863D8C85D49DB34A9AE1"))
        #expect(bytes(of: keys.rtp_auth, 20) == hex("CEBE321F6FF7716B6FD4AB49AF256A156D38BAA4"))
        // The labels of SRTCP are others: nothing may be the same.
        #expect(bytes(of: keys.rtcp_key, 16) != bytes(of: keys.rtp_key, 16))
        #expect(bytes(of: keys.rtcp_salt, 14) != bytes(of: keys.rtp_salt, 14))
        #expect(bytes(of: keys.rtcp_auth, 20) != bytes(of: keys.rtp_auth, 20))
    }

    @Test func unknownProfileDerivesNothing() {
        var keys = parlor_srtp_keys()
        #expect(!parlor_srtp_derive(3, hex("00"), hex("00"), &keys))
        #expect(!parlor_srtp_derive(-1, hex("00"), hex("00"), &keys))
    }

    /// RFC 3711, appendix B.2: SSRC 0 and index 0 leave the salt as IV, and a payload of zeros shows the key stream.
    @Test func counterModeOfRFC3711AppendixB2() throws {
        var keys = parlor_srtp_keys()
        set(&keys.rtp_key, hex("2B7E151628AED2A6ABF7158809CF4F3C"))
        set(&keys.rtp_salt, hex("F0F1F2F3F4F5F6F7F8F9FAFBFCFD"))
        for backend in [PARLOR_SRTP_EVP, PARLOR_SRTP_AUTOMATIC] {
            let sealed = try sealRTP(
                [0x80, 0] + [UInt8](repeating: 0, count: 10 + 48), header: 12, ssrc: 0, index: 0, keys: keys,
                backend: backend)
            let stream = hex(
                """
                E03EAD0935C95E80E166B16DD92B4EB4 D23513162B02D0F72A43A2FE4A5F97AB
                41E95B3BB0A2E8DD477901E4FCA894C0
                """)
            #expect(Array(sealed[12..<60]) == stream)
        }
    }

    static let salt = hex("517569642070726f2071756f")
    static let rtp = hex(
        """
        8040f17b 8041f8d3 5501a0b2 47616c6c 69612065 7374206f 6d6e6973 20646976
        69736120 696e2070 61727465 73207472 6573
        """)
    static let rtcp = hex(
        """
        81c8000d 4d617273 4e545031 4e545032 52545020 0000042a 0000e930 4c756e61
        deadbeef deadbeef deadbeef deadbeef deadbeef
        """)

    func keys(_ profile: SRTPProfile) -> parlor_srtp_keys {
        var keys = parlor_srtp_keys()
        keys.profile = Int32(profile.rawValue)
        let key = (0..<profile.keyLength).map { UInt8($0) }
        set(&keys.rtp_key, key)
        set(&keys.rtcp_key, key)
        set(&keys.rtp_salt, Self.salt)
        set(&keys.rtcp_salt, Self.salt)
        return keys
    }

    @Test(arguments: [
        (
            SRTPProfile.aeadAES128GCM,
            """
            8040f17b 8041f8d3 5501a0b2 f24de3a3 fb34de6c acba861c 9d7e4bca be633bd5
            0d294e6f 42a5f47a 51c7d19b 36de3adf 8833899d 7f27beb1 6a9152cf 765ee439 0cce
            """
        ),
        (
            SRTPProfile.aeadAES256GCM,
            """
            8040f17b 8041f8d3 5501a0b2 32b1de78 a822fe12 ef9f78fa 332e33aa b1801238
            9a58e2f3 b50b2a02 76ffae0f 1ba63799 b87b7aa3 db36dfff d6b0f9bb 7878d7a7 6c13
            """
        ),
    ])
    func sealingAndOpeningOfRFC7714Section16(profile: SRTPProfile, expected: String) throws {
        var keys = keys(profile)
        for backend in [PARLOR_SRTP_EVP, PARLOR_SRTP_AUTOMATIC] {
            let sealed = try sealRTP(
                Self.rtp, header: 12, ssrc: 0x5501_a0b2, index: 0xf17b, keys: keys, backend: backend)
            #expect(sealed == hex(expected))

            let opener = try #require(parlor_srtp_opener_create(&keys, backend, 1))
            defer { parlor_srtp_opener_destroy(opener) }
            var packet = hex(expected)
            let opened = parlor_srtp_opener_open_rtp(opener, &packet, packet.count, 12, 0x5501_a0b2, 0xf17b)
            #expect(Int(opened) == Self.rtp.count)
            #expect(Array(packet.prefix(Self.rtp.count)) == Self.rtp)
        }
    }

    @Test(arguments: [
        (
            SRTPProfile.aeadAES128GCM,
            """
            81c8000d 4d617273 63e94885 dcdab67c a727d766 2f6b7e99 7ff5c0f7 6c06f32d
            c676a5f1 730d6fda 4ce09b46 86303ded 0bb9275b c84aa458 96cf4d2f c5abf872 45d9eade 800005d4
            """
        ),
        (
            SRTPProfile.aeadAES256GCM,
            """
            81c8000d 4d617273 d50ae4d1 f5ce5d30 4ba297e4 7d470c28 2c3ece5d bffe0a50
            a2eaa5c1 110555be 8415f658 c61de047 6f1b6fad 1d1eb30c 4446839f 57ff6f6c b26ac3be 800005d4
            """
        ),
    ])
    func sealingAndOpeningOfRFC7714Section17(profile: SRTPProfile, expected: String) throws {
        var keys = keys(profile)
        let sealer = try #require(parlor_srtp_sealer_create(&keys))
        defer { parlor_srtp_sealer_destroy(sealer) }
        var packet = Self.rtcp + [UInt8](repeating: 0xA5, count: 20)
        let sealed = parlor_srtp_sealer_seal_rtcp(sealer, &packet, Self.rtcp.count, packet.count, 0x5d4)
        #expect(Int(sealed) == packet.count)
        #expect(packet == hex(expected))

        let opener = try #require(parlor_srtp_opener_create(&keys, PARLOR_SRTP_AUTOMATIC, 1))
        defer { parlor_srtp_opener_destroy(opener) }
        let opened = parlor_srtp_opener_open_rtcp(opener, &packet, packet.count)
        #expect(Int(opened) == Self.rtcp.count)
        #expect(Array(packet.prefix(Self.rtcp.count)) == Self.rtcp)
    }

    /// RFC 7714, section 17.3: authenticated but not encrypted (E = 0). We never agree to that; libsrtp2 alone would take it.
    @Test func unencryptedSRTCPIsRefused() throws {
        var keys = parlor_srtp_keys()
        #expect(parlor_srtp_derive(PARLOR_SRTP_AEAD_AES_128_GCM, (0..<16).map { $0 }, Self.salt, &keys))
        // The associated data is all of packet and index, the IV the same as an RTP packet's of that SSRC and index.
        var asRTP = keys
        asRTP.rtp_key = keys.rtcp_key
        asRTP.rtp_salt = keys.rtcp_salt
        let word = hex("000005d4")
        let sealed = try sealRTP(
            Self.rtcp + word, header: Self.rtcp.count + 4, ssrc: 0x4d61_7273, index: 0x5d4, keys: asRTP,
            backend: PARLOR_SRTP_EVP)
        let tag = sealed.suffix(16)
        for backend in [PARLOR_SRTP_EVP, PARLOR_SRTP_LIBRARY] {
            let opener = try #require(parlor_srtp_opener_create(&keys, backend, 1))
            defer { parlor_srtp_opener_destroy(opener) }
            var packet = Self.rtcp + tag + word
            #expect(parlor_srtp_opener_open_rtcp(opener, &packet, packet.count) == PARLOR_SRTP_NOT_AUTHENTIC)
        }
    }

    private func sealRTP(
        _ plain: [UInt8], header: Int, ssrc: UInt32, index: UInt64, keys: parlor_srtp_keys, backend: Int32
    ) throws -> [UInt8] {
        var keys = keys
        let sealer = try #require(parlor_srtp_sealer_create(&keys))
        defer { parlor_srtp_sealer_destroy(sealer) }
        let batch = try #require(parlor_srtp_batch_create(1, backend))
        defer { parlor_srtp_batch_destroy(batch) }
        let tag = keys.profile == PARLOR_SRTP_AES_CM_128_HMAC_SHA1_80 ? 10 : 16
        var packet = plain + [UInt8](repeating: 0xA5, count: tag)
        let failures = packet.withUnsafeMutableBufferPointer { packet in
            let added = parlor_srtp_batch_append(
                batch, sealer, packet.baseAddress, plain.count, header, ssrc, index)
            return added ? parlor_srtp_batch_seal(batch) : 1
        }
        #expect(failures == 0)
        return packet
    }
}

@Suite struct DigestTests {
    /// RFC 2202, section 3, cases 1, 2 and 6.
    @Test func hmacSHA1() {
        func mac(_ key: [UInt8], _ data: [UInt8]) -> [UInt8] {
            var out = [UInt8](repeating: 0, count: 20)
            #expect(parlor_hmac_sha1(key, key.count, data, data.count, &out))
            return out
        }
        #expect(
            mac([UInt8](repeating: 0x0b, count: 20), Array("Hi There".utf8))
                == hex("b617318655057264e28bc0b6fb378c8ef146be00"))
        #expect(
            mac(Array("Jefe".utf8), Array("what do ya want for nothing?".utf8))
                == hex("effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"))
        #expect(
            mac(
                [UInt8](repeating: 0xaa, count: 80),
                Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8))
                == hex("aa4ae5e15272d00e95705637ce8a3b55ed402112"))
        #expect(mac([], []) == hex("fbdb1d1b18aa6c08324b7d64b71fb76370690e1d"))
    }

    /// FIPS 180-2, appendix B.1.
    @Test func sha256() {
        var out = [UInt8](repeating: 0, count: 32)
        #expect(parlor_sha256(Array("abc".utf8), 3, &out))
        #expect(out == hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
    }

    @Test func equality() {
        #expect(parlor_equal_constant_time([1, 2, 3] as [UInt8], [1, 2, 3] as [UInt8], 3))
        #expect(!parlor_equal_constant_time([1, 2, 3] as [UInt8], [1, 2, 4] as [UInt8], 3))
        #expect(parlor_equal_constant_time(nil, nil, 0))
    }

    @Test func randomBytesDiffer() {
        var a = [UInt8](repeating: 0, count: 32)
        var b = a
        #expect(parlor_random_bytes(&a, a.count))
        #expect(parlor_random_bytes(&b, b.count))
        #expect(a != b)
    }
}

private func bytes<Tuple>(of tuple: Tuple, _ count: Int) -> [UInt8] {
    withUnsafeBytes(of: tuple) { Array($0.prefix(count)) }
}

private func set<Tuple>(_ tuple: inout Tuple, _ bytes: [UInt8]) {
    withUnsafeMutableBytes(of: &tuple) { $0.copyBytes(from: bytes) }
}
