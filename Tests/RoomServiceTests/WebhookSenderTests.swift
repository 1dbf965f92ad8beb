import FoundationEssentials
import MediaWire
import RoomControl
import RoomService
import Synchronization
import Testing
import WebTransport

/// The sender against a real HTTP server on loopback. Waits are short settings of the sender, or conditions.
@Suite(.timeLimit(.minutes(1)))
struct WebhookSenderTests {
    static let key = AccessKey(id: "devkey", secret: "hook-secret")
    private static let room = RoomKey(app: "demo", room: "room")

    private static func settings(
        attempts: Int = 8, timeout: Duration = .seconds(5), allow: [String] = []
    ) throws -> WebhookSender.Settings {
        var settings = WebhookSender.Settings()
        settings.queue.firstDelay = .milliseconds(2)
        settings.queue.longestDelay = .milliseconds(10)
        settings.queue.attempts = attempts
        settings.timeout = timeout
        settings.allowed = try WebhookAllowList(allow)
        return settings
    }

    private static func sender(
        to url: String, _ settings: WebhookSender.Settings, log: @escaping @Sendable (String) -> Void = { _ in }
    ) throws -> WebhookSender {
        try WebhookSender(settings: settings, log: log) { app in
            app == "deaf" ? nil : WebhookTarget(url: url, key: key)
        }
    }

    /// Whatever must come sooner or later; the suite's time limit ends what never comes.
    private static func eventually(_ condition: () -> Bool) async {
        while !condition() { try? await Task.sleep(for: .milliseconds(1)) }
    }

    private static let life: [RoomNotice] = [
        .created(byServer: false), .joined(user: "alice"), .published(user: "alice", track: "t", .vp8, tag: "camera"),
        .muted(user: "alice", track: "t", true, byServer: false), .unpublished(user: "alice", track: "t"),
        .left(user: "alice", .left), .closed(.empty),
    ]

    @Test func everyRoomsEventsComeInOrderAndSigned() async throws {
        let receiver = try Receiver()
        let sender = try Self.sender(to: receiver.url + "hooks/parlor?v=1", try Self.settings())
        let rooms = (0..<20).map { RoomKey(app: $0 % 2 == 0 ? "demo" : "other", room: "room-\($0)") }
        await withDiscardingTaskGroup { group in
            for (number, room) in rooms.enumerated() {
                group.addTask {
                    for notice in Self.life { sender.observe(room, RoomInstance(UInt32(number)), notice) }
                }
            }
        }
        await Self.eventually { sender.statistics.sent == 20 * 7 }
        let arrivals = receiver.arrivals
        #expect(arrivals.allSatisfy { $0.target == "/hooks/parlor?v=1" && $0.isGenuine })
        for room in rooms {
            let events = arrivals.map(\.event).filter { $0.room == room }
            #expect(events.map(\.event) == Self.life.map { WebhookEvent.Kind($0) })
            #expect(events.map(\.sequence) == Array(1...7))
        }
        #expect(Set(arrivals.map(\.event.id)).count == arrivals.count)
        #expect(receiver.mostAtOnceOfOneRoom == 1)
        #expect(sender.statistics.failed == 0 && sender.statistics.queued == 0)
        await receiver.stop()
    }

    @Test func whatWasRefusedComesAgainBeforeTheNext() async throws {
        let receiver = try Receiver { number, _ in number <= 3 ? [500, 302, 404][number - 1] : 204 }
        let sender = try Self.sender(to: receiver.url, try Self.settings())
        for notice in Self.life.prefix(2) { sender.observe(Self.room, RoomInstance(1), notice) }
        await Self.eventually { sender.statistics.sent == 2 }
        let arrivals = receiver.arrivals
        #expect(arrivals.map(\.event.sequence) == [1, 1, 1, 1, 2])
        #expect(Set(arrivals.prefix(4).map(\.body)).count == 1)
        #expect(arrivals.allSatisfy { $0.isGenuine && $0.target == "/" })
        #expect(sender.statistics.retried == 3)
        await receiver.stop()
    }

