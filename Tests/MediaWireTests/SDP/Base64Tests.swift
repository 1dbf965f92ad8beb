import MediaWire
import Testing

@Suite struct Base64Tests {
    /// RFC 4648, section 10.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ])
    func vectors(plain: String, text: String) {
        #expect(Base64.encode(Array(plain.utf8)) == text)
        #expect(Base64.decode(text) == Array(plain.utf8))
        #expect(Base64.decode(text.filter { $0 != "=" }) == Array(plain.utf8))
    }

    @Test func everyByteInEveryPlaceComesBack() {
        for length in 0..<64 {
            for shift in 0..<4 {
                let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 * 83 + shift * 64 + length) }
                #expect(Base64.decode(Base64.encode(bytes)) == bytes)
            }
        }
        #expect(Base64.encode([0xFB, 0xEF, 0xFF]) == "++//")
    }

    @Test(arguments: [
        "A", "AAAAA", "A===", "====", "=", "AA=A", "AA=", "AAA==", "A A=", "AA\n=", "A-A=", "A_A=", "Zh==", "Zm9=", "é",
    ])
    func refuses(text: String) {
        #expect(Base64.decode(text) == nil)
    }
}
