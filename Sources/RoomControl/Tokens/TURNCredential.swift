import FoundationEssentials

/// What a client shows to a TURN server that shares a secret with this node: a user name that says until when it is good, and
/// its HMAC-SHA1 as the password (draft-uberti-behave-turn-rest-00, section 2.2; coturn's `use-auth-secret`).
package struct TURNCredential: Hashable, Sendable {
    package var username: String
    /// Base64 of the standard alphabet, with padding.
    package var password: String

    /// `nil`: the library fails.
    ///
    /// - Parameters:
    ///   - user: for whom; what the TURN server's log shows.
    ///   - expiresAt: Unix time in seconds.
    package init?(secret: String, user: String, expiresAt: Int64) {
        username = "\(expiresAt):\(user)"
        guard let digest = KeyedHash.hmacSHA1(key: Array(secret.utf8), message: Array(username.utf8)) else {
            return nil
        }
        password = Data(digest).base64EncodedString()
    }
}

extension TURNCredential: CustomStringConvertible, CustomReflectable {
    /// Never the password: descriptions end in logs.
    package var description: String { "TURN credential of \(username)" }
    package var customMirror: Mirror { Mirror(self, children: ["username": username]) }
}
