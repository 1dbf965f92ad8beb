import MediaWire
package import RoomControl
package import WebTransport

/// The server API: what a back end asks about its apps' rooms, each request signed with the app's key.
struct ServerRoutes: Sendable {
    let apps: AppDirectory
    let directory: RoomDirectory
    let clock: RoomClock

    /// Rooms of one page, unless the request wants fewer; and the most it can have.
    private static let (usualLimit, largestLimit) = (100, 1000)

    func add(to router: inout Router) {
        router.on("GET", "/v3/apps/:app/rooms") { request in
            await forOwner(of: request) { await listRooms($0, request.http) }
        }
        router.on("GET", "/v3/apps/:app/rooms/:room/users") { request in
            await forOwner(of: request) { await listUsers(RoomKey(app: $0.id, room: request.parameter("room"))) }
        }
        router.on("DELETE", "/v3/apps/:app/rooms/:room/users/:user") { request in
            await forOwner(of: request) {
                await kick(request.parameter("user"), RoomKey(app: $0.id, room: request.parameter("room")))
            }
        }
    }

    /// Checks the signature, then that the key owns the app of the path: another key's app does not exist.
    private func forOwner(of request: RoutedRequest, _ body: (App) async -> HTTPResponse) async -> HTTPResponse {
        let key: AccessKey
        do {
            key = try RequestSignature.verify(
                SignableRequest(request.http), authorization: request.http.headers["Authorization"], apps: apps,
                unixTime: clock.unixTime())
        } catch { return Answer.error(401, error.message) }
        guard let app = apps.app(request.parameter("app"), ownedBy: key) else {
            return Answer.error(612, "app not found")
        }
        return await body(app)
    }

    private func listUsers(_ key: RoomKey) async -> HTTPResponse {
        struct Body: Encodable {
            struct User: Encodable { var userId: String }
            var users: [User]
        }
        let users = await directory.room(key)?.users() ?? []
        return Answer.json(Body(users: users.map { Body.User(userId: $0) }))
    }

    /// 200 means: not one more packet of or to that user.
    private func kick(_ user: String, _ key: RoomKey) async -> HTTPResponse {
        struct Body: Encodable {}
        return switch await directory.room(key)?.kick(user) ?? .roomClosed {
        case .done: Answer.json(Body())
        case .pending: Answer.error(503, "the removal is pending: its worker has not confirmed it yet; ask again")
        case .noSuchUser: Answer.error(612, "user not found")
        case .roomClosed: Answer.error(615, "room not active")
        }
    }

    private func listRooms(_ app: App, _ request: HTTPRequest) async -> HTTPResponse {
        struct Body: Encodable {
            var end: Bool
            var offset: Int
            var rooms: [String]
        }
        var prefix = ""
        var (offset, limit) = (0, Self.usualLimit)
        for item in request.queryItems {
            switch item.name {
            case "prefix": prefix = item.value
            case "offset", "limit":
                // An empty value is what a client without a wish sends.
                if item.value.isEmpty { continue }
                guard let number = Int(item.value), number >= 0 else {
                    return Answer.error(400, "\(item.name) must be a number, 0 or more")
                }
                if item.name == "offset" {
                    offset = number
                } else if number > 0 {
                    limit = min(number, Self.largestLimit)
                }
            default: continue
            }
        }
        let page = await directory.list(app: app.id, prefix: prefix, offset: offset, limit: limit)
        return Answer.json(Body(end: page.isLast, offset: page.offset, rooms: page.rooms))
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
