import ClientEngine
import Glibc
import MediaWire

/// Joins at a rate while streams flow.
extension LoadRun {
    /// Joins under way at once: more means that the node does not follow, and then later ones wait.
    private static let mostVisits = 256
    /// The streams have just begun: connections still look for their paths.
    private static let settlingIn = Duration.seconds(1)

    /// As long without joins as with them; what the streams' packets take in both.
    func storm(_ rate: Double, _ path: ClientPath) async {
        let lag = LagProbe()
        let probe = NodeProbe(processID: nil, url: scenario.url)
        var average = 0.0
        _ = getloadavg(&average, 1)
        await sleep(Self.settlingIn)
        let start = await moment(lag, probe, path)
        tally.start = tally.mark
        output.note("\(scenario.duration) s of the streams alone")
        await sleep(until: LoadClock.monotonic + Int64(scenario.duration) * 1_000_000_000)
        let calm = await moment(lag, probe, path)
        output.note("\(scenario.duration) s with \(LoadReport.fixed(rate, 0)) joins a second")
        StormPriority.lower()
        // At its time, whatever hangs: seconds without joins would make the figures of those with them look better.
        let deadline = LoadClock.monotonic + Int64(scenario.duration) * 1_000_000_000
        async let ending = moment(at: deadline, lag, probe, path)
        let visits = await visits(rate, until: deadline, path)
        let end = await ending
        lag.stop()
        tally.storm = StormReport(
            wantedRate: rate, visits: visits, before: calm.since(start), during: end.since(calm), loadAverage: average)
    }

    private func moment(
        at deadline: Int64, _ lag: LagProbe, _ probe: NodeProbe?, _ path: ClientPath
    ) async -> StormMoment {
        await sleep(until: deadline)
        return await moment(lag, probe, path)
    }

    private func moment(_ lag: LagProbe, _ probe: NodeProbe?, _ path: ClientPath) async -> StormMoment {
        await collect(path)
        var latency = LatencyHistogram()
        for subscriber in tally.subscribers { for line in subscriber.lines { latency.add(line.latency) } }
        return StormMoment(
            time: Double(LoadClock.monotonic) / 1e9, latency: latency, lag: lag.lateness, node: probe?.processorTime,
            tester: SignallingRun.processorTime)
    }

    /// Each at its time, whatever became of those before, and none begins after the deadline. Returns when the last has ended.
    private func visits(_ rate: Double, until deadline: Int64, _ path: ClientPath) async -> StormVisits {
        var visits = StormVisits()
        let begun = LoadClock.monotonic
        let count = Int(rate * Double(scenario.duration))
        await withTaskGroup(of: Int64?.self) { group in
            var open = 0
            for number in 0..<count {
                let due = begun + Int64(Double(number) * 1e9 / rate)
                let rest = due - LoadClock.monotonic
                if rest > 0 { try? await Task.sleep(for: .nanoseconds(rest)) }
                if open >= Self.mostVisits, let done = await group.next() {
                    visits.add(done)
                    open -= 1
                }
                if stop.isRequested || LoadClock.monotonic >= deadline { break }
                visits.begunLate.add(microseconds: (LoadClock.monotonic - due) / 1000)
                group.addTask { await self.visit(number, path) }
                open += 1
            }
            for await done in group { visits.add(done) }
        }
        return visits
    }

    /// Somebody comes, connects, and leaves: microseconds until the media could flow; `nil`: failed.
    private func visit(_ number: Int, _ path: ClientPath) async -> Int64? {
        let room = number % scenario.rooms
        let name = "storm-\(number + 1)"
        do {
            // Behind the places of those who stay.
            let user = try user(place: tally.joins.count + number, room: room, index: number, name: name)
            try await path.visit(user, publishers: (0..<scenario.publishers).map { scenario.publisherName($0) })
            return (ClientClock.monotonic - user.started).nanoseconds / 1000
        } catch {
            tally.otherFaults.add(.joinFailed, "\(name) of \(scenario.roomName(room)): \(error)")
            return nil
        }
    }
}

extension StormVisits {
    fileprivate mutating func add(_ microseconds: Int64?) {
        if let microseconds { times.add(microseconds: microseconds) } else { failed += 1 }
    }
}

/// Those who come in a storm stand behind the node and the steady streams for the processor: elsewhere they would have machines of
/// their own, and here their half of each handshake would be taken for the node's.
private enum StormPriority {
    /// Of nice(1), beside that of the process: a tenth of the others' share, when all want the processor.
    private static let nice: Int32 = 10

    /// All threads of now but those that measure, and with them all that they start.
    static func lower() {
        let lowered = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) + nice
        for thread in NodeProbe.entries("/proc/self/task").compactMap({ UInt32($0) }) {
            let name = NodeProbe.read("/proc/self/task/\(thread)/comm") ?? ""
            // The engines' threads of the steady streams exist; that of the storm begins later.
            if name.hasPrefix("rtc-media") || name.hasPrefix(LagProbe.threadName) { continue }
            setpriority(__priority_which_t(PRIO_PROCESS.rawValue), thread, lowered)
        }
    }
}
