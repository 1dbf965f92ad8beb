import FoundationEssentials
import MediaContract
import MediaWire
import RoomControl
import RoomService
import RoomTestKit
import Synchronization
import Testing
import WebTransport

/// A node without sockets: real services, rooms and negotiation, a clock moved by hand, a recording media plane.
struct ServiceFixture: Sendable {
    let clock = ManualClock()
    let plane: RecordingMediaPlane
    let environment: RoomEnvironment
    let directory: RoomDirectory
    let services: NodeServices
    let apps: AppDirectory
    let saved: SavedRooms
    let admission = Admission()
    let counters = NodeCounters()
    /// How often a drain's deadline came.
    let deadlines = Deadlines()
    static let key = AccessKey(id: "devkey", secret: "devsecret")
    static let theirKey = AccessKey(id: "theirkey", secret: "theirsecret")

    final class Deadlines: Sendable {
        private let number = Atomic<Int>(0)
        var count: Int { number.load(ordering: .relaxed) }
        func come() { number.add(1, ordering: .relaxed) }
    }

    init(
        ports: ClosedRange<UInt16> = 8000...8499, plainLegs: Bool = true, workers: Int = 1,
        operatorKey: String? = "devkey", server: HTTPServerCounters? = nil, appsPerKey: Int = 1000,
        callbacks: WebhookAllowList = .everything, openApp: String? = "demo", publicURL: String? = nil,
        connections: ConnectionSettings? = nil, iceServers: [ICEServer] = [], limits: RoomLimits = RoomLimits(),
        stored: (apps: AppDirectory, rooms: SavedRooms, bans: BanTable)? = nil,
        change: (inout AppSettings) -> Void = { _ in }
    ) {
        var settings = AppSettings()
        change(&settings)
        plane = RecordingMediaPlane(workers: workers, ports: ports)
        let saved = stored?.rooms ?? SavedRooms()
        self.saved = saved
        apps =
            stored?.apps
            ?? AppDirectory(
                apps: Self.configured(settings), keys: [Self.key, Self.theirKey], defaults: settings,
                appsPerKey: appsPerKey)
        let loopback = TransportAddress(ipv4: 0x7F00_0001, port: 0)
        environment = RoomEnvironment(
            plane: plane, clock: clock.clock, limits: limits,
            connections: connections
                ?? ConnectionSettings(
                    fingerprint: [String](repeating: "CD", count: 32).joined(separator: ":"), announced: [loopback],
                    firstPort: 7900, tcp: true)
        ) { key, instance, notice in
            saved.observe(key, instance, notice)
        }
        directory = RoomDirectory(environment: environment, bans: stored?.bans ?? BanTable())
        var nodeSettings = NodeServices.Settings(
            plainLegs: PlainLegSettings(
                areAllowed: plainLegs, announced: [loopback], ownPorts: [7900...7901, ports]),
            isTrustedProxy: { $0.host == "10.0.0.1" })
        nodeSettings.operatorKey = operatorKey
        nodeSettings.callbacks = callbacks
        nodeSettings.iceServers = iceServers
        nodeSettings.openApp = openApp
        nodeSettings.publicURL = publicURL
        nodeSettings.serverCounters = { server }
        services = NodeServices(
            apps: apps, directory: directory, savedRooms: saved, environment: environment, settings: nodeSettings,
            admission: admission, counters: counters, onDrained: { [deadlines] in deadlines.come() })
    }

    /// A node whose apps and rooms outlive it in a store; another one over the same store is its next run.
    static func with(_ store: AppStore, change: (inout AppSettings) -> Void = { _ in }) throws -> ServiceFixture {
        var settings = AppSettings()
        change(&settings)
        let apps = try AppDirectory(
            apps: configured(settings), keys: [key, theirKey], store: store, defaults: settings)
        let bans = try BanTable(store: store, unixTime: ManualClock().clock.unixTime())
        return ServiceFixture(stored: (apps, try SavedRooms(store: store), bans))
    }

    private static func configured(_ settings: AppSettings) -> [App] {
        [
            App(id: "demo", accessKey: "devkey", settings: settings), App(id: "theirs", accessKey: "theirkey"),
        ]
    }

    func token(
        _ user: String, room: String = "room", app: String = "demo", ttl: Int64 = 3600, key: AccessKey = key
    ) -> String {
        RoomToken(app: app, room: room, user: user, expiresAt: clock.clock.unixTime() + ttl).signed(by: key)
    }

    // MARK: Legs

