import Foundation
import RoomProtocol
import Synchronization
import Testing
import WebTransport

extension EndToEnd {
    /// What a back end does to a room that lives: by `parlor`'s commands and by the manual's Python, with a user who is in by
    /// a WebSocket and media that flows.
    @Suite struct ModerationTests {
        @Test func commandsOnARoom() async throws {
            try await NodeProcess.run { node in
                let alice = try await SocketUser.join(node, "alice", room: "r")
                let publishing = try await node.publish("r", "cam")
                let publisher = try node.start(Programme.plain.replacing(publishing.command), name: "publisher")
                let (leg, _) = try await node.play("r", "me", "--record", "r.mkv")
                let player = try node.start(leg.command, name: "player")
                try await player.frames(15)

                let shown = try await node.parlor("room", "r").output
                #expect(shown.hasPrefix("r: 3 users, since 20") && shown.contains("made by join"), "\(shown)")
                let json = try await node.parlor("room", "r", "--json").output
                let room = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
                let users = try #require(room?["users"] as? [[String: Any]])
                #expect(users.compactMap { $0["userId"] as? String } == ["alice", "cam", "me"])
                let tracks = try #require(users[1]["tracks"] as? [[String: Any]])
                let video = try #require(
                    tracks.first { $0["kind"] as? String == "video" }?["trackId"] as? String)
                #expect(shown.contains(video))

                // Forwarding stops, and everybody knows.
                #expect(try await node.parlor("mute", "r", video).output == "\(video) is muted\n")
                try await alice.hears("mute-tracks") { $0.contains(video) && $0.contains("true") }
                try await until("the line waits") {
                    try await node.state(of: leg.target)?.tracks.first { $0.kind == "video" }?.state == "waiting"
                }
                #expect(try await node.parlor("room", "r").output.contains("by server"))
                let before = player.framesSoFar
                #expect(try await node.parlor("mute", "r", video, "--off").output == "\(video) is let through\n")
                try await player.frames(before + 15)

                try await node.parlor("message", "r", "Fünf Minuten", "--to", "alice", "--sender", "system")
                try await alice.hears("on-messages") { $0.contains("Fünf Minuten") && $0.contains("system") }
                let spoofed = try await node.parlor("message", "r", "x", "--sender", "cam", code: 1)
                #expect(spoofed.error.contains("409") && spoofed.error.contains("10022"))

                let banned = try await node.parlor("ban", "r", "alice", "--for", "10m", "--reason", "enough")
                #expect(banned.output.hasPrefix("alice is kept out of r until 20"))
                #expect(banned.output.hasSuffix(", and is out\n"))
                try await alice.hears("disconnect") { $0.contains("10006") && $0.contains("enough") }
                #expect(try await node.parlor("bans", "r").output.contains("enough"))
                #expect(try await SocketUser.access(node, "alice", room: "r") == nil)
                #expect(try await node.parlor("unban", "r", "alice").output == "alice may enter r again\n")
                #expect(try await node.parlor("unban", "r", "alice", code: 1).error.contains("612"))
                let again = try await SocketUser.join(node, "alice", room: "r")

                player.interrupt()
                _ = try await player.exit()
                #expect(try await node.parlor("close", "r", "--reason", "good night").output == "r is closed\n")
                try await again.hears("disconnect") { $0.contains("10005") && $0.contains("good night") }
                #expect(try await node.parlor("room", "r", code: 1).error.contains("615"))
                publisher.interrupt()
                _ = try await publisher.exit()
            }
        }

        @Test func theManualsPython() async throws {
            let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/server-api.md")
            let text = try String(contentsOf: page.standardized, encoding: .utf8)
            let blocks = text.split(separator: "```python\n").dropFirst().compactMap {
                $0.split(separator: "```").first.map(String.init)
            }
            #expect(blocks.count == 1)
            try await NodeProcess.run { node in
                let ended = try await RunningProcess.run(
                    ["python3", "-c", try #require(blocks.first)], environment: node.environment, in: node.scratch)
                #expect(ended.code == 0, "\(ended.error)")
                let lines = ended.output.split(separator: "\n")
                #expect(lines.count == 6, "\(ended.output)")
                #expect(lines.map { $0.prefix(4) } == ["(200", "(200", "(200", "(200", "(200", "(615"])
                #expect(lines[1].contains("'rooms': ['lesson']"))
            }
        }
    }
}

/// A user who is in by a WebSocket, without media.
private final class SocketUser: Sendable {
    private struct Access: Decodable { var accessToken: String }

    private let frames = Mutex<[String]>([])
    private let reader = Mutex<Task<Void, Never>?>(nil)

    private init(_ socket: WebSocket, token: String) {
        socket.send(utf8: SignallingFrame.encode("auth", AuthRequest(token: token, rpcid: "1")))
        let task = Task { [weak self] in
            for await case .text(let text) in socket.messages {
                // Whoever does not answer is taken for lost.
                if text.hasPrefix("ping=") { socket.send(text: "pong={}") }
                self?.frames.withLock { $0.append(text) }
            }
        }
        reader.withLock { $0 = task }
    }

    deinit { reader.withLock { $0?.cancel() } }

    /// `nil`: the node does not want this user.
    static func access(_ node: NodeProcess, _ user: String, room: String) async throws -> String? {
        let token = try await node.token(room: room, user: user)
        let answer = try await node.request("GET", "/v3/apps/demo/rooms/\(room)/auth?user=\(user)&token=\(token)")
        if answer.status == 403 { return nil }
        #expect(answer.status == 200, "\(answer.body)")
        return try JSONDecoder().decode(Access.self, from: Data(answer.body.utf8)).accessToken
    }

    static func join(_ node: NodeProcess, _ user: String, room: String) async throws -> SocketUser {
        let token = try #require(try await access(node, user, room: room))
        let client = try HTTPClient(threadName: "socket")
        let socket = try await client.webSocket("ws://127.0.0.1:\(node.httpPort)/v3/signalling")
        let joined = SocketUser(socket, token: token)
        try await joined.hears("auth-res") { $0.contains("\"code\":0") }
        return joined
    }

    /// Waits for the first frame of that type, which has to be right.
    func hears(_ type: String, _ isRight: (String) -> Bool) async throws {
        func first() -> String? { frames.withLock { $0.first { $0.hasPrefix(type + "=") } } }
        try await until("\(type) comes") { first() != nil }
        #expect(first().map(isRight) == true, "\(first() ?? "")")
    }
}
