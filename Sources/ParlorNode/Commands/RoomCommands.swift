import FoundationEssentials
import RoomService
import WebTransport

/// What the server API can do to one room: `parlor room`, `close`, `mute`, `message`, `ban`, `bans`, `unban`.
enum RoomCommands {
    private static let options = ServerAPICommands.options

    static let room = Command(
        spec: CommandSpec(
            ["room"], "Show a room: its users, their tracks and subscriptions.", operands: ["ROOM"], options: options)
    ) { context in
        let room = try NameArgument.room(context.arguments.operands[0])
        let response = try await request(context, "GET", room)
        if context.arguments.has("json") { return context.console.print(response.text) }
        context.console.write(try ServerAPICommands.decode(RoomBody.self, response).text)
    }

    static let close = Command(
        spec: CommandSpec(
            ["close"], "Close a room; everybody in it is told.", operands: ["ROOM"],
            options: [OptionSpec("reason", "TEXT", "What they are told.")] + options)
    ) { context in
        let room = try NameArgument.room(context.arguments.operands[0])
        let body = try ServerAPICommands.text(Reason(reason: context.arguments["reason"]))
        _ = try await request(context, "DELETE", room, json: context.arguments.has("reason") ? body : "")
        try say(context, Closed(room: room), "\(room) is closed")
    }

    static let mute = Command(
        spec: CommandSpec(
            ["mute"], "Mute a track of a room for everybody: nobody gets it any more.", operands: ["ROOM", "TRACK"],
            options: [OptionSpec("off", nil, "Let it through again.")] + options,
            notes: ["parlor room ROOM shows the tracks."])
    ) { context in
        let room = try NameArgument.room(context.arguments.operands[0])
        let track = try NameArgument.track(context.arguments.operands[1])
        let body = "{\"muted\":\(!context.arguments.has("off"))}"
        let response = try await request(context, "POST", room, "/tracks/\(track)/mute", json: body)
        if context.arguments.has("json") { return context.console.print(response.text) }
        let state = try ServerAPICommands.decode(RoomBody.Track.self, response)
        let rest = !state.mutedByServer && state.muted ? ", by its publisher still muted" : ""
        context.console.print("\(track) is \(state.mutedByServer ? "muted" : "let through")\(rest)")
    }

    static let message = Command(
        spec: CommandSpec(
            ["message"], "Send a message to everybody in a room who is in by signalling.", operands: ["ROOM", "TEXT"],
            options: [
                OptionSpec("to", "USER", "To this user only.", repeats: true),
                OptionSpec("sender", "NAME", "What they see as the sender (default: nothing)."),
                OptionSpec("id", "TEXT", "The message's id, which they see too."),
            ] + options)
    ) { context in
        let arguments = context.arguments
        let room = try NameArgument.room(arguments.operands[0])
        let targets = try arguments.all("to").map { try NameArgument.user($0) }
        let message = Message(
            text: arguments.operands[1], target: targets.isEmpty ? nil : targets, msgid: arguments["id"],
            sender: try arguments["sender"].map { try NameArgument.user($0) })
        let response = try await request(
            context, "POST", room, "/messages", json: try ServerAPICommands.text(message))
        if arguments.has("json") { return context.console.print(response.text) }
        context.console.print("sent to \(targets.isEmpty ? "everybody in \(room)" : targets.joined(separator: ", "))")
    }

    static let ban = Command(
        spec: CommandSpec(
            ["ban"], "Keep a user out of a room for a time, and put it out if it is in.", operands: ["ROOM", "USER"],
            options: [
                OptionSpec("for", "TIME", "How long, such as 10m; needed."),
                OptionSpec("reason", "TEXT", "What the user is told."),
            ] + options)
    ) { context in
        let room = try NameArgument.room(context.arguments.operands[0])
        let user = try NameArgument.user(context.arguments.operands[1])
        let time = try NameArgument.required("for", context.arguments, of: "ban")
        let ban = NewBan(userId: user, seconds: try seconds(time), reason: context.arguments["reason"])
        let response = try await request(context, "POST", room, "/bans", json: try ServerAPICommands.text(ban))
        if context.arguments.has("json") { return context.console.print(response.text) }
        let made = try ServerAPICommands.decode(BanBody.self, response)
        let until = Console.printable(made.until)
        context.console.print(
            "\(user) is kept out of \(room) until \(until)\(made.removed == true ? ", and is out" : "")")
    }

