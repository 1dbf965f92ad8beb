/// Base64 with the standard alphabet (RFC 4648, section 4), as `a=crypto` carries keys.
package enum Base64 {
    private static let alphabet: [UInt8] = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// The text of the bytes, padded with `=`.
    package static func encode(_ bytes: [UInt8]) -> String {
        var result: [UInt8] = []
        result.reserveCapacity((bytes.count + 2) / 3 * 4)
        var index = 0
        while index < bytes.count {
            let left = bytes.count - index
            let group =
                UInt32(bytes[index]) << 16 | (left > 1 ? UInt32(bytes[index + 1]) << 8 : 0)
                | (left > 2 ? UInt32(bytes[index + 2]) : 0)
            result.append(alphabet[Int(group >> 18 & 63)])
            result.append(alphabet[Int(group >> 12 & 63)])
            result.append(left > 1 ? alphabet[Int(group >> 6 & 63)] : UInt8(ascii: "="))
            result.append(left > 2 ? alphabet[Int(group & 63)] : UInt8(ascii: "="))
            index += 3
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// The bytes of a text, with its padding or without. `nil`: a character outside the alphabet, a length that no bytes
    /// have, padding in the wrong place, or bits set behind the last byte (so that one key has one text).
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var characters = Array(text.utf8)
        if characters.last == UInt8(ascii: "=") {
            guard characters.count % 4 == 0 else { return nil }
            characters.removeLast()
            if characters.last == UInt8(ascii: "=") { characters.removeLast() }
        }
        guard characters.count % 4 != 1 else { return nil }
        var result: [UInt8] = []
        result.reserveCapacity(characters.count / 4 * 3 + 2)
        var bits: UInt32 = 0
        var count = 0
        for character in characters {
            guard let value = value(of: character) else { return nil }
            bits = (bits << 6 | value) & 0xFFFF
            count += 6
            if count >= 8 {
                count -= 8
                result.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        guard bits & (1 << UInt32(count) - 1) == 0 else { return nil }
        return result
    }

    private static func value(of character: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character) - 65
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character) - 97 + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character) - 48 + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
