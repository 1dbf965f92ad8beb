import MediaWire
import RoomControl
import RoomService
import Testing

@Suite struct WebhookQueueTests {
    private static func time(_ seconds: Double) -> MediaTime { MediaTime(nanoseconds: Int64(seconds * 1e9)) }

    private static func event(_ app: String, _ room: String, _ number: UInt64 = 1) throws -> WebhookEvent {
        try #require(
            WebhookEvent(
                .joined(user: "u"), in: RoomKey(app: app, room: room), session: "\(app)-\(room)", sequence: number,
                unixMilliseconds: 0))
    }

    private var random = RandomSource.seeded(1)

    @Test mutating func aRoomsNextEventWaitsForTheFirst() throws {
        var queue = WebhookQueue()
        for number: UInt64 in 1...3 { #expect(try queue.offer(Self.event("a", "r", number), now: .zero)) }
        for number: UInt64 in 1...3 {
            let delivery = queue.next(.zero)
            #expect(try delivery == WebhookQueue.Delivery(event: Self.event("a", "r", number), attempt: 1))
            #expect(queue.next(.zero) == nil)
            let room = RoomKey(app: "a", room: "r")
            #expect(queue.result(.accepted, of: room, now: .zero, random: &random) == .delivered)
            #expect(queue.result(.accepted, of: room, now: .zero, random: &random) == .none)
        }
        #expect(queue.isEmpty && queue.next(.zero) == nil && queue.nextDeadline == nil)
        #expect(queue.statistics.sent == 3 && queue.statistics.queued == 0)
    }

    @Test mutating func theWaitsDoubleUpToAMinuteAndEightTriesAreAll() throws {
        var queue = WebhookQueue()
        let room = RoomKey(app: "a", room: "r")
        #expect(try queue.offer(Self.event("a", "r", 1), now: .zero))
        #expect(try queue.offer(Self.event("a", "r", 2), now: .zero))
        var now = MediaTime.zero
        for (attempt, longest) in [1, 2, 4, 8, 16, 32, 60].enumerated() {
            #expect(queue.next(now)?.attempt == attempt + 1)
            guard case .retry(let due) = queue.result(.failed, of: room, now: now, random: &random) else {
                Issue.record("attempt \(attempt + 1) is the last")
                return
            }
            #expect((Double(longest) / 2...Double(longest)).contains((due - now).seconds))
            #expect(queue.nextDeadline == due)
            #expect(queue.next(MediaTime(nanoseconds: due.nanoseconds - 1)) == nil)
            now = due
        }
        #expect(queue.next(now)?.attempt == 8)
        #expect(queue.result(.failed, of: room, now: now, random: &random) == .givenUp)
        // The next one begins at once, and with a first attempt.
        #expect(try queue.next(now) == WebhookQueue.Delivery(event: Self.event("a", "r", 2), attempt: 1))
        #expect(queue.statistics.failed == 1 && queue.statistics.retried == 7)
    }

    @Test func theWaitsAreSpreadAndNeverOverflow() {
        var random = RandomSource.seeded(3)
        var settings = WebhookQueue.Settings()
        let waits = (0..<1000).map { _ in WebhookQueue.delay(after: 1, settings, random: &random).seconds }
        #expect(waits.allSatisfy { (0.5...1).contains($0) })
        #expect(waits.contains { $0 < 0.55 } && waits.contains { $0 > 0.95 })
        settings.longestDelay = MediaDuration(nanoseconds: .max)
        for failures in [0, 1, 62, 64, 1000, 1_000_000] {
            #expect(WebhookQueue.delay(after: failures, settings, random: &random) >= .milliseconds(500))
        }
        settings.firstDelay = .zero
        #expect(WebhookQueue.delay(after: 5, settings, random: &random) == .zero)
    }

    @Test mutating func whatIsTooOldIsGivenUp() throws {
        var settings = WebhookQueue.Settings()
        settings.attempts = 1000
        var queue = WebhookQueue(settings: settings)
        let room = RoomKey(app: "a", room: "r")
        #expect(try queue.offer(Self.event("a", "r", 1), now: .zero))
        #expect(try queue.offer(Self.event("a", "r", 2), now: Self.time(1)))
        #expect(try queue.offer(Self.event("a", "r", 3), now: Self.time(200)))
        _ = queue.next(Self.time(299.9))
        // No attempt before its end would come, so this was the last; the second is too old when the first one's goes.
        #expect(queue.result(.failed, of: room, now: Self.time(299.9), random: &random) == .givenUp)
        #expect(queue.next(Self.time(301))?.event.sequence == 3)
        #expect(queue.statistics.failed == 2)
    }

    @Test mutating func overflowDropsTheNewest() throws {
        var settings = WebhookQueue.Settings()
        (settings.roomLimit, settings.appLimit, settings.totalLimit) = (3, 5, 8)
        var queue = WebhookQueue(settings: settings)
        func offers(_ app: String, _ room: String) throws -> Int {
            try (1...10).count { try queue.offer(Self.event(app, room, UInt64($0)), now: .zero) }
        }
        #expect(try offers("a", "1") == 3)
        #expect(try offers("a", "2") == 2)
        #expect(try offers("b", "1") == 3)
        #expect(try offers("c", "1") == 0)
        #expect(queue.statistics.dropped == 32 && queue.statistics.queued == 8)
        // What is there is the oldest, and a place that gets free is taken by what comes then.
        #expect(try queue.next(.zero)?.event == Self.event("a", "1", 1))
        let room = RoomKey(app: "a", room: "1")
        #expect(queue.result(.hopeless, of: room, now: .zero, random: &random) == .givenUp)
        #expect(try queue.offer(Self.event("a", "1", 11), now: .zero))
        #expect(try !queue.offer(Self.event("a", "1", 12), now: .zero))
    }

    /// An app whose receiver hangs leaves requests for the others, and apps take turns.
    @Test mutating func appsShare() throws {
        var settings = WebhookQueue.Settings()
        (settings.requests, settings.appRequests) = (4, 3)
        var queue = WebhookQueue(settings: settings)
        for room in 0..<100 { #expect(try queue.offer(Self.event("stuck", "\(room)"), now: .zero)) }
        for room in 0..<3 { #expect(try queue.offer(Self.event("well", "\(room)"), now: .zero)) }
        var begun: [RoomKey] = []
        while let delivery = queue.next(.zero) { begun.append(delivery.room) }
        #expect(begun.map(\.app) == ["stuck", "well", "stuck", "well"])
        for room in begun where room.app == "well" {
            #expect(queue.result(.accepted, of: room, now: .zero, random: &random) == .delivered)
        }
        #expect(queue.next(.zero)?.room == RoomKey(app: "stuck", room: "2"))
        #expect(queue.next(.zero)?.room == RoomKey(app: "well", room: "2"))
        #expect(queue.next(.zero) == nil)
        // The fourth request stays free of the stuck app.
        _ = queue.result(.accepted, of: RoomKey(app: "well", room: "2"), now: .zero, random: &random)
        #expect(queue.next(.zero) == nil)
        #expect(queue.statistics.underWay == 3)
        #expect(try queue.offer(Self.event("well", "3"), now: .zero))
        #expect(queue.next(.zero)?.room == RoomKey(app: "well", room: "3"))
    }

    @Test mutating func atTheEndEveryRoomHasOneAttempt() throws {
        var queue = WebhookQueue()
        let rooms = (0..<2).map { RoomKey(app: "a", room: "\($0)") }
        for room in rooms {
            for number: UInt64 in 1...3 { _ = try queue.offer(Self.event("a", room.room, number), now: .zero) }
        }
        for room in rooms {
            _ = queue.next(.zero)
            _ = queue.result(.failed, of: room, now: .zero, random: &random)
        }
        #expect(queue.next(.zero) == nil)
        queue.finish()
        #expect(queue.nextDeadline == nil)
        #expect(Set([queue.next(.zero), queue.next(.zero)].map { $0?.attempt }) == [2])
        #expect(queue.result(.failed, of: rooms[0], now: .zero, random: &random) == .givenUp)
        #expect(queue.result(.accepted, of: rooms[1], now: .zero, random: &random) == .delivered)
        #expect(queue.next(.zero)?.room == rooms[1])
        #expect(queue.statistics.failed == 3 && queue.statistics.queued == 2)
        queue.abandon()
        #expect(queue.isEmpty && queue.statistics.failed == 5 && queue.statistics.underWay == 0)
        #expect(queue.result(.accepted, of: rooms[1], now: .zero, random: &random) == .none)
        #expect(try !queue.offer(Self.event("a", "0", 9), now: .zero))
    }

    @Test func metricsAreOneLineEach() {
        var statistics = WebhookStatistics()
        (statistics.sent, statistics.failed, statistics.retried, statistics.dropped) = (1, 2, 3, 4)
        (statistics.queued, statistics.underWay) = (5, 6)
        #expect(
            statistics.metrics.split(separator: "\n").filter { !$0.hasPrefix("#") } == [
                #"parlor_webhooks_total{result="sent"} 1"#, #"parlor_webhooks_total{result="failed"} 2"#,
                #"parlor_webhooks_total{result="retried"} 3"#, #"parlor_webhooks_total{result="dropped"} 4"#,
                "parlor_webhooks_queued 5", "parlor_webhook_requests 6",
            ])
    }

    // MARK: Against a model

    @Test(arguments: 1...40)
    func asTheModel(seed: UInt64) throws {
        var steps = RandomSource.seeded(seed)
        var settings = WebhookQueue.Settings()
        settings.roomLimit = Int.random(in: 1...6, using: &steps)
        settings.appLimit = Int.random(in: 2...20, using: &steps)
        settings.totalLimit = Int.random(in: 4...40, using: &steps)
        settings.appRequests = Int.random(in: 1...3, using: &steps)
        settings.requests = Int.random(in: 1...5, using: &steps)
        settings.attempts = Int.random(in: 1...5, using: &steps)
        settings.lifetime = .seconds(Int64.random(in: 1...60, using: &steps))
        var queue = WebhookQueue(settings: settings)
        var model = WebhookQueueModel(settings: settings)
        var (random, modelRandom) = (RandomSource.seeded(seed), RandomSource.seeded(seed))
        var now = MediaTime.zero
        var number: UInt64 = 0
        for step in 0..<5000 {
            let place = "seed \(seed), step \(step)"
            switch Int.random(in: 0..<100, using: &steps) {
            case 0..<35:
                number += 1
                let event = try Self.event(
                    "a\(Int.random(in: 0..<4, using: &steps))", "r\(Int.random(in: 0..<4, using: &steps))", number)
                let isTaken = queue.offer(event, now: now)
                #expect(isTaken == model.offer(event, now: now), "\(place)")
            case 35..<65: #expect(queue.next(now) == model.next(now), "\(place)")
            case 65..<95:
                // Sometimes of a room that has nothing under way.
                let candidates = model.underWay
                let room =
                    candidates.randomElement(using: &steps)
                    ?? RoomKey(app: "a\(Int.random(in: 0..<4, using: &steps))", room: "r0")
                let outcome: WebhookQueue.Outcome =
                    switch Int.random(in: 0..<10, using: &steps) {
                    case 0..<4: .accepted
                    case 4..<9: .failed
                    default: .hopeless
                    }
                let consequence = queue.result(outcome, of: room, now: now, random: &random)
                #expect(
                    consequence == model.result(outcome, of: room, now: now, random: &modelRandom), "\(place)")
            case 95..<99: now = now + .milliseconds(Int64.random(in: 0...4000, using: &steps))
            default:
                if step > 4500 {
                    queue.finish()
                    model.finish()
                }
            }
            #expect(queue.statistics == model.statistics, "\(place)")
            #expect(queue.nextDeadline == model.nextDeadline, "\(place)")
            #expect(queue.isEmpty == (model.statistics.queued == 0), "\(place)")
        }
        let counts = queue.statistics
        #expect(number == counts.sent + counts.failed + counts.dropped + UInt64(counts.queued))
        #expect(counts.sent > 50 && counts.failed > 50 && counts.dropped > 10, "seed \(seed): \(counts)")
        #expect(
            counts.retried > 50 || settings.attempts == 1 || settings.lifetime < .seconds(3), "seed \(seed): \(counts)")
    }
}

