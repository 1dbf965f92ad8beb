package import MediaContract
package import MediaTransport
package import MediaWire

/// What a client knows of a WebRTC connection to the node before its first packet: what signalling said of both sides.
package struct ClientConnectionSpec: Sendable {
    /// A way to the node: one of the client's sockets, and a candidate of the node.
    package struct Path: Sendable, Hashable {
        package var path: ICEPath
        /// The candidate's.
        package var priority: UInt32

        package init(_ path: ICEPath, priority: UInt32) {
            self.path = path
            self.priority = priority
        }
    }

    /// A passive TCP candidate of the node.
    package struct StreamCandidate: Sendable, Hashable {
        package var address: TransportAddress
        package var priority: UInt32

        package init(_ address: TransportAddress, priority: UInt32) {
            self.address = address
            self.priority = priority
        }
    }

    /// With the client's certificate.
    package var context: DTLSContext
    /// Which end of the handshake the client is: the other one than the node.
    package var role: DTLSRole
    /// The node's certificate must have one of these; never empty, for signalling always says them.
    package var fingerprints: [DTLSFingerprint]
    /// Our user fragment.
    package var localFragment: String
    /// The node's credentials.
    package var remote: ICECredentials
    package var paths: [Path]
    /// Candidates over TCP (RFC 6544), which the engine connects to whenever there is no path for a while, and at once when
    /// `paths` is empty.
    package var streams: [StreamCandidate] = []
    /// For tests: what all random numbers come from. `nil`: the system.
    package var seed: UInt64?

    package init(
        context: DTLSContext, role: DTLSRole, fingerprints: [DTLSFingerprint], localFragment: String,
        remote: ICECredentials, paths: [Path], seed: UInt64? = nil
    ) {
        self.context = context
        self.role = role
        self.fingerprints = fingerprints
        self.localFragment = localFragment
        self.remote = remote
        self.paths = paths
        self.seed = seed
    }
}

/// Where a WebRTC connection stands.
package enum ClientConnectionState: Sendable, Hashable {
    /// No path is found yet, and there are no keys.
    case checking
    /// There is a path, and the handshake is on its way.
    case securing
    /// There are keys, and a path.
    case connected
    /// There are keys, but no path, or nothing authentic has come over it for a while: an ICE restart may help.
    case disconnected
    /// For good, but for `noPath` and `consentLost`, which an ICE restart may mend.
    case failed(ClientConnectionFailure)
}

/// Why a connection does not work.
package enum ClientConnectionFailure: Sendable, Hashable, CustomStringConvertible {
    /// The node answers on none of its candidates.
    case noPath
    /// The node has not answered a check for 30 s (RFC 7675).
    case consentLost
    /// DTLS.
    case handshake(TransportFailure)

    package var description: String {
        switch self {
        case .noPath: "no candidate of the node answers"
        case .consentLost: "the node has not answered for 30 s"
        case .handshake(let failure): "DTLS: \(failure.rawValue)"
        }
    }
}

/// When a connection got where, on the engine's clock.
package struct ClientConnectionTimes: Sendable, Hashable {
    package var began: MediaTime
    /// The first path was nominated.
    package var pathFound: MediaTime?
    /// The keys were agreed.
    package var secured: MediaTime?

    package init(began: MediaTime) { self.began = began }
}

/// ICE and DTLS of a client transport: RFC 8445 as the controlling side, RFC 5764. No clock, no socket; what is to be sent is
/// left in the outbox by `flush`.
final class ClientConnection {
    /// Consent is checked at least every 6 s, and after a lost check every second: two of those more.
    static let silenceLimit = MediaDuration.seconds(8)
    /// What ICE and DTLS may write at most.
    private static let datagramLimit = 1500

    private(set) var state = ClientConnectionState.checking
    private(set) var times: ClientConnectionTimes
    /// Where media goes.
    private(set) var path: ICEPath?
    /// When it became another one.
    private(set) var pathChanged = MediaTime.zero
    private var checker: ICEChecker
    private var association: DTLSAssociation
    private let isDTLSClient: Bool
    private var hasStarted = false
    private var hasKeys = false
    /// Paths over which a check was answered: the only ones that DTLS is listened to from.
    private var verified: [ICEPath] = []
    /// When TCP is tried.
    private(set) var streams = StreamPlan()
    private var hasDatagramPaths: Bool
    /// The places of TCP connections.
    private var streamSockets: [Int] = []
    private var lastHeard: MediaTime
    private var random: ClientRandom

    init?(_ spec: ClientConnectionSpec, now: MediaTime) {
        guard !spec.fingerprints.isEmpty,
            let association = DTLSAssociation(
                context: spec.context, role: spec.role, fingerprints: spec.fingerprints, now: now)
        else { return nil }
        random = ClientRandom(seed: spec.seed)
        checker = ICEChecker(localFragment: spec.localFragment, remote: spec.remote, now: now, using: &random)
        for path in spec.paths { checker.add(path.path, priority: path.priority) }
        self.association = association
        isDTLSClient = spec.role == .client
        times = ClientConnectionTimes(began: now)
        lastHeard = now
        hasDatagramPaths = !spec.paths.isEmpty
        streams.begin(spec.streams, hasOtherPaths: !spec.paths.isEmpty, now: now)
    }

