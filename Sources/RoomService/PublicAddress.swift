import RoomControl
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

    /// A name, or an address, with a port or without.
    static func isHost(_ text: String) -> Bool {
        guard (1...255).contains(text.utf8.count),
            text.utf8.allSatisfy({ byte in
                switch byte {
                case 48...57, 65...90, 97...122: true
                default: "-._:[]".utf8.contains(byte)
                }
            }), let url = try? WebURL("http://\(text)")
        else { return false }
        // Brackets only around an IPv6 address.
        return !url.host.contains("[") && !url.host.contains("]") && url.host.contains(":") == text.hasPrefix("[")
    }
}
