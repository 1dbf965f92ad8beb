import RoomControl
import RoomProtocol
import WebTransport

/// What the vendor's clients call: the HTTP step of a join, the SDK's configuration, and the WebSocket of the signalling.
struct SignallingRoutes: Sendable {
    let endpoint: SignallingEndpoint
    let address: PublicAddress
    let counters: NodeCounters
    /// WebSockets at one time.
    let mostConnections: Int
    /// Bytes of an incoming frame; above: `error` 10053, and a quarter above that, 64 KiB at least: close 1009.
    let frameBytes: Int

    /// Where the WebSocket is opened; clients append `?rpcid=` when they come back.
    static let path = "/v3/signalling"
    /// Bytes by which a frame may exceed the limit and still be answered, at least: 64 KiB.
    private static let leastMargin = 64 << 10
    /// Bytes of a frame of somebody who has not said who it is: `auth` has 11 kB, and nobody else's memory is held.
    private static let firstFrame = 64 << 10

    func add(to router: inout Router) {
        router.on("GET", "/v3/apps/:app/rooms/:room/auth") { await access($0) }
        router.on("GET", "/v3/apps/:app/rooms/:room/relay/token") { _ in
            Answer.error(404, "this server has no media relay between rooms", code: 10053)
        }
        router.on("GET", "/v4/sdk/config") { _ in
            struct Body: Encodable { var content = "" }
            return Answer.json(Body())
        }
        router.on("GET", "/v4/sdk/log/upload/token") { _ in
            Answer.error(404, "this server takes no logs of clients", code: 10053)
        }
        router.on("GET", SignallingRoutes.path) { _ in
            var answer = Answer.error(426, "this is the signalling WebSocket: it needs an upgrade (RFC 6455)")
            answer.headers["Upgrade"] = "websocket"
            answer.headers["Sec-WebSocket-Version"] = "13"
            return answer
        }
    }

    // MARK: The HTTP step

    private func access(_ request: RoutedRequest) async -> HTTPResponse {
        struct Body: Encodable { var accessToken: String }
        let items = request.http.rawQueryItems
        guard let text = items.first(where: { $0.name == "token" })?.value, !text.isEmpty else {
            return Answer.error(401, "a room token is needed: ?user=USER&token=ROOMTOKEN", code: 10001)
        }
        guard let base = address.webSocketBase(for: request.http) else {
            return Answer.error(400, "the request has no Host header that could stand in a URL", code: 10053)
        }
        do throws(SignallingEndpoint.AccessRefusal) {
            let token = try await endpoint.access(
                app: request.parameter("app"), room: request.parameter("room"),
                user: items.first { $0.name == "user" }?.value,
                // Tokens of the standard alphabet may hold a plus, which is no space here.
                roomToken: HTTPRequest.percentDecoded(text), url: base + SignallingRoutes.path)
            return Answer.json(Body(accessToken: token))
        } catch { return refuse(error) }
    }

    private func refuse(_ refusal: SignallingEndpoint.AccessRefusal) -> HTTPResponse {
        switch refusal {
        case .token(let error):
            counters.joined(code: error.code)
            return Answer.error(401, error.message, code: error.code)
        case .otherName(let sentence):
            counters.joined(code: 10001)
            return Answer.error(401, sentence, code: 10001)
        case .banned:
            counters.joined(code: 10051)
            return Answer.error(403, "the user is banned from the room", code: 10051)
        case .draining:
            counters.joined(code: 10052)
            return Refusal.draining
        }
    }

    // MARK: The WebSocket

    /// With or without a slash at its end, as the other routes.
    private static func isPath(_ path: String) -> Bool { path == Self.path || path == Self.path + "/" }

    /// The upgrade, if the request is for the signalling.
    func upgrade(_ request: HTTPRequest) -> HTTPAnswer? {
        guard request.wantsWebSocket, request.method == "GET", SignallingRoutes.isPath(request.path) else {
            return nil
        }
        guard counters.connections < mostConnections else {
            var answer = Answer.error(503, "the node has its \(mostConnections) connections", code: 10055)
            answer.headers["Retry-After"] = "5"
            return .response(answer)
        }
        var configuration = WebSocketConfiguration()
        // A frame that is a little too large is answered; only one far beyond ends the connection, which the vendor's clients
        // do not get over.
        configuration.maximumMessage = frameBytes + max(frameBytes / 4, SignallingRoutes.leastMargin)
        configuration.maximumFirstMessage = SignallingRoutes.firstFrame
        // A large room's auth-res is some megabytes, and hundreds may leave it at once.
        configuration.outboxMessages = 8192
        configuration.outboxBytes = 16 << 20
        return .upgrade(WebSocketUpgrade(configuration: configuration) { socket in await serve(socket) })
    }

    private func serve(_ socket: WebSocket) async {
        counters.connectionOpened()
        let counters = counters
        let session = endpoint.open(
            SignallingOutlet(
                entered: { [weak socket] in socket?.widen() },
                send: { [weak socket] frame in
                    counters.message(frame: frame, .outgoing)
                    socket?.send(utf8: frame)
                },
                close: { [weak socket] code, reason in socket?.close(code: code, reason: reason) }))
        await session.start()
        for await message in socket.messages {
            switch message {
            case .text(let text) where text.utf8.count > frameBytes:
                counters.message(type: "", .incoming)
                await session.receiveOversized()
            case .text(let text):
                counters.message(frame: text.utf8, .incoming)
                await session.receive(text)
            case .binary:
                counters.message(type: "", .incoming)
                await session.receiveBinary()
            }
        }
        await session.closed()
        counters.connectionClosed()
    }
}

extension HTTPRequest {
    /// The parameters of the query in order, as they were sent.
    fileprivate var rawQueryItems: [(name: String, value: String)] {
        (query ?? "").split(separator: "&").map { part in
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(pair[0]), pair.count > 1 ? String(pair[1]) : "")
        }
    }
}
