import FoundationEssentials
import MediaContract
import MediaWire
import RoomControl
import RoomProtocol
import RoomTestKit
import Synchronization

/// Everything behind a signalling connection but the network: real rooms, sessions and tokens, a clock moved by hand, a
/// worker that only notes.
struct SignallingKit: Sendable {
    static let key = AccessKey(id: "k", secret: "s")

    let clock = ManualClock()
    let plane = RecordingMediaPlane(workers: 2)
    let admission = Admission()
    let environment: RoomEnvironment
    let directory: RoomDirectory
    let apps: AppDirectory
    let endpoint: SignallingEndpoint
    let notices = Notices()

    final class Notices: Sendable {
        private let list = Mutex<[(RoomKey, RoomNotice)]>([])
        func add(_ key: RoomKey, _ notice: RoomNotice) { list.withLock { $0.append((key, notice)) } }
        func of(_ room: String) -> [RoomNotice] { list.withLock { $0.filter { $0.0.room == room }.map(\.1) } }
    }

    /// - Parameter settings: of the app "a"; the app "b" has the defaults.
    init(_ settings: AppSettings = AppSettings(), limits: RoomLimits = RoomLimits(), seed: UInt64 = 1) {
        environment = RoomEnvironment(
            plane: plane, clock: clock.clock, random: .seeded(seed), limits: limits,
            connections: ConnectionSettings(
                fingerprint: "AB:CD", announced: [TransportAddress(ipv4: 0x7F00_0001, port: 0)], firstPort: 7000),
            observe: { [notices] key, _, notice in notices.add(key, notice) })
        directory = RoomDirectory(environment: environment)
        apps = AppDirectory(
            apps: [App(id: "a", accessKey: "k", settings: settings), App(id: "b", accessKey: "k")], keys: [Self.key])
        endpoint = SignallingEndpoint(
            apps: apps, directory: directory, environment: environment, admission: admission)
    }

    /// What a back end gives its user.
    func roomToken(
        _ user: String, _ room: String = "room", app: String = "a", permission: RoomToken.Permission = .user,
        lifetime: Int64 = 3600
    ) -> String {
        RoomToken(
            app: app, room: room, user: user, expiresAt: clock.clock.unixTime() + lifetime, permission: permission
        ).signed(by: Self.key)
    }

    /// The HTTP step.
    func accessToken(
        _ user: String, _ room: String = "room", app: String = "a", permission: RoomToken.Permission = .user,
        lifetime: Int64 = 3600
    ) async throws -> String {
        try await endpoint.access(
            app: app, room: room, user: user,
            roomToken: roomToken(user, room, app: app, permission: permission, lifetime: lifetime),
            url: "wss://127.0.0.1:443/v3/rooms")
    }

    /// A connection that has sent nothing yet.
    func connect() async -> SignallingConnection {
        let connection = SignallingConnection(endpoint)
        await connection.session.start()
        return connection
    }

    /// A user who is in.
    func join(
        _ user: String, _ room: String = "room", app: String = "a", permission: RoomToken.Permission = .user,
        data: String? = nil, lifetime: Int64 = 3600
    ) async throws -> SignallingConnection {
        let connection = await connect()
        var request = AuthRequest(
            token: try await accessToken(user, room, app: app, permission: permission, lifetime: lifetime), rpcid: "1")
        request.capabilitiesSDP = SampleOffers.capabilities
        request.playerData = data
        await connection.send("auth", request)
        return connection
    }

    /// Another connection of a user whose first one had this answer.
    func resume(
        _ user: String, _ room: String = "room", with answer: AuthAnswer, messageSerial: Int? = nil
    ) async throws -> SignallingConnection {
        let connection = await connect()
        var request = AuthRequest(token: try await accessToken(user, room), rpcid: "2")
        request.reconnectToken = answer.reconnectToken
        request.messageSerial = messageSerial
        await connection.send("auth", request)
        return connection
    }

    func room(_ name: String = "room", app: String = "a") async -> Room? {
        await directory.room(RoomKey(app: app, room: name))
    }

