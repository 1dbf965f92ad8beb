package import MediaContract
package import MediaWire
import RoomProtocol

/// Every rule of one life of a room: who is in it, through which parts, what they publish and hear, and when all that
/// ends. It has no clock and no I/O: time comes in as an argument, and what follows from a call comes out as effects.
///
/// Whatever is due at or before the time of a call happens before the call, each at its own time. So the outcome of a
/// race depends on the order of times, never on when a timer's task got to run.
package struct RoomState: Sendable {
    package let instance: RoomInstance
    package let settings: AppSettings
    package let limits: RoomLimits
    package let origin: RoomOrigin
    package private(set) var phase = Phase.fresh
    /// Why it is closed; `nil`: it is not.
    package private(set) var closeReason: CloseReason?

    var members: [String: Member] = [:]
    var legs: [LegID: Leg] = [:]
    var legOfTransport: [TransportID: LegID] = [:]
    var sessionOfTransport: [TransportID: SessionTransport] = [:]
    var listeners: [SubscriptionID: SessionListener] = [:]
    /// In publishing order.
    var tracks: [Track] = []
    /// Kicked and not yet confirmed to be silent.
    var expelled: [String: Set<PeerID>] = [:]
    /// Users who may not come in, and until when; see `setBans`.
    var bans: [String: MediaTime] = [:]
    /// Custom messages that were sent lately, for users who come back.
    var messageLog = MessageLog()
    /// When the room closes if nobody comes.
    var closesAt: MediaTime?
    /// No lease ends before.
    var leaseFloor = MediaTime.distantFuture
    /// No session's time runs out before.
    var sessionFloor = MediaTime.distantFuture
    /// When the next ping goes to everybody.
    var pingAt: MediaTime?
    var mids = MidPool()
    var random: RandomSource
    private var lastNumber: UInt32 = 0

    package enum Phase: Hashable, Sendable {
        /// Nobody has been in it yet.
        case fresh
        case open
        case closed
    }

    /// What made this life of the room.
    package enum RoomOrigin: Hashable, Sendable {
        case firstJoin
        /// The server API: it waits longer for its first user.
        case server
    }

    /// A user of the room: present while any part of it lives.
    struct Member: Sendable {
        let user: String
        let peer: PeerID
        /// Counts up by arrival.
        let order: UInt32
        let since: MediaTime
        /// What the user gave at its join, for the others.
        var userData = ""
        /// What the server lets it do.
        var granted: Set<Privilege> = [.publish, .subscribe]
        var session: Session?
        var sending: LegID?
        var receiving: LegID?

        subscript(kind: LegKind) -> LegID? {
            get { kind == .sending ? sending : receiving }
            set { if kind == .sending { sending = newValue } else { receiving = newValue } }
        }

        var hasParts: Bool { session != nil || sending != nil || receiving != nil }

        var legs: [LegID] { [sending, receiving].compactMap { $0 } }
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
        /// `nil`: a plain leg.
        var webRTC: LegPlan.WebRTC?
        /// Of simulcast tracks.
        var layer = LayerPreference.high
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
        /// A track that the server has muted: the line waits for it rather than taking another.
        var held: TrackID?
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
        let carrier: Carrier
        let codec: Codec
        /// Its `a=mid` at every subscriber from signalling.
        let mid: String
        /// The publisher's own name of it; signalling only.
        var localID = ""
        /// Its m-section's name at the publisher; signalling only.
        var localMid = ""
        /// Those that its offer declared.
        var ssrcs: Set<UInt32> = []
        var tag = ""
        var isMaster = true
        /// As its publisher says.
        var isMuted = false
        /// Forwarding has stopped by the server's will.
        var isMutedByServer = false
        /// Layers of a simulcast track, the best first.
        var profiles: [String] = []
        var hasStarted = false

        var kind: MediaKind { codec.kind }
        var leg: LegID? { if case .leg(let id) = carrier { id } else { nil } }
    }

    /// What brings a track's packets.
    enum Carrier: Hashable, Sendable {
        case leg(LegID)
        /// The publishing connection of its user's session.
        case session
    }

    package init(
        instance: RoomInstance, settings: AppSettings, limits: RoomLimits = RoomLimits(),
        origin: RoomOrigin = .firstJoin, now: MediaTime, random: RandomSource
    ) {
        self.instance = instance
        self.settings = settings
        self.limits = limits
        self.origin = origin
        self.random = random
        if !settings.noAutoCloseRoom {
            closesAt = now + (origin == .server ? settings.noEnterTtl : settings.autoCloseTtl)
        }
    }
}

// MARK: - Looking

extension RoomState {
    package var isolation: IsolationKey { IsolationKey(instance.number(0)) }

    package var isClosed: Bool { phase == .closed }

    package var userCount: Int { members.count }

    /// In order of arrival.
    package var users: [String] { members.values.sorted { $0.order < $1.order }.map(\.user) }

    /// The earliest time at which something becomes due, or a time before that.
    package var nextDeadline: MediaTime? {
        if isClosed { return nil }
        let next = min(closesAt ?? .distantFuture, leaseFloor, sessionFloor, pingAt ?? .distantFuture)
        return next == .distantFuture ? nil : next
    }

