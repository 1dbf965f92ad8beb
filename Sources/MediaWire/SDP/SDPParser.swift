/// What a description may hold at most. A browser's offer with twenty codecs is about 8 KiB and 250 lines.
package enum SDPLimits {
    /// In bytes.
    package static let text = 65_536
    package static let lines = 4096
    package static let media = 64
    /// Session-level attributes that every m-line takes over; each is read once more for each of them.
    package static let inherited = 64
}

/// What one kind of description may hold: more than `SDPLimits` where a client's offer grows with every track it ever had.
package struct SDPBounds: Hashable, Sendable {
    /// In bytes.
    package var text: Int
    package var lines: Int
    package var media: Int

    package init(text: Int, lines: Int, media: Int) {
        self.text = text
        self.lines = lines
        self.media = media
    }

    /// `SDPLimits`.
    package static let standard = SDPBounds(text: SDPLimits.text, lines: SDPLimits.lines, media: SDPLimits.media)
}

extension SessionDescription {
    /// Reads a description with lines that end in CR LF or LF.
    ///
    /// The order of lines inside a section has no meaning here (RFC 8866, section 5 fixes one, clients do not keep to it);
    /// `o=`, `s=` and `t=` may be missing. Malformed lines, and malformed values of attributes that Parlor reads, are
    /// errors with their line; unknown attributes are kept.
    package init(parsing text: String, bounds: SDPBounds = .standard) throws(SDPError) {
        self.init()
        guard text.utf8.count <= bounds.text else {
            throw SDPError(line: 0, reason: "a session description may have \(bounds.text) bytes at most")
        }
        var hasVersion = false
        var number = 0
        for piece in text[...].utf8.split(separator: 0x0A, omittingEmptySubsequences: false) {
            number += 1
            guard number <= bounds.lines else {
                throw SDPError(line: number, reason: "a session description may have \(bounds.lines) lines at most")
            }
            let bytes = piece.last == 0x0D ? piece.dropLast() : piece
            if bytes.isEmpty { continue }
            guard !bytes.contains(where: { $0 == 0 || $0 == 0x0D }) else {
                throw SDPError(line: number, reason: "a NUL or a lone CR inside the line")
            }
            let line = Substring(bytes)
            let (type, value) = line.cut(at: SDPText.equals)
            guard let value, type.utf8.count == 1, let letter = type.utf8.first,
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(letter)
            else {
                throw SDPError(line: number, reason: "a line begins with a letter and =, not with \(line.quoted)")
            }
            if letter == UInt8(ascii: "v") {
                guard value.trimmed == "0", !hasVersion else {
                    throw SDPError(line: number, reason: "v=0 stands once, and there is no other version")
                }
                hasVersion = true
                continue
            }
            guard hasVersion else { throw SDPError(line: number, reason: "a session description begins with v=0") }
            try read(letter, value, line: number, bounds: bounds)
        }
        guard hasVersion else { throw SDPError(line: 0, reason: "a session description begins with v=0") }
        try finish()
    }

    private mutating func read(
        _ letter: UInt8, _ value: Substring, line: Int, bounds: SDPBounds
    ) throws(SDPError) {
        switch letter {
        case UInt8(ascii: "m"):
            guard media.count < bounds.media else {
                throw SDPError(line: line, reason: "a session description may have \(bounds.media) m-lines at most")
            }
            media.append(try MediaDescription(line: line, value: value))
        case UInt8(ascii: "a"):
            let (name, rest) = value.cut(at: SDPText.colon)
            guard name.trimmed.isToken else {
                throw SDPError(line: line, reason: "\(name.quoted) is no name of an attribute")
            }
            let attribute = SDPAttribute(String(name.trimmed), rest.map { String($0.trimmed) }, line: line)
            if media.isEmpty {
                attributes.append(attribute)
            } else {
                media[media.count - 1].attributes.append(attribute)
            }
        case UInt8(ascii: "c"):
            let connection = try SDPConnection(words: value.words, line: line)
            let twice = SDPError(line: line, reason: "a second c= line in one section")
            if media.isEmpty {
                guard self.connection == nil else { throw twice }
                self.connection = connection
            } else {
                guard media[media.count - 1].ownConnection == nil else { throw twice }
                media[media.count - 1].ownConnection = connection
            }
        case UInt8(ascii: "o") where media.isEmpty: origin = String(value)
        case UInt8(ascii: "s") where media.isEmpty: name = String(value)
        case UInt8(ascii: "t") where media.isEmpty: timing.append(String(value))
        default:
            let other = SDPLine(type: letter, value: String(value))
            if media.isEmpty { otherLines.append(other) } else { media[media.count - 1].otherLines.append(other) }
        }
    }

    /// The attributes that an m-line takes over from the session level: those that RFC 8859 allows there and Parlor reads.
    private static let inheritable: Set<String> = [
        "sendrecv", "sendonly", "recvonly", "inactive", "extmap", "extmap-allow-mixed", "fingerprint", "setup",
        "ice-ufrag", "ice-pwd", "ice-options",
    ]

