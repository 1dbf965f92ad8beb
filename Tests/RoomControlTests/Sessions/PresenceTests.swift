import MediaWire
import RoomControl
import RoomProtocol
import RoomTestKit
import Synchronization
import Testing

/// What a client saw at its join with all that it was told since is, whenever nothing is under way, just what is there.
@Suite struct PresenceTests {
    /// 240 users in four rooms do something at the same time, over and over, while the clock goes on. Each works over its
    /// own connection, drops it, comes back, or leaves it to a second one.
    @Test(arguments: [UInt64(1), 2, 3])
    func `every view is the truth`(seed: UInt64) async throws {
        var settings = AppSettings()
        settings.noAutoKickUser = seed == 3
        let kit = SignallingKit(settings, seed: seed)
        let rooms = ["r0", "r1", "r2", "r3"]
        var walkers: [PresenceWalker] = []
        for number in 0..<240 {
            let user = "user\(number)"
            let room = rooms[number % rooms.count]
            walkers.append(
                PresenceWalker(
                    kit, user: user, room: room, token: try await kit.accessToken(user, room),
                    seed: seed &* 1000 &+ UInt64(number)))
        }
        for round in 0..<12 {
            await withTaskGroup(of: Void.self) { group in
                for walker in walkers { group.addTask { await walker.walk(steps: 2) } }
                if round % 2 == 1 { group.addTask { await kit.clock.advance(by: .milliseconds(4100)) } }
            }
            for walker in walkers { await walker.catchUp() }
            for name in rooms {
                let details = await kit.room(name)?.details() ?? []
                let truth = Self.truth(details)
                for walker in walkers where walker.roomName == name {
                    if let problem = await walker.difference(from: truth) {
                        Issue.record("seed \(seed), round \(round): \(problem)")
                        return
                    }
                }
            }
        }
        #expect(kit.plane.violations.isEmpty)
        var done: [String: Int] = [:]
        for walker in walkers { done.merge(await walker.done) { $0 + $1 } }
        for what in ["join", "rejoin", "publish", "add", "unpublish", "mute", "leave", "drop", "resume", "message"] {
            #expect(done[what] ?? 0 >= 20, "seed \(seed): \(done)")
        }
    }

    private static func truth(_ details: [MemberDetails]) -> [String: RoomView.Player] {
        var truth: [String: RoomView.Player] = [:]
        for member in details {
            var player = RoomView.Player(playerData: member.userData)
            player.isReconnecting = member.isReconnecting
            for track in member.tracks { player.tracks[track.info.trackID] = track.info }
            truth[member.user] = player
        }
        return truth
    }
}

