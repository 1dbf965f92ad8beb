import MediaWire
import RoomProtocol

/// One signalling connection from its opening to its end: first `auth`, then a user's frames, each answered in its turn.
package actor SignallingSession {
    private enum Phase {
        case waitingForAuth
        case entered(SignallingEndpoint.Entered)
        case ended
    }

    private let endpoint: SignallingEndpoint
    private let link: LinkID
    private let outlet: SignallingOutlet
    private var phase = Phase.waitingForAuth
    private var rate: RateMeter
    /// Of the frames that are refused for their rate: one client in a hurry is answered, one that goes on is cut off.
    private var excess = RateMeter(perSecond: 50, atOnce: 1000)
    private var isCutOff = false
    private var cancelDeadline: (@Sendable () -> Void)?
    private var isAuthenticating = false

    init(endpoint: SignallingEndpoint, link: LinkID, outlet: SignallingOutlet) {
        self.endpoint = endpoint
        self.link = link
        self.outlet = outlet
        rate = RateMeter(perSecond: endpoint.environment.limits.framesPerSecond)
    }

    /// Call it once, before the first frame: a connection that does not say who it is gets closed.
    package func start() {
        let clock = endpoint.environment.clock
        cancelDeadline = clock.schedule(clock.now() + endpoint.environment.limits.authDeadline) { [weak self] in
            await self?.authIsLate()
        }
    }

    private func authIsLate() {
        guard case .waitingForAuth = phase else { return }
        // It has come. If it fails, another may follow, within the same time from now.
        if isAuthenticating { return start() }
        phase = .ended
        outlet.close(SignallingClose.noAuth, "no auth came in time")
    }

    /// A text frame. The next one is passed in only when this returns.
    package func receive(_ text: String) async {
        // Whoever wants to leave may.
        guard rate.admits(now: endpoint.environment.clock.now()) || text.hasPrefix("disconnect=") else {
            return refuseForRate(text)
        }
        if case .waitingForAuth = phase {
            // Nobody's SDP is read before it is known who it is.
            await handle(SessionFrame(withoutSDP: text))
        } else {
            await handle(SessionFrame(text))
        }
    }

    /// A text frame that is larger than frames may be.
    package func receiveOversized() async {
        guard rate.admits(now: endpoint.environment.clock.now()) else { return refuseForRate("") }
        let refused = Refused(
            .invalidParameter, "a frame has at most \(endpoint.environment.limits.frameBytes) bytes")
        await handle(.refused(MalformedMessage(type: nil, refused)))
    }

    /// A binary frame, which the protocol does not have.
    package func receiveBinary() async {
        guard rate.admits(now: endpoint.environment.clock.now()) else { return refuseForRate("") }
        let refused = Refused(.invalidParameter, "frames are text of the form type={json}; this one is binary")
        await handle(.refused(MalformedMessage(type: nil, refused)))
    }

    /// The connection is closed, by whomever.
    package func closed() async {
        cancelDeadline?()
        cancelDeadline = nil
        if case .entered(let entered) = phase { await entered.room.lost(entered.user, link: link) }
        phase = .ended
    }

    private func handle(_ frame: SessionFrame) async {
        switch phase {
        case .ended: break
        case .waitingForAuth:
            switch frame {
            case .message(.auth(let request)): await authenticate(request)
            case .message(.disconnect):
                phase = .ended
                outlet.close(SignallingClose.done, "")
            case .message(.pong): break
            case .refused(let problem): answer(problem.type, problem.rpcid, problem.refused)
            case .publish(let request, _, let isNewConnection):
                answer(isNewConnection ? "pubpc" : "pub-tracks", request.rpcid, SignallingSession.tooEarly)
            case .message(let message): answer(message.type, message.rpcid, SignallingSession.tooEarly)
            }
        case .entered(let entered):
            if await !entered.room.receive(frame, from: entered.user, link: link) {
                let (type, rpcid) = frame.identity
                answer(type, rpcid, Refused(.userNotExist, "this connection is not in the room any more"))
            }
        }
    }

    private static let tooEarly = Refused(.noPermission, "the first message of a connection is auth")

    private func authenticate(_ request: AuthRequest) async {
        isAuthenticating = true
        defer { isAuthenticating = false }
        do throws(Refused) {
            let entered = try await endpoint.enter(request, link: link, outlet: outlet)
            cancelDeadline?()
            cancelDeadline = nil
            // The connection may have closed meanwhile.
            if case .ended = phase {
                await entered.room.lost(entered.user, link: link)
            } else {
                phase = .entered(entered)
            }
            if !request.isResume { endpoint.observe(.ok) }
        } catch {
            if !request.isResume { endpoint.observe(error.code) }
            answer("auth", request.rpcid, error)
        }
    }

    private func refuseForRate(_ text: String) {
        if isCutOff { return }
        guard excess.admits(now: endpoint.environment.clock.now()) else {
            isCutOff = true
            outlet.send(
                Notification.disconnect(DisconnectNotice(.tooManyOperations, "too many frames")).frame)
            outlet.close(SignallingClose.abuse, "too many frames")
            return
        }
        let limit = endpoint.environment.limits.framesPerSecond
        let (type, rpcid) = SessionFrame.identity(ofRefused: text)
        // What nobody waits for is dropped without a word: the answers would only add to it.
        if rpcid != nil {
            answer(type, rpcid, Refused(.tooManyOperations, "at most \(limit) frames per second; try again later"))
        }
    }

    private func answer(_ type: String?, _ rpcid: String?, _ refused: Refused) {
        outlet.send(RefusalAnswer.frame(type: type, rpcid: rpcid, refused))
    }
}
