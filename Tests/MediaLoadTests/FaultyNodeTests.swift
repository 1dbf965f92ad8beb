import FoundationEssentials
import MediaLoad
import RoomProtocol
import Synchronization
import Testing
import WebTransport

/// What a run of signalling says of a node that does not do what it must. The node's faults are its own; HTTP, WebSocket and
/// the run are the real ones.
@Suite(.timeLimit(.minutes(1))) struct FaultyNodeTests {
    /// Runs with a patience of one second.
    private func report(_ node: FaultyNode, _ options: String) async throws -> SignallingReport {
        let words = "--signalling --url \(node.url) --rooms 1 --churn 1s \(options)".split(separator: " ")
        let parsed = try #require(try LoadOptions.parse(words.map(String.init)))
        var scenario = try SignallingScenario(options: parsed, newSeed: 5)
        scenario.patience = 1
        let output = LoadOutput(
            console: LoadConsole(output: -1, errors: -1), isJSON: true, isQuiet: true, isLive: false)
        let report = try await SignallingRun(scenario, stop: StopFlag(), output: output).run()
        await node.stop()
        return report
    }

    @Test func aNodeThatDoesNotCloseAfterALeaveDoesNotHoldTheRun() async throws {
        let mix = SignallingAction.allCases.map { "\($0.rawValue)=\($0 == .leave ? 1 : 0)" }.joined(separator: ",")
        let report = try await report(
            try FaultyNode(closesAfterLeave: false), "--users 1 --actions 100 --offline 1s --mix \(mix)")
        #expect(report.faults.map(\.kind) == [.connectionLost], "\(report.faults)")
        #expect(report.faults.first?.example == "load-1: user-1, leaving: the node did not close within 1 s")
    }

    /// Only that it did not come to rest is known, not that messages are lost.
    @Test func aRoomThatIsNotQuietIsNotBalanced() async throws {
        let report = try await report(try FaultyNode(closesAfterLeave: true), "--users 2 --actions 0")
        #expect(report.faults.map(\.kind) == [.notQuiet], "\(report.faults)")
        #expect(report.messagesSent == 1 && report.quietPoints == 0)
    }
}

/// Lets everybody in, answers requests for no tracks, and forwards nothing.
private final class FaultyNode: Sendable {
    let url: String
    private let server = HTTPServer()
    private let closesAfterLeave: Bool
    /// Who is in.
    private let users = Mutex<Set<String>>([])

    private struct ListBody: Encodable {
        struct User: Encodable { var userId: String }
        var users: [User]
    }

    init(closesAfterLeave: Bool) throws {
        self.closesAfterLeave = closesAfterLeave
        let port = try server.listen(host: "127.0.0.1", port: 0)
        url = "http://127.0.0.1:\(port)"
        server.start(answering: { [weak self] request in
            guard let self else { return .response(HTTPResponse(status: 503)) }
            if request.wantsWebSocket { return .upgrade(WebSocketUpgrade { await self.serve($0) }) }
            if request.target.hasSuffix("/users") {
                let list = ListBody(users: users.withLock { $0.map { ListBody.User(userId: $0) } })
                return .response(HTTPResponse(status: 200, body: Array((try? JSONEncoder().encode(list)) ?? Data())))
            }
            // The claims name the user, who comes back with the token in `auth`.
            let user = request.target.split(separator: "?").last?.split(separator: "&").first?.dropFirst(5) ?? ""
            let claims = "{\"signalingurl2\":\"ws://127.0.0.1:\(port)/\",\"user\":\"\(user)\"}"
            let middle = Data(claims.utf8).base64EncodedString().filter { $0 != "=" }
            return .response(HTTPResponse(status: 200, text: "{\"accessToken\":\"\(user).\(middle).x\"}"))
        })
    }

    func stop() async { await server.stop(grace: .zero) }

    private func serve(_ socket: WebSocket) async {
        var user = ""
        for await message in socket.messages {
            guard case .text(let text) = message, let read = try? ClientMessage(frame: text) else { continue }
            switch read {
            case .auth(let request):
                user = request.token.split(separator: ".").first.map(String.init) ?? ""
                users.withLock { _ = $0.insert(user) }
                var answer = AuthAnswer(rpcid: request.rpcid)
                answer.reconnectToken = 7
                answer.players = []
                answer.tracks = []
                answer.rtpCapabilities = RTPCapabilities(codecs: [], headerExtensions: [])
                socket.send(utf8: SignallingFrame.encode("auth-res", answer))
            case .subscribeTracks(let request):
                let answer = TracksAnswer<SubscribedTrackResult>(rpcid: request.rpcid)
                socket.send(utf8: SignallingFrame.encode("sub-tracks-res", answer))
            case .disconnect:
                users.withLock { _ = $0.remove(user) }
                if closesAfterLeave { socket.close(code: 1000) }
            default: break
            }
        }
    }
}
