import ClientEngine
import FoundationEssentials
import WebTransport

/// The server API's list of a room's users, as an app's back end asks for it: the request is signed with the app's key.
struct UserList: Sendable {
    let http: HTTPClient
    let url: String
    let signer: LoadToken
    private let host: String

    init(http: HTTPClient, url: String, signer: LoadToken) throws(LoadUsageError) {
        self.http = http
        self.url = url
        self.signer = signer
        do {
            host = try WebURL(url).hostField
        } catch { throw LoadUsageError("--url: \(error)") }
    }

    /// - Throws: `LoadFailure`.
    func users(in room: String) async throws(LoadFailure) -> [String] {
        struct Body: Decodable {
            struct User: Decodable { var userId: String }
            var users: [User]
        }
        let target = "/v3/apps/\(signer.app)/rooms/\(room)/users"
        let text = "GET \(target)\nHost: \(host)\n\n"
        guard let digest = ClientDigest.hmacSHA1(key: Array(signer.secret.utf8), message: Array(text.utf8)) else {
            throw LoadFailure("the request cannot be signed")
        }
        let response: HTTPResponse
        do {
            response = try await http.request(
                "GET", url + target,
                headers: ["Host": host, "Authorization": "Qiniu \(signer.key):\(LoadToken.base64URL(digest))"],
                timeout: .seconds(20))
        } catch { throw LoadFailure("\(error)") }
        guard response.status == 200 else { throw LoadFailure("\(response.status) \(response.text.prefix(200))") }
        guard let body = try? JSONDecoder().decode(Body.self, from: Data(response.body)) else {
            throw LoadFailure("the answer is no list of users")
        }
        return body.users.map(\.userId)
    }
}
