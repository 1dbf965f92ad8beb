import ClientEngine
import MediaWire
import RoomProtocol
import Synchronization

/// What is behind an `RTCClient`: its state, and the task that joins, listens and comes back. Tasks hold this, not the
/// client, so that a client nobody needs any more can go.
///
/// All state is behind one lock, and events are given out under it: so what the app reads is never older than what it
/// was told. Decisions are in `RoomMirror`, `EndingRules`, `ReconnectPlan` and `ClientOffer`.
final class ClientCore: Sendable {
    /// From a join to its end.
    struct Session: Sendable {
        let life: Int
        let token: String
        let userData: String?
        var claims: RoomTokenClaims?
        var access: RoomAccess?
        var connection: SignallingConnection?
        var reconnectToken: Int?
        /// The highest serial of a message that was received.
        var lastMessage: Int?
        /// What to tell the server on coming back: the last serial of messages and qos messages.
        var messageMark: Int?
        var room: RoomMirror
        var publishing = Publishing()
        /// Mutes of tracks that nobody knows here: perhaps own ones whose publication is under way. By track id.
        var earlyMutes: [String: Bool] = [:]
        var subscribing = Subscribing()
        /// Under which numbers media goes; `nil` before the room has said so.
        var numbers: MediaNumbers?
        /// Of the others' tracks, by track id: those that are subscribed, and those that somebody listens to.
        var receivers: [String: TrackReceiver] = [:]
        /// What takes a track's packets in place of its receiver: for load tests.
        var sinks: [String: any TrackSink] = [:]
        /// The layers that the app wants, and those that the server said it sends.
        var wantedProfiles: [String: TrackProfile] = [:]
        var sentProfiles: [String: TrackProfile] = [:]
        var task: Task<Void, Never>?
    }

    struct Publishing: Sendable {
        /// `pcid`, once there is a publishing connection.
        var connectionID: String?
        var offer: ClientOffer?
        var tracks: [LocalTrack] = []
        var media: MediaConnection?
        /// A request was unanswered at the loss: what the server has is not known.
        var isUncertain = false
    }

    struct Subscribing: Sendable {
        var connectionID: String?
        var media: MediaConnection?
        /// The SSRCs of the subscribed tracks on it, by track id.
        var streams: [String: UInt32] = [:]
        var isUncertain = false
        /// The task of `autoSubscribe` is under way.
        var isAutomatRunning = false
    }

    struct State: Sendable {
        var connectionState = ConnectionState.disconnected
        var life = 0
        var session: Session?
        var role: ClientRole
        var autoSubscribe = true
        /// Of the last join.
        var timeline = JoinTimeline()
        var joinBegan = MediaTime.zero
    }

    static let earlyMuteLimit = 64

    let state: Mutex<State>
    let mode: ClientMode
    let transport: SignallingTransport
    let identity: ClientIdentity
    let plane: MediaPlane
    let mediaTimeout: Duration
    let policy: CandidatePolicy
    let reconnectTimeout: Duration
    let delivery = EventDelivery()
    let publishTurns = SerialTurns()
    let muteTurns = Mutex(())
    let subscribeTurns = SerialTurns()

    init(
        _ configuration: RTCConfiguration, transport: SignallingTransport, identity: ClientIdentity, plane: MediaPlane
    ) {
        mode = configuration.mode
        mediaTimeout = configuration.mediaTimeout
        policy = configuration.transportPolicy.candidates
        self.plane = plane
        reconnectTimeout = configuration.reconnectTimeout
        self.transport = transport
        self.identity = identity
        state = Mutex(State(role: configuration.role))
    }

    // MARK: Access to the session

    /// Runs the body if that join still lasts.
    func withSession<Result>(_ life: Int, _ body: (inout Session) -> Result) -> Result? {
        state.withLock { state in
            guard state.session?.life == life, var session = state.session else { return nil }
            // Moved out and in again, so that its arrays are not copied.
            state.session = nil
            defer { state.session = session }
            return body(&session)
        }
    }

    func isAlive(_ life: Int) -> Bool { state.withLock { $0.session?.life == life } }

