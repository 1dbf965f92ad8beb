import ClientEngine
import MediaCodecs
import MediaContract
import MediaTransport
import MediaWire
import Synchronization

/// One publishing or subscribing connection: its transport on an engine, and its streams by the names that signalling has for
/// them.
final class MediaConnection: Sendable {
    enum Kind: Sendable, Hashable {
        case publishing, subscribing
    }

    /// What it tells, on the engine's thread.
    struct Reports: Sendable {
        var stateChanged: @Sendable (ClientConnectionState, ClientConnectionTimes?) -> Void
        var firstPacket: @Sendable (MediaTime) -> Void
    }

    /// Packets that may wait for the engine; beyond, frames are dropped.
    private static let waitingLimit = 4096
    /// Packets of one turn of the engine, which keeps room for some more.
    private static let turn = 384

    let kind: Kind
    private let engine: ClientEngine<MediaSession>
    private let name: ClientName
    /// Holds the engine's threads.
    private let plane: MediaPlane
    private let fragment: String
    /// The families of its sockets, by place: true for IPv4.
    private let families: [Bool]
    private let state = Mutex(ClientConnectionState.checking)
    /// As the engine last said.
    private let hasPath = Atomic<Bool>(false)
    /// Streams of which a packet was given up here.
    private let losses = Mutex(Set<UInt32>())
    private let waiting = Atomic<Int>(0)
    private let outages = Mutex(Outages())

    private struct Outages {
        var last = MediaTime(nanoseconds: -1 << 62)
        var count = 0
    }

    /// An outage is noticed after 8 s; one that comes this soon after another is the same.
    private static let outagePause = MediaDuration.seconds(20)

    private init(
        _ kind: Kind, _ engine: ClientEngine<MediaSession>, _ name: ClientName, _ plane: MediaPlane, fragment: String,
        families: [Bool]
    ) {
        self.kind = kind
        self.engine = engine
        self.name = name
        self.plane = plane
        self.fragment = fragment
        self.families = families
    }

    deinit { engine.remove(name) }

    /// Begins to connect.
    ///
    /// - Parameters:
    ///   - fragment: our user fragment.
    ///   - cname: for reports (RFC 3550, section 6.5.1).
    static func open(
        _ kind: Kind, _ endpoint: MediaEndpoint, identity: ClientIdentity, fragment: String, cname: String,
        plane: MediaPlane, reports: Reports
    ) async throws(RTCError) -> MediaConnection {
        guard !endpoint.fingerprints.isEmpty else {
            throw RTCError(.fatal, "the server names no fingerprint of its certificate that can be checked")
        }
        let sockets = try sockets(for: endpoint.candidates)
        let families = sockets.map(\.address.isIPv4)
        var spec = ClientConnectionSpec(
            context: identity.context, role: endpoint.nodeRole == .client ? .server : .client,
            fingerprints: endpoint.fingerprints, localFragment: fragment, remote: endpoint.remote,
            paths: paths(endpoint.candidates, families))
        spec.streams = streams(endpoint.candidates)
        let (engine, name): (ClientEngine<MediaSession>, ClientName)
        do throws(RTCError) { (engine, name) = try plane.place() } catch {
            for socket in sockets { socket.close() }
            throw error
        }
        let connection = MediaConnection(kind, engine, name, plane, fragment: fragment, families: families)
        let session = MediaSession(
            reports: MediaSession.Reports(
                stateChanged: { [weak connection] state, times, canSend in
                    connection?.state.withLock { $0 = state }
                    connection?.hasPath.store(canSend, ordering: .relaxed)
                    reports.stateChanged(state, times)
                }, firstPacket: reports.firstPacket))
        let configuration = ClientTransport.Configuration(
            connection: spec, reporterSSRC: UInt32.random(in: 1...UInt32.max), cname: cname)
        guard await engine.add(sockets, configuration, name: name, session: session) else {
            throw RTCError(.fatal, "no connection for media could be made")
        }
        return connection
    }

    /// A socket for each family of the UDP candidates.
    private static func sockets(for candidates: [MediaEndpoint.Candidate]) throws(RTCError) -> [ClientSocket] {
        var sockets: [ClientSocket] = []
        var problem = "the server names no candidate that this client can use"
        for isIPv4 in [true, false] where candidates.contains(where: { !$0.isStream && $0.address.isIPv4 == isIPv4 }) {
            let unspecified = TransportAddress(high: 0, low: 0, port: 0, isIPv4: isIPv4)
            do throws(ClientSystemError) { sockets.append(try ClientSocket(at: unspecified)) } catch {
                problem = "no socket for media: \(error)"
            }
        }
        guard !sockets.isEmpty || candidates.contains(where: \.isStream) else { throw RTCError(.fatal, problem) }
        return sockets
    }

    private static func paths(
        _ candidates: [MediaEndpoint.Candidate], _ families: [Bool]
    ) -> [ClientConnectionSpec.Path] {
        candidates.filter { !$0.isStream }.flatMap { candidate in
            families.indices.filter { families[$0] == candidate.address.isIPv4 }.map { socket in
                ClientConnectionSpec.Path(
                    ICEPath(socket: socket, address: candidate.address), priority: candidate.priority)
            }
        }
    }

    private static func streams(
        _ candidates: [MediaEndpoint.Candidate]
    ) -> [ClientConnectionSpec.StreamCandidate] {
        candidates.filter(\.isStream).map {
            ClientConnectionSpec.StreamCandidate($0.address, priority: $0.priority)
        }
    }

    // MARK: Connection