    @Test func aReceiverThatStartsLateGetsEverything() async throws {
        let absent = HTTPServer()
        let port = try absent.listen(host: "127.0.0.1", port: 0)
        await absent.stop()
        let sender = try Self.sender(to: "http://127.0.0.1:\(port)/", try Self.settings(attempts: 100_000))
        for notice in Self.life { sender.observe(Self.room, RoomInstance(1), notice) }
        await Self.eventually { sender.statistics.retried >= 3 }
        let receiver = try Receiver(port: port)
        await Self.eventually { sender.statistics.sent == 7 }
        #expect(receiver.arrivals.map(\.event.sequence) == Array(1...7))
        await receiver.stop()
    }

    @Test func aStuckRoomHoldsNoOther() async throws {
        let gate = AsyncStream.makeStream(of: Void.self)
        let receiver = try Receiver { _, event in
            if event.roomName == "stuck" { for await _ in gate.stream {} }
            return 200
        }
        let sender = try Self.sender(to: receiver.url, try Self.settings(timeout: .seconds(50)))
        let stuck = RoomKey(app: "demo", room: "stuck")
        for notice in Self.life { sender.observe(stuck, RoomInstance(1000), notice) }
        for number: UInt32 in 0..<50 {
            for notice in Self.life {
                sender.observe(RoomKey(app: "demo", room: "room-\(number)"), RoomInstance(number), notice)
            }
        }
        await Self.eventually { sender.statistics.sent == 50 * 7 }
        #expect(sender.statistics.queued == 7 && sender.statistics.underWay == 1)
        gate.continuation.finish()
        await Self.eventually { sender.statistics.queued == 0 }
        #expect(receiver.arrivals.map(\.event).filter { $0.room == stuck }.map(\.sequence) == Array(1...7))
        await receiver.stop()
    }

    @Test func whoDoesNotAnswerInTimeIsAskedAgain() async throws {
        let receiver = try Receiver { number, _ in
            if number == 1 { try? await Task.sleep(for: .seconds(60)) }
            return 200
        }
        let sender = try Self.sender(to: receiver.url, try Self.settings(timeout: .milliseconds(300)))
        sender.observe(Self.room, RoomInstance(1), Self.life[0])
        await Self.eventually { sender.statistics.sent == 1 }
        #expect(sender.statistics.retried >= 1)
        await receiver.stop()
    }

    @Test func whereItMayNotPostNothingGoes() async throws {
        let receiver = try Receiver()
        for (url, allow) in [
            (receiver.url, ["example.com"]), ("ftp://127.0.0.1/", []), ("nonsense", []),
            (receiver.url.replacing("//", with: "//user:password@"), []),
        ] {
            let lines = Mutex<[String]>([])
            let sender = try Self.sender(to: url, try Self.settings(allow: allow)) { line in
                lines.withLock { $0.append(line) }
            }
            for notice in Self.life { sender.observe(Self.room, RoomInstance(1), notice) }
            await Self.eventually { sender.statistics.failed == 7 }
            #expect(sender.statistics.retried == 0)
            let log = lines.withLock(\.self)
            #expect(log.count == 1 && log[0].hasPrefix("webhooks of app demo are given up: the URL"), "\(log)")
            #expect(!log[0].contains("127.0.0.1") && !log[0].contains("password"))
        }
        #expect(receiver.arrivals.isEmpty)
        await receiver.stop()
    }

    /// Apps that are gone take no place among those that are said to fail.
    @Test func appsThatAreGoneAreForgotten() async throws {
        let lines = Mutex<[String]>([])
        let gone = Mutex(false)
        let target: @Sendable (String) -> WebhookTarget? = { app in
            app.hasPrefix("old") && gone.withLock(\.self)
                ? nil : WebhookTarget(url: "http://127.0.0.1:1/", key: Self.key)
        }
        let sender = try WebhookSender(
            settings: try Self.settings(allow: ["example.com"]), log: { line in lines.withLock { $0.append(line) } },
            target: target)
        for number in 0..<1001 {
            sender.observe(
                RoomKey(app: "old\(number)", room: "r"), RoomInstance(UInt32(number)), .created(byServer: false))
        }
        await Self.eventually { sender.statistics.failed == 1001 }
        await Self.eventually { lines.withLock(\.count) >= 1000 }
        #expect(lines.withLock(\.count) == 1000, "there is a limit")
        gone.withLock { $0 = true }
        sender.observe(RoomKey(app: "new", room: "r"), RoomInstance(5000), .created(byServer: false))
        await Self.eventually { lines.withLock(\.count) > 1000 }
        #expect(lines.withLock(\.last)?.hasPrefix("webhooks of app new are given up") == true)
    }

