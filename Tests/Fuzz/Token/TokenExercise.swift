import RoomControl

/// What must hold for any text that comes as a room token, and for any payload that a key's owner signs. Run by the fuzzer,
/// and by the unit tests on the corpus.
enum TokenExercise {
    static let key = AccessKey(id: "test-ak", secret: "test-sk")
    static let other = AccessKey(id: "other-ak", secret: "other-sk")
    static let apps = AppDirectory(
        apps: [App(id: "d8lk7l4ed", accessKey: key.id), App(id: "other", accessKey: other.id)], keys: [key, other])
    /// 2030-01-01T00:00:00Z, in seconds.
    static let now: Int64 = 1_893_456_000

    /// The first broken promise, in words; `nil` if all were kept.
    static func run(_ bytes: [UInt8]) -> String? {
        let text = String(decoding: bytes, as: UTF8.self)
        return checkBase64(bytes, text) ?? checkToken(text) ?? checkSigned(Base64URL.encode(bytes))
            ?? checkSigned(text.replacing(":", with: "."))
    }

    /// Whether a text is a token that lets somebody in.
    static func isToken(_ text: String) -> Bool { (try? RoomToken.verify(text, apps: apps, unixTime: now)) != nil }

    /// As a client sends it: what verifies was signed, by the key that owns the app.
    private static func checkToken(_ text: String) -> String? {
        guard let token = try? RoomToken.verify(text, apps: apps, unixTime: now) else { return nil }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let owner = apps.key(String(parts[0])) else { return "a token of nobody" }
        let right = RoomToken.text(payload: String(parts[2]), key: owner).split(separator: ":")
        guard let signature = Base64URL.decode(parts[1]), signature.count == 20, signature == Base64URL.decode(right[1])
        else { return "a token that was not signed" }
        return check(token, signedBy: owner)
    }

    /// As a back end might sign it: the signature is right, whatever the payload.
    private static func checkSigned(_ payload: String) -> String? {
        let text = RoomToken.text(payload: payload, key: key)
        do throws(TokenError) {
            let token = try RoomToken.verify(text, apps: apps, unixTime: now)
            return check(token, signedBy: key)
        } catch {
            switch error {
            case .unknownKey, .wrongSignature: return "a signature that is right was refused"
            case .expired: return error.code == 10002 ? nil : "the wrong code"
            case .malformed, .unknownApp: return error.code == 10001 && !error.message.isEmpty ? nil : "the wrong code"
            }
        }
    }

    private static func check(_ token: RoomToken, signedBy owner: AccessKey) -> String? {
        guard apps.app(token.app)?.accessKey == owner.id else { return "an app that the key does not own" }
        guard Names.isRoomName(token.room), Names.isUserID(token.user) else { return "a name that is none" }
        guard token.expiresAt >= now else { return "a token that has expired" }
        guard (try? RoomToken.verify(token.signed(by: owner), apps: apps, unixTime: now)) == token else {
            return "what was signed is not what was read"
        }
        let forged = AccessKey(id: owner.id, secret: owner.secret + "x")
        guard (try? RoomToken.verify(token.signed(by: forged), apps: apps, unixTime: now)) == nil else {
            return "a token with another secret was taken"
        }
        return nil
    }

    private static func checkBase64(_ bytes: [UInt8], _ text: String) -> String? {
        for padded in [true, false] where Base64URL.decode(Base64URL.encode(bytes, padded: padded)) != bytes {
            return "base64 does not read back"
        }
        guard let decoded = Base64URL.decode(text) else { return nil }
        let encoded = Base64URL.encode(decoded, padded: false)
        // The last character may carry bits that mean nothing, so it may differ.
        let plain = text.replacing("+", with: "-").replacing("/", with: "_").prefix { $0 != "=" }
        guard encoded.utf8.count == plain.utf8.count, encoded.dropLast() == plain.dropLast() else {
            return "base64 was read as something else"
        }
        return nil
    }
}
