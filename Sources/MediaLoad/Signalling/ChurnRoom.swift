import Glibc
import MediaWire
import RTCClient
import RoomProtocol

/// One room of the load: its users, the random things that they do, what must come of it, and what did.
///
/// Everything about a room happens in this actor, so that the truth, the ledger of messages and the clients' views stand
/// in one order. A quiet point is a moment at which nothing is under way (`check`).
actor ChurnRoom {
    /// What all rooms share.
    struct Common: Sendable {
        var scenario: SignallingScenario
        var transport: SignallingTransport
        var signer: LoadToken
        var list: UserList
        /// What every client can send and receive: an offer.
        var capabilities: String
        var stop: StopFlag
    }

    let name: String
    let common: Common
    var random: SeededRandom
    var clients: [ChurnClient]
    var truth = RoomTruth()
    var ledger: MessageLedger
    var tally = SignallingTally()

    /// Somebody waits until something has come in.
    private struct Waiter {
        var isDone: () -> Bool
        var continuation: CheckedContinuation<Void, Never>
    }
    private var waiter: Waiter?
    private var waits = 0

    init(name: String, users: Int, number: Int, common: Common) {
        self.name = name
        self.common = common
        random = SeededRandom(seed: common.scenario.seed &+ UInt64(number) &* 0x1_0000_0001)
        clients = (0..<users).map { ChurnClient(name: "user-\($0 + 1)") }
        ledger = MessageLedger(room: name)
    }

    func fault(_ kind: SignallingFault, _ example: @autoclosure () -> String) {
        tally.faults.add(kind, "\(name): \(example())")
    }

    // MARK: Figures

    struct Figures: Sendable {
        var tally: SignallingTally
        var connected: Int
        var absent: Int
    }

    var figures: Figures {
        let connected = clients.reduce(0) { $0 + ($1.phase == .connected ? 1 : 0) }
        return Figures(tally: tally, connected: connected, absent: clients.count - connected)
    }

    // MARK: Churn

    /// Users act at random until the deadline, with a quiet point now and then.
    ///
    /// - Parameter deadline: of the monotonic clock.
    func churn(until deadline: Int64) async {
        let step = Int64(common.scenario.check) * 1_000_000_000
        // Rooms take turns: not all are quiet at once.
        var next = LoadClock.monotonic + Int64.random(in: step / 2...step, using: &random)
        while !isOver(deadline) {
            await act(until: min(next, deadline))
            guard !isOver(deadline) else { return }
            await check()
            next = LoadClock.monotonic + step
        }
    }

    /// Everybody comes back, for the last check.
    func gather() async {
        await withDiscardingTaskGroup { group in
            for index in clients.indices where [.away, .out].contains(clients[index].phase) && !clients[index].isBusy {
                if clients[index].plan == .resumeTooLate { clients[index].plan = .join }
                if let run = begin(index, { await self.comeBack(index) }) { group.addTask(operation: run) }
            }
        }
    }

    private func isOver(_ deadline: Int64) -> Bool { LoadClock.monotonic >= deadline || common.stop.isRequested }

    private func act(until end: Int64) async {
        await withDiscardingTaskGroup { group in
            var next = LoadClock.monotonic + pause()
            while !isOver(end) {
                let now = LoadClock.monotonic
                for index in clients.indices where clients[index].due <= now {
                    if let run = begin(index, { await self.comeBack(index) }) { group.addTask(operation: run) }
                }
                if next <= now {
                    next = now + pause()
                    if let (index, action) = pick() {
                        tally.actions += 1
                        // A socket may go while a request is under way.
                        if action == .drop || action == .crash {
                            group.addTask { await self.lose(index, isCrash: action == .crash) }
                        } else if let run = begin(index, { await self.perform(action, index) }) {
                            group.addTask(operation: run)
                        }
                    }
                }
                let due = clients.lazy.filter { !$0.isBusy }.map(\.due).min() ?? .max
                // Something may end meanwhile that the clock does not tell.
                await sleep(until: min(next, due, end, now + 250_000_000))
            }
        }
    }

    /// Between two actions of the room's users: exponentially distributed, up to ten times the mean.
    private func pause() -> Int64 {
        let rate = common.scenario.actions * Double(clients.count)
        guard rate > 0 else { return 3600 * 1_000_000_000 }
        let part = min(-log(Double.random(in: 0.000_05..<1, using: &random)), 10)
        return Int64(part / rate * 1e9)
    }

    private func pick() -> (Int, SignallingAction)? {
        let action = common.scenario.mix.pick(using: &random)
        let interrupts = action == .drop || action == .crash
        let able = clients.indices.filter { clients[$0].phase == .connected && (interrupts || !clients[$0].isBusy) }
        return able.randomElement(using: &random).map { ($0, action) }
    }

    /// Marks the client as busy; `nil` when it is already.
    private func begin(_ index: Int, _ body: @escaping @Sendable () async -> Void) -> (@Sendable () async -> Void)? {
        guard !clients[index].isBusy else { return nil }
        clients[index].isBusy = true
        clients[index].due = .max
        return {
            await body()
            await self.finished(index)
        }
    }

    private func finished(_ index: Int) { clients[index].isBusy = false }

    private func sleep(until time: Int64) async {
        // Never without a pause: the others of this actor wait.
        try? await Task.sleep(for: .nanoseconds(max(time - LoadClock.monotonic, 100_000)))
    }

    // MARK: What comes in

    func read(_ connection: SignallingConnection, _ index: Int, epoch: Int) -> Task<Void, Never> {
        Task {
            for await notification in connection.notifications {
                received(notification, index, epoch: epoch, time: LoadClock.monotonic)
            }
            ended(connection, index, epoch: epoch)
        }
    }

    private func received(_ notification: Notification, _ index: Int, epoch: Int, time: Int64) {
        guard clients[index].epoch == epoch else { return }
        tally.notifications += 1
        let name = clients[index].name
        switch notification {
        case .messages(let batch):
            if batch.messages.isEmpty { fault(.wrongNotification, "on-messages without messages, to \(name)") }
            guard let session = clients[index].session else { break }
            for message in batch.messages {
                tally.messagesDelivered += 1
                let delay = ledger.received(message, by: session, time: time, faults: &tally.faults)
                if let delay { tally.deliveries.add(microseconds: delay / 1000) }
                clients[index].messageSerial = max(clients[index].messageSerial ?? 0, message.serial)
            }
        case .qos(let batch):
            for message in batch.messages {
                if clients[index].view.players[message.playerID] == nil {
                    fault(.wrongNotification, "qos of \(message.playerID), who is not there, to \(name)")
                }
                // As the vendor's clients do: a wrong serial here would cost messages.
                clients[index].messageSerial = max(clients[index].messageSerial ?? 0, message.serial)
            }
        case .disconnect(let notice):
            fault(.thrownOut, "\(name), with code \(notice.code.rawValue): \(notice.error)")
        // A mute may come too late for its track; the views are compared anyway.
        case .frameError(let error) where error.type != "mute-tracks":
            fault(.requestFailed, "\(name): a frame was answered with \(error.code.rawValue): \(error.error)")
        default:
            for problem in clients[index].view.apply(notification) {
                fault(.wrongNotification, "\(problem), to \(name)")
            }
        }
        wake()
    }

    private func ended(_ connection: SignallingConnection, _ index: Int, epoch: Int) {
        guard clients[index].epoch == epoch else { return }
        if connection.unreadableFrames > 0 {
            fault(.unreadable, "\(connection.unreadableFrames) to \(clients[index].name)")
        }
        if clients[index].phase == .connected {
            fault(.connectionLost, "\(clients[index].name): \(connection.end.map { "\($0)" } ?? "no reason")")
            away(index, isSilent: true, plan: .resume, after: 1)
        }
        wake()
    }

    // MARK: Waiting

    /// Waits until something that comes in makes it true.
    ///
    /// - Returns: false at the deadline.
    func wait(_ seconds: Int, until isDone: @escaping () -> Bool) async -> Bool {
        if isDone() { return true }
        waits += 1
        let number = waits
        let timer = Task {
            try? await Task.sleep(for: .seconds(seconds))
            if !Task.isCancelled { giveUp(number) }
        }
        await withCheckedContinuation { waiter = Waiter(isDone: isDone, continuation: $0) }
        timer.cancel()
        return isDone()
    }

    private func wake() {
        guard let waiter, waiter.isDone() else { return }
        self.waiter = nil
        waiter.continuation.resume()
    }

    private func giveUp(_ number: Int) {
        guard waits == number, let waiter else { return }
        self.waiter = nil
        waiter.continuation.resume()
    }
}
