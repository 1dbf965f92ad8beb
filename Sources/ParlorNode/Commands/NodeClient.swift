import FoundationEssentials
import Glibc
import RoomControl
package import WebTransport

/// A running node as the client commands reach it: signed requests, and errors in words.
struct NodeClient: Sendable {
    let identity: SigningIdentity
    private let http: HTTPClient

    init(_ identity: SigningIdentity) throws {
        self.identity = identity
        do { http = try HTTPClient(trust: identity.isInsecure ? .insecure : .system) } catch {
            throw CommandFailure("\(error)")
        }
    }

    /// There was no answer.
    struct NoAnswer: Error, CustomStringConvertible {
        var description: String
        /// Nobody listens there, or the connection was closed without an answer.
        var isGone: Bool
    }

    /// A request of the server API, signed with the identity's key and the time. `path` begins with a slash and needs no escaping:
    /// names are checked before.
    ///
    /// - Parameter json: the body; empty: none.
    func api(_ method: String, _ path: String, json: String = "") async throws -> HTTPResponse {
        let url: WebURL
        do { url = try WebURL(identity.url + path) } catch { throw UsageError("--url: \(error)") }
        let host = url.hostField
        let body = Array(json.utf8)
        var request = SignableRequest(method: method, target: url.target, host: host, body: body)
        let date = RequestSignature.basicDate(unixTime: SigningIdentity.now())
        request.qiniuHeaders = [("X-Qiniu-Date", date)]
        var headers: HTTPFields = ["Host": host, "X-Qiniu-Date": date]
        if !body.isEmpty {
            request.contentType = "application/json"
            headers["Content-Type"] = "application/json"
        }
        headers["Authorization"] = RequestSignature.authorization(for: request, key: identity.key)
        return try await send(method, identity.url + path, headers: headers, body: body)
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
            let hint =
                error.kind == .tls
                ? "(--insecure accepts any certificate)" : "(is the node running? see --url)"
            throw NoAnswer(
                description: "no answer from \(identity.url): \(error) \(hint)",
                isGone: error.saysPeerIsGone)
        }
    }

    /// What a refusal says, as one line that steers no terminal.
    static func refusal(_ response: HTTPResponse) -> CommandFailure {
        struct Body: Decodable {
            var error: String?
            var code: Int?
        }
        let body = try? JSONDecoder().decode(Body.self, from: Data(response.body))
        let text = body?.error ?? response.text.split(separator: "\n").first.map(String.init) ?? ""
        let code = body?.code.map { " (code \($0))" } ?? ""
        return CommandFailure(
            Console.printable("the node refused: \(response.status)\(text.isEmpty ? "" : " \(text)")\(code)"))
    }

    /// An answer that cannot be read, as one line that steers no terminal.
    static func unreadable(_ response: HTTPResponse) -> CommandFailure {
        CommandFailure(
            Console.printable("the node's answer is not what the server API should say: \(response.text.prefix(200))"))
    }
}

extension WebTransportError {
    /// The peer was reached, and is not there: nobody listens at its port, or the connection was closed without an answer.
    /// A network that fails on the way (ENETUNREACH, ETIMEDOUT and the like) says nothing about the peer.
    package var saysPeerIsGone: Bool { kind == .closed || (kind == .connect && code == ECONNREFUSED) }
}
