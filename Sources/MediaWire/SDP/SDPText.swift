// Words of SDP lines. All splitting is by bytes: a Character may be a separator with a combining mark behind it, or a whole
// CR LF, and would hide from a comparison.

extension Substring {
    /// Before and after the first such byte; the whole and `nil` if there is none.
    func cut(at byte: UInt8) -> (head: Substring, tail: Substring?) {
        guard let index = utf8.firstIndex(of: byte) else { return (self, nil) }
        return (self[..<index], self[utf8.index(after: index)...])
    }

    /// The parts between such bytes, empty ones included.
    func parts(at byte: UInt8) -> [Substring] {
        utf8.split(separator: byte, omittingEmptySubsequences: false).map { Substring($0) }
    }

    /// The parts between spaces (tolerant: any number of spaces and tabs).
    var words: [Substring] {
        utf8.split(whereSeparator: { $0 == 0x20 || $0 == 0x09 }).map { Substring($0) }
    }

    /// Without spaces and tabs at both ends.
    var trimmed: Substring {
        var bytes = utf8
        while let first = bytes.first, first == 0x20 || first == 0x09 { bytes = bytes.dropFirst() }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes = bytes.dropLast() }
        return Substring(bytes)
    }

    /// Decimal digits and nothing else; `nil` also when the value does not fit.
    func decimal<T: FixedWidthInteger>(as type: T.Type = T.self) -> T? {
        guard !isEmpty, utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        return T(self)
    }

    /// RFC 8866, section 9: `token`.
    var isToken: Bool { !isEmpty && utf8.allSatisfy(SDPText.isTokenByte) }
}

extension StringProtocol {
    /// What somebody's description says, for error sentences: in quotes, printable, at most 40 bytes. Not more: behind
    /// `crypto:1 AES_CM_128_HMAC_SHA1_80 inline:`, which has 40, comes a key.
    package var quoted: String {
        let head = utf8.prefix(40).map { $0 >= 0x20 && $0 < 0x7F ? $0 : 0x3F }
        return "\"" + String(decoding: head, as: UTF8.self) + (utf8.count > 40 ? "..." : "") + "\""
    }
}

enum SDPText {
    static let space = UInt8(ascii: " ")
    static let colon = UInt8(ascii: ":")
    static let slash = UInt8(ascii: "/")
    static let semicolon = UInt8(ascii: ";")
    static let equals = UInt8(ascii: "=")
    static let bar = UInt8(ascii: "|")

    static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x21, 0x23...0x27, 0x2A...0x2B, 0x2D...0x2E, 0x30...0x39, 0x41...0x5A, 0x5E...0x7E: true
        default: false
        }
    }
}
