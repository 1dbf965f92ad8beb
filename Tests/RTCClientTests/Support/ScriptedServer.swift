import FoundationEssentials
import RTCClient
import RoomProtocol
import Synchronization
import WebTransport

/// A real HTTP and WebSocket server that plays what a test tells it to.
final class ScriptedServer: Sendable {
    let port: UInt16
    let clock = ManualClock()
    private let server: HTTPServer
    private let script: Script
    private let incoming: AsyncStream<Peer>

    /// The range of this target's tests.
    private static let ports: ClosedRange<UInt16> = 32000...32767

    /// - Parameter authentication: answers the HTTP step; by default with an access token that leads here.
    init(
        authentication: @escaping @Sendable (HTTPRequest, UInt16) -> HTTPResponse = ScriptedServer.grant
    ) throws {
        var configuration = HTTPServerConfiguration()
        configuration.threadName = "scripted"
        let server = HTTPServer(configuration: configuration)
        port = try ScriptedServer.listen(server)
        self.server = server
        let script = Script()
        self.script = script
        let (incoming, continuation) = AsyncStream.makeStream(of: Peer.self)
        self.incoming = incoming
        let port = port
        server.start(answering: { request in
            script.note(request)
            if request.wantsWebSocket {
                return .upgrade(
                    WebSocketUpgrade { socket in
                        let peer = Peer(socket, target: request.target)
                        continuation.yield(peer)
                        await peer.served()
                    })
            }
            if let response = script.nextResponse() { return .response(response) }
            return .response(authentication(request, port))
        })
    }

    static func listen(_ server: HTTPServer) throws -> UInt16 {
        for _ in 0..<200 {
            let port = UInt16.random(in: ports)
            if let bound = try? server.listen(host: "127.0.0.1", port: port) { return bound }
        }
        return try server.listen(host: "127.0.0.1", port: ports.lowerBound)
    }

    func stop() async { await server.stop(grace: .zero) }

    var base: String { "http://127.0.0.1:\(port)" }
    var socketURL: String { "ws://127.0.0.1:\(port)/signalling" }

    /// With this server's clock.
    func transport(_ http: HTTPClient, servers: [String]? = nil) -> SignallingTransport {
        SignallingTransport(http: http, servers: servers ?? [base], clock: clock)
    }

    /// What the HTTP step answers from now on, once each; then as before.
    func answerNext(_ responses: [HTTPResponse]) { script.add(responses) }

    /// All requests so far: their targets.
    var targets: [String] { script.targets }

    /// The next WebSocket that a client opens.
    func nextPeer() async throws -> Peer {
        for await peer in incoming { return peer }
        throw Unexpected("no client came")
    }

    /// Every answer needs CORS; a client does not look at it.
    static let grant: @Sendable (HTTPRequest, UInt16) -> HTTPResponse = { _, port in
        accessResponse(claims: "{\"signalingurl2\":\"ws://127.0.0.1:\(port)/signalling\"}")
    }

    static func accessResponse(claims: String) -> HTTPResponse {
        let middle = Data(claims.utf8).base64EncodedString().filter { $0 != "=" }
        return HTTPResponse(status: 200, text: "{\"accessToken\":\"head.\(middle).sign\"}")
    }
}

/// A test's expectation that was not met by what came.
struct Unexpected: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

private final class Script: Sendable {
    private struct State {
        var responses: [HTTPResponse] = []
        var targets: [String] = []
    }
    private let state = Mutex(State())

    func note(_ request: HTTPRequest) { state.withLock { $0.targets.append(request.target) } }
    func add(_ responses: [HTTPResponse]) { state.withLock { $0.responses += responses } }
    var targets: [String] { state.withLock { $0.targets } }
    func nextResponse() -> HTTPResponse? {
        state.withLock { $0.responses.isEmpty ? nil : $0.responses.removeFirst() }
    }
}

/// The server's end of one client's WebSocket, in a test's hands.
final class Peer: Sendable {
    let target: String
    private let socket: WebSocket
    private let frames: AsyncStream<ClientFrame>
    private let continuation: AsyncStream<ClientFrame>.Continuation
    private let closing = Mutex<WebSocketClose?>(nil)

    struct ClientFrame: Sendable {
        var type: String
        var body: [UInt8]
        var message: ClientMessage

        var rpcid: String {
            struct Body: Decodable { var rpcid: String? }
            return (try? JSONDecoder().decode(Body.self, from: Data(body)))?.rpcid ?? ""
        }
    }

    init(_ socket: WebSocket, target: String) {
        self.socket = socket
        self.target = target
        (frames, continuation) = AsyncStream.makeStream()
    }

    /// Reads until the socket ends.
    func served() async {
        for await message in socket.messages {
            guard case .text(let text) = message, let frame = try? SignallingFrame(text),
                let read = try? ClientMessage(frame: text)
            else { continue }
            continuation.yield(ClientFrame(type: frame.type, body: Array(frame.body), message: read))
        }
        closing.withLock { $0 = socket.closing }
        continuation.finish()
    }

    /// The next frame, whatever it is; `nil` when the client is gone.
    func next() async -> ClientFrame? {
        for await frame in frames { return frame }
        return nil
    }