    static let bans = Command(
        spec: CommandSpec(["bans"], "List who is kept out of a room.", operands: ["ROOM"], options: options)
    ) { context in
        let room = try NameArgument.room(context.arguments.operands[0])
        let response = try await request(context, "GET", room, "/bans")
        if context.arguments.has("json") { return context.console.print(response.text) }
        var table = TextTable("USER", "UNTIL", "REASON")
        for ban in try ServerAPICommands.decode(BanListBody.self, response).bans {
            table.add(ban.userId, ban.until, ban.reason)
        }
        context.console.write(table.text)
    }

    static let unban = Command(
        spec: CommandSpec(
            ["unban"], "Let a user into a room again.", operands: ["ROOM", "USER"], options: options)
    ) { context in
        let room = try NameArgument.room(context.arguments.operands[0])
        let user = try NameArgument.user(context.arguments.operands[1])
        _ = try await request(context, "DELETE", room, "/bans/\(user)")
        try say(context, Unbanned(room: room, user: user), "\(user) may enter \(room) again")
    }

    // MARK: The parts of a command

    /// Of a room; `path` continues its path. Anything but 200 is a failure.
    private static func request(
        _ context: Command.Context, _ method: String, _ room: String, _ path: String = "", json: String = ""
    ) async throws -> HTTPResponse {
        let client = try NodeClient(SigningIdentity(context))
        let response = try await client.api(
            method, "/v3/apps/\(client.identity.app)/rooms/\(room)\(path)", json: json)
        guard response.status == 200 else { throw NodeClient.refusal(response) }
        return response
    }

    private static func say(_ context: Command.Context, _ json: some Encodable, _ line: String) throws {
        context.console.print(context.arguments.has("json") ? try ServerAPICommands.text(json) : line)
    }

    private static func seconds(_ text: String) throws(UsageError) -> Int64 {
        let range = BanBody.seconds
        let reader = ValueReader<Duration>.time(.seconds(range.lowerBound) ... .seconds(range.upperBound))
        do {
            let (seconds, attoseconds) = try reader.read(.text(text, quoted: false)).components
            // A ban has whole seconds; one that began holds to its end.
            return seconds + (attoseconds > 0 ? 1 : 0)
        } catch { throw UsageError("--for: \(error.message)") }
    }

    // MARK: What is asked and said in JSON

    private struct Reason: Encodable { var reason: String? }
    private struct Closed: Encodable { var room: String }
    private struct Unbanned: Encodable {
        var room: String
        var user: String
    }
    private struct Message: Encodable {
        var text: String
        var target: [String]?
        var msgid: String?
        var sender: String?
    }
    private struct NewBan: Encodable {
        var userId: String
        var seconds: Int64
        var reason: String?
    }
}

extension RoomBody {
    /// For a terminal.
    fileprivate var text: String {
        let count = users.count == 1 ? "1 user" : "\(users.count) users"
        let head = "\(name): \(count), since \(since), session \(session), made by \(createdBy)"
        var lines = Console.printable(head) + "\n"
        if users.isEmpty { return lines }
        var table = TextTable("USER", "SINCE", "SIGNALLING", "PERMISSION", "PRIVILEGES", "LEGS", "SUBSCRIPTIONS")
        for user in users {
            table.add(
                user.userId, user.since, user.signalling, user.permission ?? "-", Self.list(user.privileges),
                Self.list(user.legs), "\(user.subscriptions.count)")
        }
        lines += "\n" + table.text
        if users.allSatisfy(\.tracks.isEmpty) { return lines }
        table = TextTable("TRACK", "USER", "KIND", "CODEC", "SOURCE", "MUTED", "TAG")
        for user in users {
            for track in user.tracks {
                let muted = track.mutedByServer ? "by server" : track.muted ? "yes" : "no"
                table.add(track.trackId, user.userId, track.kind, track.codec, track.source, muted, track.tag)
            }
        }
        return lines + "\n" + table.text
    }

    private static func list(_ words: [String]) -> String { words.isEmpty ? "-" : words.joined(separator: ",") }
}
