import MediaContract
import MediaWire
import RoomControl
import RoomTestKit
import Testing

/// Drives a `RoomState` at random against a model that knows only names and times, kept in plain lists and searched from
/// end to end, and that looks at every millisecond boundary it is told about.
@Suite struct RoomModelTests {
    /// One in a few hundred steps is a call that should fail; every outcome is compared.
    @Test(arguments: [UInt64(1), 2, 3, 4, 5, 6, 7, 8])
    func randomSteps(_ seed: UInt64) throws {
        var settings = AppSettings()
        settings.maxUsers = seed % 3 == 0 ? 3 : 0
        settings.noAutoKickUser = seed % 4 == 1
        settings.noAutoCloseRoom = seed % 8 == 5
        settings.legLease = .seconds(60)
        var run = ModelRun(seed: seed, settings: settings)
        for step in 0..<40_000 {
            run.step()
            if let difference = run.difference() {
                Issue.record("seed \(seed), step \(step), \(run.lastAction): \(difference)")
                return
            }
        }
        #expect(run.roomsClosed > 10 || settings.noAutoCloseRoom, "seed \(seed) closed \(run.roomsClosed) rooms")
        #expect(run.actionsDone.values.allSatisfy { $0 > 20 }, "seed \(seed): \(run.actionsDone)")
    }
}

/// The model: what the rules say, in the slowest words.
private struct NaiveRoom {
    struct Leg {
        var id: LegID
        var user: String
        var kind: LegKind
        /// Receiving: when it ends by itself.
        var leaseEnd: Int64?
        var silent: Set<Int> = []
        var unreachable: Set<Int> = []
        var lines: [LegPlan.Line]
        var picks: [LegPick] = []
        /// What each line had after the last step.
        var had: [String?] = []

        /// What a receiving line waits for; `nil`: nothing that can come.
        func wish(_ line: Int) -> LegPick?? {
            if picks.isEmpty { return .some(nil) }
            let kind = lines[line].kind
            let place = lines[..<line].filter { $0.kind == kind }.count
            let possible = picks.filter { pick in
                if case .track(let id) = pick { return id.hasPrefix(kind == .audio ? "a" : "v") }
                return true
            }
            if place < possible.count { return .some(possible[place]) }
            if case .user? = possible.last { return .some(possible.last) }
            return nil
        }
    }

    let settings: AppSettings
    var legs: [Leg] = []
    var emptySince: Int64? = 0
    var isClosed = false
    /// In order of arrival.
    var users: [String] = []
    /// Peers of kicked users that nobody has confirmed yet.
    var kicked: [String: Set<PeerID>] = [:]

    /// Seconds, one by one: what happens at each.
    mutating func pass(to now: Int64, from start: Int64) {
        if now < start { return }
        for second in start...now where !isClosed {
            for leg in legs where leg.leaseEnd == second { remove(leg.id, at: second) }
            if let emptySince, !settings.noAutoCloseRoom, second - emptySince >= 10 { isClosed = true }
        }
    }

    mutating func remove(_ id: LegID, at second: Int64) {
        legs.removeAll { $0.id == id }
        users.removeAll { user in !legs.contains { $0.user == user } }
        if users.isEmpty, emptySince == nil { emptySince = second }
    }

    mutating func add(_ leg: Leg) {
        legs.removeAll { $0.user == leg.user && $0.kind == leg.kind }
        legs.append(leg)
        if !users.contains(leg.user) { users.append(leg.user) }
        emptySince = nil
    }
}

private struct ModelRun {
    let seed: UInt64
    let settings: AppSettings
    var random: RandomSource
    var room: RoomFixture
    var model: NaiveRoom
    var second: Int64 = 0
    var lastAction = ""
    var problem: String?
    var roomsClosed = 0
    var instance: UInt32 = 1
    var actionsDone: [String: Int] = [:]
    private let names = ["ann", "bob", "cat", "dan", "eve"]

    init(seed: UInt64, settings: AppSettings) {
        self.seed = seed
        self.settings = settings
        random = .seeded(seed)
        room = RoomFixture(settings)
        model = NaiveRoom(settings: settings)
    }

    mutating func pick<Element>(_ elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[Int(random.next() % UInt64(elements.count))]
    }

    mutating func step() {
        if model.isClosed {
            roomsClosed += 1
            startOver()
        }
        let actions = [
            "join", "join", "join", "remove", "kick", "heard", "silent", "silent", "unreachable", "visit", "pass",
            "wait", "confirm", "refuse",
        ]
        let action = pick(actions) ?? ""
        lastAction = "\(action) at \(second) s"
        actionsDone[action, default: 0] += 1
        switch action {
        case "join": join()
        case "remove": remove()
        case "kick": kick()
        case "heard", "silent", "unreachable": report(action)
        case "visit": visit()
        case "pass": pass(Int64(random.next() % 4), telling: true)
        case "wait": pass(random.next() % 4 == 0 ? Int64(random.next() % 70) : 0, telling: false)
        case "confirm": confirm()
        default: refuse()
        }
    }

