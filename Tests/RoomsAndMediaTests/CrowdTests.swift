import MediaContract
import MediaSwitch
import MediaTestKit
import MediaWire
import RoomControl
import Testing

/// The rooms' rules and the media plane together: whatever comes and goes, a room's packets stay in the room.
@Suite struct CrowdTests {
    /// Two apps of 105 rooms of the same names, ten users of the same names in each, and a million packets delivered between
    /// joins, replacements, leaves, kicks, silence, loss and full sockets.
    @Test func noByteCrossesFromRoomToRoom() {
        var crowd = Crowd(seed: 20_261_130)
        let world = crowd.world
        let seed = world.seed
        crowd.fill()
        let peers = world.network.switchboard.peerCount
        #expect(peers >= 2000, "seed \(seed)")
        var rounds = 0
        while crowd.delivered < 1_000_000, rounds < 2000, world.audit.violationCount == 0 {
            rounds += 1
            crowd.publish()
            world.pass(.milliseconds(20))
            for _ in 0..<24 { crowd.disturb() }
        }
        crowd.checkThatAllIsHeard()
        let report = crowd.report(rounds: rounds)
        crowd.empty()

        let audit = world.audit
        #expect(audit.violationCount == 0, "seed \(seed): \(audit.violations.joined(separator: "; "))")
        #expect(crowd.delivered >= 1_000_000, "seed \(seed): \(report)")
        #expect(world.modelViolations.isEmpty, "seed \(seed): \(world.modelViolations.prefix(5))")
        // Receivers fail to open nothing but repetitions, each of which left as a repetition.
        for leg in world.legs {
            let failures = leg.peer.failures
            let repeated = failures[.replayed] ?? 0
            #expect(repeated <= leg.repeats, "seed \(seed): leg \(leg.serial), \(failures), \(leg.repeats) repeats")
            #expect(failures.count == (repeated > 0 ? 1 : 0), "seed \(seed): leg \(leg.serial), \(failures)")
        }
        // None of what should have been tried was left out.
        for reason in [EndReason.left, .replaced, .kicked, .silent, .leaseEnded, .roomClosed] {
            #expect(world.ended[reason, default: 0] >= 10, "seed \(seed): \(reason) in \(report)")
        }
        #expect(audit.repeats > 1000, "seed \(seed): \(report)")
        #expect(world.resubscriptions > 1000, "seed \(seed): \(report)")
        #expect(world.messagesBlocked > 1000, "seed \(seed): \(report)")
        #expect(world.roomsClosed > 210, "seed \(seed): \(report)")
        #expect(crowd.crossings > 100 && world.refusals == crowd.crossings, "seed \(seed): \(report)")
        #expect(world.ticketsAnswered == world.ticketsPosted, "seed \(seed): \(report)")

        // Nothing is left.
        #expect(world.halls.isEmpty, "seed \(seed)")
        let left = world.network.snapshot()
        let (peersLeft, wantsFlush) = (world.network.switchboard.peerCount, world.network.switchboard.wantsFlush)
        #expect(peersLeft == 0 && !wantsFlush, "seed \(seed)")
        #expect(left.transports.isEmpty && left.tracks.isEmpty && left.subscriptions.isEmpty, "seed \(seed)")
        let opened = world.legs.map(\.peer.socket.rawValue).sorted()
        #expect(world.network.closedSockets.map(\.rawValue).sorted() == opened, "seed \(seed)")
    }
}

/// Two thousand users and what they do.
private struct Crowd {
    static let rooms = 105
    static let users = 10
    let world: RoomWorld
    private(set) var crossings = 0
    private var random: SeededRandom
    /// Ended, and still sending for a while.
    private var ghosts: [ClientLeg] = []

    init(seed: UInt64) {
        var settings = AppSettings()
        settings.autoCloseTtl = .milliseconds(200)
        settings.legTimeout = .milliseconds(400)
        settings.legLease = .milliseconds(2500)
        var configuration = Switchboard.Configuration()
        configuration.outboxSlots = 512
        world = RoomWorld(seed: seed, settings: settings, configuration: configuration)
        world.network.uplink.loss = 0.003
        world.network.downlink.loss = 0.01
        world.blocking = 0.0005
        world.failing = 0.0002
        random = SeededRandom(seed: seed &+ 1)
    }

    var delivered: Int { world.legs.reduce(0) { $0 + $1.peer.receivedCount } }

