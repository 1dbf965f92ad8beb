/// A request as the server received it. Nothing is decoded or normalized: signatures are computed over these bytes.
package struct HTTPRequest: Sendable {
    /// As sent; methods are case-sensitive.
    package var method: String
    /// The request target as sent: path and query, percent-encoding and all (RFC 9112, section 3.2). Some clients send
    /// an absolute URL (section 3.2.2), which `path` and `query` see through.
    package var target: String
    package var headers: HTTPFields
    /// Without transfer coding.
    package var body: [UInt8]
    /// The numeric address of the socket's peer; IPv4 also when it came through an IPv6 socket.
    package var peerHost: String
    package var peerPort: UInt16
    package var isTLS: Bool
    /// Whether it is a well-formed WebSocket opening request (RFC 6455, section 4.2.1).
    package var wantsWebSocket: Bool

    package init(
        method: String, target: String, headers: HTTPFields = [:], body: [UInt8] = [], peerHost: String = "",
        peerPort: UInt16 = 0, isTLS: Bool = false, wantsWebSocket: Bool = false
    ) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        self.peerHost = peerHost
        self.peerPort = peerPort
        self.isTLS = isTLS
        self.wantsWebSocket = wantsWebSocket
    }

    /// Path and query alone, raw: of an absolute URL what stands behind the authority, with `/` for an empty path.
    package var originForm: String {
        for scheme in ["http://", "https://"] {
            let start = target.utf8.prefix(scheme.utf8.count)
            // Without case (RFC 3986, section 3.1). What else would be equal is a control character, never in a target.
            guard start.elementsEqual(scheme.utf8, by: { $0 | 0x20 == $1 | 0x20 }) else { continue }
            let afterScheme = target.utf8.dropFirst(scheme.utf8.count)
            let rest = String(afterScheme.drop { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }) ?? ""
            return rest.utf8.first == UInt8(ascii: "/") ? rest : "/" + rest
        }
        return target
    }

    /// The origin form up to the first `?`, raw.
    package var path: String {
        String(decoding: originForm.utf8.prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self)
    }

    /// The origin form after the first `?`, raw; `nil` without one.
    package var query: String? {
        let form = originForm
        guard let mark = form.utf8.firstIndex(of: UInt8(ascii: "?")) else { return nil }
        return String(decoding: form.utf8[form.utf8.index(after: mark)...], as: UTF8.self)
    }

    /// The parameters of the query in order, percent-decoded, `+` as a space, as HTML forms send them. A part without
    /// `=` has an empty value; a `%` that begins no byte stands for itself.
    package var queryItems: [(name: String, value: String)] {
        guard let query else { return [] }
        // By bytes: a combining mark behind a separator does not hide it.
        return query.utf8.split(separator: UInt8(ascii: "&")).map { part in
            let name = part.prefix { $0 != UInt8(ascii: "=") }
            return (
                HTTPRequest.percentDecoded(Substring(name), plusIsSpace: true),
                HTTPRequest.percentDecoded(Substring(part[name.endIndex...].dropFirst()), plusIsSpace: true)
            )
        }
    }

    /// The path's components, percent-decoded after the cut, so that `%2F` does not separate.
    package var pathComponents: [String] {
        path.utf8.split(separator: UInt8(ascii: "/")).map { HTTPRequest.percentDecoded(Substring($0)) }
    }

    /// Bytes after percent-decoding, as UTF-8; what is not UTF-8 becomes U+FFFD.
    package static func percentDecoded(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String {
        var decoded: [UInt8] = []
        var rest = Array(text.utf8)[...]
        decoded.reserveCapacity(rest.count)
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let high = hexValue(rest.first), let low = hexValue(rest.dropFirst().first) {
                decoded.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                decoded.append(byte == UInt8(ascii: "+") && plusIsSpace ? UInt8(ascii: " ") : byte)
            }
        }
        return String(decoding: decoded, as: UTF8.self)
    }

    private static func hexValue(_ byte: UInt8?) -> UInt8? {
        switch byte {
        case .some(let byte) where byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case .some(let byte) where byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case .some(let byte) where byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
