import MediaContract
import MediaSwitch
import MediaTestKit
import MediaWire
import RoomControl
import RoomTestKit

/// Rooms that decide, one switchboard that obeys, and clients around it, all in virtual time. It does what `Room`, `RoomDirectory`
/// and the engine do between the two, without a wait: effects to commands, reports back to their room.
final class RoomWorld {
    /// One life of a room.
    final class Hall {
        let key: RoomKey
        let instance: RoomInstance
        var state: RoomState
        var random: RandomSource
        /// What a careful control plane would never send is noted there.
        var model = PlaneModel()
        /// The leg that each user has now.
        var sending: [String: ClientLeg] = [:]
        var receiving: [String: ClientLeg] = [:]
        /// Published now, with the public ids.
        var published: [String] = []

        init(key: RoomKey, instance: RoomInstance, state: RoomState, random: RandomSource) {
            self.key = key
            self.instance = instance
            self.state = state
            self.random = random
        }
    }

    let seed: UInt64
    let network: VirtualNetwork
    let audit = WireAudit()
    let settings: AppSettings
    var random: SeededRandom
    private(set) var halls: [RoomKey: Hall] = [:]
    private var byInstance: [RoomInstance: Hall] = [:]
    private(set) var legs: [ClientLeg] = []
    private var legOfTransport: [TransportID: ClientLeg] = [:]
    private var legsOfPeer: [PeerID: [ClientLeg]] = [:]
    private var peerOfTicket: [RemovalTicket: PeerID] = [:]
    private var kicked: [RemovalTicket: (hall: Hall, user: String)] = [:]
    private var subscriptions: [SubscriptionID: (leg: ClientLeg, ssrc: UInt32)] = [:]
    private var lastNumber: UInt64 = 100
    private var lastInstance: UInt32 = 0
    private var seenEvents = 0
    private var publishing: ClientLeg?
    /// Sockets that take nothing now, and until when.
    private var blocked: [SocketID: MediaTime] = [:]
    /// Chance of each message to find its socket full from now on for 20 ms, and of each to be refused for good.
    var blocking = 0.0
    var failing = 0.0

    // What came about
    private(set) var ended: [EndReason: Int] = [:]
    private(set) var roomsClosed = 0
    private(set) var refusals = 0
    private(set) var messagesBlocked = 0
    private(set) var ticketsPosted = 0
    private(set) var ticketsAnswered = 0
    private(set) var modelViolations: [String] = []
    /// Subscriptions under an SSRC that had carried another one before.
    private(set) var resubscriptions = 0

    init(seed: UInt64, settings: AppSettings, configuration: Switchboard.Configuration) {
        self.seed = seed
        self.settings = settings
        random = SeededRandom(seed: seed)
        network = VirtualNetwork(seed: seed, configuration: configuration)
        network.tap = { [unowned self] _, socket, destination, bytes in
            noteRemovals()
            audit.look(socket, destination, bytes)
        }
        network.sendOutcome = { [unowned self] in outcome(of: $0) }
    }

    private func outcome(of message: OutboundMessage) -> SendOutcome {
        if let end = blocked[message.socket] {
            if network.now < end {
                messagesBlocked += 1
                return .blocked
            }
            blocked[message.socket] = nil
        }
        if blocking > 0, random.chance(blocking) {
            blocked[message.socket] = network.now + .milliseconds(20)
            messagesBlocked += 1
            return .blocked
        }
        return failing > 0 && random.chance(failing) ? .failed : .sent
    }

    private func number() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    // MARK: What clients do

    func hall(_ key: RoomKey) -> Hall {
        if let hall = halls[key] { return hall }
        lastInstance += 1
        let instance = RoomInstance(lastInstance)
        let hall = Hall(
            key: key, instance: instance,
            state: RoomState(
                instance: instance, settings: settings, now: network.now,
                random: .seeded(seed).part(UInt64(lastInstance))),
            random: .seeded(seed ^ 0x5EED).part(UInt64(lastInstance)))
        halls[key] = hall
        byInstance[instance] = hall
        return hall
    }

