import FoundationEssentials

/// What a room token says: the part behind its last colon. The client reads it and verifies nothing; the secret is the
/// server's.
package struct RoomTokenClaims: Sendable, Equatable {
    /// The token itself.
    package var token: String
    package var appID: String
    package var roomName: String
    package var userID: String

    /// - Throws: `.badToken` when the text is no room token.
    package init(token: String) throws(SignallingError) {
        struct Payload: Decodable {
            var appId: String
            var roomName: String
            var userId: String
        }
        let parts = token.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .badToken("a room token has three parts with colons between them")
        }
        guard let json = Base64Text.decode(parts[2]) else {
            throw .badToken("the third part of the room token is not base64url")
        }
        guard let payload = try? JSONDecoder().decode(Payload.self, from: json) else {
            throw .badToken("the room token's payload is not JSON with appId, roomName and userId")
        }
        self.token = token
        appID = payload.appId
        roomName = payload.roomName
        userID = payload.userId
    }
}

/// Base64 of either alphabet, with padding or without (RFC 4648, sections 4 and 5).
enum Base64Text {
    static func decode(_ text: some StringProtocol) -> Data? {
        var standard = String(text.filter { $0 != "=" }).replacing("-", with: "+").replacing("_", with: "/")
        standard += String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4)
        return Data(base64Encoded: standard)
    }
}
