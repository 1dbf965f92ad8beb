import FoundationEssentials
import WebTransport

/// `parlor rooms`, `parlor users ROOM`, `parlor kick ROOM USER`: a running node by its server API. What it can do to one room is in
/// `RoomCommands`.
enum ServerAPICommands {
    static let json = OptionSpec("json", nil, "Print JSON.")
    /// Of every command that asks the server API.
    static let options = [json] + SigningIdentity.nodeOptions + SigningIdentity.options

    static let rooms = Command(
        spec: CommandSpec(
            ["rooms"], "List the rooms of an app.",
            options: [OptionSpec("prefix", "TEXT", "Only those whose name begins so.")] + options)
    ) { context in
        let prefix = try context.arguments["prefix"].map { try NameArgument.room($0) }
        let names = try await allRooms(try NodeClient(SigningIdentity(context)), prefix: prefix ?? "")
        if context.arguments.has("json") {
            try context.console.print(text(RoomNames(rooms: names)))
        } else {
            var table = TextTable("ROOM")
            for name in names { table.add(name) }
            context.console.write(table.text)
        }
    }

    static let users = Command(
        spec: CommandSpec(["users"], "List the users of a room.", operands: ["ROOM"], options: options)
    ) { context in
        let room = try NameArgument.room(context.arguments.operands[0])
        let client = try NodeClient(SigningIdentity(context))
        let response = try await client.api("GET", "/v3/apps/\(client.identity.app)/rooms/\(room)/users")
        let users = try decode(Users.self, response)
        if context.arguments.has("json") {
            try context.console.print(text(users))
        } else {
            var table = TextTable("USER")
            for user in users.users { table.add(user.userId) }
            context.console.write(table.text)
        }
    }

    static let kick = Command(
        spec: CommandSpec(
            ["kick"], "Remove a user from a room; when it returns, not one packet more goes to or from the user.",
            operands: ["ROOM", "USER"], options: options)
    ) { context in
        let room = try NameArgument.room(context.arguments.operands[0])
        let user = try NameArgument.user(context.arguments.operands[1])
        let client = try NodeClient(SigningIdentity(context))
        let response = try await client.api(
            "DELETE", "/v3/apps/\(client.identity.app)/rooms/\(room)/users/\(user)")
        guard response.status == 200 else { throw NodeClient.refusal(response) }
        if context.arguments.has("json") {
            try context.console.print(text(Kicked(room: room, user: user)))
        } else {
            context.console.print("\(user) is out of \(room)")
        }
    }

    // MARK: The API's JSON

    private struct Users: Codable {
        struct User: Codable {
            var userId: String
        }
        var users: [User]
    }

    private struct RoomPage: Decodable {
        var end: Bool
        var offset: Int
        var rooms: [String]
    }

    private struct RoomNames: Encodable {
        var rooms: [String]
    }

    private struct Kicked: Encodable {
        var room: String
        var user: String
    }

    private static func allRooms(_ client: NodeClient, prefix: String) async throws -> [String] {
        var names: [String] = []
        var offset = 0
        // A node that never says "end" must not keep us for ever.
        for _ in 0..<10_000 {
            let path = "/v3/apps/\(client.identity.app)/rooms?prefix=\(prefix)&offset=\(offset)&limit=100"
            let page = try decode(RoomPage.self, try await client.api("GET", path))
            names += page.rooms
            guard !page.end, page.offset > offset else { break }
            offset = page.offset
        }
        return names
    }

    static func decode<T: Decodable>(_ type: T.Type, _ response: HTTPResponse) throws -> T {
        guard response.status == 200 else { throw NodeClient.refusal(response) }
        do { return try JSONDecoder().decode(type, from: Data(response.body)) } catch {
            throw NodeClient.unreadable(response)
        }
    }

    static func text(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}
