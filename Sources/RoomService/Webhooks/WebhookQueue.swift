package import MediaWire
package import RoomControl

/// Which event goes out when. Of each room one is under way, and the next follows when that was accepted or given up;
/// rooms and apps take turns. Pure: time and randomness are arguments, sending is somebody else's.
package struct WebhookQueue: Sendable {
    package struct Settings: Hashable, Sendable {
        /// Events that wait or are under way: of one room, of one app, of all. What comes beyond is dropped.
        package var roomLimit = 256
        package var appLimit = 5_000
        package var totalLimit = 10_000
        /// Requests at one time, of one app and of all: an app whose receiver hangs leaves room for the others.
        package var appRequests = 16
        package var requests = 32
        /// The wait after the first failure, doubled after each further one up to the longest; the second half of each
        /// wait is random.
        package var firstDelay = MediaDuration.seconds(1)
        package var longestDelay = MediaDuration.seconds(60)
        /// An event is given up after so many tries, or at this age, whichever comes first.
        package var attempts = 8
        package var lifetime = MediaDuration.seconds(300)

        package init() {}
    }

    /// One attempt to make.
    package struct Delivery: Hashable, Sendable {
        package var event: WebhookEvent
        /// From 1.
        package var attempt: Int

        package init(event: WebhookEvent, attempt: Int) {
            self.event = event
            self.attempt = attempt
        }

        package var room: RoomKey { event.room }
    }

    package enum Outcome: Hashable, Sendable {
        case accepted
        /// Worth another try.
        case failed
        /// No other try would do better.
        case hopeless
    }

    /// What came of a result.
    package enum Consequence: Hashable, Sendable {
        case delivered
        case retry(at: MediaTime)
        case givenUp
        /// Nothing of that room was under way.
        case none
    }

    private struct Entry {
        let event: WebhookEvent
        let offered: MediaTime
    }

    private struct Room {
        var events = FIFO<Entry>()
        /// Failed attempts of the first event.
        var failures = 0
        var isUnderWay = false
    }

    private struct AppShare {
        var events = 0
        var requests = 0
        /// Rooms whose first event may go.
        var ready = FIFO<RoomKey>()
        /// Whether the app stands in `turns`.
        var hasTurn = false
    }

    private struct Wait {
        let due: MediaTime
        let room: RoomKey
    }

    package let settings: Settings
    /// Exactly the rooms and apps that have events.
    private var rooms: [RoomKey: Room] = [:]
    private var apps: [String: AppShare] = [:]
    /// Apps that have a ready room and may begin a request.
    private var turns = FIFO<String>()
    /// Rooms that wait for their next attempt, the earliest last.
    private var waiting: [Wait] = []
    private var requests = 0
    private var isFinishing = false
    private var isAbandoned = false
    package private(set) var statistics = WebhookStatistics()

    package init(settings: Settings = Settings()) { self.settings = settings }

    package var isEmpty: Bool { rooms.isEmpty }

    /// When `next` may have something new, if no result and no event comes before.
    package var nextDeadline: MediaTime? { waiting.last?.due }

    // MARK: Events in

    /// Takes an event at the end of its room's queue. False: no place, it is dropped and counted.
    package mutating func offer(_ event: WebhookEvent, now: MediaTime) -> Bool {
        let key = event.room
        var room = rooms[key] ?? Room()
        var app = apps[key.app] ?? AppShare()
        guard !isAbandoned, room.events.count < settings.roomLimit, app.events < settings.appLimit,
            statistics.queued < settings.totalLimit
        else {
            statistics.dropped += 1
            return false
        }
        let isFirst = room.events.isEmpty
        // In place: a copy that the table shares would be copied with all its events.
        rooms[key] = nil
        room.events.append(Entry(event: event, offered: now))
        rooms[key] = room
        app.events += 1
        apps[key.app] = app
        statistics.queued += 1
        if isFirst { makeReady(key) }
        return true
    }

    // MARK: Attempts out

    /// The next attempt to begin now; from here until `result` it is under way. `nil`: none for the moment.
    package mutating func next(_ now: MediaTime) -> Delivery? {
        while let wait = waiting.last, wait.due <= now {
            waiting.removeLast()
            makeReady(wait.room)
        }
        while requests < settings.requests, let name = turns.popFirst() {
            apps[name]?.hasTurn = false
            guard let key = apps[name]?.ready.popFirst() else { continue }
            let delivery = begin(key, now)
            offerTurn(name)
            if let delivery { return delivery }
        }
        return nil
    }

    /// The first event of the room that is not too old; `nil` if none is left.
    private mutating func begin(_ key: RoomKey, _ now: MediaTime) -> Delivery? {
        while let entry = rooms[key]?.events.first {
            if now >= entry.offered + settings.lifetime {
                statistics.failed += 1
                removeFirst(of: key)
                continue
            }
            rooms[key]?.isUnderWay = true
            apps[key.app]?.requests += 1
            requests += 1
            statistics.underWay = requests
            return Delivery(event: entry.event, attempt: (rooms[key]?.failures ?? 0) + 1)
        }
        return nil
    }

    /// How the attempt that is under way for the room went.
    package mutating func result(
        _ outcome: Outcome, of key: RoomKey, now: MediaTime, random: inout RandomSource
    ) -> Consequence {
        guard let room = rooms[key], room.isUnderWay, let entry = room.events.first else { return .none }
        rooms[key]?.isUnderWay = false
        apps[key.app]?.requests -= 1
        requests -= 1
        statistics.underWay = requests
        defer { offerTurn(key.app) }
        switch outcome {
        case .accepted: statistics.sent += 1
        case .hopeless: statistics.failed += 1
        case .failed:
            let failures = room.failures + 1
            if isFinishing {
                // There is no time for a receiver that does not answer: its room's other events go with this one.
                statistics.failed += UInt64(room.events.count)
                while rooms[key] != nil { removeFirst(of: key) }
                return .givenUp
            }
            if failures < settings.attempts {
                let due = now + Self.delay(after: failures, settings, random: &random)
                if due < entry.offered + settings.lifetime {
                    statistics.retried += 1
                    rooms[key]?.failures = failures
                    wait(Wait(due: due, room: key))
                    return .retry(at: due)
                }
            }
            statistics.failed += 1
        }
        removeFirst(of: key)
        if rooms[key] != nil { makeReady(key) }
        return outcome == .accepted ? .delivered : .givenUp
    }

    /// The wait after so many failures of one event: half of it certain, half of it random.
    package static func delay(
        after failures: Int, _ settings: Settings, random: inout RandomSource
    ) -> MediaDuration {
        var whole = settings.firstDelay.nanoseconds
        for _ in 1..<max(1, failures) where whole < settings.longestDelay.nanoseconds {
            let (doubled, overflow) = whole.multipliedReportingOverflow(by: 2)
            whole = overflow ? .max : doubled
        }
        whole = max(0, min(whole, settings.longestDelay.nanoseconds))
        return MediaDuration(nanoseconds: whole - Int64.random(in: 0...whole / 2, using: &random))
    }

    // MARK: The end

    /// From now on every event has one attempt left, and those that wait have it at once.
    package mutating func finish() {
        isFinishing = true
        for wait in waiting.reversed() { makeReady(wait.room) }
        waiting = []
    }

    /// Gives up all there is; nothing is taken any more.
    package mutating func abandon() {
        isAbandoned = true
        statistics.failed += UInt64(statistics.queued)
        (statistics.queued, statistics.underWay, requests) = (0, 0, 0)
        (rooms, apps, turns, waiting) = ([:], [:], FIFO(), [])
    }

    // MARK: Tables

    private mutating func makeReady(_ key: RoomKey) {
        apps[key.app]?.ready.append(key)
        offerTurn(key.app)
    }

    /// Puts the app at the end of the turns if it may begin a request and does not stand there.
    private mutating func offerTurn(_ name: String) {
        guard let app = apps[name], !app.hasTurn, !app.ready.isEmpty, app.requests < settings.appRequests
        else { return }
        apps[name]?.hasTurn = true
        turns.append(name)
    }

    private mutating func removeFirst(of key: RoomKey) {
        guard rooms[key]?.events.popFirst() != nil else { return }
        rooms[key]?.failures = 0
        if rooms[key]?.events.isEmpty == true { rooms[key] = nil }
        statistics.queued -= 1
        apps[key.app]?.events -= 1
        if apps[key.app]?.events == 0 { apps[key.app] = nil }
    }

    private mutating func wait(_ wait: Wait) {
        var (low, high) = (0, waiting.count)
        while low < high {
            let middle = (low + high) / 2
            if waiting[middle].due > wait.due { low = middle + 1 } else { high = middle }
        }
        waiting.insert(wait, at: low)
    }
}

/// First in, first out, in constant time on average.
private struct FIFO<Element> {
    private var elements: [Element?] = []
    private var head = 0

    var count: Int { elements.count - head }
    var isEmpty: Bool { count == 0 }
    var first: Element? { isEmpty ? nil : elements[head] }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = elements[head]
        elements[head] = nil
        head += 1
        if head >= 32, head * 2 >= elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }
}

extension FIFO: Sendable where Element: Sendable {}