    var current: ClientConnectionState { state.withLock { $0 } }

    var hasFailed: Bool { if case .failed = current { true } else { false } }

    /// Counts an outage; gives how many there were in a row, with less than `outagePause` between two.
    func countOutage(at now: MediaTime) -> Int {
        outages.withLock { outages in
            outages.count = now < outages.last + MediaConnection.outagePause ? outages.count + 1 : 1
            outages.last = now
            return outages.count
        }
    }

    /// Begins ICE anew with the credentials of an answer to a restart.
    func restart(_ endpoint: MediaEndpoint) {
        let (fragment, paths) = (fragment, MediaConnection.paths(endpoint.candidates, families))
        // An answer without candidates leaves those of before.
        let streams = endpoint.candidates.isEmpty ? nil : MediaConnection.streams(endpoint.candidates)
        engine.perform(name) { _, transport, scene in
            transport.restartICE(
                localFragment: fragment, remote: endpoint.remote, paths: paths, streams: streams, now: scene.now,
                into: &scene.outbox)
        }
    }

    /// For tests: its TCP connections break.
    func breakStreams() { engine.breakStreams(name) }

    /// Goodbyes, a close_notify, and the sockets close.
    func close() { engine.remove(name) }

    // MARK: Streams

    func addSending(
        _ settings: OutboundStreamSettings, feed: (any TrackFeed)?, follower: (any BitrateFollower)?,
        layer: Int, keyFrameWanted: (@Sendable () -> Void)?
    ) {
        engine.perform(name) { session, transport, _ in
            session.addSending(
                settings, feed: feed, follower: follower, layer: layer, keyFrameWanted: keyFrameWanted,
                &transport)
        }
    }

    func removeSending(ssrc: UInt32) {
        engine.perform(name) { session, transport, scene in
            session.removeSending(ssrc: ssrc, &transport, &scene)
        }
    }

    func addReceiving(_ settings: InboundStreamSettings, sink: any TrackSink) {
        engine.perform(name) { session, transport, _ in
            session.addReceiving(settings, sink: sink, &transport)
        }
    }

    func removeReceiving(ssrc: UInt32) {
        engine.perform(name) { session, transport, _ in session.removeReceiving(ssrc: ssrc, &transport) }
    }

    func requestKeyFrame(ssrc: UInt32) {
        engine.perform(name) { session, transport, scene in
            guard let place = session.receivingPlace(ssrc) else { return }
            transport.requestKeyFrame(stream: place, now: scene.now, into: &scene.outbox)
        }
    }

    /// Whether there are keys and a path.
    var canSend: Bool { hasPath.load(ordering: .relaxed) }

    /// Whether a packet of the stream was given up since the last call: what leans on it is of no use.
    func takeLoss(ssrc: UInt32) -> Bool { losses.withLock { $0.remove(ssrc) != nil } }

    /// Sends a frame. False: not connected, or too much waits already; nothing of it is sent.
    func send(_ payloads: [RTPPayload], ssrc: UInt32, timestamp: UInt32) -> Bool {
        guard canSend else { return false }
        let count = payloads.count
        guard waiting.add(count, ordering: .relaxed).newValue <= MediaConnection.waitingLimit else {
            waiting.subtract(count, ordering: .relaxed)
            return false
        }
        var rest = payloads[...]
        while !rest.isEmpty {
            let part = rest.prefix(MediaConnection.turn)
            rest = rest.dropFirst(part.count)
            engine.perform(name) { [weak self] session, transport, scene in
                self?.waiting.subtract(part.count, ordering: .relaxed)
                guard let place = session.sendingPlace(ssrc) else { return }
                for payload in part {
                    let isSent = transport.send(
                        payload.bytes, stream: place, timestamp: timestamp, marker: payload.marker, now: scene.now,
                        into: &scene.outbox)
                    if !isSent { self?.note(lossOf: ssrc, canSend: transport.canSend) }
                }
            }
        }
        return true
    }

    /// On the engine's thread. The path may go without another state than before: disconnected.
    private func note(lossOf ssrc: UInt32, canSend: Bool) {
        losses.withLock { _ = $0.insert(ssrc) }
        hasPath.store(canSend, ordering: .relaxed)
    }

    // MARK: Figures

    struct Figures: Sendable {
        var sending: SendingStatistics?
        var reception: ReceptionStatistics?
        var statistics: ClientStatistics
        var roundTrip: MediaDuration?
    }

    /// Of a stream and its connection; `nil`: the connection is gone.
    func figures(ssrc: UInt32) async -> Figures? {
        await withCheckedContinuation { continuation in
            let box = Resumption(continuation)
            let accepted = engine.perform(name) { session, transport, _ in
                var figures = Figures(statistics: transport.statistics, roundTrip: transport.roundTrip)
                if let place = session.sendingPlace(ssrc) { figures.sending = transport.sending[place] }
                if let place = session.receivingPlace(ssrc) { figures.reception = transport.reception[place] }
                box.resume(figures)
            }
            if !accepted { box.resume(nil) }
        }
    }

    /// Resumes once: also when what should have done it is thrown away unheard, for a client that is gone.
    private final class Resumption: Sendable {
        private let continuation: Mutex<CheckedContinuation<Figures?, Never>?>

        init(_ continuation: CheckedContinuation<Figures?, Never>) { self.continuation = Mutex(continuation) }

        deinit { resume(nil) }

        func resume(_ figures: Figures?) {
            let taken = continuation.withLock { continuation in
                defer { continuation = nil }
                return continuation
            }
            taken?.resume(returning: figures)
        }
    }
}