    // MARK: Who is there

    private static func key(_ app: Int, _ room: Int) -> RoomKey { RoomKey(app: app == 0 ? "a" : "b", room: "r\(room)") }

    private func present() -> [ClientLeg] {
        world.halls.values.sorted { $0.instance.rawValue < $1.instance.rawValue }
            .flatMap { legs(of: $0) }
    }

    private func legs(of hall: RoomWorld.Hall) -> [ClientLeg] {
        hall.sending.values.sorted { $0.serial < $1.serial } + hall.receiving.values.sorted { $0.serial < $1.serial }
    }

    private mutating func anyKey() -> RoomKey {
        Self.key(Int.random(in: 0..<2, using: &random), Int.random(in: 0..<Self.rooms, using: &random))
    }

    /// Everybody joins, players as often before their publishers as after.
    mutating func fill() {
        for app in 0..<2 {
            for room in 0..<Self.rooms {
                for user in (0..<Self.users).shuffled(using: &random) { enter(Self.key(app, room), user) }
            }
        }
        world.pass(.milliseconds(1))
    }

    /// The first three users publish, and most of them play as well.
    private mutating func enter(_ key: RoomKey, _ user: Int) {
        if user < 3 { publish(key, user) }
        if user >= 3 || random.chance(0.7) { play(key, user) }
    }

    private mutating func publish(_ key: RoomKey, _ user: Int) {
        let declares = random.chance(0.5)
        let audio = LegPlan.Line(
            kind: .audio, transport: 0, formats: [LegPlan.Format(codec: .opus, payloadType: 111)],
            ssrcs: declares ? [0xAAAA_0000] : [])
        let video = LegPlan.Line(
            kind: .video, transport: 0,
            formats: [LegPlan.Format(codec: .vp8, payloadType: 96, feedback: [.nack, .pli])],
            ssrcs: declares ? [0xBBBB_0000] : [])
        let lines = [[audio, video], [audio], [video, audio], [video]]
        world.join(key, "u\(user)", .sending, lines[Int.random(in: 0..<4, using: &random)])
    }

    private mutating func play(_ key: RoomKey, _ user: Int) {
        var lines: [LegPlan.Line] = []
        for index in 0..<Int.random(in: 1...4, using: &random) {
            let isAudio = random.chance(0.4)
            // The same promise in every room; the others draw their own.
            let promised = random.chance(0.5) ? 0x5000_0000 + UInt32(index) : nil
            let formats =
                isAudio
                ? [LegPlan.Format(codec: .opus, payloadType: 109)]
                : [LegPlan.Format(codec: random.chance(0.1) ? .h264 : .vp8, payloadType: 120, feedback: [.nack, .pli])]
            lines.append(
                LegPlan.Line(
                    kind: isAudio ? .audio : .video, transport: 0, mid: "\(index)", formats: formats,
                    extensions: random.chance(0.5) ? [HeaderExtensionMapping(id: 4, kind: .mid)] : [],
                    promisedSSRC: promised))
        }
        var picks: [LegPick] = []
        if random.chance(0.3) {
            let others = (0..<3).filter { $0 != user }
            picks = others.shuffled(using: &random).prefix(2).map { .user("u\($0)") }
        } else if random.chance(0.1), let track = world.halls[key]?.published.randomElement(using: &random) {
            picks = [.track(track)]
        }
        let leg = world.join(key, "u\(user)", .receiving, lines, picks: picks)
        // Not everybody: whoever asks, asks for each lost packet again and again.
        leg?.peer.requestsMissing = random.chance(0.3)
        leg?.peer.keepsPackets = false
    }

    // MARK: What they do

    mutating func publish() {
        for leg in present() where leg.kind == .sending && !leg.isMute {
            // Some give key frames only to those who ask.
            leg.publish(world.network, keyFrameEvery: leg.serial % 3 == 0 ? 10_000 : 25)
        }
        // Those who were put out do not know it yet.
        for ghost in ghosts {
            ghost.publish(world.network, keyFrameEvery: 1)
            ghost.afterlife -= 1
        }
        ghosts.removeAll { $0.afterlife == 0 }
    }

