import FoundationEssentials

/// What the HTTP step of a join gives and `auth` brings back: the room token's claims in the node's own hand, so that the
/// signalling side needs no key of any app. Three parts as of a JWT; clients read the second with a plain base64 decoder.
package struct AccessToken: Hashable, Sendable {
    package var token: RoomToken
    /// Where the client opens its WebSocket.
    package var signallingURL: String

    package init(token: RoomToken, signallingURL: String) {
        self.token = token
        self.signallingURL = signallingURL
    }

    /// Signs access tokens; made anew at each start of the node.
    package struct Signer: Sendable, CustomStringConvertible {
        private let key: AccessKey

        package init(using random: inout RandomSource) {
            key = AccessKey(id: "node", secret: Base64URL.encode(random.bytes(32), padded: false))
        }

        /// Not the key.
        package var description: String { "signer of access tokens" }

        package func text(_ access: AccessToken) -> String {
            let claims = Claims(
                appId: access.token.app, roomName: access.token.room, userId: access.token.user,
                permission: access.token.permission.rawValue, expireAt: access.token.expiresAt,
                signalingurl2: access.signallingURL, roomServers: [.init(url: access.signallingURL, score: 1)])
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            let json = (try? encoder.encode(claims)) ?? Data()
            // The standard alphabet: the clients' decoder knows neither - nor _.
            let body = Signer.header + "." + Data(json).base64EncodedString()
            return body + "." + key.signature(of: Array(body.utf8))
        }

        /// Reads a token that this signer made.
        ///
        /// - Throws: `.malformed` or `.wrongSignature`; an expired one is read all the same.
        package func read(_ text: String) throws(TokenError) -> AccessToken {
            guard text.utf8.count <= 8192 else { throw .malformed("it is too long") }
            let parts = text.split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count == 3 else { throw .malformed("it does not have three parts") }
            guard key.accepts(signature: parts[2], of: Array("\(parts[0]).\(parts[1])".utf8)) else {
                throw .wrongSignature
            }
            guard let json = Base64URL.decode(parts[1]),
                let claims = try? JSONDecoder().decode(Claims.self, from: Data(json))
            else { throw .malformed("its payload is not the expected JSON") }
            return AccessToken(
                token: RoomToken(
                    app: claims.appId, room: claims.roomName, user: claims.userId, expiresAt: claims.expireAt,
                    permission: claims.permission == RoomToken.Permission.admin.rawValue ? .admin : .user),
                signallingURL: claims.signalingurl2)
        }

        /// {"alg":"HS1","typ":"JWT"}
        private static let header = "eyJhbGciOiJIUzEiLCJ0eXAiOiJKV1QifQ=="
    }

    private struct Claims: Codable {
        struct Server: Codable {
            var url: String
            var score: Int
        }
        var appId: String
        var roomName: String
        var userId: String
        var permission: String
        var expireAt: Int64
        var signalingurl2: String
        var roomServers: [Server]
    }
}