    @Test func anAppWithoutAURLCostsNothingButKeepsItsNumbers() async throws {
        let receiver = try Receiver()
        let url = Mutex<String?>(nil)
        let sender = try WebhookSender(settings: try Self.settings()) { _ in
            url.withLock(\.self).map { WebhookTarget(url: $0, key: Self.key) }
        }
        for notice in Self.life.prefix(3) { sender.observe(Self.room, RoomInstance(1), notice) }
        #expect(sender.statistics == WebhookStatistics())
        url.withLock { $0 = receiver.url }
        for notice in Self.life.dropFirst(3) { sender.observe(Self.room, RoomInstance(1), notice) }
        await Self.eventually { sender.statistics.sent == 4 }
        #expect(receiver.arrivals.map(\.event.sequence) == Array(4...7))
        await receiver.stop()
    }

    @Test func whatIsGivenUpIsSaidOnceWithoutSecrets() async throws {
        let receiver = try Receiver { number, _ in number <= 4 ? 503 : 200 }
        let lines = Mutex<[String]>([])
        let sender = try Self.sender(to: receiver.url + "?token=url-secret", try Self.settings(attempts: 2)) { line in
            lines.withLock { $0.append(line) }
        }
        for notice in Self.life { sender.observe(Self.room, RoomInstance(1), notice) }
        await Self.eventually { sender.statistics.sent == 5 && lines.withLock(\.count) == 2 }
        #expect(
            lines.withLock(\.self) == [
                "webhooks of app demo are given up: the receiver answered 503",
                "webhooks of app demo are accepted again",
            ])
        // Two events were tried twice each: the gap shows in the numbers.
        #expect(receiver.arrivals.map(\.event.sequence) == [1, 1, 2, 2, 3, 4, 5, 6, 7])
        #expect(sender.statistics.failed == 2)
        await receiver.stop()
    }

    @Test func aHugeAnswerIsAFailure() async throws {
        let receiver = try Receiver(answerBytes: 100_000)
        let sender = try Self.sender(to: receiver.url, try Self.settings(attempts: 2))
        sender.observe(Self.room, RoomInstance(1), Self.life[0])
        await Self.eventually { sender.statistics.failed == 1 }
        #expect(receiver.arrivals.count == 2)
        await receiver.stop()
    }

    @Test func overflowIsAGapInTheNumbers() async throws {
        let gate = AsyncStream.makeStream(of: Void.self)
        let receiver = try Receiver { _, _ in
            for await _ in gate.stream {}
            return 200
        }
        var settings = try Self.settings(timeout: .seconds(50))
        settings.queue.roomLimit = 4
        let sender = try Self.sender(to: receiver.url, settings)
        for notice in Self.life.dropLast() { sender.observe(Self.room, RoomInstance(1), notice) }
        #expect(sender.statistics.dropped == 2)
        gate.continuation.finish()
        await Self.eventually { sender.statistics.sent == 4 }
        sender.observe(Self.room, RoomInstance(1), .closed(.empty))
        await Self.eventually { sender.statistics.sent == 5 }
        #expect(receiver.arrivals.map(\.event.sequence) == [1, 2, 3, 4, 7])
        await receiver.stop()
    }

    @Test func stoppingDeliversWhatItCan() async throws {
        let receiver = try Receiver { number, _ in number == 1 ? 500 : 200 }
        var settings = try Self.settings()
        settings.queue.firstDelay = .seconds(3600)
        settings.queue.longestDelay = .seconds(3600)
        settings.queue.lifetime = .seconds(36_000)
        let sender = try Self.sender(to: receiver.url, settings)
        for notice in Self.life { sender.observe(Self.room, RoomInstance(1), notice) }
        await Self.eventually { sender.statistics.retried == 1 }
        // Without the stop it would wait for an hour.
        await sender.stop(within: .seconds(50))
        #expect(receiver.arrivals.map(\.event.sequence) == [1] + Array(1...7))
        #expect(sender.statistics.sent == 7 && sender.statistics.queued == 0)
        sender.observe(Self.room, RoomInstance(1), Self.life[0])
        #expect(sender.statistics.dropped == 1)
        await sender.stop()
        await receiver.stop()
    }

    @Test func stoppingWaitsForNobodyWhoDoesNotAnswer() async throws {
        let receiver = try Receiver { _, _ in
            try? await Task.sleep(for: .seconds(60))
            return 200
        }
        let lines = Mutex<[String]>([])
        let sender = try Self.sender(to: receiver.url, try Self.settings(timeout: .seconds(50))) { line in
            lines.withLock { $0.append(line) }
        }
        for notice in Self.life { sender.observe(Self.room, RoomInstance(1), notice) }
        // Two at once, neither of which cuts the other's time short.
        let start = ContinuousClock.now
        async let first: Void = sender.stop(within: .milliseconds(100))
        async let second: Void = sender.stop(within: .milliseconds(100))
        _ = await (first, second)
        #expect(ContinuousClock.now - start >= .milliseconds(100))
        #expect(sender.statistics.failed == 7 && sender.statistics.queued == 0)
        #expect(lines.withLock(\.self) == ["webhooks: 7 events not delivered: the node stops"])
        await receiver.stop()
    }
}