    /// Of the last check that was answered at its first sending.
    var roundTrip: MediaDuration? { checker.roundTrip }

    /// A TCP connection has been established.
    func add(stream path: ClientConnectionSpec.Path) {
        streamSockets.append(path.path.socket)
        checker.add(path.path, priority: path.priority)
    }

    func remove(socket: Int, now: MediaTime) {
        checker.remove(socket: socket, now: now)
        verified.removeAll { $0.socket == socket }
        streamSockets.removeAll { $0 == socket }
        update(now: now)
    }

    func takeStreamStep(now: MediaTime) -> StreamPlan.Step { streams.takeStep(now: now) }

    /// RFC 8445, section 9: keys and media stay.
    func restart(
        localFragment: String, remote: ICECredentials, paths: [ClientConnectionSpec.Path],
        streams candidates: [ClientConnectionSpec.StreamCandidate]?, now: MediaTime
    ) {
        if case .failed(.handshake) = state { return }
        for path in paths { checker.add(path.path, priority: path.priority) }
        if !paths.isEmpty { hasDatagramPaths = true }
        checker.restart(localFragment: localFragment, remote: remote, now: now)
        streams.begin(candidates, hasOtherPaths: hasDatagramPaths, now: now)
        lastHeard = now
        state = hasKeys ? .connected : .checking
        update(now: now)
    }

    /// A datagram that may be an answer to a check. False: it is none.
    func receiveCheck(_ datagram: UnsafeRawBufferPointer, over path: ICEPath, now: MediaTime) -> Bool {
        guard checker.receive(datagram, over: path, now: now, using: &random) else { return false }
        if !verified.contains(path) { verified.append(path) }
        lastHeard = now
        checker.advance(to: now, using: &random)
        update(now: now)
        return true
    }

    /// False: it comes from where no check was answered.
    func receiveHandshake(_ datagram: UnsafeRawBufferPointer, over path: ICEPath, now: MediaTime) -> Bool {
        guard verified.contains(path) else { return false }
        association.receive(datagram, now: now)
        update(now: now)
        return true
    }

    /// An authentic packet of media came.
    func heard(now: MediaTime) {
        lastHeard = now
        if state == .disconnected { update(now: now) }
    }

    func advance(to now: MediaTime) {
        checker.advance(to: now, using: &random)
        association.advance(to: now)
        update(now: now)
    }

    var nextDeadline: MediaTime {
        if case .failed(.handshake) = state { return .distantFuture }
        var next = min(checker.nextDeadline ?? .distantFuture, association.nextDeadline ?? .distantFuture)
        if state == .connected { next = min(next, lastHeard + Self.silenceLimit) }
        return next
    }

    /// The keys, once.
    func takeKeys() -> (inbound: SRTPMasterKey, outbound: SRTPMasterKey)? {
        guard let keys = association.takeKeys() else { return nil }
        hasKeys = true
        return keys
    }

    func close() { association.close() }

    private func update(now: MediaTime) {
        if path != checker.selectedPath {
            path = checker.selectedPath
            pathChanged = now
        }
        if path != nil, times.pathFound == nil { times.pathFound = now }
        if path != nil, !hasStarted {
            hasStarted = true
            if isDTLSClient { association.start(now: now) }
        }
        switch association.state {
        case .failed(let failure):
            state = .failed(.handshake(failure))
            streams.note(.over, now: now)
            return
        case .connected: if times.secured == nil { times.secured = now }
        case .handshaking, .closed: break
        }
        switch checker.state {
        case .failed: state = .failed(.noPath)
        case .consentLost: state = .failed(.consentLost)
        case .checking, .connected:
            if times.secured == nil {
                state = path == nil ? .checking : .securing
            } else {
                let isSilent = path == nil || now >= lastHeard + Self.silenceLimit
                state = isSilent ? .disconnected : .connected
            }
        }
        streams.note(situation, now: now)
    }

    private var situation: StreamPlan.Situation {
        if case .failed = state { return .over }
        // After a restart the path of before is no answer yet.
        guard let path, checker.state == .connected, state != .disconnected else { return .searching }
        return .settled(overStream: streamSockets.contains(path.socket))
    }

    /// Leaves what waits in the outbox; what finds no room is sent again by its timer.
    func flush(client: Int, into outbox: inout ClientOutbox) {
        while let slot = outbox.nextSlot {
            guard let check = checker.takeCheck(into: UnsafeMutableRawBufferPointer(rebasing: slot[..<600])) else {
                break
            }
            outbox.addSealed(client: client, path: check.path, length: check.length)
        }
        guard let path else { return }
        while let slot = outbox.nextSlot {
            let room = UnsafeMutableRawBufferPointer(rebasing: slot[..<Self.datagramLimit])
            guard let length = association.takeDatagram(into: room) else { return }
            outbox.addSealed(client: client, path: path, length: length)
        }
    }
}

/// Random numbers of a client: the system's, or, in tests, those of a seed.
struct ClientRandom: RandomNumberGenerator {
    private var seeded: SeededRandom?
    private var system = SystemRandomNumberGenerator()

    init(seed: UInt64?) { seeded = seed.map { SeededRandom(seed: $0) } }

    mutating func next() -> UInt64 {
        seeded?.next() ?? system.next()
    }
}