    mutating func disturb() {
        let key = anyKey()
        let user = Int.random(in: 0..<Self.users, using: &random)
        let name = "u\(user)"
        let hall = world.halls[key]
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<22: if user < 3 { publish(key, user) } else { play(key, user) }
        case 22..<44: publish(key, user % 3)
        case 44..<56: enter(key, user)
        case 56..<63:
            if let leg = random.chance(0.5) ? hall?.sending[name] : hall?.receiving[name] { world.leave(leg) }
        case 63..<70:
            if let leg = hall?.sending[name] { ghosts.append(leg) }
            world.kick(key, name)
            // A second moderator, at the same moment.
            if random.chance(0.3) { world.kick(key, name) }
        case 70..<74: hall?.sending["u\(user % 3)"]?.isMute = true
        case 74..<84: visitSome()
        case 84..<85: world.close(key)
        case 85..<86:
            for leg in hall.map({ legs(of: $0) }) ?? [] { world.leave(leg) }
        default: intrude(key, name)
        }
    }

    /// Players that renew their lease; the others' ends.
    private mutating func visitSome() {
        for _ in 0..<10 {
            let name = "u\(Int.random(in: 0..<Self.users, using: &random))"
            if let leg = world.halls[anyKey()]?.receiving[name] { _ = world.visit(leg) }
        }
    }

    /// Somebody sends to a leg of another room, by the same numbers, and orders a track from there.
    private mutating func intrude(_ key: RoomKey, _ name: String) {
        guard let own = world.halls[key], let foreign = world.halls[anyKey()], own !== foreign else { return }
        if let leg = own.sending["u0"], let target = foreign.sending["u0"] ?? foreign.receiving["u5"] {
            let packet = leg.peer.seal(
                ssrc: 0xAAAA_0000, index: 70_000, timestamp: 1, payloadType: 111,
                payload: PayloadLabel(room: key, instance: leg.instance.rawValue, leg: leg.serial, line: 0, index: 0)
                    .payload(codec: .opus, keyFrame: false, startsFrame: true))
            world.network.send(packet, from: leg.peer.address, to: target.peer.socket)
        }
        if let leg = own.receiving[name],
            let track = foreign.sending["u1"]?.tracks.first
        {
            crossings += 1
            world.subscribeAcross(leg, to: track)
        }
    }

    // MARK: The end

    /// Without loss and commotion, every line that has a track gets it.
    mutating func checkThatAllIsHeard() {
        (world.network.uplink.loss, world.network.downlink.loss) = (0, 0)
        (world.blocking, world.failing) = (0, 0)
        for leg in present() { leg.isMute = false }
        // A request for a key frame that was lost is repeated after a second, and after two.
        for round in 0..<130 {
            if round % 60 == 0 { for leg in present() { _ = world.visit(leg) } }
            if round == 110 {
                for leg in present() { for place in leg.media.indices { leg.media[place].fresh = 0 } }
            }
            publish()
            world.pass(.milliseconds(20))
        }
        var heard = 0
        for leg in present() where leg.kind == .receiving {
            for (ssrc, feed) in leg.feeds {
                let fresh = leg.media.first { $0.ssrc == ssrc }?.fresh ?? 0
                let line = world.audit.owners[feed.track].map { $0.leg.outgoing[Int($0.line)] }
                if fresh == 0 {
                    world.audit.violation("leg \(leg.serial) hears nothing of \(String(describing: line))")
                }
                heard += 1
            }
        }
        #expect(heard > 1000, "seed \(world.seed): \(heard) lines have a track")
    }

    /// Everybody goes, one way or another.
    mutating func empty() {
        for hall in world.halls.values.sorted(by: { $0.instance.rawValue < $1.instance.rawValue }) {
            if random.chance(0.1) {
                world.close(hall.key)
                continue
            }
            for user in hall.state.users {
                if random.chance(0.2) {
                    world.kick(hall.key, user)
                } else {
                    for leg in [hall.sending[user], hall.receiving[user]].compactMap({ $0 }) { world.leave(leg) }
                }
            }
        }
        world.pass(.seconds(3))
    }

    func report(rounds: Int) -> String {
        let audit = world.audit
        return """
            \(rounds) rounds, \(world.legs.count) legs, \(audit.mediaPackets) media packets left, \(delivered) delivered, \
            \(audit.controlPackets) RTCP, \(audit.repeats) repeats, \(world.resubscriptions) resubscriptions, \
            \(world.messagesBlocked) blocked, \(world.roomsClosed) rooms closed, \(crossings) crossings, ended \(world.ended)
            """
    }
}
