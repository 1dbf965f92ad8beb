import MediaWire
import Testing

@Suite struct CryptoAttributeTests {
    private static func key(_ count: Int, from first: UInt8 = 0) -> String {
        Base64.encode((0..<count).map { first &+ UInt8($0) })
    }

    private static func parse(_ value: String) throws(SDPError) -> [CryptoAttribute] {
        try SessionDescription(parsing: "v=0\nm=audio 9 RTP/SAVP 0\na=crypto:\(value)\n").media[0].cryptos
    }

    /// The key of the example in RFC 4568, section 10.1.
    @Test func exampleOfTheStandard() throws {
        let crypto = try #require(
            Self.parse("1 AES_CM_128_HMAC_SHA1_80 inline:PS1uQCVeeCFCanVmcjkpPywjNWhcYD0mXXtxaVBR|2^20").first)
        #expect(crypto.tag == 1)
        #expect(crypto.lifetime == 1 << 20)
        let master = try #require(crypto.masterKey)
        #expect(master.profile == .aesCM128HmacSHA1_80)
        #expect(master.key == Array("=-n@%^x!Bjuf".utf8) + Array("r9)?".utf8))
        #expect(master.salt == Array(",#5h\\`=&]{qiPQ".utf8))
        #expect(master.inlineText == "PS1uQCVeeCFCanVmcjkpPywjNWhcYD0mXXtxaVBR")
    }

    @Test(arguments: [
        ("AES_CM_128_HMAC_SHA1_80", 16, 14), ("AEAD_AES_128_GCM", 16, 12), ("AEAD_AES_256_GCM", 32, 12),
    ])
    func lengthsOfEachSuite(suite: String, key: Int, salt: Int) throws {
        let crypto = try #require(Self.parse("7 \(suite) inline:\(Self.key(key + salt))").first)
        let master = try #require(crypto.masterKey)
        #expect(master.key == (0..<key).map { UInt8($0) })
        #expect(master.salt == (key..<(key + salt)).map { UInt8($0) })
        #expect(crypto.attribute?.value == "7 \(suite) inline:\(Self.key(key + salt))")
        // Padding may be missing.
        let bare = Self.key(key + salt).filter { $0 != "=" }
        #expect(try Self.parse("7 \(suite) inline:\(bare)").first?.masterKey == master)
        // One byte more or less is an error with its line, and the sentence does not show the key.
        for wrong in [0, 1, key, key + salt - 1, key + salt + 1, 64] {
            let text = Self.key(wrong)
            let error = #expect(throws: SDPError.self) { try Self.parse("7 \(suite) inline:\(text)") }
            #expect(error?.line == 3)
            #expect(error?.reason == "the key and salt of \(suite) are \(key + salt) bytes, not \(wrong)")
        }
    }

    @Test(arguments: [
        ("AES_CM_128_HMAC_SHA1_32", "", "the suite \"AES_CM_128_HMAC_SHA1_32\" is not one of"),
        ("F8_128_HMAC_SHA1_80", "", "the suite \"F8_128_HMAC_SHA1_80\" is not one of"),
        ("AES_CM_128_HMAC_SHA1_80", "|2^20|1:4", "a master key identifier (MKI)"),
        ("AES_CM_128_HMAC_SHA1_80", "|1:4", "a master key identifier (MKI)"),
        ("AES_CM_128_HMAC_SHA1_80", ";inline:AAAA", "a master key identifier (MKI)"),
        ("AES_CM_128_HMAC_SHA1_80", " UNENCRYPTED_SRTP", "its session parameter \"UNENCRYPTED_SRTP\""),
        ("AES_CM_128_HMAC_SHA1_80", " UNENCRYPTED_SRTCP", "its session parameter \"UNENCRYPTED_SRTCP\""),
        ("AES_CM_128_HMAC_SHA1_80", " UNAUTHENTICATED_SRTP", "its session parameter \"UNAUTHENTICATED_SRTP\""),
        ("AES_CM_128_HMAC_SHA1_80", " WSH=64 KDR=1", "its session parameter \"KDR=1\""),
        ("AES_CM_128_HMAC_SHA1_80", " FEC_KEY=inline:x", "its session parameter \"FEC_KEY=inline:x\""),
    ])
    func keptButUnusable(suite: String, behind: String, reason: String) throws {
        let crypto = try #require(Self.parse("1 \(suite) inline:\(Self.key(30))\(behind)").first)
        #expect(crypto.masterKey == nil)
        guard case .unusable(let text) = crypto.key else {
            Issue.record("usable")
            return
        }
        #expect(text.contains(reason))
        #expect(!text.contains(Self.key(30)))
    }

    @Test(arguments: ["", "|1", "|1048576", "|2^0", "|2^48", "|281474976710656", " KDR=0 WSH=64", " -NEW=1"])
    func usable(behind: String) throws {
        #expect(try Self.parse("1 AES_CM_128_HMAC_SHA1_80 inline:\(Self.key(30))\(behind)").first?.masterKey != nil)
    }

    @Test(arguments: [
        ("", "a=crypto is a tag, a suite, and inline: with the key"),
        ("1", "a=crypto is a tag, a suite, and inline: with the key"),
        ("1 AEAD_AES_128_GCM", "a=crypto is a tag, a suite, and inline: with the key"),
        ("x AEAD_AES_128_GCM inline:A", "a=crypto is a tag, a suite, and inline: with the key"),
        ("-1 AEAD_AES_128_GCM inline:A", "a=crypto is a tag, a suite, and inline: with the key"),
        ("1234567890 AEAD_AES_128_GCM inline:A", "a=crypto is a tag, a suite, and inline: with the key"),
        ("1 AEAD_AES_128_GCM key:AAAA", "the key of a=crypto must stand behind inline:"),
        ("1 AEAD_AES_128_GCM inline:%%%%", "the key of a=crypto is not base64"),
        (
            "1 AES_CM_128_HMAC_SHA1_80 inline:\(key(30))|2^49",
            "the lifetime of a key is 1 to 2^48 packets, not \"2^49\""
        ),
        ("1 AES_CM_128_HMAC_SHA1_80 inline:\(key(30))|0", "the lifetime of a key is 1 to 2^48 packets, not \"0\""),
        ("1 AES_CM_128_HMAC_SHA1_80 inline:\(key(30))|", "the lifetime of a key is 1 to 2^48 packets, not \"\""),
        (
            "1 AES_CM_128_HMAC_SHA1_80 inline:\(key(30))|99999999999999999999",
            "the lifetime of a key is 1 to 2^48 packets, not \"99999999999999999999\""
        ),
    ])
    func malformed(value: String, reason: String) {
        let error = #expect(throws: SDPError.self) { try Self.parse(value) }
        #expect(error == SDPError(line: 3, reason: reason))
    }

    @Test func randomKeysDifferAndFit() throws {
        var generator = SystemRandomNumberGenerator()
        for profile in SRTPProfile.allCases {
            let keys = (0..<32).compactMap { _ in SRTPMasterKey.random(profile: profile, using: &generator) }
            #expect(Set(keys).count == 32)
            for key in keys {
                let crypto = try #require(CryptoAttribute(tag: 1, key: key).attribute?.value)
                #expect(try Self.parse(crypto).first?.masterKey == key)
            }
        }
    }
}
