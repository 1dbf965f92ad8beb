import MediaWire
import RoomService

// Readers of values that are texts: names, secrets, paths, URLs.

extension ValueReader {
    /// A value that has no default; if it is written, it must be right. `none` takes back what an earlier layer said.
    static func optional<Written>(_ reader: ValueReader<Written>) -> ValueReader where T == Written? {
        ValueReader { (value) throws(ValueComplaint) in
            if case .text("none", let quoted) = value {
                guard !quoted else {
                    throw ValueComplaint("\"none\" is not usable here; none without quotes takes it back")
                }
                return nil
            }
            return try reader.read(value)
        }
    }
}

extension ValueReader where T == String {
    /// A name of an app or a key: what tokens and paths can carry.
    static func name(upTo limit: Int) -> ValueReader {
        ValueReader { (value) throws(ValueComplaint) in
            let text = try value.single()
            guard (1...limit).contains(text.utf8.count), text.utf8.allSatisfy(Numbers.isNameByte) else {
                throw ValueComplaint("\"\(text)\" is not a name; use 1 to \(limit) of A-Z, a-z, 0-9, - and _")
            }
            return text
        }
    }

    /// Never part of a message: it is the secret.
    static let secret = ValueReader { (value) throws(ValueComplaint) in
        let text = try value.single()
        guard (8...256).contains(text.utf8.count), text.utf8.allSatisfy({ (33...126).contains($0) }) else {
            throw ValueComplaint("not usable as a secret; give 8 to 256 visible ASCII characters")
        }
        return text
    }

    /// The path of a file or a folder.
    static let path = ValueReader { (value) throws(ValueComplaint) in
        let text = try value.single()
        guard (1...4096).contains(text.utf8.count), text.utf8.allSatisfy({ $0 >= 32 && $0 != 127 }) else {
            throw ValueComplaint("not usable as a path; give 1 to 4096 characters, no control characters")
        }
        return text
    }

    /// An absolute URL. Without `pathAllowed` it ends with host and port, and is read without a slash at its end.
    static func url(schemes: [String], pathAllowed: Bool) -> ValueReader {
        ValueReader { (value) throws(ValueComplaint) in
            let text = try value.single()
            let wanted =
                "write \(schemes.joined(separator: " or "))://HOST"
                + (pathAllowed ? "/PATH" : ", or with :PORT, and no path")
            func complaint(_ reason: String) -> ValueComplaint { ValueComplaint("\"\(text)\" \(reason); \(wanted)") }
            guard text.utf8.count <= 2048, text.utf8.allSatisfy({ (33...126).contains($0) && $0 != UInt8(ascii: "#") }),
                let scheme = schemes.first(where: { text.hasPrefix("\($0)://") })
            else { throw complaint("is not such a URL") }
            let authority = text.dropFirst(scheme.count + 3).prefix { $0 != "/" && $0 != "?" }
            let path = text[authority.endIndex...]
            guard PublicAddress.isHost(authority) else { throw complaint("has no usable host") }
            guard !pathAllowed else { return text }
            guard path.isEmpty || path == "/" else { throw complaint("has a path") }
            return String(text[..<authority.endIndex])
        }
    }
}

extension ValueReader where T == String {
    /// A name or a password that a TURN server knows, as a header field can carry it. Never part of a message.
    static func turnWord(_ what: String) -> ValueReader {
        ValueReader { (value) throws(ValueComplaint) in
            let text = try value.single()
            guard (1...256).contains(text.utf8.count), text.utf8.allSatisfy({ (32...126).contains($0) }) else {
                throw ValueComplaint("not usable as \(what); give 1 to 256 printable ASCII characters")
            }
            return text
        }
    }
}

extension ValueReader where T == [String] {
    /// URLs of STUN and TURN servers (RFC 7064, section 3.1; RFC 7065, section 3.1).
    static let iceURLs = ValueReader { (value) throws(ValueComplaint) in
        let urls = value.elements()
        for url in urls {
            // It would be shown.
            guard !url.contains("@") else {
                throw ValueComplaint("a URL with an @: user name and password are keys of their own")
            }
            guard isICEURL(url) else {
                throw ValueComplaint(
                    "\"\(url)\" is not the URL of a STUN or TURN server; write stun:HOST or turn:HOST (stuns:, turns: over TLS), "
                        + "with :PORT where it is another, and ?transport=udp or ?transport=tcp behind one of TURN")
            }
        }
        guard !urls.isEmpty else { throw ValueComplaint("no URL; give one, or leave the server out") }
        return urls
    }

    private static func isICEURL(_ text: String) -> Bool {
        guard let colon = text.firstIndex(of: ":") else { return false }
        let rest = text[text.index(after: colon)...].split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let host = rest.first, PublicAddress.isHost(host) else { return false }
        switch text[..<colon] {
        case "stun", "stuns": return rest.count == 1
        case "turn", "turns": return rest.count == 1 || ["transport=udp", "transport=tcp"].contains(rest[1])
        default: return false
        }
    }
}

extension ValueReader where T == NodeConfiguration.CertificateChoice {
    static let certificate = ValueReader { (value) throws(ValueComplaint) in
        let text = try ValueReader<String>.path.read(value)
        return text == NodeConfiguration.CertificateChoice.selfSignedName ? .selfSigned : .file(text)
    }
}

extension ValueReader where T == Codec {
    static let videoCodec = ValueReader { (value) throws(ValueComplaint) in
        let text = try value.single()
        guard let codec = Codec(name: text), codec.kind == .video else {
            let names = Codec.allCases.filter { $0.kind == .video }.map(\.name).joined(separator: ", ")
            throw ValueComplaint("\"\(text)\" is none of \(names)")
        }
        return codec
    }
}

extension ValueReader where T == NodeConfiguration.Webhooks {
    static let webhookHosts = ValueReader { (value) throws(ValueComplaint) in
        var webhooks = NodeConfiguration.Webhooks()
        webhooks.allowed = value.elements()
        do throws(WebhookAddressError) {
            webhooks.allow = try WebhookAllowList(webhooks.allowed)
        } catch { throw ValueComplaint(error.message) }
        return webhooks
    }
}
