import Foundation
import MediaWire
import ParlorNode
import Synchronization
import Testing
import WebTransport

/// `parlor drain` against a real node on loopback.
struct DrainCommandTests {
    private func start(apps: [NodeConfiguration.App] = [.development]) throws -> (
        node: Node, url: [String], done: Drained
    ) {
        var base = NodeConfiguration.development
        base.http.listen.port = try FreePorts.tcp()
        base.media.workers = 1
        base.media.port = try FreePorts.udp()
        base.media.plain.portRange = 21300...21399
        base.apps = apps
        let done = Drained()
        let node = try Node(
            ConfigurationLoader.Loaded(configuration: base, origins: [:]), machine: [], onDrained: { done.come() })
        return (node, ["--url", "http://127.0.0.1:\(node.httpPort)"], done)
    }

    final class Drained: Sendable {
        private let stream: AsyncStream<Void>
        private let continuation: AsyncStream<Void>.Continuation
        init() { (stream, continuation) = AsyncStream.makeStream() }
        func come() { continuation.yield() }
        func wait() async { for await _ in stream { return } }
    }

    @Test func anEmptyNodeIsDrainedAtOnceAndUndone() async throws {
        let (node, url, _) = try start()
        let drained = try await CommandRunner.run(["drain"] + url)
        #expect(drained.code == 0)
        #expect(drained.output == "draining: 0 rooms, 0 users left\n")
        let refused = try await CommandRunner.run(["sdp", "publish", "--room", "r", "--user", "u"] + url)
        #expect(refused.code == 1)
        #expect(refused.errors.contains("503") && refused.errors.contains("10052"), "\(refused.errors)")
        let undone = try await CommandRunner.run(["drain", "--undo", "--json"] + url)
        #expect(undone.output == "{\"rooms\":0,\"state\":\"open\",\"users\":0}\n")
        let joined = try await CommandRunner.run(["sdp", "publish", "--room", "r", "--user", "u"] + url)
        #expect(joined.code == 0, "\(joined.errors)")

        let begun = try await CommandRunner.run(["drain", "--no-wait", "--deadline", "1h", "--json"] + url)
        let status = try begun.json()
        #expect(status["state"] as? String == "draining")
        #expect(status["users"] as? Int == 1 && status["rooms"] as? Int == 1)
        #expect((3590.0...3600).contains(status["secondsLeft"] as? Double ?? 0))
        await node.stop()
        let gone = try await CommandRunner.run(["drain"] + url)
        #expect(gone.code == 1)
        #expect(gone.errors.contains("is the node running?"))
    }

    /// The node ends at the deadline while somebody watches.
    @Test(.timeLimit(.minutes(1))) func theWatcherSeesTheNodeGo() async throws {
        let (node, url, done) = try start()
        let joined = try await CommandRunner.run(["sdp", "publish", "--room", "r", "--user", "u"] + url)
        #expect(joined.code == 0, "\(joined.errors)")
        async let watched = CommandRunner.run(["drain", "--deadline", "500ms"] + url)
        await done.wait()
        await node.stop()
        let outcome = try await watched
        #expect(outcome.code == 0, "\(outcome.errors)")
        #expect(outcome.output.hasPrefix("draining: 1 room, 1 user left, the node ends in 1s\n"), "\(outcome.output)")
        #expect(outcome.output.hasSuffix("the node is gone\n"), "\(outcome.output)")
    }

    /// A network that fails for a moment is not the node's end.
    @Test func onlyWhatTheNodeItselfRefusesSaysThatItIsGone() async throws {
        let client = try HTTPClient()
        let refused = await #expect(throws: WebTransportError.self) {
            try await client.request("GET", "http://127.0.0.1:\(try FreePorts.tcp())/")
        }
        #expect(refused?.saysPeerIsGone == true, "\(String(describing: refused))")
        #expect(WebTransportError(.closed, "").saysPeerIsGone)