/// The same rules by looking through lists: who came first has the lowest stamp.
private struct WebhookQueueModel {
    private enum Phase: Equatable {
        case ready(stamp: Int)
        case underWay
        case waiting(due: MediaTime, stamp: Int)
    }

    private struct Room {
        var events: [(event: WebhookEvent, offered: MediaTime)]
        var failures = 0
        var phase: Phase
    }

    private let settings: WebhookQueue.Settings
    private var rooms: [RoomKey: Room] = [:]
    /// When each app that may begin a request got its turn.
    private var turns: [String: Int] = [:]
    private var lastStamp = 0
    private var isFinishing = false
    private var counts = WebhookStatistics()

    init(settings: WebhookQueue.Settings) { self.settings = settings }

    var underWay: [RoomKey] {
        rooms.filter { $0.value.phase == .underWay }.keys.sorted { ($0.app, $0.room) < ($1.app, $1.room) }
    }

    var statistics: WebhookStatistics {
        var result = counts
        result.queued = rooms.values.map(\.events.count).reduce(0, +)
        result.underWay = underWay.count
        return result
    }

    var nextDeadline: MediaTime? { firstWait?.due }

    private var firstWait: (key: RoomKey, due: MediaTime)? {
        var best: (key: RoomKey, due: MediaTime, stamp: Int)?
        for (key, room) in rooms {
            guard case .waiting(let due, let stamp) = room.phase else { continue }
            if let best, (best.due, best.stamp) < (due, stamp) { continue }
            best = (key, due, stamp)
        }
        return best.map { ($0.key, $0.due) }
    }

