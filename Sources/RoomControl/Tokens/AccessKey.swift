/// A pair of keys: the first names its owner, the second signs room tokens and server-API requests.
package struct AccessKey: Hashable, Sendable {
    /// Public; travels in every token. Holds no `:`.
    package var id: String
    /// Never leaves the process.
    package var secret: String

    package init(id: String, secret: String) {
        self.id = id
        self.secret = secret
    }

    /// HMAC-SHA1 of the message, base64url with padding: 28 characters (none when the library fails).
    func signature(of message: [UInt8]) -> String {
        KeyedHash.hmacSHA1(key: Array(secret.utf8), message: message).map { Base64URL.encode($0) } ?? ""
    }

    /// Whether the signature (base64 of either alphabet) is this key's for the message.
    func accepts(signature: some StringProtocol, of message: [UInt8]) -> Bool {
        guard let claimed = Base64URL.decode(signature),
            let right = KeyedHash.hmacSHA1(key: Array(secret.utf8), message: message)
        else { return false }
        return KeyedHash.equal(claimed, right)
    }
}

extension AccessKey: CustomStringConvertible {
    /// Never the secret: descriptions end in logs.
    package var description: String { "key \(id)" }
}
