import ClientEngine
import MediaWire

/// Users with plain SRTP legs, by WHIP and WHEP.
actor PlainPath: LoadPath {
    /// A leg that is in, to be ended.
    private struct Leg: Sendable {
        var location: String
        var token: String
        var user: String
    }

    private let scenario: LoadScenario
    private let node: NodeAccess
    private let join: LegJoin
    private let sending: ClientEngine<SyntheticPublisher>
    private let receiving: [ClientEngine<SyntheticSubscriber>]
    private var legs: [Leg] = []

    init(_ scenario: LoadScenario, threads: Int) throws {
        self.scenario = scenario
        node = try NodeAccess(url: scenario.url)
        join = LegJoin(scenario: scenario, node: node)
        do {
            sending = try ClientEngine(name: "load-send")
            receiving = try (0..<threads).map { try ClientEngine(name: "load-recv-\($0)") }
        } catch { throw LoadFailure("\(error)") }
    }

    func publish(_ user: LoadUser, sources: [FrameSource]) async throws -> Int {
        let joined = try await join.publish(user: user.name, token: user.token)
        legs.append(Leg(location: joined.location, token: user.token, user: user.name))
        let session = SyntheticPublisher(sources: sources, now: ClientClock.monotonic)
        let name = ClientName(UInt64(user.place))
        guard await sending.add(joined.socket, joined.configuration, name: name, session: session) else {
            throw LoadFailure("the tester cannot run the client")
        }
        return joined.socket.receiveBuffer
    }

    func subscribe(_ user: LoadUser, lines: [LineCheck], publishers: [String]) async throws -> Int {
        let joined = try await join.subscribe(to: publishers, user: user.name, token: user.token)
        legs.append(Leg(location: joined.location, token: user.token, user: user.name))
        let session = SyntheticSubscriber(lines: lines, joinStarted: user.started)
        let engine = receiving[(user.room * scenario.subscribers + user.index) % receiving.count]
        let name = ClientName(UInt64(user.place))
        guard await engine.add(joined.socket, joined.configuration, name: name, session: session) else {
            throw LoadFailure("the tester cannot run the client")
        }
        return joined.socket.receiveBuffer
    }

    func publishers(_ joins: [LoadTally.Join]) async -> [PublisherFigures] {
        await sending.inspect {
            PublisherFigures(room: joins[Int($0.name.number)].room, user: Int($0.name.number), $0)
        }
    }

    func subscribers(_ joins: [LoadTally.Join]) async -> [SubscriberFigures] {
        var subscribers: [SubscriberFigures] = []
        for engine in receiving {
            subscribers += await engine.inspect { view in
                let join = joins[Int(view.name.number)]
                return SubscriberFigures(room: join.room, name: join.user, view)
            }
        }
        return subscribers
    }

    func loads() async -> (loads: [ClientEngineLoad], sending: Int) {
        var loads = [await sending.load()]
        for engine in receiving { loads.append(await engine.load()) }
        return (loads, 1)
    }

    /// A plain leg has no connection that could end: silence shows in its figures.
    func away() -> Away { Away() }

    func stopPublishers() async {
        _ = await sending.inspect { view -> Bool? in
            view.session.stop()
            return nil
        }
    }

    func leaveAll() async -> FaultCounts {
        let (legs, node) = (legs, node)
        var failures = FaultCounts()
        await withTaskGroup(of: (String, String)?.self) { group in
            for (started, leg) in legs.enumerated() {
                if started >= LoadRun.concurrentRequests, let failure = await group.next() ?? nil {
                    failures.add(.leaveFailed, "\(failure.0): \(failure.1)")
                }
                group.addTask {
                    await node.leave(leg.location, token: leg.token).map { (leg.user, $0) }
                }
            }
            for await case .some(let failure) in group { failures.add(.leaveFailed, "\(failure.0): \(failure.1)") }
        }
        self.legs = []
        return failures
    }

    func end() {
        sending.stop()
        for engine in receiving { engine.stop() }
    }
}
