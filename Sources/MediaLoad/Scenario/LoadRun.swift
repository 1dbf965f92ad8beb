import ClientEngine
import MediaCodecs
import MediaContract
import MediaWire

/// One run: everybody joins, sends and checks; then the report, and everybody leaves.
package actor LoadRun {
    private let scenario: LoadScenario
    private let stop: StopFlag
    private let output: LoadOutput
    private var tally: LoadTally
    private var legs: [Leg] = []
    private var sources: [[FrameSource]] = []
    private var publishing: ClientEngine<SyntheticPublisher>?
    private var receiving: [ClientEngine<SyntheticSubscriber>] = []
    private var nextJoin: Int64 = 0
    private var lastPackets: UInt64 = 0

    /// A leg that is in, to be ended.
    private struct Leg: Sendable {
        var location: String
        var token: String
        var user: String
    }

    /// Requests to the node at once: enough to keep it busy.
    private static let concurrentRequests = 16
    /// What is under way when publishers stop, with repair, comes within this.
    private static let settling = Duration.milliseconds(600)

    package init(_ scenario: LoadScenario, stop: StopFlag, output: LoadOutput) {
        self.scenario = scenario
        self.stop = stop
        self.output = output
        tally = LoadTally(scenario)
    }

    package func run() async throws -> LoadReport {
        let node = try NodeAccess(url: scenario.url)
        do {
            publishing = try ClientEngine(name: "load-send")
            for index in 0..<(scenario.threads ?? Self.defaultThreads) {
                receiving.append(try ClientEngine(name: "load-recv-\(index)"))
            }
            try makeSources()
        } catch { throw LoadFailure("\(error)") }
        defer {
            publishing?.stop()
            for engine in receiving { engine.stop() }
        }
        let join = LegJoin(scenario: scenario, node: node)
        await joinAll(publishers: true, join)
        if scenario.lateAfter > 0 { await waitForPackets() }
        await joinAll(publishers: false, join)
        await measure()
        await finish(node)
        return tally.report
    }

    // MARK: Preparing

    /// One receives, the other sends and leaves room for the node.
    private static var defaultThreads: Int { max(1, LoadMachine.processors - 1) }

    private func makeSources() throws(CodecError) {
        var random = SystemRandomNumberGenerator()
        for number in 0..<scenario.sourceCount {
            let publisher = UInt16(truncatingIfNeeded: number)
            var kinds: [FrameSource] = []
            for kind in scenario.kinds {
                let timestamp = UInt32.random(in: 0 ... .max, using: &random)
                if kind == .audio, let rate = scenario.packetsPerSecond {
                    kinds.append(FrameSource(probesPerSecond: rate, size: scenario.payloadSize, publisher: publisher))
                } else if kind == .audio {
                    kinds.append(
                        FrameSource(
                            try SharedStream(
                                audio: OpusEncoder.Settings(), publisher: publisher, firstTimestamp: timestamp)))
                } else {
                    let settings = VPXEncoder.Settings(
                        codec: scenario.codec, width: scenario.width, height: scenario.height,
                        framesPerSecond: scenario.framesPerSecond, bitrate: scenario.bitrate)
                    kinds.append(
                        FrameSource(
                            try SharedStream(
                                video: settings, publisher: publisher, firstTimestamp: timestamp,
                                firstPictureID: UInt16.random(in: 0...0x7FFF, using: &random))))
                }
            }
            sources.append(kinds)
        }
        tally.tester.encoders = scenario.sourceCount
        tally.tester.decodingSubscribers = scenario.decodingSubscribers
    }

    // MARK: Joining

    private func joinAll(publishers: Bool, _ join: LegJoin) async {
        let count = publishers ? scenario.publishers : scenario.subscribers
        // Room after room, so that early rooms are complete early.
        let all = (0..<scenario.rooms).flatMap { room in (0..<count).map { (room: room, index: $0) } }
        guard !all.isEmpty else { return }
        await withTaskGroup(of: Void.self) { group in
            for (started, leg) in all.enumerated() {
                if started >= Self.concurrentRequests { await group.next() }
                await waitForRamp()
                if stop.isRequested { break }
                group.addTask { await self.join(publisher: publishers, room: leg.room, index: leg.index, join) }
                if started % 100 == 99 {
                    output.note("\(started + 1) of \(all.count) \(publishers ? "publishers" : "subscribers") joined")
                }
            }
            await group.waitForAll()
        }
    }

    private func waitForRamp() async {
        guard let ramp = scenario.ramp else { return }
        let now = LoadClock.monotonic
        let due = max(nextJoin, now)
        nextJoin = due + Int64(1e9 / ramp)
        if due > now { try? await Task.sleep(for: .nanoseconds(due - now)) }
    }

    private func join(publisher: Bool, room: Int, index: Int, _ join: LegJoin) async {
        let user = publisher ? scenario.publisherName(index) : scenario.subscriberName(index)
        var record = LoadTally.Join(room: room, isPublisher: publisher, index: index, user: user)
        let place = tally.joins.count
        tally.joins.append(record)
        do {
            let signer = LoadToken(app: scenario.app, key: scenario.key, secret: scenario.secret)
            let expiry = LoadClock.unixTime + Int64(scenario.isLive ? 30 * 86_400 : scenario.duration + 3600)
            guard let token = signer.text(room: scenario.roomName(room), user: user, expiresAt: expiry) else {
                throw LoadFailure("the token cannot be signed")
            }
            let started = LoadClock.monotonic
            let joined: LegJoin.Joined
            if publisher {
                joined = try await join.publish(user: user, token: token)
            } else {
                let users = (0..<scenario.publishers).map { scenario.publisherName($0) }
                joined = try await join.subscribe(to: users, user: user, token: token)
            }
            record.milliseconds = Double(LoadClock.monotonic - started) / 1e6
            legs.append(Leg(location: joined.location, token: token, user: user))
            tally.tester.receiveBuffer = joined.socket.receiveBuffer
            guard try await add(joined, publisher, room, index, place, started) else {
                throw LoadFailure("the tester cannot run the client")
            }
        } catch { record.failure = "\(error)" }
        tally.joins[place] = record
    }

    /// `place`, among all joins, is the client's name.
    private func add(
        _ joined: LegJoin.Joined, _ isPublisher: Bool, _ room: Int, _ index: Int, _ place: Int, _ started: Int64
    ) async throws(CodecError) -> Bool {
        let name = ClientName(UInt64(place))
        if isPublisher {
            guard let publishing else { return false }
            let source = sources[Int(scenario.source(room: room, publisher: index))]
            let session = SyntheticPublisher(sources: source, now: MediaTime(nanoseconds: LoadClock.monotonic))
            return await publishing.add(joined.socket, joined.configuration, name: name, session: session)
        }
        let number = room * scenario.subscribers + index
        let session = SyntheticSubscriber(
            lines: try lines(room: room, decodes: Self.decodes(number, scenario)),
            joinStarted: MediaTime(nanoseconds: started))
        let engine = receiving[number % receiving.count]
        return await engine.add(joined.socket, joined.configuration, name: name, session: session)
    }

    /// Those that decode are spread over the rooms.
    static func decodes(_ number: Int, _ scenario: LoadScenario) -> Bool {
        let decoding = scenario.decodingSubscribers
        let all = max(scenario.subscriberCount, 1)
        return (number + 1) * decoding / all > number * decoding / all
    }

    private nonisolated func lines(room: Int, decodes: Bool) throws(CodecError) -> sending [LineCheck] {
        var lines: [LineCheck] = []
        for publisher in 0..<scenario.publishers {
            let source = scenario.source(room: room, publisher: publisher)
            for kind in scenario.kinds {
                let method: LineCheck.Method
                if kind == .video {
                    method = decodes ? .picture(scenario.codec) : .pictureHeaders(scenario.codec.codec)
                } else if scenario.packetsPerSecond != nil {
                    method = .probes
                } else {
                    method = decodes ? .tone : .packets
                }
                lines.append(try LineCheck(method, publisher: source))
            }
        }
        return lines
    }

    // MARK: While it runs

    private func waitForPackets() async {
        output.note("subscribers wait until each publisher has sent \(scenario.lateAfter) packets")
        let wanted = UInt64(scenario.lateAfter)
        while !stop.isRequested {
            await collect()
            let slowest = tally.publishers.map(\.statistics.packetsSent).min() ?? wanted
            if slowest >= wanted { return }
            output.progress("\(slowest) of \(wanted) packets sent") { tally.report }
            await sleep(.milliseconds(200))
        }
    }

    private func measure() async {
        await collect()
        tally.start = tally.mark
        lastPackets = tally.start.packetsReceived.reduce(0, &+)
        let loadBefore = await loads()
        let begun = LoadClock.monotonic
        var second: Int64 = 0
        while !stop.isRequested, scenario.isLive || second < Int64(scenario.duration) {
            second += 1
            await sleep(until: begun + second * 1_000_000_000)
            await collect()
            output.progress(progressLine(second: second)) { tally.report }
        }
        noteLoad(since: loadBefore, await loads())
    }

    private func progressLine(second: Int64) -> String {
        let total = tally.report.total
        let packets = tally.subscribers.reduce(0) { $0 &+ $1.statistics.packetsReceived }
        let rate = packets &- min(lastPackets, packets)
        lastPackets = packets
        let latency = total.latencyP50Milliseconds.map { LoadReport.fixed($0, 1) + " ms" } ?? "-"
        let end = scenario.isLive ? "" : "/\(scenario.duration)"
        return "\(second)\(end) s  pubs \(total.publishersJoined) subs \(total.subscribersJoined)  \(rate) packets/s "
            + "\(LoadReport.fixed(total.megabitsReceived, 1)) Mbit/s  lost \(total.packetsLost)  frames "
            + "\(total.framesDecoded + total.framesNotDecoded) wrong \(total.framesWrong)  latency \(latency)"
            + (total.testerDrops > 0 ? "  OWN DROPS \(total.testerDrops)" : "")
    }

    private func noteLoad(since before: [ClientEngineLoad], _ after: [ClientEngineLoad]) {
        let shares = zip(before, after).map { before, after in
            let wall = after.wallSeconds - before.wallSeconds
            return wall > 0 ? (after.cpuSeconds - before.cpuSeconds) / wall * 100 : 0
        }
        tally.tester.sendingThreadPercent = shares.first ?? 0
        tally.tester.receivingThreadsPercent = Array(shares.dropFirst())
        tally.tester.latestMilliseconds = (after.map(\.latest).max() ?? .zero).seconds * 1000
        tally.tester.sealing = after.first?.backend ?? ""
    }

    /// The sending thread first.
    private func loads() async -> [ClientEngineLoad] {
        var loads: [ClientEngineLoad] = []
        if let publishing { loads.append(await publishing.load()) }
        for engine in receiving { loads.append(await engine.load()) }
        return loads
    }

    /// Copies all figures.
    private func collect() async {
        let joins = tally.joins
        var publishers: [PublisherFigures] = []
        if let publishing {
            publishers = await publishing.inspect { view in
                PublisherFigures(room: joins[Int(view.name.number)].room, view)
            }
        }
        var subscribers: [SubscriberFigures] = []
        for engine in receiving {
            subscribers += await engine.inspect { view in
                let join = joins[Int(view.name.number)]
                return SubscriberFigures(room: join.room, name: join.user, view)
            }
        }
        tally.publishers = publishers
        tally.subscribers = subscribers
        tally.end = MediaTime(nanoseconds: LoadClock.monotonic)
    }

    // MARK: The end

    private func finish(_ node: NodeAccess) async {
        if let publishing {
            _ = await publishing.inspect { view -> Bool? in
                view.session.stop()
                return nil
            }
        }
        let stopped = MediaTime(nanoseconds: LoadClock.monotonic)
        try? await Task.sleep(for: Self.settling)
        await collect()
        tally.end = stopped
        await leaveAll(node)
    }

    private func leaveAll(_ node: NodeAccess) async {
        let legs = legs
        var failures = FaultCounts()
        await withTaskGroup(of: (String, String)?.self) { group in
            for (started, leg) in legs.enumerated() {
                if started >= Self.concurrentRequests, let failure = await group.next() ?? nil {
                    failures.add(.leaveFailed, "\(failure.0): \(failure.1)")
                }
                group.addTask {
                    await node.leave(leg.location, token: leg.token).map { (leg.user, $0) }
                }
            }
            for await case .some(let failure) in group { failures.add(.leaveFailed, "\(failure.0): \(failure.1)") }
        }
        tally.otherFaults.add(failures)
    }

    private func sleep(_ duration: Duration) async { try? await Task.sleep(for: duration) }

    /// Until the monotonic clock shows the time, or a stop is requested.
    private func sleep(until deadline: Int64) async {
        while !stop.isRequested {
            let rest = deadline - LoadClock.monotonic
            guard rest > 0 else { return }
            try? await Task.sleep(for: .nanoseconds(min(rest, 50_000_000)))
        }
    }
}