    private mutating func stamp() -> Int {
        lastStamp += 1
        return lastStamp
    }

    private func ready(of app: String) -> [(key: RoomKey, stamp: Int)] {
        rooms.compactMap { key, room in
            if key.app == app, case .ready(let stamp) = room.phase { (key, stamp) } else { nil }
        }.sorted { $0.stamp < $1.stamp }
    }

    private mutating func settleTurns() {
        for app in Set(rooms.keys.map(\.app)).union(turns.keys).sorted() {
            let mayBegin = !ready(of: app).isEmpty && underWay.count { $0.app == app } < settings.appRequests
            if !mayBegin { turns[app] = nil } else if turns[app] == nil { turns[app] = stamp() }
        }
    }

    mutating func offer(_ event: WebhookEvent, now: MediaTime) -> Bool {
        let ofApp = rooms.filter { $0.key.app == event.appId }.values.map(\.events.count).reduce(0, +)
        guard (rooms[event.room]?.events.count ?? 0) < settings.roomLimit, ofApp < settings.appLimit,
            statistics.queued < settings.totalLimit
        else {
            counts.dropped += 1
            return false
        }
        if rooms[event.room] == nil { rooms[event.room] = Room(events: [], phase: .ready(stamp: stamp())) }
        rooms[event.room]?.events.append((event, now))
        settleTurns()
        return true
    }

