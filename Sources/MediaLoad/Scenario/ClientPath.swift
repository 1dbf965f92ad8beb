import ClientEngine
import MediaCodecs
import MediaWire
import RTCClient
import WebTransport

/// Users who are clients of the room, as an app's would be: signalling by WebSocket, media by WebRTC.
actor ClientPath: LoadPath {
    private struct Subscriber: Sendable {
        var user: LoadUser
        var lines: [LineCheck]
    }

    private let scenario: LoadScenario
    private let transport: SignallingTransport
    private let configuration: RTCConfiguration
    /// Shared: a certificate for each of thousands would be a test of the tester.
    private let identity: ClientIdentity
    private let sending = MediaPlane(threads: 1)
    private let receiving: MediaPlane
    /// Of those who only come and go.
    private let visiting = MediaPlane(threads: 1)
    private let publishersStop = StopFlag()
    private var clients: [Int: RTCClient] = [:]
    /// Those of the clients that have been in their rooms.
    private var entered: [Int: LoadUser] = [:]
    private var subscribers: [Subscriber] = []

    /// The node is busy with others: longer than an app would wait.
    private static let timeout = Duration.seconds(20)

    init(_ scenario: LoadScenario, threads: Int) throws {
        self.scenario = scenario
        configuration = {
            var configuration = RTCConfiguration(servers: [scenario.url])
            configuration.requestTimeout = Self.timeout
            configuration.mediaTimeout = Self.timeout
            return configuration
        }()
        do {
            // Connects once, so an absent node is known at once.
            _ = try NodeAccess(url: scenario.url)
            transport = SignallingTransport(
                http: try HTTPClient(threadName: "load-http"), servers: [scenario.url], requestTimeout: Self.timeout)
            identity = try ClientIdentity.make(profiles: scenario.profile.map { [$0] })
        } catch let failure as LoadFailure { throw failure } catch { throw LoadFailure("\(error)") }
        receiving = MediaPlane(threads: threads)
    }

    /// In the room, or why not.
    private func enter(_ user: LoadUser, _ plane: MediaPlane) async throws -> RTCClient {
        let client = try RTCClient(
            configuration: configuration, transport: transport, identity: identity, plane: plane)
        client.autoSubscribe = false
        clients[user.place] = client
        let events = client.events
        client.join(token: user.token)
        for await event in events {
            guard case .connectionStateChanged(let state, let info) = event else { continue }
            if state == .connected {
                entered[user.place] = user
                return client
            }
            if state == .disconnected { throw LoadFailure(info?.error?.description ?? "left while joining") }
        }
        throw LoadFailure("the client is gone")
    }

    func publish(_ user: LoadUser, sources: [FrameSource]) async throws -> Int {
        let client = try await enter(user, sending)
        let tracks = zip(scenario.kinds, sources).map { kind, source in
            LocalTrack(
                kind: kind == .audio ? .audio : .video, tag: kind.name, bitrate: nil,
                feed: SyntheticTrack(source: source, user: user.place, stop: publishersStop))
        }
        if let codec = client.codec, !scenario.isAudioOnly, codec.rawValue != scenario.codec.codec.name.lowercased() {
            throw LoadFailure(
                "the room takes \(codec.rawValue), not \(scenario.codec.codec.name.lowercased()): --codec, or --via plain"
            )
        }
        try await client.publish(tracks)
        return 0
    }

    func subscribe(_ user: LoadUser, lines: [LineCheck], publishers: [String]) async throws -> Int {
        let client = try await enter(user, receiving)
        subscribers.append(Subscriber(user: user, lines: lines))
        let wanted = tracks(of: publishers, at: client, feeding: lines)
        let refused = wanted.count - (try await client.subscribe(wanted).count)
        if refused != 0 { throw LoadFailure("the node refused \(refused) of \(wanted.count) subscriptions") }
        return 0
    }

    /// The publishers' tracks as the client sees them, each with its line, if there are lines.
    ///
    /// Apart from the steps that wait: swiftc 6.3.1 -O crashes while it splits the one function of both.
    private func tracks(of publishers: [String], at client: RTCClient, feeding lines: [LineCheck]) -> [RemoteTrack] {
        var wanted: [RemoteTrack] = []
        let kinds = scenario.kinds
        for (place, publisher) in publishers.enumerated() {
            // One that failed to join is missed by the report, not here.
            guard let remote = client.remoteUser(publisher) else { continue }
            for (index, kind) in kinds.enumerated() {
                guard let track = (kind == .audio ? remote.audioTracks : remote.videoTracks).first else { continue }
                let line = place * kinds.count + index
                if lines.indices.contains(line) { client.setSink(lines[line], of: track) }
                wanted.append(track)
            }
        }
        return wanted
    }

    /// Somebody comes in, subscribes to the publishers until their media can flow, and leaves.
    func visit(_ user: LoadUser, publishers: [String]) async throws {
        defer { leave(user) }
        let client = try await enter(user, visiting)
        let wanted = tracks(of: publishers, at: client, feeding: [])
        guard !wanted.isEmpty else { throw LoadFailure("nobody publishes in the room") }
        let refused = wanted.count - (try await client.subscribe(wanted).count)
        if refused != 0 { throw LoadFailure("the node refused \(refused) of \(wanted.count) subscriptions") }
    }

    /// The steps of a user's join.
    func timeline(_ user: LoadUser) -> JoinTimeline? { clients[user.place]?.joinTimeline }

    func leave(_ user: LoadUser) {
        clients.removeValue(forKey: user.place)?.leave()
        entered[user.place] = nil
        subscribers.removeAll { $0.user.place == user.place }
    }

    func publishers(_ joins: [LoadTally.Join]) async -> [PublisherFigures] {
        var publishers: [PublisherFigures] = []
        for engine in sending.engines {
            publishers += await engine.inspect { view in
                let track = view.session.feeds.lazy.compactMap { $0 as? SyntheticTrack }.first
                return track.map { PublisherFigures(room: joins[$0.user].room, user: $0.user, view) }
            }
        }
        return publishers
    }

    func subscribers(_ joins: [LoadTally.Join]) async -> [SubscriberFigures] {
        // Who is behind a connection is known by what it feeds.
        let owners = Dictionary(
            subscribers.flatMap { subscriber in subscriber.lines.map { (ObjectIdentifier($0), subscriber) } },
            uniquingKeysWith: { first, _ in first })
        var figures: [SubscriberFigures] = []
        for engine in receiving.engines {
            figures += await engine.inspect { view in
                let sink = view.session.sinks.lazy.compactMap { $0 as? LineCheck }.first
                guard let sink, let owner = owners[ObjectIdentifier(sink)] else { return nil }
                return SubscriberFigures(
                    room: owner.user.room, name: owner.user.name, joinStarted: owner.user.started, lines: owner.lines,
                    view)
            }
        }
        return figures
    }

    func loads() async -> (loads: [ClientEngineLoad], sending: Int) {
        var loads: [ClientEngineLoad] = []
        for engine in sending.engines { loads.append(await engine.load()) }
        let count = loads.count
        for engine in receiving.engines { loads.append(await engine.load()) }
        return (loads, count)
    }

    func away() -> Away {
        let states = entered.keys.compactMap { clients[$0]?.connectionState }
        return Away(
            count: states.count { $0 != .connected },
            isEverybody: !states.isEmpty && states.allSatisfy { $0 == .disconnected })
    }

    func stopPublishers() { publishersStop.request() }

    func leaveAll() -> FaultCounts {
        var faults = FaultCounts()
        for user in entered.values.sorted(by: { $0.place < $1.place }) {
            guard let client = clients[user.place], client.connectionState != .connected else { continue }
            faults.add(.ended, "\(user.name) in \(scenario.roomName(user.room)): \(client.connectionState) at the end")
        }
        for client in clients.values { client.leave() }
        clients = [:]
        entered = [:]
        return faults
    }

    func end() {
        for engine in sending.engines + receiving.engines + visiting.engines { engine.stop() }
    }
}
