import CCrypto

/// HMAC-SHA1 (RFC 2104) and the comparison that goes with it: what signs room tokens and server-API requests.
enum KeyedHash {
    /// 20 bytes. `nil` when the library fails, which no signature may ever match.
    static func hmacSHA1(key: [UInt8], message: [UInt8]) -> [UInt8]? {
        var digest = [UInt8](repeating: 0, count: 20)
        return parlor_hmac_sha1(key, key.count, message, message.count, &digest) ? digest : nil
    }

    /// Takes the same time whatever differs, so that a signature cannot be guessed byte by byte.
    static func equal(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        a.count == b.count && parlor_equal_constant_time(a, b, a.count)
    }
}
