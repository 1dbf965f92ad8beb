import FoundationEssentials
package import MediaWire
package import RoomControl
import Synchronization
package import WebTransport

/// Brings what happens in rooms to the apps' back ends. The shell around a `WebhookQueue`: it sends what that says and
/// tells it how it went.
package final class WebhookSender: Sendable {
    package struct Settings: Sendable {
        package var queue = WebhookQueue.Settings()
        /// For one attempt: name, connection, TLS, request and answer.
        package var timeout = Duration.seconds(5)
        package var allowed = WebhookAllowList.everything

        package init() {}
    }

    private struct State {
        var sessions: WebhookSessions
        var queue: WebhookQueue
        var random: RandomSource
        var alarm: (time: MediaTime, cancel: @Sendable () -> Void)?
        var tasks: [UInt64: Task<Void, Never>] = [:]
        var lastTask: UInt64 = 0
        /// Apps whose events are being given up: said once, and once more when it is over.
        var failingApps: Set<String> = []
        var stopping: [CheckedContinuation<Void, Never>] = []
    }

    /// Begins the name of every room session of this run; a hyphen and a number follow.
    package let sessionPrefix: String
    private let settings: Settings
    private let clock: RoomClock
    private let unixMilliseconds: @Sendable () -> Int64
    private let log: @Sendable (String) -> Void
    private let target: @Sendable (String) -> WebhookTarget?
    private let http: HTTPClient
    private let state: Mutex<State>

    /// Bytes of an answer, which nobody reads; a larger one counts as a failure.
    private static let answerLimit = 64 * 1024
    /// Apps that are remembered as failing.
    private static let failingAppLimit = 1000

    /// - Parameters:
    ///   - trust: who vouches for the receivers' certificates.
    ///   - unixMilliseconds: the events' time.
    ///   - log: gets a line when an app's events begin to be given up, and when they are accepted again.
    ///   - target: where the app of that id wants its events; `nil`: nowhere. Asked for each notice and each attempt, so
    ///     a change holds at once; must not block.
    /// - Throws: `.tls` when the authorities cannot be read.
    package init(
        settings: Settings = Settings(), clock: RoomClock = .system, random: RandomSource = .system,
        trust: TLSTrust = .system,
        unixMilliseconds: @escaping @Sendable () -> Int64 = { Int64(Date.now.timeIntervalSince1970 * 1000) },
        log: @escaping @Sendable (String) -> Void = { _ in },
        target: @escaping @Sendable (String) -> WebhookTarget?
    ) throws(WebTransportError) {
        self.settings = settings
        self.clock = clock
        self.unixMilliseconds = unixMilliseconds
        self.log = log
        self.target = target
        http = try HTTPClient(trust: trust, threadName: "webhooks")
        var random = random
        sessionPrefix = Base64URL.encode(random.bytes(6), padded: false)
        state = Mutex(
            State(
                sessions: WebhookSessions(prefix: sessionPrefix), queue: WebhookQueue(settings: settings.queue),
                random: random))
    }

    /// Something happened in a room: to be called in the order of the room's events. Never waits: what it takes is a lock
    /// that is held for microseconds.
    package func observe(_ room: RoomKey, _ instance: RoomInstance, _ notice: RoomNotice) {
        let (time, now) = (unixMilliseconds(), clock.now())
        let isWanted = target(room.app) != nil
        let ended = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            // Numbered also when nobody listens, so that a number is an event's place in its session.
            guard let event = state.sessions.event(notice, in: room, instance, unixMilliseconds: time), isWanted,
                state.queue.offer(event, now: now)
            else { return [] }
            return proceed(&state, now)
        }
        for continuation in ended { continuation.resume() }
    }

    package var statistics: WebhookStatistics { state.withLock { $0.queue.statistics } }

    /// Tries once to deliver what there is, no longer than the limit, and gives up the rest; what comes afterwards is
    /// dropped. Call it when the rooms are closed, so that their last events are there.
    package func stop(within limit: MediaDuration = .seconds(1)) async {
        let now = clock.now()
        let cancel = clock.schedule(now + limit) { [weak self] in self?.abandon() }
        await withCheckedContinuation { continuation in
            let ended = state.withLock { state in
                state.stopping.append(continuation)
                state.queue.finish()
                return proceed(&state, now)
            }
            for continuation in ended { continuation.resume() }
        }
        cancel()
        abandon()
    }

    private func abandon() {
        let (tasks, ended, lost) = state.withLock { state in
            let lost = state.queue.statistics.queued
            state.queue.abandon()
            state.alarm?.cancel()
            state.alarm = nil
            let tasks = Array(state.tasks.values)
            let ended = state.stopping
            state.stopping = []
            return (tasks, ended, lost)
        }
        if lost > 0 { log("webhooks: \(lost) events not delivered: the node stops") }
        for task in tasks { task.cancel() }
        for continuation in ended { continuation.resume() }
    }

    // MARK: Under the lock

    /// Begins what may begin and sets the alarm. Gives, if all is done, those who wait for that, to be resumed once the
    /// lock is released.
    private func proceed(_ state: inout State, _ now: MediaTime) -> [CheckedContinuation<Void, Never>] {
        while let delivery = state.queue.next(now) {
            state.lastTask += 1
            let number = state.lastTask
            state.tasks[number] = Task { [self] in
                let (outcome, problem) = await attempt(delivery)
                finish(delivery, outcome, problem, task: number)
            }
        }
        setAlarm(&state)
        guard state.queue.isEmpty else { return [] }
        let ended = state.stopping
        state.stopping = []
        return ended
    }

    private func setAlarm(_ state: inout State) {
        let deadline = state.queue.nextDeadline
        if let alarm = state.alarm, let deadline, alarm.time <= deadline { return }
        state.alarm?.cancel()
        state.alarm = nil
        guard let deadline else { return }
        let cancel = clock.schedule(deadline) { [weak self] in self?.ring(deadline) }
        state.alarm = (deadline, cancel)
    }

    private func ring(_ time: MediaTime) {
        let now = clock.now()
        let ended = state.withLock { state in
            if state.alarm?.time == time { state.alarm = nil }
            return proceed(&state, now)
        }
        for continuation in ended { continuation.resume() }
    }

    // MARK: One attempt

    private func attempt(_ delivery: WebhookQueue.Delivery) async -> (WebhookQueue.Outcome, problem: String) {
        guard let target = target(delivery.room.app) else { return (.hopeless, "the app has no URL any more") }
        let request: WebhookRequest
        do {
            request = try WebhookRequest(
                delivery.event, to: target, allowed: settings.allowed, unixTime: clock.unixTime())
        } catch { return (.hopeless, error.message) }
        do {
            let answer = try await http.request(
                "POST", request.url, headers: request.headers, body: request.body, timeout: settings.timeout,
                bodyLimit: Self.answerLimit)
            // A redirect is not followed: it would lead where the allow list was not asked.
            return (200..<300).contains(answer.status)
                ? (.accepted, "") : (.failed, "the receiver answered \(answer.status)")
        } catch {
            return (error.kind == .badURL ? .hopeless : .failed, Self.words(error.kind))
        }
    }

    private func finish(
        _ delivery: WebhookQueue.Delivery, _ outcome: WebhookQueue.Outcome, _ problem: String, task: UInt64
    ) {
        let now = clock.now()
        let app = delivery.room.app
        let (ended, line) = state.withLock { state -> ([CheckedContinuation<Void, Never>], String?) in
            state.tasks[task] = nil
            let consequence = state.queue.result(outcome, of: delivery.room, now: now, random: &state.random)
            var line: String?
            switch consequence {
            case .delivered:
                if state.failingApps.remove(app) != nil { line = "webhooks of app \(app) are accepted again" }
            case .givenUp:
                if state.failingApps.contains(app) { break }
                // Apps that were deleted, or want no events any more, are not failing and take no place.
                state.failingApps = state.failingApps.filter { target($0) != nil }
                if state.failingApps.count < Self.failingAppLimit {
                    state.failingApps.insert(app)
                    line = "webhooks of app \(app) are given up: \(problem)"
                }
            case .retry, .none: break
            }
            return (proceed(&state, now), line)
        }
        if let line { log(line) }
        for continuation in ended { continuation.resume() }
    }

    /// The client's own sentence may hold the URL, and that a secret.
    private static func words(_ kind: WebTransportError.Kind) -> String {
        switch kind {
        case .resolve: "the receiver's name has no address"
        case .connect: "no connection to the receiver"
        case .tls: "no TLS with the receiver"
        case .timeout: "the receiver did not answer in time"
        case .closed: "the receiver closed the connection without an answer"
        case .protocolViolation: "the receiver's answer is not HTTP"
        case .tooLarge: "the receiver's answer is too large"
        case .cancelled: "the node stops"
        case .listen, .refused, .badURL: "the URL cannot be used"
        }
    }
}
