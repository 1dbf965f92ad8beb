import RoomControl
import WebTransport

/// The server API: what a back end asks about its apps' rooms, each request signed with the app's key.
struct ServerRoutes: Sendable {
    let gate: ServerGate
    let directory: RoomDirectory

    /// Rooms of one page, unless the request wants fewer; and the most it can have.
    private static let (usualLimit, largestLimit) = (100, 1000)

    func add(to router: inout Router) {
        router.on("GET", "/v3/apps/:app/rooms") { request in
            await gate.forOwner(of: request) { await listRooms($0, request.http) }
        }
        router.on("GET", "/v3/apps/:app/rooms/:room/users") { request in
            await gate.forRoom(of: request) { await listUsers($1) }
        }
        router.on("DELETE", "/v3/apps/:app/rooms/:room/users/:user") { request in
            await gate.forRoom(of: request) { await kick(request.parameter("user"), $1) }
        }
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
        guard Names.isUserID(user) else { return Answer.badName("the user's name", longest: 50) }
        return switch await directory.room(key)?.kick(user) ?? .roomClosed {
        case .done: Answer.json(Body())
        case .pending: Answer.error(503, "the removal is pending: its worker has not confirmed it yet; ask again")
        case .noSuchUser: Answer.error(612, "user not found")
        case .roomClosed: Answer.roomNotActive
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
            case "prefix":
                guard item.value.isEmpty || Names.isRoomName(item.value) else {
                    return Answer.badName("prefix, the beginning of a room's name,", longest: 64)
                }
                prefix = item.value
            case "offset", "limit":
                // An empty value is what a client without a wish sends.
                if item.value.isEmpty { continue }
                guard let number = Int(item.value), number >= 0 else {
                    return Answer.error(400, "\(item.name) must be a number, 0 or more", code: 10053)
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
