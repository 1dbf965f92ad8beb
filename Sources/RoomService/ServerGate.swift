package import RoomControl
package import WebTransport

/// Who may ask the server API what: every request is signed with an access key, and a key reaches its own apps only.
struct ServerGate: Sendable {
    let apps: AppDirectory
    let clock: RoomClock

    /// Checks the signature.
    func forKey(
        of request: RoutedRequest, _ body: (AccessKey) async -> HTTPResponse
    ) async -> HTTPResponse {
        let http = request.http
        let signer: RequestSignature.Signer
        do {
            signer = try RequestSignature.verify(
                SignableRequest(http), authorization: http.headers["Authorization"], apps: apps,
                unixTime: clock.unixTime())
        } catch { return Answer.error(401, error.message) }
        // What the signature does not cover is nobody's word.
        guard http.body.isEmpty || signer.signedBody else { return Answer.unsignedBody }
        return await body(signer.key)
    }

    /// Checks the signature, then that it is the operator's. What changes something must carry X-Qiniu-Date, or whoever
    /// once saw such a request could repeat it for ever.
    ///
    /// - Parameter operatorKey: `nil`: nobody is the operator.
    func forOperator(
        _ operatorKey: String?, of request: RoutedRequest, _ body: () async -> HTTPResponse
    ) async -> HTTPResponse {
        await forKey(of: request) { key in
            guard key.id == operatorKey else {
                return Answer.error(
                    403, "this access key may not operate the node; the configuration's admin.accessKey says which may",
                    code: 10051)
            }
            guard ["GET", "HEAD"].contains(request.http.method) || request.http.headers["X-Qiniu-Date"] != nil else {
                return Answer.error(400, "X-Qiniu-Date is missing; sign the request with the time as YYYYMMDDTHHMMSSZ")
            }
            return await body()
        }
    }

    /// Checks the signature, then that the key owns the app of the path: another key's app does not exist.
    func forOwner(of request: RoutedRequest, _ body: (App) async -> HTTPResponse) async -> HTTPResponse {
        await forKey(of: request) { key in
            guard let app = apps.app(request.parameter("app"), ownedBy: key) else { return Answer.noSuchApp }
            return await body(app)
        }
    }

    /// The same for a path that names a room.
    func forRoom(
        of request: RoutedRequest, _ body: (App, RoomKey) async -> HTTPResponse
    ) async -> HTTPResponse {
        await forOwner(of: request) { app in
            let name = request.parameter("room")
            guard Names.isRoomName(name) else { return Answer.badName("the room's name", longest: 64) }
            return await body(app, RoomKey(app: app.id, room: name))
        }
    }
}

extension Answer {
    static var noSuchApp: HTTPResponse { Answer.error(612, "app not found") }

    static var unsignedBody: HTTPResponse {
        error(
            415, "the signature does not cover a body of this type; send application/json or a form", code: 10053)
    }

    static func badName(_ what: String, longest: Int) -> HTTPResponse {
        Answer.error(400, "\(what) must be 1 to \(longest) letters, digits, hyphens and underscores", code: 10053)
    }

    static func problem(_ problem: RequestBody.Problem) -> HTTPResponse {
        Answer.error(problem.status, problem.message, code: 10053)
    }
}

extension SignableRequest {
    /// What a signature covers of a request, as the server received it.
    package init(_ request: HTTPRequest) {
        self.init(
            method: request.method, target: request.target, host: request.headers["Host"] ?? "",
            contentType: request.headers["Content-Type"],
            qiniuHeaders: request.headers
                .filter { $0.name.lowercased().hasPrefix("x-qiniu-") }
                .map { (name: $0.name, value: $0.value) },
            body: request.body)
    }
}