    /// Sets the state and tells of it; call it under the lock.
    private func change(
        _ state: inout State, to connectionState: ConnectionState, _ info: DisconnectedInfo? = nil
    ) {
        state.connectionState = connectionState
        delivery.emit(.connectionStateChanged(connectionState, info))
    }

    func emit(_ events: [RTCClientEvent]) { for event in events { delivery.emit(event) } }

    /// What the server is told of the role.
    private var privileges: [Privilege] {
        mode == .rtc || state.withLock({ $0.role }) == .broadcaster ? [.subscribe, .publish] : [.subscribe]
    }

    // MARK: Joining and leaving

    func join(token: String, userData: String?) {
        state.withLock { state in
            guard state.connectionState == .disconnected else { return }
            state.life += 1
            let life = state.life
            state.timeline = JoinTimeline()
            state.joinBegan = ClientClock.monotonic
            var session = Session(life: life, token: token, userData: userData, room: RoomMirror(ownID: ""))
            change(&state, to: .connecting)
            session.task = Task { await self.run(life) }
            state.session = session
        }
    }

    func leave() {
        let life = state.withLock { $0.session?.life }
        if let life { end(life, DisconnectedInfo(reason: .leave)) }
    }

    /// Ends that join's session, if it lasts.
    func end(_ life: Int, _ info: DisconnectedInfo) {
        let session: Session? = state.withLock { state in
            guard state.session?.life == life, let session = state.session else { return nil }
            state.session = nil
            for track in session.publishing.tracks { track.unpublished() }
            session.publishing.media?.close()
            session.subscribing.media?.close()
            for receiver in session.receivers.values { receiver.finish() }
            change(&state, to: .disconnected, info)
            return session
        }
        guard let session else { return }
        switch info.reason {
        case .leave: session.connection?.leave()
        default: session.connection?.close()
        }
        session.task?.cancel()
    }

    private func run(_ life: Int) async {
        guard var connection = await enter(life) else { return }
        while true {
            await serve(connection, life)
            guard isAlive(life), let next = await comeBack(life) else { return }
            connection = next
        }
    }

    /// Joins; `nil` when it failed, and the app was told.
    private func enter(_ life: Int) async -> SignallingConnection? {
        let end = transport.clock.now + reconnectTimeout
        while true {
            let failure: SignallingError
            do throws(SignallingError) { return try await attempt(life, until: end) } catch { failure = error }
            switch EndingRules.verdict(joining: failure) {
            case .over(let info): self.end(life, info)
            case .again, .anew:
                dropConnection(life)
                if transport.clock.now + transport.roundPause < end, await pause(transport.roundPause) { continue }
                self.end(life, EndingRules.lastly(joining: failure))
            }
            return nil
        }
    }

    private func attempt(_ life: Int, until end: Duration) async throws(SignallingError) -> SignallingConnection {
        guard let (token, userData) = withSession(life, { ($0.token, $0.userData) }) else { throw .cancelled }
        let claims = try RoomTokenClaims(token: token)
        let access = try await transport.access(claims, within: end - transport.clock.now)
        mark(life, \.http)
        let connection = try await SignallingConnection.open(access, transport: transport)
        mark(life, \.webSocket)
        try adopt(connection, life)
        var auth = SignallingAuth(accessToken: access.accessToken, userData: userData)
        auth.privileges = privileges
        auth.capabilitiesSDP = capabilities
        auth.isMulticodec = true
        let answer = try await connection.authenticate(auth)
        mark(life, \.authenticated)
        if mode == .live { try await connection.setPrivileges(privileges) }

        let isIn: Void? = state.withLock { state in
            guard state.session?.life == life, var session = state.session else { return nil }
            session.claims = claims
            session.access = access
            session.reconnectToken = answer.reconnectToken
            session.room = RoomMirror(ownID: claims.userID)
            session.numbers = answer.rtpCapabilities.map { MediaNumbers($0) }
            change(&state, to: .connected)
            tell(session.room.synchronize(answer), &session)
            state.session = session
        }
        guard isIn != nil else { throw .cancelled }
        subscribeAutomatically(life)
        return connection
    }

