package import MediaContract
package import MediaWire

/// Every rule of one life of a room: who is in it, through which parts, what they publish and hear, and when all that
/// ends. It has no clock and no I/O: time comes in as an argument, and what follows from a call comes out as effects.
///
/// Whatever is due at or before the time of a call happens before the call, each at its own time. So the outcome of a
/// race depends on the order of times, never on when a timer's task got to run.
package struct RoomState: Sendable {
    package let instance: RoomInstance
    package let settings: AppSettings
    package private(set) var phase = Phase.fresh

    var members: [String: Member] = [:]
    var legs: [LegID: Leg] = [:]
    var legOfTransport: [TransportID: LegID] = [:]
    /// In publishing order.
    var tracks: [Track] = []
    /// Kicked and not yet confirmed to be silent.
    var expelled: [String: Set<PeerID>] = [:]
    /// When the room closes if nobody comes.
    private(set) var closesAt: MediaTime?
    /// No lease ends before.
    var leaseFloor = MediaTime.distantFuture
    var random: RandomSource
    private var lastNumber: UInt32 = 0

    package enum Phase: Hashable, Sendable {
        /// Nobody has been in it yet.
        case fresh
        case open
        case closed
    }

    /// A user of the room: present while any part of it lives.
    struct Member: Sendable {
        let user: String
        let peer: PeerID
        /// Counts up by arrival.
        let order: UInt32
        var sending: LegID?
        var receiving: LegID?

        subscript(kind: LegKind) -> LegID? {
            get { kind == .sending ? sending : receiving }
            set { if kind == .sending { sending = newValue } else { receiving = newValue } }
        }

        var hasParts: Bool { sending != nil || receiving != nil }
    }

    struct Leg: Sendable {
        let kind: LegKind
        let user: String
        let order: UInt32
        var transports: [Transport]
        var lines: [Line]
        /// Receiving legs only.
        var leaseEnd: MediaTime?
        /// Under which our reports leave.
        let localSSRCs: Set<UInt32>
    }

    struct Transport: Sendable {
        let id: TransportID
        var remote: TransportAddress?
        var isConnected = false
        var isSilent = false
        var isUnreachable = false
    }

    struct Line: Sendable {
        let plan: LegPlan.Line
        /// What a receiving line waits for.
        let pick: Pick
        /// What a sending line publishes.
        var track: TrackID?
        /// What a receiving line gets.
        var feed: Feed?
        /// Whose track the line had last: preferred when that user publishes again.
        var lastUser: String?
        /// Under which a receiving line is sent to; drawn with its first track.
        var ssrc: UInt32?
    }

    struct Feed: Hashable, Sendable {
        var subscription: SubscriptionID
        var track: TrackID
    }

    enum Pick: Hashable, Sendable {
        case anyone
        case user(String)
        case track(String)
        case nothing
    }

    struct Track: Sendable {
        let id: TrackID
        /// 16 URL-safe characters; the first says the kind (a, v), so that a pick of a track which is not there yet
        /// knows which m-line it is for.
        let publicID: String
        let user: String
        let leg: LegID
        let codec: Codec
        var hasStarted = false

        var kind: MediaKind { codec.kind }
    }

    package init(instance: RoomInstance, settings: AppSettings, now: MediaTime, random: RandomSource) {
        self.instance = instance
        self.settings = settings
        self.random = random
        closesAt = settings.noAutoCloseRoom ? nil : now + settings.autoCloseTtl
    }
}

// MARK: - Looking

extension RoomState {
    package var isolation: IsolationKey { IsolationKey(instance.number(0)) }

    package var isClosed: Bool { phase == .closed }

    /// In order of arrival.
    package var users: [String] { members.values.sorted { $0.order < $1.order }.map(\.user) }

    /// The earliest time at which something becomes due, or a time before that.
    package var nextDeadline: MediaTime? {
        if isClosed { return nil }
        let lease = leaseFloor == .distantFuture ? nil : leaseFloor
        guard let closesAt else { return lease }
        return min(closesAt, lease ?? closesAt)
    }

