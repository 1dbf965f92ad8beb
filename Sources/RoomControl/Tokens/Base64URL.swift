/// Base64 with the URL-safe alphabet (RFC 4648, section 5), as room tokens and request signatures use it.
package enum Base64URL {
    /// Encodes with padding, as every SDK of the vendor does.
    package static func encode(_ bytes: some Sequence<UInt8>, padded: Bool = true) -> String {
        var result = ""
        var pending: UInt32 = 0
        var count = 0
        for byte in bytes {
            pending = pending << 8 | UInt32(byte)
            count += 1
            if count == 3 {
                for shift in [18, 12, 6, 0] as [UInt32] { result.append(character(pending >> shift)) }
                pending = 0
                count = 0
            }
        }
        switch count {
        case 1:
            result.append(character(pending >> 2))
            result.append(character(pending << 4))
            if padded { result.append("==") }
        case 2:
            result.append(character(pending >> 10))
            result.append(character(pending >> 4))
            result.append(character(pending << 2))
            if padded { result.append("=") }
        default: break
        }
        return result
    }

    /// Decodes leniently: either alphabet, padding or none. `nil` for any other character or an impossible length.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count / 4 * 3 + 3)
        var pending: UInt32 = 0
        var count = 0
        var padding = 0
        for byte in text.utf8 {
            if byte == UInt8(ascii: "=") {
                padding += 1
                continue
            }
            guard padding == 0, let value = value(of: byte) else { return nil }
            pending = pending << 6 | UInt32(value)
            count += 1
            if count == 4 {
                bytes.append(UInt8(truncatingIfNeeded: pending >> 16))
                bytes.append(UInt8(truncatingIfNeeded: pending >> 8))
                bytes.append(UInt8(truncatingIfNeeded: pending))
                pending = 0
                count = 0
            }
        }
        switch count {
        case 0: return padding == 0 ? bytes : nil
        case 2 where padding == 0 || padding == 2:
            bytes.append(UInt8(truncatingIfNeeded: pending >> 4))
        case 3 where padding == 0 || padding == 1:
            bytes.append(UInt8(truncatingIfNeeded: pending >> 10))
            bytes.append(UInt8(truncatingIfNeeded: pending >> 2))
        default: return nil
        }
        return bytes
    }

    private static func character(_ sextet: UInt32) -> Character {
        let value = UInt8(truncatingIfNeeded: sextet & 63)
        let code: UInt8 =
            switch value {
            case 0..<26: UInt8(ascii: "A") + value
            case 26..<52: UInt8(ascii: "a") + (value - 26)
            case 52..<62: UInt8(ascii: "0") + (value - 52)
            case 62: UInt8(ascii: "-")
            default: UInt8(ascii: "_")
            }
        return Character(UnicodeScalar(code))
    }

    private static func value(of byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0") + 52
        case UInt8(ascii: "-"), UInt8(ascii: "+"): 62
        case UInt8(ascii: "_"), UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
