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