    /// Whether the user may add such a leg now. Call `settle` first.
    package func admit(_ user: String, _ kind: LegKind) throws(RoomRefusal) {
        if isClosed { throw .closed }
        if let member = members[user] {
            if settings.noAutoKickUser, member[kind] != nil { throw .alreadyJoined }
        } else if settings.maxUsers > 0, members.count >= settings.maxUsers {
            throw .full
        }
    }
}

// MARK: - Coming and going

extension RoomState {
    /// Adds a leg, and its user if it is the first part. A leg of the same kind is replaced.
    package mutating func addLeg(
        _ plan: LegPlan, id: LegID, of user: String, now: MediaTime, effects: inout [RoomEffect]
    ) throws(RoomRefusal) {
        settle(now, effects: &effects)
        try admit(user, plan.kind)
        phase = .open
        closesAt = nil
        var member: Member
        if let present = members[user] {
            member = present
        } else {
            member = Member(user: user, peer: PeerID(nextNumber()), order: lastNumber)
            effects.append(.post(.addPeer(member.peer, isolation: isolation)))
            effects.append(.notice(.joined(user: user)))
        }
        var hungry: Set<LegID> = []
        if let old = member[plan.kind] {
            end(old, .replaced, hungry: &hungry, effects: &effects)
        }
        let order = lastNumber
        var leg = Leg(
            kind: plan.kind, user: user, order: order, transports: [], lines: [],
            leaseEnd: plan.kind == .receiving ? now + settings.legLease : nil,
            localSSRCs: Set(plan.transports.map(\.localSSRC)))
        effects.append(.notice(.legStarted(user: user, plan.kind)))
        for transport in plan.transports {
            let number = TransportID(nextNumber())
            leg.transports.append(Transport(id: number))
            legOfTransport[number] = id
            effects.append(.post(.addTransport(spec(transport, number, of: member.peer, plan.kind))))
        }
        addLines(of: plan, to: &leg, id: id, effects: &effects)
        legs[id] = leg
        member[plan.kind] = id
        members[user] = member
        if let leaseEnd = leg.leaseEnd { leaseFloor = min(leaseFloor, leaseEnd) }
        if plan.kind == .sending {
            feedAll(effects: &effects)
        } else {
            feed(id, effects: &effects)
        }
    }

    /// A join did not come about: a room that nobody ever entered goes with it.
    package mutating func joinFailed(effects: inout [RoomEffect]) {
        if phase == .fresh { finish(effects: &effects) }
    }

    /// Ends a leg by its own wish. False: there is no such leg.
    package mutating func removeLeg(_ id: LegID, now: MediaTime, effects: inout [RoomEffect]) -> Bool {
        settle(now, effects: &effects)
        guard legs[id] != nil else { return false }
        drop(id, .left, now: now, effects: &effects)
        return true
    }

    /// Puts a user out. The peers that are returned have to be removed from the media plane and waited for, also
    /// those of an earlier kick that has not been confirmed; `nil`: no such user, and no such kick.
    package mutating func kick(_ user: String, now: MediaTime, effects: inout [RoomEffect]) -> Set<PeerID>? {
        settle(now, effects: &effects)
        guard !isClosed else { return nil }
        if let member = members[user] {
            expelled[user, default: []].insert(member.peer)
            var hungry: Set<LegID> = []
            for leg in [member.sending, member.receiving].compactMap({ $0 }) {
                end(leg, .kicked, posting: false, hungry: &hungry, effects: &effects)
            }
            leave(user, .kicked, posting: false, now: now, effects: &effects)
            for leg in sorted(hungry) { feed(leg, effects: &effects) }
        }
        return expelled[user]
    }

    /// The media plane has confirmed a kick.
    package mutating func removalDone(_ peer: PeerID, of user: String) {
        expelled[user]?.remove(peer)
        if expelled[user]?.isEmpty == true { expelled[user] = nil }
    }

    /// Ends the room and everything in it.
    package mutating func close(now: MediaTime, effects: inout [RoomEffect]) {
        settle(now, effects: &effects)
        guard !isClosed else { return }
        for user in users {
            guard let member = members[user] else { continue }
            var hungry: Set<LegID> = []
            for leg in [member.sending, member.receiving].compactMap({ $0 }) {
                end(leg, .roomClosed, posting: false, hungry: &hungry, effects: &effects)
            }
            leave(user, .roomClosed, now: now, effects: &effects)
        }
        finish(effects: &effects)
    }