    mutating func startOver() {
        instance += 1
        refusedNow = false
        let (violations, commands) = (room.plane.violations, room.commands.count)
        if !violations.isEmpty { problem = "\(violations) in \(commands) commands" }
        room = RoomFixture(settings, instance: instance)
        model = NaiveRoom(settings: settings)
        second = 0
    }

    mutating func pass(_ seconds: Int64, telling: Bool) {
        let start = second + 1
        second += seconds
        model.pass(to: second, from: start)
        room.now = MediaTime(nanoseconds: second * 1_000_000_000)
        // Not telling: the next call has to find out what was due.
        if telling { room.advance(to: second) }
    }

    mutating func line(_ kind: MediaKind, _ transport: Int) -> LegPlan.Line {
        if kind == .audio {
            return LegPlan.Line(kind: .audio, transport: transport, formats: RoomFixture.audio.formats)
        }
        let codecs: [Codec] = [.vp8, .h264]
        let offered = codecs.filter { _ in random.next() % 3 > 0 }
        return LegPlan.Line(
            kind: .video, transport: transport,
            formats: (offered.isEmpty ? codecs : offered).map { LegPlan.Format(codec: $0, payloadType: 96) })
    }

    mutating func join() {
        let user = pick(names) ?? ""
        let kind: LegKind = random.next() % 2 == 0 ? .sending : .receiving
        let bundled = random.next() % 2 == 0
        let lines = (0..<Int(1 + random.next() % 3)).map { index in
            line(random.next() % 2 == 0 ? .audio : .video, bundled ? 0 : index)
        }
        var picks: [LegPick] = []
        if kind == .receiving {
            for _ in 0..<(random.next() % 3) {
                if random.next() % 2 == 0 {
                    picks.append(.user(pick(names) ?? ""))
                } else if let leg = pick(model.legs.filter { $0.kind == .sending }),
                    let track = pick(room.tracks(of: leg.id))
                {
                    picks.append(.track(track))
                }
            }
        }
        let expected: RoomRefusal? =
            if model.isClosed {
                .closed
            } else if model.users.contains(user) {
                settings.noAutoKickUser && model.legs.contains { $0.user == user && $0.kind == kind }
                    ? .alreadyJoined : nil
            } else {
                settings.maxUsers > 0 && model.users.count >= settings.maxUsers ? .full : nil
            }
        do {
            let id = try room.join(user, kind, lines, picks: picks)
            if let expected { problem = "joined in spite of \(expected)" }
            let lease = settings.legLease.nanoseconds / 1_000_000_000
            model.add(
                NaiveRoom.Leg(
                    id: id, user: user, kind: kind,
                    leaseEnd: kind == .receiving ? second + lease : nil, lines: lines, picks: picks))
        } catch {
            if error as? RoomRefusal != expected { problem = "\(error) instead of \(String(describing: expected))" }
        }
    }

    mutating func remove() {
        guard let leg = pick(model.legs) else { return }
        if !room.run({ $0.removeLeg(leg.id, now: $1, effects: &$2) }) { problem = "a leg is not found" }
        model.remove(leg.id, at: second)
    }

    mutating func kick() {
        let user = pick(names) ?? ""
        let isThere = model.users.contains(user)
        let peers = room.kick(user)
        if model.isClosed { return }
        let before = model.kicked[user] ?? []
        let isRight =
            isThere ? peers?.count == before.count + 1 && before.isSubset(of: peers ?? []) : (peers ?? []) == before
        if !isRight { problem = "kick of \(String(describing: peers)) after \(before)" }
        model.kicked[user] = peers
        for leg in model.legs where leg.user == user { model.remove(leg.id, at: second) }
    }

    mutating func confirm() {
        guard let user = pick(Array(model.kicked.keys).sorted()) else { return }
        for peer in model.kicked[user] ?? [] { room.state.removalDone(peer, of: user) }
        model.kicked[user] = nil
    }

