/// The parts of an absolute URL that a client needs (RFC 3986, section 3); nothing is decoded or normalized.
package struct WebURL: Sendable, Equatable {
    /// `http`, `https`, `ws` or `wss`.
    package var scheme: String
    /// Without the brackets of an IPv6 address.
    package var host: String
    package var port: UInt16
    /// Path and query; `/` if the URL has neither.
    package var target: String

    package var isTLS: Bool { scheme == "https" || scheme == "wss" }

    /// The Host header: with brackets around IPv6, and the port unless it is the scheme's own (RFC 9110, section 7.2).
    package var hostField: String {
        let host = host.contains(":") ? "[\(host)]" : host
        return port == (isTLS ? 443 : 80) ? host : "\(host):\(port)"
    }

    /// - Throws: `.badURL`, also for user information and for bytes that may not stand in a request line.
    package init(_ text: String) throws(WebTransportError) {
        func bad(_ reason: String) -> WebTransportError {
            WebTransportError(.badURL, "\(reason) in the URL \(text)")
        }
        let bytes = Array(text.utf8)
        guard bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { throw bad("a space or a character beyond ASCII") }
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8) else {
            throw bad("no scheme")
        }
        let scheme = String(decoding: bytes[..<colon], as: UTF8.self).lowercased()
        guard ["http", "https", "ws", "wss"].contains(scheme) else { throw bad("an unknown scheme") }

        let afterScheme = bytes[(colon + 3)...]
        let authority = afterScheme.prefix { !"/?#".utf8.contains($0) }
        let rest = afterScheme[authority.endIndex...].prefix { $0 != UInt8(ascii: "#") }
        guard !authority.contains(UInt8(ascii: "@")) else { throw bad("user information") }

        let host: ArraySlice<UInt8>
        var afterHost: ArraySlice<UInt8>
        if authority.first == UInt8(ascii: "[") {
            host = authority.dropFirst().prefix { $0 != UInt8(ascii: "]") }
            guard host.endIndex < authority.endIndex else { throw bad("an open bracket") }
            afterHost = authority[(host.endIndex + 1)...]
        } else {
            host = authority.prefix { $0 != UInt8(ascii: ":") }
            afterHost = authority[host.endIndex...]
        }
        guard !host.isEmpty else { throw bad("no host") }

        var port: UInt16 = scheme == "https" || scheme == "wss" ? 443 : 80
        if afterHost.popFirst() != nil {
            guard authority[host.endIndex...].contains(UInt8(ascii: ":")),
                let number = UInt16(String(decoding: afterHost, as: UTF8.self)), number > 0
            else { throw bad("a bad port") }
            port = number
        }
        self.scheme = scheme
        self.host = String(decoding: host, as: UTF8.self)
        self.port = port
        let target = String(decoding: rest, as: UTF8.self)
        self.target = target.hasPrefix("/") ? target : "/" + target
    }
}
