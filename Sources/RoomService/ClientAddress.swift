package import MediaWire
package import WebTransport

/// Finds out where a request really came from.
package struct ClientAddress: Sendable {
    /// Whether what this host says in X-Forwarded-For may be believed.
    private let isTrustedProxy: @Sendable (TransportAddress) -> Bool

    package init(isTrustedProxy: @escaping @Sendable (TransportAddress) -> Bool) {
        self.isTrustedProxy = isTrustedProxy
    }

    /// Whether a proxy sent it whose word counts.
    package func isFromTrustedProxy(_ request: HTTPRequest) -> Bool {
        guard let peer = TransportAddress(host: request.peerHost, port: request.peerPort)?.unmapped else {
            return false
        }
        return isTrustedProxy(peer)
    }

    /// The socket's peer; if that is a trusted proxy, whom it names, and so on from the right. An entry that cannot be
    /// read ends the search at the proxy that wrote it.
    package func of(_ request: HTTPRequest) -> TransportAddress {
        guard let peer = TransportAddress(host: request.peerHost, port: request.peerPort)?.unmapped else {
            return .unspecified
        }
        var client = peer
        var entries = request.headers.values("X-Forwarded-For").joined(separator: ",").split(separator: ",")[...]
        while isTrustedProxy(client), let entry = entries.popLast() {
            guard let next = ClientAddress.parse(entry) else { return client }
            client = next
        }
        return client
    }

    /// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`; a port does not matter.
    static func parse(_ entry: some StringProtocol) -> TransportAddress? {
        var text = entry.split(separator: " ").joined(separator: " ")[...]
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            text = text[text.index(after: text.startIndex)..<end]
        } else if text.contains("."), let colon = text.firstIndex(of: ":"), !text.hasPrefix(":"),
            text[text.index(after: colon)...].allSatisfy(\.isNumber)
        {
            text = text[..<colon]
        }
        return TransportAddress(host: text, port: 0)?.unmapped
    }
}
