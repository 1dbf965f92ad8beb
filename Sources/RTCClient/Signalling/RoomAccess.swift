import FoundationEssentials
import RoomProtocol
import WebTransport

/// What the HTTP step of a join gives: the access token, and where to open the WebSocket.
package struct RoomAccess: Sendable, Equatable {
    /// Opaque but for the URLs in its middle part; goes back to the server in `auth`.
    package var accessToken: String
    /// WebSocket URLs, the best first; at least one.
    package var urls: [String]

    /// Reads the token's middle part: `roomServers` by falling score, else `signalingurl2`.
    ///
    /// - Throws: `.unreadable` when it names no `ws` or `wss` URL.
    package init(accessToken: String) throws(SignallingError) {
        struct Claims: Decodable {
            struct Server: Decodable {
                var url: String
                var score: Double?
            }
            var roomServers: [Server]?
            var signalingurl2: String?
        }
        let parts = accessToken.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let json = Base64Text.decode(parts[1]),
            let claims = try? JSONDecoder().decode(Claims.self, from: json)
        else { throw .unreadable("the access token is not three parts with base64 of JSON in the middle") }
        let listed = (claims.roomServers ?? []).sorted { ($0.score ?? 0) > ($1.score ?? 0) }.map(\.url)
        urls = (listed.isEmpty ? [claims.signalingurl2].compactMap { $0 } : listed).filter { url in
            (try? WebURL(url)).map { $0.scheme == "ws" || $0.scheme == "wss" } ?? false
        }
        guard !urls.isEmpty else { throw .unreadable("the access token names no WebSocket URL") }
        self.accessToken = accessToken
    }
}

extension SignallingTransport {
    /// Asks each server in turn, and all of them anew after a pause, until one gives access.
    ///
    /// - Parameter limit: how long to go on.
    /// - Throws: `.denied` at once, for an answer of 400 to 499; else what went wrong last, when the time is over;
    ///   `.cancelled`.
    package func access(_ claims: RoomTokenClaims, within limit: Duration = .seconds(30)) async throws(SignallingError)
        -> RoomAccess
    {
        let end = clock.now + limit
        var last = SignallingError.unreachable("there is no server to ask")
        while true {
            for server in servers {
                do { return try await access(claims, server: server) } catch {
                    switch error {
                    case .denied, .cancelled: throw error
                    default: last = error
                    }
                }
            }
            guard !servers.isEmpty, clock.now + roundPause < end else { throw last }
            do { try await clock.sleep(for: roundPause) } catch { throw .cancelled }
        }
    }

    /// `GET {server}/v3/apps/{app}/rooms/{room}/auth?user=&token=`.
    package func access(_ claims: RoomTokenClaims, server: String) async throws(SignallingError) -> RoomAccess {
        let path = "/v3/apps/\(claims.appID.pathSegment)/rooms/\(claims.roomName.pathSegment)/auth"
        // The token's characters (base64url, colons) stand in a query as they are.
        let url = "\(server)\(path)?user=\(claims.userID.pathSegment)&token=\(claims.token)"
        let response: HTTPResponse
        do {
            response = try await http.request("GET", url, timeout: requestTimeout, bodyLimit: 64 * 1024)
        } catch {
            switch error.kind {
            case .cancelled: throw .cancelled
            case .timeout: throw .timeout("\(server) did not answer within \(requestTimeout)")
            // The URL has the token in it: not shown.
            case .badURL: throw .unreachable("\(server) is no http or https URL")
            default: throw .unreachable("\(server): \(error.message)")
            }
        }
        struct Body: Decodable {
            var accessToken: String?
            var error: String?
            var code: ResultCode?
        }
        let body = try? JSONDecoder().decode(Body.self, from: Data(response.body))
        switch response.status {
        case 200:
            guard let token = body?.accessToken else {
                throw .unreadable("\(server) answered 200 without an accessToken")
            }
            return try RoomAccess(accessToken: token)
        case 400..<500:
            throw .denied(
                status: response.status, code: body?.code, text: body?.error ?? "the server refuses the room token")
        default:
            throw .unreachable("\(server) answered HTTP \(response.status)\(body?.error.map { ": \($0)" } ?? "")")
        }
    }
}

extension String {
    /// For a path segment or a query value: all but unreserved characters percent-encoded (RFC 3986, section 2.3).
    var pathSegment: String {
        var text = ""
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
                UInt8(ascii: "~"):
                text.append(Character(UnicodeScalar(byte)))
            default:
                let hex = String(byte, radix: 16, uppercase: true)
                text += "%" + (hex.utf8.count == 1 ? "0" + hex : hex)
            }
        }
        return text
    }
}