    /// Does what has become due, in the order of times.
    package mutating func settle(_ now: MediaTime, effects: inout [RoomEffect]) {
        while !isClosed {
            if leaseFloor <= now { findLeaseFloor() }
            let lease = leaseFloor
            if let closesAt, closesAt <= now, closesAt <= lease {
                finish(effects: &effects)
            } else if lease <= now {
                let ended = legs.filter { $0.value.leaseEnd == lease }.sorted { $0.value.order < $1.value.order }
                for (id, _) in ended { drop(id, .leaseEnded, now: lease, effects: &effects) }
                findLeaseFloor()
            } else {
                return
            }
        }
    }
}

// MARK: - The parts of it

extension RoomState {
    mutating func nextNumber() -> UInt64 {
        lastNumber &+= 1
        return instance.number(lastNumber)
    }

    /// Ends a leg and, if it was its user's last part, the user's presence.
    mutating func drop(_ id: LegID, _ reason: EndReason, now: MediaTime, effects: inout [RoomEffect]) {
        guard let leg = legs[id] else { return }
        let isLast = members[leg.user].map { $0.sending == nil || $0.receiving == nil } ?? true
        var hungry: Set<LegID> = []
        end(id, reason, posting: !isLast, hungry: &hungry, effects: &effects)
        if isLast { leave(leg.user, reason, now: now, effects: &effects) }
        for leg in sorted(hungry) { feed(leg, effects: &effects) }
    }

    /// Takes a leg out of the room. Legs that lost a track by it are put into `hungry`.
    ///
    /// - Parameter posting: whether its transports are removed one by one; not when the whole peer goes.
    private mutating func end(
        _ id: LegID, _ reason: EndReason, posting: Bool = true, hungry: inout Set<LegID>, effects: inout [RoomEffect]
    ) {
        guard let leg = legs.removeValue(forKey: id) else { return }
        members[leg.user]?[leg.kind] = nil
        if leg.kind == .sending { unpublish(id, hungry: &hungry, effects: &effects) }
        hungry.remove(id)
        for transport in leg.transports {
            legOfTransport[transport.id] = nil
            if posting { effects.append(.post(.removeTransport(transport.id))) }
        }
        effects.append(.notice(.legEnded(user: leg.user, leg.kind, reason)))
    }

    private mutating func leave(
        _ user: String, _ reason: EndReason, posting: Bool = true, now: MediaTime, effects: inout [RoomEffect]
    ) {
        guard let member = members.removeValue(forKey: user) else { return }
        if posting { effects.append(.post(.removePeer(member.peer, ticket: RemovalTicket(nextNumber())))) }
        effects.append(.notice(.left(user: user, reason)))
        if members.isEmpty, !settings.noAutoCloseRoom { closesAt = now + settings.autoCloseTtl }
    }

    private mutating func finish(effects: inout [RoomEffect]) {
        phase = .closed
        closesAt = nil
        leaseFloor = .distantFuture
        expelled = [:]
        effects.append(.notice(.closed(.empty)))
        effects.append(.closed)
    }

    private mutating func findLeaseFloor() {
        leaseFloor = .distantFuture
        for leg in legs.values { leaseFloor = min(leaseFloor, leg.leaseEnd ?? .distantFuture) }
    }

    func sorted(_ ids: Set<LegID>) -> [LegID] {
        ids.sorted { (legs[$0]?.order ?? 0) < (legs[$1]?.order ?? 0) }
    }

    private func spec(
        _ plan: LegPlan.Transport, _ id: TransportID, of peer: PeerID, _ kind: LegKind
    ) -> TransportSpec {
        TransportSpec(
            id: id, peer: peer, socket: plan.ports.socket, rtcpSocket: plan.ports.rtcpSocket, inbound: plan.inbound,
            outbound: plan.outbound, remote: plan.remote, localSSRC: plan.localSSRC, cname: plan.cname,
            silenceLimit: kind == .sending ? settings.legTimeout : nil, reducedSizeRTCP: plan.reducedSizeRTCP)
    }
}