    /// Whether the user may add such a leg now. Call `settle` first.
    package func admit(_ user: String, _ kind: LegKind, now: MediaTime) throws(RoomRefusal) {
        try admit(user, now: now)
        guard let member = members[user] else { return }
        if settings.noAutoKickUser, member[kind] != nil { throw .alreadyJoined }
        if !member.granted.contains(kind == .sending ? .publish : .subscribe) { throw .notPermitted }
    }

    /// Whether the user may be in the room at all.
    func admit(_ user: String, now: MediaTime) throws(RoomRefusal) {
        if isClosed { throw .closed }
        if let until = bans[user], now < until { throw .banned }
        guard members[user] == nil else { return }
        if settings.maxUsers > 0, members.count >= settings.maxUsers { throw .full }
        if members.count >= limits.usersPerRoom { throw .full }
    }
}

// MARK: - Coming and going

extension RoomState {
    /// Adds a leg, and its user if it is the first part. A leg of the same kind is replaced.
    package mutating func addLeg(
        _ plan: LegPlan, id: LegID, of user: String, now: MediaTime, effects: inout [RoomEffect]
    ) throws(RoomRefusal) {
        settle(now, effects: &effects)
        try admit(user, plan.kind, now: now)
        var member = enter(user, now: now, effects: &effects)
        if member.hasParts == false { announce(member, effects: &effects) }
        members[user] = member
        var hungry: Set<LegID> = []
        if let old = member[plan.kind] {
            end(old, .replaced, hungry: &hungry, effects: &effects)
        }
        let order = lastNumber
        var leg = Leg(
            kind: plan.kind, user: user, order: order, transports: [], lines: [],
            // Where checks tell whether the player is there, no lease has to.
            leaseEnd: plan.kind == .receiving && plan.webRTC == nil ? now + settings.legLease : nil,
            localSSRCs: Set(plan.transports.map(\.localSSRC) + [plan.webRTC?.localSSRC].compactMap { $0 }),
            webRTC: plan.webRTC, layer: plan.layer)
        effects.append(.notice(.legStarted(user: user, plan.kind)))
        for transport in plan.transports {
            let number = TransportID(nextNumber())
            leg.transports.append(Transport(id: number))
            legOfTransport[number] = id
            effects.append(.post(.addTransport(spec(transport, number, of: member.peer, plan.kind))))
        }
        if let webRTC = plan.webRTC {
            let number = TransportID(nextNumber())
            leg.transports = [Transport(id: number)]
            legOfTransport[number] = id
            effects.append(.post(.addWebRTCTransport(spec(webRTC, number, of: member.peer))))
        }
        addLines(of: plan, to: &leg, id: id, effects: &effects)
        legs[id] = leg
        member[plan.kind] = id
        members[user] = member
        announceTracks(tracks.filter { $0.leg == id }, effects: &effects)
        if let leaseEnd = leg.leaseEnd { leaseFloor = min(leaseFloor, leaseEnd) }
        if plan.kind == .sending {
            feedAll(effects: &effects)
        } else {
            feed(id, effects: &effects)
        }
    }