    mutating func next(_ now: MediaTime) -> WebhookQueue.Delivery? {
        while let wait = firstWait, wait.due <= now {
            let ready = Phase.ready(stamp: stamp())
            rooms[wait.key]?.phase = ready
            settleTurns()
        }
        while underWay.count < settings.requests, let app = turns.min(by: { $0.value < $1.value })?.key,
            let key = ready(of: app).first?.key
        {
            turns[app] = nil
            defer { settleTurns() }
            while let entry = rooms[key]?.events.first, now >= entry.offered + settings.lifetime { fail(key) }
            guard let room = rooms[key], let entry = room.events.first else { continue }
            rooms[key]?.phase = .underWay
            return WebhookQueue.Delivery(event: entry.event, attempt: room.failures + 1)
        }
        return nil
    }

    mutating func result(
        _ outcome: WebhookQueue.Outcome, of key: RoomKey, now: MediaTime, random: inout RandomSource
    ) -> WebhookQueue.Consequence {
        guard let room = rooms[key], room.phase == .underWay else { return .none }
        defer { settleTurns() }
        if outcome == .accepted {
            counts.sent += 1
            remove(key)
            return .delivered
        }
        if outcome == .failed, isFinishing {
            while rooms[key] != nil { fail(key) }
            return .givenUp
        }
        if outcome == .failed, room.failures + 1 < settings.attempts {
            let due = now + WebhookQueue.delay(after: room.failures + 1, settings, random: &random)
            if due < room.events[0].offered + settings.lifetime {
                counts.retried += 1
                rooms[key]?.failures += 1
                let waiting = Phase.waiting(due: due, stamp: stamp())
                rooms[key]?.phase = waiting
                return .retry(at: due)
            }
        }
        fail(key)
        return .givenUp
    }

    mutating func finish() {
        isFinishing = true
        while let wait = firstWait {
            let ready = Phase.ready(stamp: stamp())
            rooms[wait.key]?.phase = ready
            settleTurns()
        }
    }

    private mutating func fail(_ key: RoomKey) {
        counts.failed += 1
        remove(key)
    }

    /// Takes the first event; what follows it is ready.
    private mutating func remove(_ key: RoomKey) {
        rooms[key]?.events.removeFirst()
        rooms[key]?.failures = 0
        let ready = Phase.ready(stamp: stamp())
        rooms[key]?.phase = ready
        if rooms[key]?.events.isEmpty == true { rooms[key] = nil }
    }
}
