import FoundationEssentials
import RoomControl
import WebTransport

/// A running node as the client commands reach it: signed requests, and errors in words.
struct NodeClient: Sendable {
    let identity: SigningIdentity
    private let http: HTTPClient

    init(_ identity: SigningIdentity) throws {
        self.identity = identity
        do { http = try HTTPClient() } catch { throw CommandFailure("\(error)") }
    }

    /// A request of the server API, signed with the identity's key. `path` begins with a slash and needs no escaping: names
    /// are checked before.
    func api(_ method: String, _ path: String) async throws -> HTTPResponse {
        let url: WebURL
        do { url = try WebURL(identity.url + path) } catch { throw UsageError("--url: \(error)") }
        let host = Self.hostField(url)
        let request = SignableRequest(method: method, target: url.target, host: host)
        return try await send(
            method, identity.url + path,
            headers: ["Host": host, "Authorization": RequestSignature.authorization(for: request, key: identity.key)])
    }

    /// Any other request.
    func send(
        _ method: String, _ url: String, headers: HTTPFields = [:], body: [UInt8] = []
    ) async throws -> HTTPResponse {
        do {
            return try await http.request(method, url, headers: headers, body: body)
        } catch  where error.kind == .badURL {
            throw UsageError("--url: \(error)")
        } catch {
            throw CommandFailure("no answer from \(identity.url): \(error) (is the node running? see --url)")
        }
    }

    /// What a refusal says, as one line.
    static func refusal(_ response: HTTPResponse) -> CommandFailure {
        struct Body: Decodable {
            var error: String?
            var code: Int?
        }
        let body = try? JSONDecoder().decode(Body.self, from: Data(response.body))
        let text = body?.error ?? response.text.split(separator: "\n").first.map(String.init) ?? ""
        let code = body?.code.map { " (code \($0))" } ?? ""
        return CommandFailure("the node refused: \(response.status)\(text.isEmpty ? "" : " \(text)")\(code)")
    }

    private static func hostField(_ url: WebURL) -> String {
        let host = url.host.contains(":") ? "[\(url.host)]" : url.host
        return url.port == (url.isTLS ? 443 : 80) ? host : "\(host):\(url.port)"
    }
}
