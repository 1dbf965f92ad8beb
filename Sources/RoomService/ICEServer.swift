/// A STUN or TURN server that clients of WHIP and WHEP are told of (RFC 9725, section 4.6). The node itself needs none.
package struct ICEServer: Hashable, Sendable {
    /// `stun:stun.example.net`, `turn:turn.example.net?transport=udp`.
    package var url: String
    /// For TURN: told to whoever is let in with a leg.
    package var username: String?
    package var credential: String?

    package init(url: String, username: String? = nil, credential: String? = nil) {
        self.url = url
        self.username = username
        self.credential = credential
    }

    /// The value of `Link`; `nil`: there are none.
    static func link(_ servers: [ICEServer]) -> String? {
        servers.isEmpty ? nil : servers.map(\.link).joined(separator: ", ")
    }

    private var link: String {
        var parts = ["<\(url.filter { $0 != ">" && $0 != "<" && !$0.isNewline })>", "rel=\"ice-server\""]
        if let username { parts.append("username=\(ICEServer.quoted(username))") }
        if let credential {
            parts += ["credential=\(ICEServer.quoted(credential))", "credential-type=\"password\""]
        }
        return parts.joined(separator: "; ")
    }

    /// A quoted string (RFC 9110, section 5.6.4).
    private static func quoted(_ text: String) -> String {
        let bytes = text.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }
        return "\"" + bytes.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }.joined() + "\""
    }
}
