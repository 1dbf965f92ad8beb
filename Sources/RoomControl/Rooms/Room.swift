package import MediaContract
import MediaWire
import RoomProtocol

/// The shell around a `RoomState`: it tells it the time, obeys its effects, and waits where something has to be waited
/// for. It decides nothing.
package actor Room {
    package nonisolated let key: RoomKey
    package nonisolated let instance: RoomInstance
    /// The worker that carries the room's media.
    package nonisolated let worker: Int
    /// What holds for this life of the room.
    package nonisolated let settings: AppSettings
    /// Unix time in milliseconds.
    package nonisolated let startedAt: Int64
    /// The same moment in monotonic time.
    nonisolated let startTime: MediaTime

    let environment: RoomEnvironment
    var state: RoomState
    /// The connections of users who are in by signalling.
    var links: [LinkID: SignallingOutlet] = [:]
    private var countedUsers = 0
    private var random: RandomSource
    private var wake: (time: MediaTime, cancel: @Sendable () -> Void)?
    private var hasReportedClosing = false
    private let onClosed: @Sendable (RoomInstance) async -> Void

    init(
        key: RoomKey, instance: RoomInstance, worker: Int, settings: AppSettings,
        origin: RoomState.RoomOrigin = .firstJoin, bans: [String: MediaTime] = [:], environment: RoomEnvironment,
        onClosed: @escaping @Sendable (RoomInstance) async -> Void
    ) {
        self.key = key
        self.instance = instance
        self.worker = worker
        self.environment = environment
        self.onClosed = onClosed
        random = environment.random.part(UInt64(instance.rawValue))
        self.settings = settings
        startedAt = environment.clock.unixMilliseconds()
        startTime = environment.clock.now()
        state = RoomState(
            instance: instance, settings: settings, limits: environment.limits, origin: origin,
            now: startTime, random: random.part(0))
        state.setBans(bans)
        environment.observe(key, instance, .created(byServer: origin == .server))
    }

    /// The alarm for the first deadline, which nobody else would set in a room that nobody enters.
    func start() { setAlarm() }

    // MARK: Legs

    /// Adds a leg: opens its ports if it is a plain one, writes its answer, tells the worker; all without a wait in between, so
    /// nobody ever sees a half of it. The commands are posted before this returns, hence before the answer can leave.
    func join(_ request: LegRequest) async throws(JoinRefusal) -> JoinedLeg {
        let result = joinNow(request)
        await afterwards()
        return try result.get()
    }

    private func joinNow(_ request: LegRequest) -> Result<JoinedLeg, JoinRefusal> {
        let now = environment.clock.now()
        var effects: [RoomEffect] = []
        defer { obey(effects) }
        state.settle(now, effects: &effects)
        var opened: [PlainPorts] = []
        do throws(JoinRefusal) {
            do { try state.admit(request.user, request.kind, now: now) } catch { throw .room(error) }
            let settled: (plan: LegPlan, answer: String)
            switch request {
            case .plain(let request):
                for transport in request.offer.transports {
                    guard
                        let ports = environment.plane.openPlainPorts(
                            worker: worker, rtcp: transport.needsRTCPPort, ipv6: request.offer.isIPv6)
                    else { throw .noPorts }
                    opened.append(ports)
                }
                settled = try request.settled(by: state, ports: opened, random: &random)
            case .webRTC(let request):
                settled = try request.settled(
                    by: state, connections: environment.connections, worker: worker, random: &random)
            }
            let leg = LegID(room: instance, using: &random)
            do {
                try state.addLeg(settled.plan, id: leg, of: request.user, now: now, effects: &effects)
            } catch { throw .room(error) }
            return .success(
                JoinedLeg(
                    id: leg, room: key, answer: settled.answer, entityTag: state.iceSession(of: leg)?.entityTag))
        } catch {
            for ports in opened { environment.plane.close(ports, worker: worker) }
            state.joinFailed(effects: &effects)
            return .failure(error)
        }
    }

    /// Ends a leg. False: there is none of that name.
    package func removeLeg(_ id: LegID) async -> Bool {
        var effects: [RoomEffect] = []
        let found = state.removeLeg(id, now: environment.clock.now(), effects: &effects)
        obey(effects)
        await afterwards()
        return found
    }

    /// What a leg is doing, with the worker's figures of now or a moment ago if it gives them; renews the lease.
    package func visitLeg(_ id: LegID) async -> (status: LegStatus, figures: MediaSnapshot?)? {
        var effects: [RoomEffect] = []
        let status = state.visitLeg(id, now: environment.clock.now(), effects: &effects)
        obey(effects)
        await afterwards()
        guard let status else { return nil }
        return (status, await environment.figures.of(worker: worker))
    }

    /// How a change of a leg's ICE session went.
    package enum ICEOutcome: Hashable, Sendable {
        /// There is nothing to say: an ICE-lite agent has no use for the client's candidates.
        case taken
        /// A new ICE session, and what the client has to apply.
        case restarted(fragment: String, entityTag: String)
        /// The tag is that of another ICE session.
        case otherSession(entityTag: String)
        /// The fragment's credentials are neither those of the session nor asked to begin another one.
        case otherCredentials
        case noSuchLeg
        /// A plain leg has none.
        case noICE
    }

    /// A fragment for a leg (RFC 9725, section 4.3).
    ///
    /// - Parameter entityTags: of the ICE sessions that it is good for; `nil`: it begins a new one.
    package func changeICE(
        of leg: LegID, _ fragment: TrickleFragment, entityTags: [String]?
    ) async -> ICEOutcome {
        var effects: [RoomEffect] = []
        let outcome = changeICENow(of: leg, fragment, entityTags, &effects)
        obey(effects)
        await afterwards()
        return outcome
    }

    private func changeICENow(
        of leg: LegID, _ fragment: TrickleFragment, _ entityTags: [String]?, _ effects: inout [RoomEffect]
    ) -> ICEOutcome {
        let now = environment.clock.now()
        state.settle(now, effects: &effects)
        guard state.owner(of: leg) != nil else { return .noSuchLeg }
        guard let present = state.iceSession(of: leg) else { return .noICE }
        if let entityTags {
            if !entityTags.contains(present.entityTag) { return .otherSession(entityTag: present.entityTag) }
            let isOther = fragment.iceUfrag.map { $0 != present.remoteFragment } ?? false
            return isOther ? .otherCredentials : .taken
        }
        guard let ufrag = fragment.iceUfrag else { return .otherCredentials }
        guard let webRTC = state.restartLeg(leg, remoteFragment: ufrag, now: now, effects: &effects),
            let session = state.iceSession(of: leg)
        else { return .noSuchLeg }
        let text = WebRTCAnswer.fragment(
            webRTC.sections, credentials: webRTC.credentials,
            candidates: environment.connections.candidates(policy: .preferUDP, worker: worker))
        return .restarted(fragment: text, entityTag: session.entityTag)
    }

    package func owner(of leg: LegID) -> (user: String, kind: LegKind)? { state.owner(of: leg) }

    // MARK: Users

    /// Those who are present, in order of arrival.
    package func users() async -> [String] {
        await settle()
        return state.users
    }

    /// How a kick went.
    package enum KickOutcome: Hashable, Sendable {
        /// Not one more packet of or to the user is sent.
        case done
        /// The worker has not confirmed yet; the removal is still pending.
        case pending
        case noSuchUser
        case roomClosed
    }

    /// Puts a user out and waits until its media has ended. Whoever asks again meanwhile waits for the same removal.
    ///
    /// - Parameter sentence: what the user is told.
    package func kick(
        _ user: String, by kicker: String? = nil, _ sentence: String = "kicked out of the room"
    ) async -> KickOutcome {
        var effects: [RoomEffect] = []
        let peers = state.kick(user, by: kicker, sentence, now: environment.clock.now(), effects: &effects)
        let isClosed = state.isClosed
        obey(effects)
        await afterwards()
        guard let peers else { return isClosed ? .roomClosed : .noSuchUser }
        let (plane, worker) = (environment.plane, worker)
        let isDone = await withTaskGroup(of: (PeerID, Bool).self) { group in
            for peer in peers { group.addTask { (peer, await plane.removePeer(peer, worker: worker)) } }
            var isDone = true
            for await (peer, removed) in group {
                if removed { state.removalDone(peer, of: user) } else { isDone = false }
            }
            return isDone
        }
        return isDone ? .done : .pending
    }

    // MARK: The room

    /// Whether this life of the room is over.
    package var isClosed: Bool { state.isClosed }
    /// Why it is over; `nil`: it lives.
    package var closeReason: CloseReason? { state.closeReason }

    /// Ends the room and everything in it; everybody is told the sentence.
    package func close(_ reason: CloseReason = .deleted, _ sentence: String = "the room was closed") async {
        var effects: [RoomEffect] = []
        state.close(reason, sentence, now: environment.clock.now(), effects: &effects)
        obey(effects)
        await afterwards()
    }

    /// What the worker reported about this room's things.
    func handle(_ events: [MediaEvent]) async {
        let now = environment.clock.now()
        var effects: [RoomEffect] = []
        for event in events { state.handle(event, now: now, effects: &effects) }
        obey(effects)
        await afterwards()
    }

    func settle() async {
        var effects: [RoomEffect] = []
        state.settle(environment.clock.now(), effects: &effects)
        obey(effects)
        await afterwards()
    }

    func obey(_ effects: [RoomEffect]) {
        for effect in effects {
            switch effect {
            case .post(let command): environment.plane.post(command, to: worker)
            case .notice(let notice): environment.observe(key, instance, notice)
            case .send(let link, let notification): links[link]?.send(notification.frame)
            case .broadcast(let notification, let excepted): broadcast(notification, except: excepted)
            case .release(let link, let end): release(link, end)
            case .closed: break  // `afterwards` sees it
            }
        }
        let users = state.userCount
        if users != countedUsers {
            environment.population.change(users: users - countedUsers)
            countedUsers = users
        }
    }

    /// Written once, whoever gets it.
    private func broadcast(_ notification: Notification, except excepted: LinkID?) {
        guard !links.isEmpty else { return }
        let frame = notification.frame
        for (link, outlet) in links where link != excepted { outlet.send(frame) }
    }

    private func release(_ link: LinkID, _ end: LinkEnd) {
        guard let outlet = links.removeValue(forKey: link) else { return }
        switch end {
        case .out(let notice):
            outlet.send(Notification.disconnect(notice).frame)
            outlet.close(SignallingClose.done, notice.error)
        case .left: outlet.close(SignallingClose.done, "")
        case .resumedElsewhere: outlet.close(SignallingClose.done, "the session goes on on another connection")
        case .silent: outlet.close(SignallingClose.lost, "nothing was heard for too long")
        }
    }

    func afterwards() async {
        setAlarm()
        guard state.isClosed, !hasReportedClosing else { return }
        hasReportedClosing = true
        await onClosed(instance)
    }

    /// A cancelled sleep keeps its memory until its time: so none is longer than this.
    private static let longestAlarm = MediaDuration.seconds(60)

    /// One alarm at a time, for the earliest deadline. It may ring early: settling then finds nothing and sets it anew.
    private func setAlarm() {
        let deadline = state.nextDeadline
        if let wake, let deadline, wake.time <= deadline { return }
        wake?.cancel()
        wake = nil
        guard let deadline else { return }
        let time = min(deadline, environment.clock.now() + Room.longestAlarm)
        let cancel = environment.clock.schedule(time) { [weak self] in await self?.alarm(setFor: time) }
        wake = (time, cancel)
    }

    private func alarm(setFor time: MediaTime) async {
        if wake?.time == time { wake = nil }
        await settle()
    }
}

/// What all rooms of a node share.
package struct RoomEnvironment: Sendable {
    package var plane: any MediaPlane
    package var clock: RoomClock
    package var random: RandomSource
    package var limits: RoomLimits
    /// What answers say about the node's end of connections, from now on.
    package let announcing: Current<ConnectionSettings>
    /// Called for everything that happens in a room, in order for each room; must not block.
    package var observe: @Sendable (RoomKey, RoomInstance, RoomNotice) -> Void
    /// How many are in all rooms together.
    package let population = Population()
    /// What the workers say of themselves.
    package let figures: WorkerFigures

    package init(
        plane: any MediaPlane, clock: RoomClock = .system, random: RandomSource = .system,
        limits: RoomLimits = RoomLimits(), connections: ConnectionSettings = ConnectionSettings(),
        observe: @escaping @Sendable (RoomKey, RoomInstance, RoomNotice) -> Void = { _, _, _ in }
    ) {
        self.plane = plane
        self.clock = clock
        figures = WorkerFigures(plane: plane, clock: clock)
        self.random = random
        self.limits = limits
        announcing = Current(connections)
        self.observe = observe
    }

    package var connections: ConnectionSettings { announcing.value }
}