    /// Adds a leg for the user, in place of the one it has. `nil`: the room refused it.
    @discardableResult
    func join(
        _ key: RoomKey, _ user: String, _ kind: LegKind, _ lines: [LegPlan.Line], picks: [LegPick] = []
    ) -> ClientLeg? {
        let hall = hall(key)
        let n = number()
        let peer = VirtualPeer(
            transport: TransportID(n), peer: PeerID(0),
            address: TransportAddress(ipv4: 0x0A00_0000 + UInt32(n / 50_000), port: UInt16(10_000 + n % 50_000)),
            socket: SocketID(n), isPublishing: kind == .sending,
            profile: key.app == "a" ? .aeadAES128GCM : .aesCM128HmacSHA1_80, seed: seed)
        guard
            let leg = ClientLeg(
                serial: UInt32(truncatingIfNeeded: n), key: key, instance: hall.instance, user: user, kind: kind,
                peer: peer, picks: picks)
        else { return nil }
        let spec = peer.spec
        let transport = LegPlan.Transport(
            ports: PlainPorts(socket: spec.socket, port: 0, rtcpSocket: spec.socket, rtcpPort: 0),
            inbound: spec.inbound, outbound: spec.outbound, remote: spec.remote, localSSRC: spec.localSSRC,
            cname: spec.cname)
        let plan = LegPlan(kind: kind, transports: [transport], lines: lines, picks: picks)
        network.attach(peer)
        audit.add(leg)
        legs.append(leg)
        let id = LegID(room: hall.instance, using: &hall.random)
        var effects: [RoomEffect] = []
        do {
            try hall.state.addLeg(plan, id: id, of: user, now: network.now, effects: &effects)
        } catch {
            audit.violation("\(user) is refused in \(key): \(error)")
        }
        leg.id = id
        if kind == .sending { leg.outgoing = lines.map { outgoing($0) } }
        // The old leg's end is among the effects, so the new one is put in its place after them.
        obey(effects, hall)
        if kind == .sending { hall.sending[user] = leg } else { hall.receiving[user] = leg }
        return leg
    }

    private func outgoing(_ line: LegPlan.Line) -> ClientLeg.Outgoing {
        let format = line.formats[0]
        return ClientLeg.Outgoing(
            codec: format.codec,
            ssrc: line.encodings[0].ssrcs.first ?? (format.codec == .vp8 ? 0xBBBB_0000 : 0xAAAA_0000),
            payloadType: format.payloadType, index: 65_400 + UInt64.random(in: 0..<100, using: &random),
            timestamp: UInt32.random(in: 0...UInt32.max, using: &random), sinceKeyFrame: 100_000)
    }

    func leave(_ leg: ClientLeg) {
        guard let hall = byInstance[leg.instance], let id = leg.id else { return }
        run(hall) { hall.state.removeLeg(id, now: network.now, effects: &$0) }
    }

    func visit(_ leg: ClientLeg) -> LegStatus? {
        guard let hall = byInstance[leg.instance], let id = leg.id else { return nil }
        return run(hall) { hall.state.visitLeg(id, now: network.now, effects: &$0) }
    }

    func kick(_ key: RoomKey, _ user: String) {
        guard let hall = halls[key] else { return }
        let peers = run(hall) { hall.state.kick(user, now: network.now, effects: &$0) }
        for peer in (peers ?? []).sorted(by: { $0.rawValue < $1.rawValue }) {
            // Those of an earlier kick are waited for already.
            guard !peerOfTicket.values.contains(peer) else { continue }
            let ticket = RemovalTicket(number())
            kicked[ticket] = (hall, user)
            post(.removePeer(peer, ticket: ticket), hall)
        }
    }

    func close(_ key: RoomKey) {
        guard let hall = halls[key] else { return }
        run(hall) { hall.state.close(now: network.now, effects: &$0) }
    }

    /// Somebody with a command of a track of another room: no such command comes from a room, and no worker obeys it.
    func subscribeAcross(_ leg: ClientLeg, to track: TrackID) {
        guard let transport = leg.transport else { return }
        network.apply(
            .subscribe(
                SubscriptionSpec(
                    id: SubscriptionID(number()), track: track, transport: transport, ssrc: 0x7777_7777,
                    payloadType: 109, firstSequence: 1, timestampOffset: 0)))
    }

    // MARK: Time

    /// Lets time pass, and brings what was reported to the rooms.
    func pass(_ duration: MediaDuration) {
        network.run(for: duration)
        network.inject([])
        settle()
    }

    private func settle() {
        noteRemovals()
        let events = network.takeEvents()
        seenEvents = 0
        for event in events { report(event) }
        for hall in byInstance.values.sorted(by: { $0.instance.rawValue < $1.instance.rawValue }) {
            guard let deadline = hall.state.nextDeadline, deadline <= network.now else { continue }
            run(hall) { hall.state.settle(network.now, effects: &$0) }
        }
    }

