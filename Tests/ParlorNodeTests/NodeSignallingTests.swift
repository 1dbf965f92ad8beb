import Foundation
import MediaWire
import ParlorNode
import RoomControl
import Testing
import WebTransport

/// A signalling client's view of a real node on loopback.
@Suite(.timeLimit(.minutes(1)))
struct NodeSignallingTests {
    /// A client that came in, message by message.
    private final class Client {
        let socket: WebSocket
        private var messages: WebSocketMessages.Iterator

        private init(_ socket: WebSocket) {
            self.socket = socket
            messages = socket.messages.makeAsyncIterator()
        }

        // Not inlined: the optimizer of Swift 6.3.1 crashes over tests with all of this in one frame.
        @inline(never)
        static func join(_ node: Node, user: String) async throws -> Client {
            let http = try HTTPClient()
            let token = RoomToken(
                app: "demo", room: "room", user: user, expiresAt: RoomClock.system.unixTime() + 600, permission: .user
            ).signed(by: AccessKey(id: "devkey", secret: "devsecret"))
            let host = "127.0.0.1:\(node.httpPort)"
            let answer = try await http.request(
                "GET", "http://\(host)/v3/apps/demo/rooms/room/auth?user=\(user)&token=\(token)")
            struct Access: Decodable { var accessToken: String }
            let access = try JSONDecoder().decode(Access.self, from: Data(answer.body)).accessToken
            let client = Client(try await http.webSocket("ws://\(host)/v3/signalling"))
            client.socket.send(text: #"auth={"rpcid":"1","token":"\#(access)"}"#)
            let entered = try #require(try await client.next("auth-res"))
            #expect(entered["code"] as? Int == 0, "\(entered)")
            return client
        }

        /// The body of the next message of that type, past all others; `nil`: the connection ended before.
        @inline(never)
        func next(_ type: String) async throws -> [String: Any]? {
            while let message = await messages.next() {
                guard case .text(let text) = message, text.hasPrefix(type + "=") else { continue }
                let body = Data(text.dropFirst(type.count + 1).utf8)
                return try #require(try JSONSerialization.jsonObject(with: body) as? [String: Any], "\(text)")
            }
            return nil
        }

        /// The node told the client that the room ended, as the last thing, and closed in order.
        @inline(never)
        func expectEnd() async throws {
            let notice = try #require(try await next("disconnect"))
            #expect(notice["code"] as? Int == 10005, "\(notice)")
            #expect((notice["error"] as? String)?.contains("stopping") == true, "\(notice)")
            #expect(await messages.next() == nil)
            #expect(socket.closing?.code == 1000, "\(String(describing: socket.closing))")
        }
    }

    @inline(never)
    private func start(
        onDrained: @escaping @Sendable () -> Void = {}, change: (inout NodeConfiguration) -> Void = { _ in }
    ) throws -> Node {
        var base = NodeConfiguration.development
        base.http.listen.port = try FreePorts.tcp()
        base.media.workers = 1
        base.media.port = try FreePorts.udp()
        base.media.plain.portRange = 21400...21499
        change(&base)
        return try Node(
            ConfigurationLoader.Loaded(configuration: base, origins: [:]), machine: [], onDrained: onDrained)
    }

    /// When the node is stopped, and when a drain's deadline comes, after which `serve` stops it.
    @Test(arguments: [false, true]) func whoIsInIsToldThatTheNodeStops(isDrained: Bool) async throws {
        let done = DrainCommandTests.Drained()
        let node = try start(onDrained: { done.come() })
        let clients = [try await Client.join(node, user: "alice"), try await Client.join(node, user: "bob")]
        if isDrained {
            let begun = try await CommandRunner.run(
                ["drain", "--deadline", "200ms", "--no-wait", "--url", "http://127.0.0.1:\(node.httpPort)"])
            #expect(begun.code == 0, "\(begun.errors)")
            await done.wait()
        }
        await node.stop()
        for client in clients { try await client.expectEnd() }
    }

    /// Nobody holds the node's memory before it has said who it is; who has may send large frames.
    @Test func framesBeforeAuth() async throws {
        let node = try start(change: { $0.limits.message = 1 << 20 })
        let stranger = try await HTTPClient().webSocket("ws://127.0.0.1:\(node.httpPort)/v3/signalling")
        stranger.send(text: "auth=" + String(repeating: "a", count: 64 << 10))
        #expect(await stranger.messages.first { _ in true } == nil)
        #expect(stranger.closing?.code == 1009, "\(String(describing: stranger.closing))")
        let client = try await Client.join(node, user: "alice")
        client.socket.send(text: #"nonsense={"rpcid":"8","x":""# + String(repeating: "a", count: 1_000_000) + #""}"#)
        let answer = try #require(try await client.next("nonsense-res"))
        #expect(answer["rpcid"] as? String == "8")
        await node.stop()
    }

    /// A frame that is a little too large is answered; the vendor's clients do not get over the end of the connection.
    @Test func framesThatAreTooLarge() async throws {
        let limit = 32 << 10
        let node = try start(change: {
            $0.limits.signallingFrame = limit
            $0.limits.message = 1000
        })
        let client = try await Client.join(node, user: "alice")
        func frame(_ bytes: Int) -> String {
            let head = #"ping={"x":""#
            return head + String(repeating: "a", count: bytes - head.utf8.count - 2) + #""}"#
        }
        for bytes in [limit + 1, limit + (64 << 10)] {
            let text = frame(bytes)
            client.socket.send(text: text)
            let refused = try #require(try await client.next("error"))
            #expect(refused["code"] as? Int == 10053, "\(refused)")
        }
        // The session goes on.
        client.socket.send(text: #"nonsense={"rpcid":"7"}"#)
        let answer = try #require(try await client.next("nonsense-res"))
        #expect(answer["rpcid"] as? String == "7")
        client.socket.send(text: frame(limit + (64 << 10) + 1))
        #expect(try await client.next("error") == nil)
        #expect(client.socket.closing?.code == 1009, "\(String(describing: client.socket.closing))")
        await node.stop()
    }
}
