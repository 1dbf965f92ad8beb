import FoundationEssentials

/// What lets a user into a room: `accessKey:signature:payload`, where the payload is base64url JSON and the signature
/// HMAC-SHA1 over the payload's text as it stands. The format is the one that QNRTC back ends sign.
package struct RoomToken: Hashable, Sendable {
    package enum Permission: String, Sendable {
        case admin, user
    }

    package var app: String
    package var room: String
    package var user: String
    /// Unix time in seconds; the token is valid up to and including this second.
    package var expiresAt: Int64
    package var permission: Permission

    package init(app: String, room: String, user: String, expiresAt: Int64, permission: Permission = .user) {
        self.app = app
        self.room = room
        self.user = user
        self.expiresAt = expiresAt
        self.permission = permission
    }

    /// Longer texts are refused unread. The longest regular token is below 400 bytes.
    static let longestText = 4096

    /// The token's text, signed by the key.
    package func signed(by key: AccessKey) -> String {
        // Written by hand: the names hold no character that JSON escapes, and the order is the Go SDK's.
        let json =
            "{\"appId\":\"\(app)\",\"roomName\":\"\(room)\",\"userId\":\"\(user)\",\"expireAt\":\(expiresAt),"
            + "\"permission\":\"\(permission.rawValue)\"}"
        return RoomToken.text(payload: Base64URL.encode(Array(json.utf8)), key: key)
    }

    /// A token around a payload that is base64 already.
    package static func text(payload: String, key: AccessKey) -> String {
        "\(key.id):\(key.signature(of: Array(payload.utf8))):\(payload)"
    }

    /// Reads and checks a token, also whether it is still good.
    ///
    /// - Parameters:
    ///   - apps: the apps and the keys that own them.
    ///   - unixTime: now, in seconds.
    package static func verify(
        _ text: some StringProtocol, apps: AppDirectory, unixTime: Int64
    ) throws(TokenError) -> RoomToken {
        let token = try read(text, apps: apps)
        guard unixTime <= token.expiresAt else { throw .expired }
        return token
    }

    /// Reads a token and checks all but its time. The payload is parsed only after its signature was found right.
    ///
    /// - Parameter apps: the apps and the keys that own them.
    package static func read(_ text: some StringProtocol, apps: AppDirectory) throws(TokenError) -> RoomToken {
        guard text.utf8.count <= longestText else { throw .malformed("it is too long") }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw .malformed("it does not have three parts") }
        guard let key = apps.key(String(parts[0])) else { throw .unknownKey }
        guard key.accepts(signature: parts[1], of: Array(parts[2].utf8)) else { throw .wrongSignature }
        guard let json = Base64URL.decode(parts[2]),
            let claims = try? JSONDecoder().decode(Claims.self, from: Data(json))
        else { throw .malformed("its payload is not the expected JSON") }
        guard let app = apps.app(claims.appId), app.accessKey == key.id else { throw .unknownApp }
        guard Names.isRoomName(claims.roomName) else { throw .malformed("its roomName is not a room's name") }
        guard Names.isUserID(claims.userId) else { throw .malformed("its userId is not a user's name") }
        return RoomToken(
            app: claims.appId, room: claims.roomName, user: claims.userId, expiresAt: claims.expireAt,
            permission: claims.permission == Permission.admin.rawValue ? .admin : .user)
    }

    /// Other keys are ignored: newer back ends may send more.
    private struct Claims: Decodable {
        var appId: String
        var roomName: String
        var userId: String
        var expireAt: Int64
        var permission: String?
    }
}

/// Why a room token is refused.
package enum TokenError: Error, Hashable, Sendable {
    case malformed(String)
    case unknownKey, wrongSignature, unknownApp, expired

    /// The service's code: 10002 for an expired token, 10001 for any other that does not follow the rules.
    package var code: Int { self == .expired ? 10002 : 10001 }

    package var message: String { message("room") }

    /// - Parameter kind: which token it is.
    func message(_ kind: String) -> String {
        switch self {
        case .malformed(let reason): "\(kind) token is malformed: \(reason)"
        case .unknownKey: "\(kind) token is signed with an unknown access key"
        case .wrongSignature: "\(kind) token has a wrong signature"
        case .unknownApp: "\(kind) token names an app that its access key does not own"
        case .expired: "\(kind) token has expired"
        }
    }
}
