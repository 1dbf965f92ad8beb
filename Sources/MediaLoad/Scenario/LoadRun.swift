import ClientEngine
import MediaCodecs
import MediaContract
import MediaWire

/// One run: everybody joins, sends and checks; then the report, and everybody leaves.
package actor LoadRun {
    let scenario: LoadScenario
    let stop: StopFlag
    let output: LoadOutput
    var tally: LoadTally
    private var sources: [[FrameSource]] = []
    private var nextJoin: Int64 = 0
    private var lastPackets: UInt64 = 0
    /// Users without a node, for now or for good.
    private var away = Away()

    /// Requests to the node at once: enough to keep it busy.
    static let concurrentRequests = 16
    /// What is under way when publishers stop, with repair, comes within this.
    private static let settling = Duration.milliseconds(600)

    package init(_ scenario: LoadScenario, stop: StopFlag, output: LoadOutput) {
        self.scenario = scenario
        self.stop = stop
        self.output = output
        tally = LoadTally(scenario)
    }

    package func run() async throws -> LoadReport {
        let threads = scenario.threads ?? Self.defaultThreads
        switch scenario.way {
        case .plain:
            let path = try PlainPath(scenario, threads: threads)
            return try await run(path) { await self.measure(path) }
        case .webRTC:
            let path = try ClientPath(scenario, threads: threads)
            return try await run(path) {
                if let joins = self.scenario.joins {
                    await self.joinOneByOne(joins, path)
                } else if let rate = self.scenario.storm {
                    await self.storm(rate, path)
                } else {
                    await self.measure(path)
                }
            }
        }
    }

    private func run(_ path: any LoadPath, _ body: () async -> Void) async throws -> LoadReport {
        do { try makeSources() } catch {
            await path.end()
            throw LoadFailure("\(error)")
        }
        await joinAll(publishers: true, path)
        if scenario.lateAfter > 0 { await waitForPackets(path) }
        await joinAll(publishers: false, path)
        await body()
        await finish(path)
        await path.end()
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

    private func joinAll(publishers: Bool, _ path: any LoadPath) async {
        let count = publishers ? scenario.publishers : scenario.subscribers
        // Room after room, so that early rooms are complete early.
        let all = (0..<scenario.rooms).flatMap { room in (0..<count).map { (room: room, index: $0) } }
        guard !all.isEmpty else { return }
        await withTaskGroup(of: Void.self) { group in
            for (started, leg) in all.enumerated() {
                if started >= Self.concurrentRequests { await group.next() }
                await waitForRamp()
                if stop.isRequested { break }
                group.addTask { await self.join(publisher: publishers, room: leg.room, index: leg.index, path) }
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

    private func join(publisher: Bool, room: Int, index: Int, _ path: any LoadPath) async {
        let user = publisher ? scenario.publisherName(index) : scenario.subscriberName(index)
        var record = LoadTally.Join(room: room, isPublisher: publisher, index: index, user: user)
        // The place among all joins is the user's name.
        let place = tally.joins.count
        tally.joins.append(record)
        do {
            let user = try self.user(place: place, room: room, index: index, name: user)
            if publisher {
                let source = sources[Int(scenario.source(room: room, publisher: index))]
                tally.tester.receiveBuffer = max(
                    tally.tester.receiveBuffer, try await path.publish(user, sources: source))
            } else {
                let lines = try lines(
                    room: room, decodes: Self.decodes(room * scenario.subscribers + index, scenario))
                let names = (0..<scenario.publishers).map { scenario.publisherName($0) }
                tally.tester.receiveBuffer = max(
                    tally.tester.receiveBuffer, try await path.subscribe(user, lines: lines, publishers: names))
            }
            record.milliseconds = (ClientClock.monotonic - user.started).seconds * 1000
        } catch { record.failure = "\(error)" }
        tally.joins[place] = record
    }

    func user(place: Int, room: Int, index: Int, name: String) throws(LoadFailure) -> LoadUser {
        let signer = LoadToken(app: scenario.app, key: scenario.key, secret: scenario.secret)
        let expiry = LoadClock.unixTime + Int64(scenario.isLive ? 30 * 86_400 : scenario.duration + 3600)
        guard let token = signer.text(room: scenario.roomName(room), user: name, expiresAt: expiry) else {
            throw LoadFailure("the token cannot be signed")
        }
        return LoadUser(
            place: place, room: room, index: index, name: name, token: token, started: ClientClock.monotonic)
    }

    // MARK: Joins one by one

    /// Longer than the node's pause between two key frame requests to one publisher, which users who come together share.
    private static let joinPause = Duration.milliseconds(1100)
    /// How long a join may take to its first decoded picture.
    private static let joinLimit = Duration.seconds(10)

    /// So many users come, see the first picture, and leave, one after the other: how long the steps take.
    private func joinOneByOne(_ count: Int, _ path: ClientPath) async {
        var phases = JoinPhases()
        // The publishers are new: their first key frames are of no typical size or time.
        await sleep(.milliseconds(500))
        for number in 0..<count where !stop.isRequested {
            let room = number % scenario.rooms
            var record = LoadTally.Join(
                room: room, isPublisher: false, index: number, user: scenario.subscriberName(number))
            let place = tally.joins.count
            tally.joins.append(record)
            do {
                let user = try user(place: place, room: room, index: number, name: record.user)
                let lines = try lines(room: room, decodes: true)
                let names = (0..<scenario.publishers).map { scenario.publisherName($0) }
                _ = try await path.subscribe(user, lines: lines, publishers: names)
                record.milliseconds = (ClientClock.monotonic - user.started).seconds * 1000
                guard let figures = await firstPicture(user, path), let timeline = await path.timeline(user) else {
                    throw LoadFailure("no picture within \(Self.joinLimit)")
                }
                phases.add(timeline, firstFrame: figures - user.started)
                await path.leave(user)
                await sleep(Self.joinPause)
            } catch { record.failure = "\(error)" }
            tally.joins[place] = record
            output.progress("\(number + 1) of \(count) joins")
        }
        await collect(path)
        tally.start = tally.mark
        tally.joinPhases = phases
    }

    /// When the first frame was decoded that a user waits for.
    private func firstPicture(_ user: LoadUser, _ path: ClientPath) async -> MediaTime? {
        let end = ContinuousClock.now + Self.joinLimit
        while ContinuousClock.now < end {
            let figures = await path.subscribers(tally.joins).first { $0.joinStarted == user.started }
            let frames = figures?.lines.filter { $0.kind == .video || scenario.isAudioOnly }.compactMap(\.firstFrame)
            if let first = frames?.min() { return first }
            await sleep(.milliseconds(2))
        }
        return nil
    }

    /// Those that decode are spread over the rooms.
    static func decodes(_ number: Int, _ scenario: LoadScenario) -> Bool {
        let decoding = scenario.decodingSubscribers
        let all = max(scenario.subscriberCount, 1)
        return (number + 1) * decoding / all > number * decoding / all
    }

    private nonisolated func lines(room: Int, decodes: Bool) throws(CodecError) -> [LineCheck] {
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

    private func waitForPackets(_ path: any LoadPath) async {
        output.note("subscribers wait until each publisher has sent \(scenario.lateAfter) packets")
        let wanted = UInt64(scenario.lateAfter)
        while !stop.isRequested {
            await collect(path)
            let slowest = tally.publishers.map(\.statistics.packetsSent).min() ?? wanted
            if slowest >= wanted { return }
            output.progress("\(slowest) of \(wanted) packets sent") { tally.report }
            await sleep(.milliseconds(200))
        }
    }

    private func measure(_ path: any LoadPath) async {
        await collect(path)
        tally.start = tally.mark
        lastPackets = tally.start.packetsReceived.reduce(0, &+)
        let loadBefore = await path.loads()
        let begun = LoadClock.monotonic
        var second: Int64 = 0
        while !stop.isRequested, scenario.isLive || second < Int64(scenario.duration) {
            second += 1
            await sleep(until: begun + second * 1_000_000_000)
            await collect(path)
            output.progress(progressLine(second: second)) { tally.report }
            if away.isEverybody {
                output.note("the node let everybody go, or is gone: the run ends")
                break
            }
        }
        noteLoad(since: loadBefore, await path.loads())
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
            + (away.count > 0 ? "  AWAY \(away.count)" : "")
            + (total.testerDrops > 0 ? "  OWN DROPS \(total.testerDrops)" : "")
    }

    private func noteLoad(
        since before: (loads: [ClientEngineLoad], sending: Int), _ after: (loads: [ClientEngineLoad], sending: Int)
    ) {
        let shares = zip(before.loads, after.loads).map { before, after in
            let wall = after.wallSeconds - before.wallSeconds
            return wall > 0 ? (after.cpuSeconds - before.cpuSeconds) / wall * 100 : 0
        }
        tally.tester.sendingThreadPercent = shares.prefix(after.sending).max() ?? 0
        tally.tester.receivingThreadsPercent = Array(shares.dropFirst(after.sending))
        tally.tester.latestMilliseconds = (after.loads.map(\.latest).max() ?? .zero).seconds * 1000
        tally.tester.sealing = after.loads.first?.backend ?? ""
    }

    /// Copies all figures.
    func collect(_ path: any LoadPath) async {
        let joins = tally.joins
        away = await path.away()
        tally.take(await path.publishers(joins), await path.subscribers(joins), isWhole: away.count == 0)
        tally.end = ClientClock.monotonic
    }

    // MARK: The end

    private func finish(_ path: any LoadPath) async {
        await path.stopPublishers()
        let stopped = ClientClock.monotonic
        try? await Task.sleep(for: Self.settling)
        await collect(path)
        tally.end = stopped
        tally.otherFaults.add(await path.leaveAll())
    }

    func sleep(_ duration: Duration) async { try? await Task.sleep(for: duration) }

    /// Until the monotonic clock shows the time, or a stop is requested.
    func sleep(until deadline: Int64) async {
        while !stop.isRequested {
            let rest = deadline - LoadClock.monotonic
            guard rest > 0 else { return }
            try? await Task.sleep(for: .nanoseconds(min(rest, 50_000_000)))
        }
    }
}
