import RoomControl

/// STUN and TURN servers that clients of WHIP and WHEP are told of (RFC 9725, section 4.6). The node itself needs none.
package struct ICEServer: Hashable, Sendable {
    /// How a client gets in at the TURN servers.
    package enum Access: Hashable, Sendable {
        /// Nothing is asked.
        case open
        /// The same for everybody.
        case password(username: String, credential: String)
        /// Each leg gets a credential for its user and a day, made with the secret that the server has, too.
        case secret(String)
    }

    /// `stun:stun.example.net`, `turn:turn.example.net?transport=udp` (RFC 7064, RFC 7065); those of TURN share the access.
    package var urls: [String]
    package var access: Access

    package init(urls: [String], access: Access = .open) {
        self.urls = urls
        self.access = access
    }

    /// For how long a credential made for one leg lets in, in seconds: the draft's own recommendation. A TURN allocation that is
    /// there lives on.
    static let credentialLifetime: Int64 = 86_400

    /// The value of `Link` for the leg of a user; `nil`: there are none.
    ///
    /// - Parameter unixTime: now, in seconds.
    static func links(_ servers: [ICEServer], for user: String, unixTime: Int64) -> String? {
        joined(
            servers.flatMap { server -> [String] in
                let access = server.attributes(for: user, unixTime: unixTime)
                return server.urls.compactMap { url in
                    guard ICEServer.isTURN(url) else { return link(url) }
                    return access.map { link(url, $0) }
                }
            })
    }

    /// The same for anybody: those for which no credential is needed.
    static func publicLinks(_ servers: [ICEServer]) -> String? {
        joined(
            servers.flatMap { server in server.urls.filter { server.access == .open || !isTURN($0) }.map { link($0) } })
    }

    private static func joined(_ links: [String]) -> String? { links.isEmpty ? nil : links.joined(separator: ", ") }

    private static func isTURN(_ url: String) -> Bool { url.lowercased().hasPrefix("turn") }

    /// `nil`: there is no way in.
    private func attributes(for user: String, unixTime: Int64) -> [String]? {
        let (username, credential): (String, String)
        switch access {
        case .open: return []
        case .password(let name, let password): (username, credential) = (name, password)
        case .secret(let secret):
            let expiresAt = unixTime + ICEServer.credentialLifetime
            guard let made = TURNCredential(secret: secret, user: user, expiresAt: expiresAt) else { return nil }
            (username, credential) = (made.username, made.password)
        }
        return [
            "username=\(ICEServer.quoted(username))", "credential=\(ICEServer.quoted(credential))",
            "credential-type=\"password\"",
        ]
    }

    private static func link(_ url: String, _ attributes: [String] = []) -> String {
        let url = url.filter { $0 != ">" && $0 != "<" && !$0.isNewline }
        return (["<\(url)>", "rel=\"ice-server\""] + attributes).joined(separator: "; ")
    }

    /// A quoted string (RFC 9110, section 5.6.4).
    private static func quoted(_ text: String) -> String {
        let bytes = text.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }
        return "\"" + bytes.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }.joined() + "\""
    }
}

extension ICEServer: CustomStringConvertible, CustomReflectable {
    /// Without what lets in: descriptions end in logs.
    package var description: String { urls.joined(separator: ", ") }
    package var customMirror: Mirror { Mirror(self, children: ["urls": urls]) }
}
