import MediaWire
package import WebTransport

/// How clients reach this node: what the signalling URLs that it hands out begin with.
package struct PublicAddress: Sendable {
    private let configured: String?
    private let clientAddress: ClientAddress

    /// - Parameter configured: `https://media.example.com`, or `http`, without a slash at the end; `nil`: as the client
    ///   reached the node when it asked.
    package init(configured: String?, clientAddress: ClientAddress) {
        self.configured = configured
        self.clientAddress = clientAddress
    }

    /// `wss://media.example.com`, without a slash at the end. Without a configured one it is the request's Host, `wss` if the
    /// request came over TLS; where a trusted proxy sent it, X-Forwarded-Proto and X-Forwarded-Host say so.
    ///
    /// - Returns: `nil` when the request has no Host that could stand in a URL.
    package func webSocketBase(for request: HTTPRequest) -> String? {
        if let configured {
            // http -> ws, https -> wss
            return "ws" + configured.dropFirst(4)
        }
        var isTLS = request.isTLS
        var host = request.headers["Host"]
        if clientAddress.isFromTrustedProxy(request) {
            if let scheme = last(of: "X-Forwarded-Proto", request) { isTLS = scheme.lowercased() == "https" }
            host = last(of: "X-Forwarded-Host", request) ?? host
        }
        guard let host, PublicAddress.isHost(host) else { return nil }
        return "\(isTLS ? "wss" : "ws")://\(host)"
    }

    /// What the nearest proxy wrote.
    private func last(of header: String, _ request: HTTPRequest) -> String? {
        let entries = request.headers.values(header).joined(separator: ",").split(separator: ",")
        guard let entry = entries.last else { return nil }
        return entry.split(separator: " ").joined(separator: " ")
    }

    /// Whether the text can stand as host in a URL: a name, an IPv4 address, or an IPv6 address in brackets; with a port or without.
    package static func isHost(_ text: some StringProtocol) -> Bool {
        guard (1...255).contains(text.utf8.count) else { return false }
        let host: Substring
        var rest: Substring
        if text.hasPrefix("[") {
            host = Substring(text.dropFirst().prefix { $0 != "]" })
            rest = Substring(text.dropFirst(host.count + 1))
            guard rest.popFirst() == "]", let address = TransportAddress(host: host, port: 0), !address.isIPv4 else {
                return false
            }
        } else {
            host = Substring(text.prefix { $0 != ":" })
            rest = Substring(text.dropFirst(host.count))
            guard !host.isEmpty, host.utf8.allSatisfy(isNameByte) else { return false }
        }
        guard let colon = rest.popFirst() else { return true }
        guard colon == ":", (1...5).contains(rest.utf8.count), rest.utf8.allSatisfy({ (48...57).contains($0) }),
            let port = UInt16(rest)
        else { return false }
        return port > 0
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...90, 97...122, 45, 46, 95: true
        default: false
        }
    }
}
