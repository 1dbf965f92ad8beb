import FoundationEssentials
import RoomControl
import RoomService
import WebTransport

/// `parlor drain`: empties a running node, and shows how far it is.
enum DrainCommand {
    static let command = Command(
        spec: CommandSpec(
            ["drain"], "Let nobody new into a node, and wait until everybody has left.",
            options: [
                OptionSpec("deadline", "TIME", "When the node ends, such as 10m (default: when somebody ends it)."),
                OptionSpec("undo", nil, "Let newcomers in again."),
                OptionSpec("no-wait", nil, "Return at once."),
                OptionSpec("json", nil, "Print JSON, an object on each line."),
            ] + SigningIdentity.nodeOptions + SigningIdentity.options,
            notes: [
                "Ends with 0 when nobody is left or the node is gone, with 1 if somebody undid the drain meanwhile.",
                "Ctrl-C ends the watching, not the drain. The key must be the one that the node's admin.accessKey names.",
            ])
    ) { context in
        let arguments = context.arguments
        let client = try NodeClient(SigningIdentity(context))
        var screen = DrainScreen(console: context.console, isJSON: arguments.has("json"))
        if arguments.has("undo") {
            guard arguments["deadline"] == nil else { throw UsageError("--undo takes no --deadline") }
            try screen.show(await status(client, "DELETE"), isLast: true)
            return
        }
        var body = "{}"
        if let text = arguments["deadline"] { body = "{\"deadline\":\(try seconds(text))}" }
        let first = try await status(client, "POST", body: body)
        guard !arguments.has("no-wait") else { return try screen.show(first, isLast: true) }
        try await watch(client, from: first, on: &screen)
    }

    /// Between two questions.
    private static let interval = Duration.seconds(1)
    /// So many questions in a row without an answer mean that something is wrong.
    private static let patience = 5

    private static func watch(
        _ client: NodeClient, from first: DrainStatus, on screen: inout DrainScreen
    ) async throws {
        var current = first
        var failures = 0
        while true {
            guard current.state != .open else {
                screen.end()
                throw CommandFailure("somebody undid the drain: the node takes newcomers")
            }
            try screen.show(current, isLast: current.isEmpty)
            if current.isEmpty { return }
            try await Task.sleep(for: interval)
            do {
                current = try await status(client, "GET")
                failures = 0
            } catch let error as NodeClient.NoAnswer {
                // Nobody listens any more, or the node closed this connection as it ended.
                if error.isGone { return screen.gone() }
                failures += 1
                guard failures < patience else {
                    screen.end()
                    throw error
                }
            }
        }
    }

    private static func status(_ client: NodeClient, _ method: String, body: String = "") async throws -> DrainStatus {
        let response = try await client.api(method, "/v1/node/drain", json: body)
        guard response.status == 200 else { throw NodeClient.refusal(response) }
        do { return try JSONDecoder().decode(DrainStatus.self, from: Data(response.body)) } catch {
            throw NodeClient.unreadable(response)
        }
    }

    private static func seconds(_ text: String) throws(UsageError) -> Double {
        let reader = ValueReader<Duration>.time(.zero ... .seconds(DrainStatus.longest))
        do {
            let (seconds, attoseconds) = try reader.read(.text(text, quoted: false)).components
            return Double(seconds) + Double(attoseconds) / 1e18
        } catch { throw UsageError("--deadline: \(error.message)") }
    }
}

/// The progress of a drain: one line that is redrawn on a terminal; elsewhere a line for each change.
struct DrainScreen {
    let console: Console
    let isJSON: Bool
    private let redraws: Bool
    private var shown: DrainStatus?

    init(console: Console, isJSON: Bool) {
        self.console = console
        self.isJSON = isJSON
        redraws = console.isTerminal && !isJSON
    }

    mutating func show(_ status: DrainStatus, isLast: Bool) throws {
        // The seconds alone are no news, except where they tick.
        let isNews = shown?.rooms != status.rooms || shown?.users != status.users || shown?.state != status.state
        shown = status
        if isJSON {
            guard isNews else { return }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys]
            console.print(String(decoding: try encoder.encode(status), as: UTF8.self))
        } else if redraws {
            console.write("\r\u{1B}[K\(Self.text(status))")
            if isLast { console.write("\n") }
        } else if isNews {
            console.print(Self.text(status))
        }
    }

    /// The node ended.
    mutating func gone() {
        end()
        console.print(isJSON ? "{\"state\":\"gone\"}" : "the node is gone")
    }

    /// What follows begins on a line of its own.
    mutating func end() {
        if redraws, shown != nil { console.write("\n") }
    }

    static func text(_ status: DrainStatus) -> String {
        guard status.state != .open else { return "open: newcomers are let in" }
        let rooms = status.rooms == 1 ? "1 room" : "\(status.rooms) rooms"
        let users = status.users == 1 ? "1 user" : "\(status.users) users"
        var text = "\(status.state): \(rooms), \(users) left"
        if let left = status.secondsLeft {
            // From an answer that may say anything, 1e300 too; no drain has more than a week.
            let seconds = left > 0 ? Int(min(left, Double(DrainStatus.longest)).rounded(.up)) : 0
            text += ", the node ends in " + (seconds >= 60 ? "\(seconds / 60)m\(seconds % 60)s" : "\(seconds)s")
        }
        return text
    }
}

extension DrainStatus {
    fileprivate var isEmpty: Bool { users == 0 }
}