    private func report(_ event: MediaEvent) {
        let number: UInt64
        switch event {
        case .removed(let ticket):
            ticketsAnswered += 1
            guard let peer = peerOfTicket.removeValue(forKey: ticket) else { return }
            if let kick = kicked.removeValue(forKey: ticket) { kick.hall.state.removalDone(peer, of: kick.user) }
            return
        case .snapshot: return
        case .layerChanged(let id, _): number = id.rawValue
        case .subscriptionRefused(let id):
            refusals += 1
            number = id.rawValue
        case .transportConnected(let id, _), .transportHeard(let id), .transportQuiet(let id),
            .transportSilent(let id), .transportUnreachable(let id), .transportFailed(let id, _):
            number = id.rawValue
        case .trackStarted(let id): number = id.rawValue
        }
        guard let hall = byInstance[RoomInstance(of: number)] else { return }
        run(hall) { hall.state.handle(event, now: network.now, effects: &$0) }
    }

    /// From the moment of the ticket on, not from when we get to read it.
    private func noteRemovals() {
        guard network.events.count != seenEvents else { return }
        for event in network.events[seenEvents...] {
            guard case .removed(let ticket) = event, let peer = peerOfTicket[ticket] else { continue }
            for leg in legsOfPeer[peer] ?? [] { leg.isRemoved = true }
        }
        seenEvents = network.events.count
    }

    // MARK: Effects

    @discardableResult
    private func run<Result>(_ hall: Hall, _ body: (inout [RoomEffect]) -> Result) -> Result {
        var effects: [RoomEffect] = []
        let result = body(&effects)
        obey(effects, hall)
        return result
    }

    private func obey(_ effects: [RoomEffect], _ hall: Hall) {
        for effect in effects {
            switch effect {
            case .post(let command): post(command, hall)
            case .notice(let notice): note(notice, hall)
            // Nobody here comes by signalling.
            case .send, .broadcast, .release: break
            case .closed:
                roomsClosed += 1
                modelViolations += hall.model.violations
                byInstance[hall.instance] = nil
                if halls[hall.key] === hall { halls[hall.key] = nil }
            }
        }
    }

    private func note(_ notice: RoomNotice, _ hall: Hall) {
        switch notice {
        case .legEnded(let user, let kind, let reason):
            ended[reason, default: 0] += 1
            if kind == .sending { hall.sending[user] = nil } else { hall.receiving[user] = nil }
        case .published(_, let track, _, _):
            // The notice follows its command.
            publishing?.publicIDs.append(track)
            hall.published.append(track)
        case .unpublished(_, let track): hall.published.removeAll { $0 == track }
        case .subscriptionRefused(let user, _): audit.violation("a room's own subscription for \(user) is refused")
        default: break
        }
    }

    private func post(_ command: MediaCommand, _ hall: Hall) {
        hall.model.apply(command)
        switch command {
        case .addTransport(let spec):
            guard let leg = audit.legs[spec.socket] else { break }
            leg.transport = spec.id
            legOfTransport[spec.id] = leg
            legsOfPeer[spec.peer, default: []].append(leg)
        case .removeTransport(let id): legOfTransport[id]?.hasEnded = true
        case .removePeer(let peer, let ticket):
            ticketsPosted += 1
            peerOfTicket[ticket] = peer
            for leg in legsOfPeer[peer] ?? [] { leg.hasEnded = true }
        case .addTrack(let spec):
            guard let leg = legOfTransport[spec.transport] else { break }
            audit.owners[spec.id] = (leg, UInt8(leg.tracks.count))
            leg.tracks.append(spec.id)
            publishing = leg
        case .subscribe(let spec):
            guard let leg = legOfTransport[spec.transport] else { break }
            if leg.media.contains(where: { $0.ssrc == spec.ssrc }) { resubscriptions += 1 }
            subscriptions[spec.id] = (leg, spec.ssrc)
            leg.feeds[spec.ssrc] = ClientLeg.Feed(subscription: spec.id, track: spec.track)
        case .unsubscribe(let id):
            guard let (leg, ssrc) = subscriptions.removeValue(forKey: id) else { break }
            if leg.feeds[ssrc]?.subscription == id { leg.feeds[ssrc] = nil }
        default: break
        }
        network.apply(command)
    }
}