    /// The next frame that must be of that type.
    func expect(_ type: String) async throws -> ClientFrame {
        guard let frame = await next() else { throw Unexpected("\(type) was expected, the client went") }
        guard frame.type == type else { throw Unexpected("\(type) was expected, \(frame.type) came") }
        return frame
    }

    /// Waits for the end; the frames before it are passed over.
    func end() async -> WebSocketClose? {
        for await _ in frames {}
        return closing.withLock { $0 }
    }

    func send(_ notification: Notification) { socket.send(utf8: notification.frame) }
    func send(raw text: String) { socket.send(text: text) }
    /// As a text, which it need not be.
    func send(bytes: [UInt8]) { socket.send(utf8: bytes) }
    func answer(_ request: ClientFrame, _ body: some Encodable) {
        socket.send(utf8: SignallingFrame.encode(request.type + "-res", body))
    }
    /// With a transport behind which nobody is, and the news that it is connected.
    func answer<Track>(_ request: ClientFrame, _ body: ConnectionAnswer<Track>) {
        socket.send(utf8: SignallingFrame.encode(request.type + "-res", Peer.complete(body, request.type)))
        guard body.code == .ok, let id = body.connectionID else { return }
        let notice = ConnectionNotice(connectionID: id)
        switch request.type {
        case "pubpc": send(.publishConnected(notice))
        case "subpc": send(.subscribeConnected(notice))
        default: break
        }
    }

    /// Accepts a `pubpc`, and says nothing more.
    func answerSilently(
        _ request: ClientFrame, connectionID: String, _ tracks: [PublishedTrackResult], hasTransport: Bool = true
    ) {
        var body = PublishConnectionAnswer(rpcid: request.rpcid)
        body.connectionID = connectionID
        body.tracks = tracks
        if hasTransport { body = Peer.complete(body, request.type) }
        socket.send(utf8: SignallingFrame.encode(request.type + "-res", body))
    }

    private static func complete<Track>(_ body: ConnectionAnswer<Track>, _ type: String) -> ConnectionAnswer<Track> {
        var body = body
        body.iceParameters = ICEParameters(usernameFragment: "0123456789abcdef", password: "0123456789abcdef01234567")
        body.iceCandidates = [ICECandidate(foundation: "1", priority: 1, ip: "127.0.0.1", protocol: "udp", port: 9)]
        body.dtlsParameters = DTLSParameters(
            role: type == "pubpc" ? .client : .server,
            fingerprints: [.init(value: Array(repeating: "00", count: 32).joined(separator: ":"))])
        return body
    }

    func close(code: UInt16, reason: String = "") { socket.close(code: code, reason: reason) }

    /// Takes the `auth` and answers it.
    @discardableResult
    func admit(
        token: Int = 7, players: [PlayerInfo] = [], tracks: [TrackInfo] = [], publications: [String]? = nil,
        subscriptions: [String]? = nil
    ) async throws -> AuthRequest {
        let frame = try await expect("auth")
        guard case .auth(let request) = frame.message else { throw Unexpected("no auth") }
        var answer = AuthAnswer(rpcid: request.rpcid)
        answer.reconnectToken = token
        answer.players = players
        answer.tracks = tracks
        answer.ownPublications = publications.map { $0.map { TrackReference($0) } }
        answer.ownSubscriptions = subscriptions.map { $0.map { TrackReference($0) } }
        answer.rtpCapabilities = Peer.capabilities
        self.answer(frame, answer)
        return request
    }

    static let capabilities = RTPCapabilities(
        codecs: [
            .init(name: "opus", kind: .audio, clockRate: 48_000, channels: 2, payloadType: 111),
            .init(
                name: "VP8", kind: .video, clockRate: 90_000,
                rtcpFeedback: [.init("nack"), .init("nack", "pli")], payloadType: 96, rtxPayloadType: 97),
        ],
        headerExtensions: [])

    func refuse(_ request: ClientFrame, _ code: ResultCode, _ text: String = "no") {
        answer(request, Answer(rpcid: request.rpcid, Refused(code, text)))
    }

    /// Takes the `auth` and refuses it.
    func refuseAuth(_ code: ResultCode, _ text: String = "no") async throws {
        let frame = try await expect("auth")
        answer(frame, AuthAnswer(rpcid: frame.rpcid, Refused(code, text)))
    }
}

/// The vendor's test vector (compact JSON): app d8lk7l4ed, room meeting-001, user alice_1.
let vectorToken =
    "test-ak:aHSR5xldzJIlayQoSCqX7IU7HPQ=:eyJhcHBJZCI6ImQ4bGs3bDRlZCIsInJvb21OYW1lIjoibWVldGluZy0wMDEiLCJ1c2VySWQiOiJhbGljZV8xIiwiZXhwaXJlQXQiOjE4OTM0NTYwMDAsInBlcm1pc3Npb24iOiJ1c2VyIn0="

func track(
    _ id: String, of player: String, _ kind: RoomProtocol.TrackKind = .audio, muted: Bool = false, version: Int = 1
) -> TrackInfo {
    TrackInfo(trackID: id, playerID: player, kind: kind, tag: "t", muted: muted, versionID: version, mid: id)
}