    func send(
        _ method: String, _ target: String, headers: HTTPFields = [:], body: String = "",
        from peer: String = "127.0.0.1"
    ) async -> HTTPResponse {
        await services.handle(
            HTTPRequest(
                method: method, target: target, headers: headers, body: Array(body.utf8), peerHost: peer,
                peerPort: 50000))
    }

    func post(
        _ target: String, as user: String, room: String = "room", offer: String? = nil,
        from peer: String = "127.0.0.1"
    ) async -> HTTPResponse {
        let isPlay = target.hasPrefix("/whep")
        return await send(
            "POST", target,
            headers: [
                "Authorization": "Bearer \(token(user, room: room))", "Content-Type": "application/sdp",
            ], body: offer ?? (isPlay ? Self.playOffer() : Self.publishOffer), from: peer)
    }

    /// Makes a leg; gives its Location.
    func leg(_ target: String, as user: String, room: String = "room", offer: String? = nil) async throws -> String {
        let answer = await post(target, as: user, room: room, offer: offer)
        #expect(answer.status == 201, "\(answer.text)")
        return try #require(answer.headers["Location"])
    }

    func delete(_ location: String, as user: String) async -> HTTPResponse {
        await send("DELETE", location, headers: ["Authorization": "Bearer \(token(user))"])
    }

    // MARK: Server API

    func server(
        _ method: String, _ target: String, key: AccessKey = key, headers: HTTPFields = [:], body: String = "",
        tamper: (inout HTTPRequest) -> Void = { _ in }
    ) async -> HTTPResponse {
        var request = HTTPRequest(
            method: method, target: target, headers: headers, body: Array(body.utf8), peerHost: "127.0.0.1")
        request.headers["Host"] = "127.0.0.1:7880"
        request.headers["Authorization"] = RequestSignature.authorization(for: SignableRequest(request), key: key)
        tamper(&request)
        return await services.handle(request)
    }

    func users(_ room: String = "room") async -> [String] {
        struct Body: Decodable {
            struct User: Decodable { var userId: String }
            var users: [User]
        }
        let answer = await server("GET", "/v3/apps/demo/rooms/\(room)/users")
        return (try? answer.decoded(Body.self))?.users.map(\.userId) ?? ["? \(answer.status)"]
    }

    func kick(_ user: String, room: String = "room") async -> HTTPResponse {
        await server("DELETE", "/v3/apps/demo/rooms/\(room)/users/\(user)")
    }

    /// Brings the media plane's reports to the rooms, all of them; once per test.
    func deliver() async {
        plane.endEvents()
        await directory.run()
    }

    // MARK: Offers

    static let cryptoLine = "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwd"

    static let publishOffer = [
        "v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "c=IN IP4 127.0.0.1", "t=0 0", "m=audio 5004 RTP/SAVP 111",
        "a=rtpmap:111 opus/48000/2", "a=sendonly", cryptoLine, "m=video 5006 RTP/SAVP 96", "a=rtpmap:96 VP8/90000",
        "a=sendonly", cryptoLine, "",
    ].joined(separator: "\r\n")

    static func playOffer(host: String = "127.0.0.1", codecs: [String] = ["VP8"]) -> String {
        var lines = [
            "v=0", "o=- 1 1 IN IP4 \(host)", "s=-", "c=IN IP4 \(host)", "t=0 0", "m=audio 6004 RTP/SAVP 111",
            "a=rtpmap:111 opus/48000/2", "a=recvonly", cryptoLine,
        ]
        let types = codecs.indices.map { String(100 + $0) }
        lines.append("m=video 6006 RTP/SAVP \(types.joined(separator: " "))")
        for (type, codec) in zip(types, codecs) { lines.append("a=rtpmap:\(type) \(codec)/90000") }
        return (lines + ["a=recvonly", cryptoLine, ""]).joined(separator: "\r\n")
    }
}

/// An error body.
struct ErrorBody: Decodable, Equatable {
    var error: String
    var code: Int?
    var line: Int?
}

/// The parts of a leg's state that tests look at.
struct LegState: Decodable {
    struct Track: Decodable {
        var kind: String
        var codec: String?
        var track: String?
        var user: String?
        var state: String
        var packets: Int
        var bytes: Int
    }
    var kind: String
    var app: String
    var room: String
    var user: String
    var transport: String
    var connected: Bool
    var state: String
    var tracks: [Track]
    var remote: [String]
    var packetsIn: Int
    var bytesOut: Int
    var leaseSeconds: Double?
}

extension HTTPResponse {
    func decoded<Body: Decodable>(_ type: Body.Type) throws -> Body { try JSONDecoder().decode(type, from: Data(body)) }

    var refusal: ErrorBody? { try? decoded(ErrorBody.self) }
}