    /// What is said once in a section: two that differ leave open which one is meant. The four directions are one.
    private static let single: Set<String> = [
        "sendrecv", "sendonly", "recvonly", "inactive", "setup", "mid", "ice-ufrag", "ice-pwd",
    ]

    private static func checkContradictions(_ section: [SDPAttribute]) throws(SDPError) {
        var said: [String: SDPAttribute] = [:]
        for attribute in section where single.contains(attribute.name) {
            let isDirection = SDPDirection(rawValue: attribute.name) != nil
            let first = said.updateValue(attribute, forKey: isDirection ? "direction" : attribute.name)
            guard let first, first.name != attribute.name || first.value != attribute.value else { continue }
            throw SDPError(
                line: attribute.line,
                reason: "a=\(attribute.name) contradicts a=\(first.name) on line \(first.line), in the same section")
        }
    }

    private mutating func finish() throws(SDPError) {
        for attribute in attributes { try SessionDescription.check(attribute) }
        try SessionDescription.checkContradictions(attributes)
        let inherited = attributes.filter { SessionDescription.inheritable.contains($0.name) }
        guard inherited.count <= SDPLimits.inherited else {
            throw SDPError(
                line: inherited[SDPLimits.inherited].line,
                reason: "the session may have \(SDPLimits.inherited) attributes at most that go for all m-lines")
        }
        var mids: Set<String> = []
        for index in media.indices {
            for attribute in media[index].attributes {
                try SessionDescription.check(attribute)
                if attribute.name == "mid", !mids.insert(attribute.value ?? "").inserted {
                    throw SDPError(line: attribute.line, reason: "the mid \(attribute.text.quoted) stands twice")
                }
            }
            try SessionDescription.checkContradictions(media[index].attributes)
            media[index].sessionConnection = connection
            media[index].sessionAttributes = inherited
        }
    }

    /// Reads the attribute by its type, for the error.
    private static func check(_ attribute: SDPAttribute) throws(SDPError) {
        switch attribute.name {
        case "group": _ = try SDPGroup(attribute)
        case "rtpmap": _ = try RTPMap(attribute)
        case "fmtp": _ = try FormatParameters(attribute)
        case "rtcp-fb": _ = try RTCPFeedbackLine(attribute)
        case "extmap": _ = try ExtensionMap(attribute)
        case "crypto": _ = try CryptoAttribute(attribute)
        case "ssrc": _ = try SSRCLine(attribute)
        case "ssrc-group": _ = try SSRCGroup(attribute)
        case "rtcp": _ = try RTCPAttribute(attribute)
        case "fingerprint": _ = try Fingerprint(attribute)
        case "rid": _ = try RestrictionID(attribute)
        case "simulcast": _ = try Simulcast(attribute)
        case "mid":
            guard attribute.text.isToken else {
                throw SDPError(line: attribute.line, reason: "a mid is one word of plain characters")
            }
        case "ice-ufrag": try checkICE(attribute, length: 4...256)
        case "ice-pwd": try checkICE(attribute, length: 22...256)
        case "setup":
            guard ["active", "passive", "actpass", "holdconn"].contains(attribute.value ?? "") else {
                throw SDPError(line: attribute.line, reason: "a=setup has no role in \(attribute.text.quoted)")
            }
        default: break
        }
    }

    /// RFC 8839, section 5.4: ice-char is a letter, a digit, `+` or `/`.
    private static func checkICE(_ attribute: SDPAttribute, length: ClosedRange<Int>) throws(SDPError) {
        let bytes = attribute.text.utf8
        guard length.contains(bytes.count) else {
            throw SDPError(
                line: attribute.line,
                reason:
                    "a=\(attribute.name) has \(length.lowerBound) to \(length.upperBound) characters, not \(bytes.count)"
            )
        }
        let allowed = bytes.allSatisfy {
            switch $0 {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B, 0x2F: true
            default: false
            }
        }
        guard allowed else {
            throw SDPError(line: attribute.line, reason: "a=\(attribute.name) may hold letters, digits, + and / only")
        }
    }
}

extension MediaDescription {
    /// `audio 49170/2 RTP/SAVP 96 97`.
    fileprivate init(line: Int, value: Substring) throws(SDPError) {
        let words = value.words
        guard words.count >= 4, words[0].isToken else {
            throw SDPError(line: line, reason: "an m-line is a media type, a port, a transport, and formats")
        }
        let (number, count) = words[1].cut(at: SDPText.slash)
        guard let port = number.decimal(as: UInt16.self), count == nil || count?.decimal(as: UInt16.self) != nil else {
            throw SDPError(line: line, reason: "\(words[1].quoted) is no port")
        }
        guard words[2].parts(at: SDPText.slash).allSatisfy(\.isToken) else {
            throw SDPError(line: line, reason: "\(words[2].quoted) is no transport")
        }
        let formats = words.dropFirst(3)
        guard formats.allSatisfy(\.isToken) else {
            throw SDPError(line: line, reason: "a format is one word of plain characters")
        }
        self.init(
            media: String(words[0]), port: port, transport: String(words[2]), formats: formats.map { String($0) },
            line: line)
    }
}