    /// As the server API does it.
    func ban(_ user: String, _ room: String = "room", until: Int64) async throws -> Room.KickOutcome {
        try await directory.ban(Ban(room: RoomKey(app: "a", room: room), user: user, until: until, reason: ""))
    }

    func users(_ name: String = "room") async -> [String] { await room(name)?.users() ?? [] }
}

/// The client's end of a connection: what was sent to it is kept, with its end.
final class SignallingConnection: Sendable {
    private struct State {
        var frames: [[UInt8]] = []
        var read = 0
        var closes: [UInt16] = []
    }

    private let state: Mutex<State>
    let session: SignallingSession

    init(_ endpoint: SignallingEndpoint) {
        let box = Box()
        session = endpoint.open(
            SignallingOutlet(
                send: { frame in box.connection?.state.withLock { $0.frames.append(frame) } },
                close: { code, _ in box.connection?.state.withLock { $0.closes.append(code) } }))
        state = Mutex(State())
        box.set(self)
    }

    private final class Box: Sendable {
        private let value = Mutex<SignallingConnection?>(nil)
        var connection: SignallingConnection? { value.withLock { $0 } }
        func set(_ connection: SignallingConnection) { value.withLock { $0 = connection } }
    }

    func send(_ type: String, _ body: some Encodable) async {
        await session.receive(String(decoding: SignallingFrame.encode(type, body), as: UTF8.self))
    }

    func send(_ text: String) async { await session.receive(text) }

    /// How often, and with which code, the server closed it.
    var closes: [UInt16] { state.withLock { $0.closes } }
    var isClosed: Bool { !closes.isEmpty }
    var frameCount: Int { state.withLock { $0.frames.count } }

    var texts: [String] { state.withLock { $0.frames.map { String(decoding: $0, as: UTF8.self) } } }

    /// Those that came since the last call.
    func next() -> [ServerMessage] {
        let fresh = state.withLock { state in
            defer { state.read = state.frames.count }
            return state.frames[state.read...].map { String(decoding: $0, as: UTF8.self) }
        }
        return fresh.map { (try? ServerMessage(frame: $0)) ?? .unknown(type: "unreadable: \($0)") }
    }

    var notifications: [RoomProtocol.Notification] {
        texts.compactMap {
            if case .notification(let notification)? = try? ServerMessage(frame: $0) { notification } else { nil }
        }
    }

    /// The last answer to that type.
    func answer<Body: Decodable>(_ type: String, as body: Body.Type = Body.self) -> Body? {
        for text in texts.reversed() {
            if case .answer(type, _, let frame)? = try? ServerMessage(frame: text) {
                return try? JSONDecoder().decode(Body.self, from: frame.body)
            }
        }
        return nil
    }

    var auth: AuthAnswer? { answer("auth") }

    /// The code of the last answer to that type, or of the last `error` about it; `nil`: there was none.
    func code(_ type: String) -> ResultCode? {
        for text in texts.reversed() {
            switch try? ServerMessage(frame: text) {
            case .answer(type, _, let frame): return (try? JSONDecoder().decode(Answer.self, from: frame.body))?.code
            case .notification(.frameError(let error)) where error.type == type: return error.code
            default: continue
            }
        }
        return nil
    }

    /// The code that put the user out.
    var disconnectCode: ResultCode? {
        for case .disconnect(let notice) in notifications { return notice.code }
        return nil
    }

    /// Publishes the sections of those mids.
    @discardableResult
    func publish(_ mids: [String], type: String = "pubpc") async -> [String] {
        await send(
            type,
            PublishRequest(sdp: SampleOffers.publish, tracks: mids.map { SampleOffers.track($0) }, rpcid: "3"))
        let results = answer(type, as: TracksOfAnswer.self)?.tracks ?? []
        return results.compactMap(\.trackID)
    }

    private struct TracksOfAnswer: Decodable { var tracks: [PublishedTrackResult]? }
}

extension Room {
    /// What the server API tells of everybody.
    func details() async -> [MemberDetails] { await overview().users.map(\.member) }
}