        // The broadcast address: the system refuses to connect to it, and sends nothing.
        let unreachable = await #expect(throws: WebTransportError.self) {
            try await client.request("GET", "http://255.255.255.255:1/")
        }
        #expect(unreachable?.kind == .connect && unreachable?.code != 0)
        #expect(unreachable?.saysPeerIsGone == false, "\(String(describing: unreachable))")
        for code in [ENETUNREACH, EHOSTUNREACH, ETIMEDOUT, EADDRNOTAVAIL, EMFILE] {
            #expect(!WebTransportError(.connect, code: code, "").saysPeerIsGone)
        }
        for kind in [WebTransportError.Kind.timeout, .resolve, .tls, .cancelled, .protocolViolation, .tooLarge] {
            #expect(!WebTransportError(kind, code: ECONNREFUSED, "").saysPeerIsGone)
        }
    }

    @Test(.timeLimit(.minutes(1))) func somebodyElseUndoesIt() async throws {
        let (node, url, _) = try start()
        #expect(try await CommandRunner.run(["sdp", "publish", "--room", "r", "--user", "u"] + url).code == 0)
        async let watched = CommandRunner.run(["drain"] + url)
        // Until the watcher's drain has begun, there is nothing to undo.
        let folder = try TemporaryFolder()
        let play = ["sdp", "play", "--room", "r", "--user", "v", "--out", "\(folder.path)/r-v.sdp"] + url
        while try await CommandRunner.run(play).code == 0 {}
        #expect(try await CommandRunner.run(["drain", "--undo"] + url).code == 0)
        let outcome = try await watched
        #expect(outcome.code == 1)
        #expect(outcome.errors.contains("somebody undid the drain"))
        await node.stop()
    }

    /// Whatever calls itself a node and answers, the command does not trap.
    @Test(arguments: [
        ("1e300", "10080m0s"), ("-1e300", "0s"), ("604800", "10080m0s"), ("59.2", "1m0s"), ("-0.0", "0s"),
    ])
    func anAnswerMaySayAnything(left: String, shown: String) async throws {
        let server = HTTPServer()
        let port = try server.listen(host: "127.0.0.1", port: try FreePorts.tcp())
        server.start { _ in
            HTTPResponse(
                status: 200, text: #"{"state":"draining","rooms":1,"users":1,"secondsLeft":\#(left)}"#,
                contentType: "application/json")
        }
        let outcome = try await CommandRunner.run(["drain", "--no-wait", "--url", "http://127.0.0.1:\(port)"])
        #expect(outcome.code == 0, "\(outcome.errors)")
        #expect(outcome.output == "draining: 1 room, 1 user left, the node ends in \(shown)\n")
        await server.stop(grace: .zero)
    }

    /// Nor does it steer the terminal.
    @Test(arguments: [
        (200, #"{"state":"\u001b[2J\u202e","rooms":1,"users":1}"#), (500, #"{"error":"\u001b[2J\u202e"}"#),
        (500, "\u{1B}[2J\u{202E}"), (200, "\u{1B}[2J\u{202E}"),
    ])
    func noAnswerSteersTheTerminal(status: Int, body: String) async throws {
        let server = HTTPServer()
        let port = try server.listen(host: "127.0.0.1", port: try FreePorts.tcp())
        server.start { _ in HTTPResponse(status: status, text: body, contentType: "application/json") }
        let outcome = try await CommandRunner.run(["drain", "--no-wait", "--url", "http://127.0.0.1:\(port)"])
        #expect(outcome.code == 1 && outcome.output.isEmpty)
        // As one line, with a mark for each, where it is not JSON that has them escaped.
        #expect(
            outcome.errors.hasSuffix("\n")
                && outcome.errors.dropLast() == Console.printable("\(outcome.errors.dropLast())"))
        #expect(outcome.errors.contains("[2J"), "\(outcome.errors)")
        await server.stop(grace: .zero)
    }

    @Test func anotherKeyMayNot() async throws {
        let (node, url, _) = try start(apps: [
            .development, .init(id: "other", accessKey: "otherkey", secret: "othersecret"),
        ])
        let outcome = try await CommandRunner.run(["drain"] + url)
        #expect(outcome.code == 1)
        #expect(outcome.errors.contains("403") && outcome.errors.contains("admin.accessKey"), "\(outcome.errors)")
        await node.stop()
    }
}