    /// A join did not come about: a room that nobody ever entered goes with it.
    package mutating func joinFailed(effects: inout [RoomEffect]) {
        if phase == .fresh, origin == .firstJoin { finish(.unused, effects: &effects) }
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
    ///
    /// - Parameter sentence: what the user is told.
    package mutating func kick(
        _ user: String, by kicker: String? = nil, _ sentence: String = "kicked out of the room", now: MediaTime,
        effects: inout [RoomEffect]
    ) -> Set<PeerID>? {
        settle(now, effects: &effects)
        guard !isClosed else { return nil }
        if let member = members[user] {
            expelled[user, default: []].insert(member.peer)
            effects.append(.notice(.kicked(user: user, by: kicker)))
            let notice = DisconnectNotice(.kickedOut, sentence, kickedID: kicker)
            expel(user, .kicked, notice, posting: false, now: now, effects: &effects)
        }
        return expelled[user]
    }

    /// The media plane has confirmed a kick.
    package mutating func removalDone(_ peer: PeerID, of user: String) {
        expelled[user]?.remove(peer)
        if expelled[user]?.isEmpty == true { expelled[user] = nil }
    }

    /// Ends the room and everything in it. Everybody is told the sentence.
    package mutating func close(
        _ reason: CloseReason = .deleted, _ sentence: String = "the room was closed", now: MediaTime,
        effects: inout [RoomEffect]
    ) {
        settle(now, effects: &effects)
        guard !isClosed else { return }
        // Nobody needs to hear of the others any more.
        let all = members.values.sorted { $0.order < $1.order }
        for member in all {
            guard let link = members[member.user]?.session?.link else { continue }
            members[member.user]?.session?.link = nil
            effects.append(.release(link, .out(DisconnectNotice(.roomClosed, sentence))))
        }
        for member in all { expel(member.user, .roomClosed, nil, posting: true, now: now, effects: &effects) }
        finish(reason, effects: &effects)
    }

    /// Does what has become due, in the order of times.
    package mutating func settle(_ now: MediaTime, effects: inout [RoomEffect]) {
        while !isClosed {
            if leaseFloor <= now { findLeaseFloor() }
            if sessionFloor <= now { findSessionFloor() }
            let next = min(closesAt ?? .distantFuture, leaseFloor, sessionFloor, pingAt ?? .distantFuture)
            guard next <= now, next != .distantFuture else { return }
            if closesAt == next {
                finish(phase == .fresh ? .unused : .empty, effects: &effects)
            } else if leaseFloor == next {
                let ended = legs.filter { $0.value.leaseEnd == next }.sorted { $0.value.order < $1.value.order }
                for (id, _) in ended { drop(id, .leaseEnded, now: next, effects: &effects) }
                findLeaseFloor()
            } else if sessionFloor == next {
                endSilentSessions(at: next, effects: &effects)
                findSessionFloor()
            } else {
                ping(due: next, now: now, effects: &effects)
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

    /// The member of that name, made if it is not there; nobody is told yet.
    mutating func enter(_ user: String, now: MediaTime, effects: inout [RoomEffect]) -> Member {
        phase = .open
        closesAt = nil
        if let present = members[user] { return present }
        let member = Member(user: user, peer: PeerID(nextNumber()), order: lastNumber, since: now)
        effects.append(.post(.addPeer(member.peer, isolation: isolation)))
        effects.append(.notice(.joined(user: user)))
        return member
    }

    /// Ends a leg and, if it was its user's last part, the user's presence.
    mutating func drop(_ id: LegID, _ reason: EndReason, now: MediaTime, effects: inout [RoomEffect]) {
        guard let leg = legs[id] else { return }
        let member = members[leg.user]
        let isLast = member.map { $0.session == nil && $0.legs.count < 2 } ?? true
        var hungry: Set<LegID> = []
        end(id, reason, posting: !isLast, hungry: &hungry, effects: &effects)
        if isLast { leave(leg.user, reason, now: now, effects: &effects) }
        for leg in sorted(hungry) { feed(leg, effects: &effects) }
    }

    /// Ends every part of a user. `posting`: whether the media plane is told here; a kick does that itself, to wait.
    private mutating func expel(
        _ user: String, _ reason: EndReason, _ notice: DisconnectNotice?, posting: Bool, now: MediaTime,
        effects: inout [RoomEffect]
    ) {
        guard let member = members[user] else { return }
        var hungry: Set<LegID> = []
        if let link = member.session?.link, let notice { effects.append(.release(link, .out(notice))) }
        endSession(of: user, posting: false, hungry: &hungry, effects: &effects)
        for leg in member.legs { end(leg, reason, posting: false, hungry: &hungry, effects: &effects) }
        leave(user, reason, posting: posting, now: now, effects: &effects)
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
        if leg.kind == .sending { unpublish({ $0.leg == id }, hungry: &hungry, effects: &effects) }
        hungry.remove(id)
        for transport in leg.transports {
            legOfTransport[transport.id] = nil
            if posting { effects.append(.post(.removeTransport(transport.id))) }
        }
        effects.append(.notice(.legEnded(user: leg.user, leg.kind, reason)))
    }

    mutating func leave(
        _ user: String, _ reason: EndReason, posting: Bool = true, now: MediaTime, effects: inout [RoomEffect]
    ) {
        guard let member = members.removeValue(forKey: user) else { return }
        if posting { effects.append(.post(.removePeer(member.peer, ticket: RemovalTicket(nextNumber())))) }
        effects.append(.broadcast(.playerLeft(PlayerReference(user)), except: member.session?.link))
        effects.append(.notice(.left(user: user, reason)))
        if members.isEmpty {
            pingAt = nil
            if !settings.noAutoCloseRoom { closesAt = now + settings.autoCloseTtl }
        }
    }

    private mutating func finish(_ reason: CloseReason, effects: inout [RoomEffect]) {
        phase = .closed
        closeReason = reason
        closesAt = nil
        pingAt = nil
        leaseFloor = .distantFuture
        sessionFloor = .distantFuture
        expelled = [:]
        effects.append(.notice(.closed(reason)))
        effects.append(.closed)
    }

    private mutating func findLeaseFloor() {
        leaseFloor = .distantFuture
        for leg in legs.values { leaseFloor = min(leaseFloor, leg.leaseEnd ?? .distantFuture) }
    }

    func sorted(_ ids: Set<LegID>) -> [LegID] {
        ids.sorted { (legs[$0]?.order ?? 0) < (legs[$1]?.order ?? 0) }
    }

    private func spec(_ plan: LegPlan.WebRTC, _ id: TransportID, of peer: PeerID) -> WebRTCTransportSpec {
        WebRTCTransportSpec(
            id: id, peer: peer, credentials: plan.credentials, role: plan.role, fingerprints: plan.fingerprints,
            localSSRC: plan.localSSRC, cname: plan.cname, silenceLimit: limits.transportSilence,
            quietLimit: limits.transportQuiet)
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
