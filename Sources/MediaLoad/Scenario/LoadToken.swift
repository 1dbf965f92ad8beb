import ClientEngine

/// Signs the tokens that let the synthetic users in: `accessKey:signature:payload`, HMAC-SHA1 over the base64url payload.
package struct LoadToken: Sendable {
    package var app: String
    package var key: String
    package var secret: String

    package init(app: String, key: String, secret: String) {
        self.app = app
        self.key = key
        self.secret = secret
    }

    /// - Parameters:
    ///   - room, user: names that JSON need not escape.
    ///   - expiresAt: Unix time in seconds.
    /// - Returns: `nil` when the library fails.
    package func text(room: String, user: String, expiresAt: Int64) -> String? {
        let json =
            "{\"appId\":\"\(app)\",\"roomName\":\"\(room)\",\"userId\":\"\(user)\",\"expireAt\":\(expiresAt),"
            + "\"permission\":\"user\"}"
        let payload = Self.base64URL(Array(json.utf8))
        guard
            let signature = ClientDigest.hmacSHA1(
                key: Array(secret.utf8), message: Array(payload.utf8))
        else { return nil }
        return "\(key):\(Self.base64URL(signature)):\(payload)"
    }

    /// RFC 4648, section 5, with padding.
    static func base64URL(_ bytes: [UInt8]) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var result: [UInt8] = []
        result.reserveCapacity((bytes.count + 2) / 3 * 4)
        var index = 0
        while index < bytes.count {
            let rest = min(3, bytes.count - index)
            var group: UInt32 = 0
            for offset in 0..<3 { group = group << 8 | (offset < rest ? UInt32(bytes[index + offset]) : 0) }
            for place in 0..<4 {
                let shift = UInt32(18 - 6 * place)
                result.append(place <= rest ? alphabet[Int(group >> shift & 63)] : UInt8(ascii: "="))
            }
            index += 3
        }
        return String(decoding: result, as: UTF8.self)
    }
}