/// A user with a client that believes what it is told.
actor PresenceWalker {
    nonisolated let roomName: String
    private let kit: SignallingKit
    private let user: String
    private let token: String
    private var random: RandomSource
    private var connection: SignallingConnection?
    private var view: RoomView
    private var reconnectToken: Int?
    /// Whether the server took it in over the present connection, as far as it was told.
    private var isIn = false
    private var own: [String] = []
    private var seen: Int?
    private var problems: [String] = []
    private(set) var done: [String: Int] = [:]

    init(_ kit: SignallingKit, user: String, room: String, token: String, seed: UInt64) {
        (self.kit, self.user, self.token) = (kit, user, token)
        roomName = room
        random = .seeded(seed)
        view = RoomView(ownID: user)
    }

    func walk(steps: Int) async {
        for _ in 0..<steps {
            await step()
            catchUp()
        }
    }

    private func step() async {
        guard let connection, isIn else { return await enter() }
        switch random.next() % 14 {
        case 0: await count("leave") { await connection.send("disconnect={}") }
        case 1, 2:
            await count("drop") { await connection.session.closed() }
            forget()
        case 3: await count("rejoin") { await authenticate(resuming: false) }
        case 4, 5: await count("publish") { await connection.publish(["a0", "v0"]) }
        case 6: await count("add") { await connection.publish(["v2"], type: "pub-tracks") }
        case 7:
            let gone = own.prefix(1).map { TrackReference($0) }
            await count("unpublish") { await connection.send("unpub-tracks", TracksRequest(tracks: gone, rpcid: "u")) }
        case 8, 9:
            let mutes = own.map { TrackMute(trackID: $0, muted: random.next() % 2 == 0) }
            await count("mute") { await connection.send("mute-tracks", MuteTracks(tracks: mutes)) }
        case 10:
            await count("message") { await connection.send("send-message", SendMessage(messageID: "m", text: "t")) }
        default: await count("pong") { await connection.send("pong={}") }
        }
    }

    private func count(_ what: String, _ body: () async -> Void) async {
        done[what, default: 0] += 1
        await body()
    }

    private func enter() async {
        let isResume = reconnectToken != nil && random.next() % 4 > 0
        await count(isResume ? "resume" : "join") { await authenticate(resuming: isResume) }
    }

    private func authenticate(resuming: Bool) async {
        let old = connection
        let new = await kit.connect()
        forget()
        connection = new
        var request = AuthRequest(token: token, rpcid: "a")
        request.capabilitiesSDP = SampleOffers.capabilities
        if resuming {
            request.reconnectToken = reconnectToken
            request.messageSerial = seen
        } else {
            request.playerData = random.next() % 2 == 0 ? "data \(random.next() % 5)" : nil
        }
        await new.send("auth", request)
        await old?.session.closed()
    }

    private func forget() {
        connection = nil
        isIn = false
        own = []
    }

    /// Takes what has come.
    func catchUp() {
        guard let connection else { return }
        for message in connection.next() {
            switch message {
            case .answer("auth", _, let frame): enter(try? frame.decode())
            case .answer("pubpc", _, let frame): publish(try? frame.decode(), isNew: true)
            case .answer("pub-tracks", _, let frame): publish(try? frame.decode(), isNew: false)
            case .answer("unpub-tracks", _, let frame):
                let answer: TracksAnswer<TrackReference>? = try? frame.decode()
                own.removeAll { id in answer?.tracks.contains { $0.trackID == id } ?? false }
            case .answer: break
            case .notification(let notification):
                if !isIn { problems.append("\(notification) before the answer to auth, or after the end") }
                if case .disconnect = notification { isIn = false }
                if case .messages(let messages) = notification {
                    for message in messages.messages {
                        if let seen, message.serial <= seen {
                            problems.append("message \(message.serial) after \(seen)")
                        }
                        seen = message.serial
                    }
                }
                problems += view.apply(notification)
            case .unknown(let type): problems.append(type)
            }
        }
        if connection.isClosed { forget() }
    }

    private func enter(_ answer: AuthAnswer?) {
        guard let answer, answer.code == .ok else {
            if answer?.code == .reconnectTokenInvalid { reconnectToken = nil }
            return
        }
        isIn = true
        if answer.reconnectToken != reconnectToken { seen = nil }
        reconnectToken = answer.reconnectToken
        own = answer.ownPublications?.map(\.trackID) ?? []
        problems += view.reset(answer)
    }

    private func publish(_ answer: PublishAnswer?, isNew: Bool) {
        guard let answer, answer.code == .ok else { return }
        own = (isNew ? [] : own) + (answer.tracks ?? []).compactMap(\.trackID)
    }

    private struct PublishAnswer: Decodable {
        var code: ResultCode
        var tracks: [PublishedTrackResult]?
    }

    func difference(from truth: [String: RoomView.Player]) -> String? {
        if let problem = problems.first { return "\(user): \(problem)" }
        guard isIn else { return nil }
        guard let me = truth[user] else { return "\(user) believes to be in, and is not" }
        if Set(me.tracks.keys) != Set(own) { return "\(user) publishes \(me.tracks.keys), and believes \(own)" }
        var others = truth
        others[user] = nil
        return view.players == others ? nil : "\(user) sees \(view.players), and it is \(others)"
    }
}
