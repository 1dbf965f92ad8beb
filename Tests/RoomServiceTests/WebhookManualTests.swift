import Foundation
import MediaWire
import RoomControl
import RoomService
import Testing
import WebTransport

/// What docs/webhooks.md says is so.
@Suite(.timeLimit(.minutes(1)))
struct WebhookManualTests {
    private static func manual() throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: "docs/webhooks.md"), encoding: .utf8)
    }

    private static func block(_ language: String) throws -> String {
        let text = try manual()
        let start = try #require(text.firstRange(of: "```\(language)\n")).upperBound
        return String(text[start..<(try #require(text[start...].firstRange(of: "```\n")).lowerBound)])
    }

    @Test func everyEventAndReasonIsExplained() throws {
        let text = try Self.manual()
        for kind in WebhookEvent.Kind.allCases { #expect(text.contains("`\(kind.rawValue)`"), "\(kind.rawValue)") }
        let settings = WebhookQueue.Settings()
        #expect(settings.roomLimit == 256 && settings.appLimit == 5000 && settings.totalLimit == 10_000)
        #expect(text.contains("256 events, an app 5,000, a node 10,000"))
        #expect(settings.requests == 32 && settings.appRequests == 16)
        #expect(text.contains("At most 32 requests run at one time, 16 of one app"))
        #expect(settings.attempts == 8 && settings.lifetime == .seconds(300))
        #expect(text.contains("given up after 8 attempts or at an age of 5 minutes"))
    }

    @Test func theExampleIsAnEvent() throws {
        let event = try JSONDecoder().decode(WebhookEvent.self, from: Data(Self.block("json").utf8))
        #expect(event.event == .trackPublished && event.id == "\(event.roomSession)-\(event.sequence)")
    }

    /// The receiver of the manual, run as it stands: it takes what the sender signs, and nothing else.
    @Test func theReceiverInPythonChecksSignatures() async throws {
        let folder = URL.temporaryDirectory.appending(path: "parlor-webhooks-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let script = folder.appending(path: "receiver.py")
        try Data(Self.block("python").utf8).write(to: script)
        // A free port of a moment ago.
        let probe = HTTPServer()
        let port = try probe.listen(host: "127.0.0.1", port: 0)
        await probe.stop()

        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", script.path, "\(port)"]
        process.standardOutput = output
        try process.run()
        // Not SIGTERM: threads of Swift's pool block it, and their child would inherit that.
        defer {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        let room = RoomKey(app: "demo", room: "class-5")
        func sender(secret: String, attempts: Int) throws -> WebhookSender {
            var settings = WebhookSender.Settings()
            settings.queue.firstDelay = .milliseconds(20)
            settings.queue.longestDelay = .milliseconds(50)
            // Python takes a while to start.
            settings.queue.attempts = attempts
            return try WebhookSender(settings: settings) { _ in
                WebhookTarget(url: "http://127.0.0.1:\(port)/hook?x=1", secret: secret, keyID: "devkey")
            }
        }
        let right = try sender(secret: "devsecret", attempts: 10_000)
        for notice: RoomNotice in [.created(byServer: false), .joined(user: "alice"), .left(user: "alice", .left)] {
            right.observe(room, RoomInstance(1), notice)
        }
        while right.statistics.queued > 0 { try await Task.sleep(for: .milliseconds(5)) }
        #expect(right.statistics.sent == 3)
        let wrong = try sender(secret: "other", attempts: 2)
        wrong.observe(room, RoomInstance(1), .created(byServer: false))
        while wrong.statistics.queued > 0 { try await Task.sleep(for: .milliseconds(5)) }
        #expect(wrong.statistics.failed == 1)

        kill(process.processIdentifier, SIGKILL)
        let text = String(decoding: try #require(try output.fileHandleForReading.readToEnd()), as: UTF8.self)
        #expect(text == "1 room.created class-5 -\n2 user.joined class-5 alice\n3 user.left class-5 alice\n")
    }
}