    mutating func report(_ what: String) {
        guard let index = model.legs.indices.randomElement(using: &random) else { return }
        var leg = model.legs[index]
        let transports = room.transports(of: leg.id)
        guard let which = transports.indices.randomElement(using: &random) else { return }
        let heard = room.heard(by: leg.id)
        var ends = false
        switch what {
        case "heard":
            room.event(.transportHeard(transports[which]))
            leg.silent.remove(which)
            leg.unreachable.remove(which)
            if leg.leaseEnd != nil { leg.leaseEnd = second + settings.legLease.nanoseconds / 1_000_000_000 }
        case "silent":
            room.event(.transportSilent(transports[which]))
            leg.silent.insert(which)
            ends = leg.kind == .sending && leg.silent.count == transports.count
        default:
            room.event(.transportUnreachable(transports[which]))
            leg.unreachable.insert(which)
            let served = Set(zip(leg.lines, heard).compactMap { $1 == nil ? nil : $0.transport })
            ends = leg.kind == .receiving && served.isSubset(of: leg.unreachable)
        }
        model.legs[index] = leg
        if ends { model.remove(leg.id, at: second) }
    }

    mutating func visit() {
        guard let index = model.legs.indices.randomElement(using: &random) else { return }
        let id = model.legs[index].id
        if room.run({ $0.visitLeg(id, now: $1, effects: &$2) }) == nil { problem = "a leg is not found" }
        if model.legs[index].leaseEnd != nil {
            model.legs[index].leaseEnd = second + settings.legLease.nanoseconds / 1_000_000_000
        }
    }

    mutating func refuse() {
        guard random.next() % 8 == 0, let id = room.plane.subscriptions.keys.min(by: { $0.rawValue < $1.rawValue })
        else { return }
        room.plane.subscriptions[id] = nil
        room.event(.subscriptionRefused(id))
        refusedNow = true
    }

    /// After a refusal a line may wait although there is a track, until a feeding or the end of this room.
    var refusedNow = false

    /// What is not as it should be.
    mutating func difference() -> String? {
        if let problem { return problem }
        if let violation = room.plane.violations.first { return violation }
        // What was due by now is compared after it has been done.
        room.advance(to: second)
        if room.isClosed != model.isClosed { return "closed: \(room.isClosed), should be \(model.isClosed)" }
        if room.isClosed { return nil }
        if room.state.users != model.users { return "users \(room.state.users), should be \(model.users)" }
        if room.plane.peers.count != model.users.count { return "the worker has \(room.plane.peers.count) peers" }
        let transports = model.legs.reduce(0) { $0 + (Set($1.lines.map(\.transport)).max() ?? -1) + 1 }
        if room.plane.transports.count != transports {
            return "the worker has \(room.plane.transports.count) transports, should have \(transports)"
        }
        let tracks = model.legs.filter { $0.kind == .sending }.reduce(0) { $0 + $1.lines.count }
        if room.plane.tracks.count != tracks { return "the worker has \(room.plane.tracks.count) tracks" }
        return feedingDifference()
    }

    /// Lines keep what they have, get what they can, and never the wrong thing.
    private mutating func feedingDifference() -> String? {
        var published: [(id: String, user: String, format: Codec)] = []
        for leg in model.legs where leg.kind == .sending {
            for (id, line) in zip(room.tracks(of: leg.id), leg.lines) {
                published.append((id, leg.user, line.formats[0].codec))
            }
        }
        var fed = 0
        for index in model.legs.indices where model.legs[index].kind == .receiving {
            let leg = model.legs[index]
            let lines = room.lines(of: leg.id)
            let carried = lines.compactMap(\.track)
            fed += carried.count
            if Set(carried).count != carried.count { return "\(leg.user) gets a track twice" }
            for (number, line) in lines.enumerated() {
                func suits(_ track: (id: String, user: String, format: Codec)) -> Bool {
                    guard let wish = leg.wish(number), track.user != leg.user,
                        leg.lines[number].formats.contains(where: { $0.codec == track.format })
                    else { return false }
                    return switch wish {
                    case nil: true
                    case .user(let user): track.user == user
                    case .track(let id): track.id == id
                    }
                }
                if let id = line.track {
                    guard let track = published.first(where: { $0.id == id }) else { return "\(id) is not published" }
                    if !suits(track) { return "\(leg.user) gets \(track), which does not suit" }
                } else if !refusedNow, let track = published.first(where: { suits($0) && !carried.contains($0.id) }) {
                    return "\(leg.user) waits in spite of \(track)"
                }
                let had = leg.had.indices.contains(number) ? leg.had[number] : nil
                if let had, had != line.track, !refusedNow, published.contains(where: { $0.id == had }) {
                    return "\(leg.user) lost \(had), which is still published"
                }
            }
            model.legs[index].had = lines.map(\.track)
        }
        let subscriptions = room.plane.subscriptions.count
        if subscriptions != fed { return "\(subscriptions) subscriptions for \(fed) lines" }
        return nil
    }
}
