import Glibc
import MediaWire
import RTCClient
import WebTransport

/// One run of signalling: everybody joins, acts at random while it is checked, is checked a last time, and leaves.
package struct SignallingRun: Sendable {
    private let scenario: SignallingScenario
    private let stop: StopFlag
    private let output: LoadOutput

    /// Joins at once, when the node is slower than the wanted rate.
    private static let concurrentJoins = 256
    /// Rooms whose quiet points are at once, at the end.
    private static let concurrentChecks = 32
    /// For one answer: a node that is short of processor is slow, not wrong.
    private static let requestTimeout = Duration.seconds(20)
    /// Files that are no connection of a user.
    private static let otherFiles = 600

    package init(_ scenario: SignallingScenario, stop: StopFlag, output: LoadOutput) {
        self.scenario = scenario
        self.stop = stop
        self.output = output
    }

    package func run() async throws -> SignallingReport {
        let files = NodeProbe.raiseFileLimit()
        guard scenario.users + scenario.idle + SignallingRun.otherFiles <= files else {
            throw LoadFailure(
                "\(scenario.users + scenario.idle) connections need more files than the \(files) that this process may"
                    + " open (ulimit -n)")
        }
        // Says clearly when there is no node.
        _ = try NodeAccess(url: scenario.url)
        let common = try common()
        let probe = NodeProbe(processID: scenario.processID, url: scenario.url)
        if probe == nil, let pid = scenario.processID { throw LoadUsageError("--pid \(pid): there is no such process") }
        let idle = (0..<scenario.idleRooms).map { number in
            ChurnRoom(
                name: scenario.idleRoomName(number), users: scenario.idle(inRoom: number),
                number: scenario.rooms + number, common: common)
        }
        let rooms = (0..<(scenario.users == 0 ? 0 : scenario.rooms)).map { number in
            ChurnRoom(
                name: scenario.roomName(number), users: scenario.users(inRoom: number), number: number, common: common)
        }
        let all = idle + rooms

        let memoryBefore = probe?.memory ?? 0
        await join(idle, scenario.idle, "idle connections")
        let memoryWithIdle = probe?.memory ?? 0
        await join(rooms, scenario.users, "users")
        let memoryWithUsers = probe?.memory ?? 0

        let joined = await tally(all)
        let (nodeTime, ownTime) = (probe?.processorTime ?? 0, SignallingRun.processorTime)
        let started = LoadClock.monotonic
        await churn(rooms, all, from: started)
        let seconds = Double(LoadClock.monotonic - started) / 1e9
        let churned = await tally(all)
        let memoryAtEnd = probe?.memory ?? 0
        let node = probe.map { probe in
            SignallingReport.Node(
                processID: probe.processID, memoryBefore: memoryBefore, memoryWithIdle: memoryWithIdle,
                memoryWithUsers: memoryWithUsers, memoryAtEnd: memoryAtEnd,
                processorPercent: ((probe.processorTime ?? nodeTime) - nodeTime) / seconds * 100)
        }
        let ownShare = (SignallingRun.processorTime - ownTime) / seconds * 100

        output.note("everybody comes back, for the last check")
        await each(all) { room in
            await room.gather()
            await room.check()
        }
        output.note("everybody leaves")
        await each(all) { await $0.leaveAll() }
        return SignallingReport(
            scenario, await tally(all), seconds: seconds, from: joined, to: churned, node: node,
            testerProcessorPercent: ownShare)
    }

    private func common() throws -> ChurnRoom.Common {
        let http: HTTPClient
        do { http = try HTTPClient(threadName: "load-web") } catch { throw LoadFailure("\(error)") }
        var random = SeededRandom(seed: scenario.seed)
        let fingerprint = Array(repeating: "5E", count: 32).joined(separator: ":")
        let signer = LoadToken(app: scenario.app, key: scenario.key, secret: scenario.secret)
        return ChurnRoom.Common(
            scenario: scenario,
            transport: SignallingTransport(
                http: http, servers: [scenario.url], requestTimeout: SignallingRun.requestTimeout),
            signer: signer, list: try UserList(http: http, url: scenario.url, signer: signer),
            capabilities: ClientOffer.capabilities(.random(fingerprint: fingerprint, using: &random)).text, stop: stop)
    }

    // MARK: Joining

    /// One after the other through the rooms, at the wanted rate.
    private func join(_ rooms: [ChurnRoom], _ users: Int, _ what: String) async {
        guard users > 0 else { return }
        let started = LoadClock.monotonic
        var shown = started
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<users {
                if stop.isRequested { break }
                let now = LoadClock.monotonic
                let due = started + Int64(Double(number) / Double(scenario.joinRate) * 1e9)
                if due > now { try? await Task.sleep(for: .nanoseconds(due - now)) }
                if number >= SignallingRun.concurrentJoins { await group.next() }
                group.addTask { await rooms[number % rooms.count].joinFirst(number / rooms.count) }
                if now - shown > 1_000_000_000 {
                    shown = now
                    output.progress("\(number) of \(users) \(what) join")
                }
            }
            await group.waitForAll()
        }
        let seconds = Double(LoadClock.monotonic - started) / 1e9
        output.note("\(users) \(what) joined in \(LoadReport.fixed(seconds, 1)) s")
    }

    // MARK: Churn

    private func churn(_ rooms: [ChurnRoom], _ all: [ChurnRoom], from started: Int64) async {
        let deadline = started + Int64(scenario.churn) * 1_000_000_000
        await withDiscardingTaskGroup { group in
            for room in rooms { group.addTask { await room.churn(until: deadline) } }
            group.addTask { await show(all, from: started, until: deadline) }
        }
    }

    private func show(_ rooms: [ChurnRoom], from started: Int64, until deadline: Int64) async {
        var last = SignallingTally()
        var second: Int64 = 0
        while !stop.isRequested {
            second += 1
            let next = started + second * 1_000_000_000
            guard next <= deadline else { break }
            while LoadClock.monotonic < next, !stop.isRequested {
                try? await Task.sleep(for: .nanoseconds(max(min(next - LoadClock.monotonic, 100_000_000), 1)))
            }
            var (tally, connected, absent) = (SignallingTally(), 0, 0)
            for room in rooms {
                let figures = await room.figures
                tally.add(figures.tally)
                connected += figures.connected
                absent += figures.absent
            }
            let latency = tally.deliveries.milliseconds(part: 0.5).map { LoadReport.fixed($0, 1) + " ms" } ?? "-"
            output.progress(
                "\(second)/\(scenario.churn) s  in \(connected) away \(absent)  actions "
                    + "\(tally.actions - last.actions)/s  messages \(tally.messagesSent - last.messagesSent)/s, received "
                    + "\(tally.messagesDelivered - last.messagesDelivered)/s  latency \(latency)  quiet points "
                    + "\(tally.quietPoints)  faults \(tally.faults.count)")
            last = tally
        }
    }

    // MARK: The parts of it

    private func each(_ rooms: [ChurnRoom], _ body: @escaping @Sendable (ChurnRoom) async -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            for (started, room) in rooms.enumerated() {
                if started >= SignallingRun.concurrentChecks { await group.next() }
                group.addTask { await body(room) }
            }
            await group.waitForAll()
        }
    }

    private func tally(_ rooms: [ChurnRoom]) async -> SignallingTally {
        var tally = SignallingTally()
        for room in rooms { tally.add(await room.figures.tally) }
        return tally
    }

    /// Of this process, in seconds.
    static var processorTime: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
