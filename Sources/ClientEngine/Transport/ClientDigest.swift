import MediaTransport

/// What a client needs of cryptography beside its media: the signature of a room token.
package enum ClientDigest {
    /// HMAC-SHA1 (RFC 2104), 20 bytes; `nil` when the library fails.
    package static func hmacSHA1(key: [UInt8], message: [UInt8]) -> [UInt8]? {
        MessageAuthentication.hmacSHA1(key: key, message: message)
    }
}