/// A back end on loopback that keeps what arrives.
private final class Receiver: Sendable {
    struct Arrival: Sendable {
        var target: String
        var body: [UInt8]
        var event: WebhookEvent
        var isGenuine: Bool
    }

    private struct State {
        var arrivals: [Arrival] = []
        var atOnce: [RoomKey: Int] = [:]
        var mostAtOnce = 0
    }

    let url: String
    private let server = HTTPServer()
    private let state = Mutex(State())
    private let apps = AppDirectory(apps: [], keys: [WebhookSenderTests.key])

    /// - Parameter answer: the status for the n-th request, from 1.
    init(
        port: UInt16 = 0, answerBytes: Int = 2,
        answer: @escaping @Sendable (Int, WebhookEvent) async -> Int = { _, _ in 200 }
    ) throws {
        url = "http://127.0.0.1:\(try server.listen(host: "127.0.0.1", port: port))/"
        server.start { [weak self] request in
            guard let self, let (number, event) = take(request) else { return HTTPResponse(status: 400) }
            let status = await answer(number, event)
            state.withLock { $0.atOnce[event.room, default: 0] -= 1 }
            return HTTPResponse(
                status: status, headers: status == 302 ? ["Location": url + "elsewhere"] : [:],
                body: status == 204 ? [] : Array(repeating: 65, count: answerBytes))
        }
    }

    var arrivals: [Arrival] { state.withLock(\.arrivals) }
    var mostAtOnceOfOneRoom: Int { state.withLock(\.mostAtOnce) }

    func stop() async { await server.stop(grace: .zero) }

    private func take(_ request: HTTPRequest) -> (Int, WebhookEvent)? {
        guard request.method == "POST",
            let event = try? JSONDecoder().decode(WebhookEvent.self, from: Data(request.body))
        else { return nil }
        let signer = try? RequestSignature.verify(
            SignableRequest(request), authorization: request.headers["Authorization"], apps: apps,
            unixTime: Int64(Date.now.timeIntervalSince1970))
        return state.withLock { state in
            state.arrivals.append(
                Arrival(
                    target: request.target, body: request.body, event: event,
                    isGenuine: signer?.key == WebhookSenderTests.key && signer?.signedBody == true
                        && request.headers["X-Qiniu-Date"] != nil))
            state.atOnce[event.room, default: 0] += 1
            state.mostAtOnce = max(state.mostAtOnce, state.atOnce[event.room] ?? 0)
            return (state.arrivals.count, event)
        }
    }
}
