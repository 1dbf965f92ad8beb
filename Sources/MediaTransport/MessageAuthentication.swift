internal import CCrypto

/// HMAC-SHA1 for clients that sign a room token themselves.
package enum MessageAuthentication {
    /// RFC 2104 with SHA-1: 20 bytes. `nil` when the library fails.
    package static func hmacSHA1(key: [UInt8], message: [UInt8]) -> [UInt8]? {
        var digest = [UInt8](repeating: 0, count: 20)
        return parlor_hmac_sha1(key, key.count, message, message.count, &digest) ? digest : nil
    }
}