    /// Makes it the session's connection, so that `leave` finds it.
    private func adopt(_ connection: SignallingConnection, _ life: Int) throws(SignallingError) {
        guard withSession(life, { $0.connection = connection }) != nil else {
            connection.close()
            throw .cancelled
        }
        connection.onRefusedMessage { [weak self] refusal in
            let error = RTCError(Refused(refusal.code, refusal.error))
            _ = self?.withSession(life) { _ in
                self?.emit([.messageRefused(messageID: refusal.messageID ?? "", error)])
            }
        }
    }

    private func dropConnection(_ life: Int) {
        let connection = withSession(life) { session in
            defer { session.connection = nil }
            return session.connection
        }
        connection??.close()
    }

    /// - Returns: whether the task goes on.
    func pause(_ duration: Duration) async -> Bool {
        do { try await transport.clock.sleep(for: duration) } catch { return false }
        return true
    }

    private var capabilities: String {
        var random = SystemRandomNumberGenerator()
        return ClientOffer.capabilities(.random(fingerprint: identity.fingerprint, using: &random)).text
    }

    // MARK: Coming back

    /// Tries until it is back; `nil` when it is not, and the app was told.
    private func comeBack(_ life: Int) async -> SignallingConnection? {
        let clock = transport.clock
        let deadline = clock.now + reconnectTimeout
        var plan = ReconnectPlan(end: deadline)
        let session: Session? = state.withLock { state in
            guard state.session?.life == life, let session = state.session else { return nil }
            change(&state, to: .reconnecting)
            return session
        }
        guard let session, let access = session.access, let url = session.connection?.url else { return nil }
        dropConnection(life)
        var token = session.reconnectToken
        var last = "the connection was lost"
        while let pause = plan.nextPause(now: clock.now, jitter: Double.random(in: 0...1)) {
            guard await self.pause(pause), isAlive(life) else { return nil }
            let failure: SignallingError
            do throws(SignallingError) {
                return try await attempt(life, access, url: url, token: token, until: deadline)
            } catch { failure = error }
            dropConnection(life)
            last = "\(failure)"
            switch EndingRules.verdict(resuming: failure) {
            case .over(let info):
                end(life, info)
                return nil
            case .again: break
            case .anew: token = nil
            }
        }
        end(life, EndingRules.reconnectFailed("not back within \(reconnectTimeout): \(last)"))
        return nil
    }

    private func attempt(
        _ life: Int, _ access: RoomAccess, url: String, token: Int?, until deadline: Duration
    ) async throws(SignallingError) -> SignallingConnection {
        var transport = transport
        transport.requestTimeout = min(
            transport.requestTimeout, max(deadline - transport.clock.now, .milliseconds(250)))
        let connection = try await SignallingConnection.open(url: url, isReconnect: true, transport: transport)
        try adopt(connection, life)
        var auth = SignallingAuth(accessToken: access.accessToken)
        auth.privileges = privileges
        auth.capabilitiesSDP = capabilities
        auth.isMulticodec = true
        auth.reconnectToken = token
        guard let (userData, mark) = withSession(life, { ($0.userData, $0.messageMark) }) else { throw .cancelled }
        auth.userData = userData
        auth.messageSerial = token == nil ? nil : mark
        let answer = try await connection.authenticate(auth)
        if mode == .live, token == nil { try await connection.setPrivileges(privileges) }

        let isIn: Void? = state.withLock { state in
            guard state.session?.life == life, var session = state.session else { return nil }
            session.reconnectToken = answer.reconnectToken ?? session.reconnectToken
            if token == nil {
                // Perhaps another life of the room, whose serials begin anew.
                session.lastMessage = nil
                session.messageMark = nil
            }
            if let capabilities = answer.rtpCapabilities { session.numbers = MediaNumbers(capabilities) }
            forgetMutes(&session)
            change(&state, to: .reconnected)
            tell(session.room.synchronize(answer), &session)
            state.session = session
        }
        guard isIn != nil else { throw .cancelled }
        let isFresh = token == nil
        Task { await self.repair(life, answer, isFresh: isFresh) }
        return connection
    }
}
