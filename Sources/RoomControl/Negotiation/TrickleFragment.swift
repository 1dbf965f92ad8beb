package import MediaWire

/// What a client sends of its ICE session after the offer: more candidates, or new credentials (RFC 8840, section 9;
/// RFC 9725, section 4.3).
///
/// An ICE-lite agent has no use for candidates, so they are only counted; what matters are the credentials.
package struct TrickleFragment: Hashable, Sendable {
    /// Of the first section that has them, or of the whole.
    package var iceUfrag: String?
    package var icePassword: String?
    package var candidates = 0
    package var isEndOfCandidates = false

    /// Bytes of a fragment; a browser's candidates take some hundred.
    package static let longest = 65_536
    private static let mostLines = 1024

    /// An m-line of the answer as fragments name it.
    package struct Section: Hashable, Sendable {
        package var kind: MediaKind
        package var mid: String?
        package var transport: String
        package var format: String

        package init(kind: MediaKind, mid: String?, transport: String, format: String) {
            self.kind = kind
            self.mid = mid
            self.transport = transport
            self.format = format
        }
    }

    /// Reads `application/trickle-ice-sdpfrag`.
    ///
    /// - Throws: what is malformed, with its line.
    package init(parsing text: String) throws(NegotiationError) {
        guard text.utf8.count <= Self.longest else {
            throw NegotiationError(.malformed, reason: "a fragment has at most \(Self.longest) bytes")
        }
        var number = 0
        for line in text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false) {
            number += 1
            guard number <= Self.mostLines else {
                throw NegotiationError(
                    .malformed, line: number, reason: "a fragment has at most \(Self.mostLines) lines")
            }
            let bytes = line.last == 0x0D ? line.dropLast() : line
            if bytes.isEmpty { continue }
            let text = Substring(bytes)
            guard bytes.count >= 2, text.utf8.dropFirst().first == UInt8(ascii: "=") else {
                throw NegotiationError(
                    .malformed, line: number, reason: "a line is a letter, =, and a value, not \(text.quoted)")
            }
            guard text.hasPrefix("a=") else { continue }
            let (name, value) = Self.attribute(text.dropFirst(2))
            switch name {
            case "ice-ufrag":
                try Self.check(value, 4...256, "ice-ufrag", number)
                iceUfrag = iceUfrag ?? value
            case "ice-pwd":
                try Self.check(value, 22...256, "ice-pwd", number)
                icePassword = icePassword ?? value
            case "candidate":
                // RFC 8839, section 5.1: foundation, component, transport, priority, address, port, "typ", type.
                let words = value.split(separator: " ")
                guard words.count >= 8, words[6] == "typ" else {
                    throw NegotiationError(.malformed, line: number, reason: "a=candidate has at least eight words")
                }
                candidates += 1
            case "end-of-candidates": isEndOfCandidates = true
            default: break
            }
        }
        guard (iceUfrag == nil) == (icePassword == nil) else {
            throw NegotiationError(.malformed, reason: "a=ice-ufrag and a=ice-pwd come together")
        }
        guard iceUfrag != nil || candidates > 0 || isEndOfCandidates else {
            throw NegotiationError(
                .malformed, reason: "the fragment has neither a=candidate, a=end-of-candidates nor a=ice-ufrag")
        }
    }

    private static func attribute(_ text: Substring) -> (name: Substring, value: String) {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return (text, "") }
        return (text[..<colon], String(text[text.utf8.index(after: colon)...]))
    }

    /// RFC 8839, section 5.4: ice-char is a letter, a digit, `+` or `/`.
    private static func check(
        _ value: String, _ length: ClosedRange<Int>, _ name: String, _ line: Int
    ) throws(NegotiationError) {
        let isPlain = value.utf8.allSatisfy {
            switch $0 {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B, 0x2F: true
            default: false
            }
        }
        guard isPlain, length.contains(value.utf8.count) else {
            throw NegotiationError(
                .malformed, line: line,
                reason: "a=\(name) has \(length.lowerBound) to \(length.upperBound) letters, digits, + and /")
        }
    }
}
