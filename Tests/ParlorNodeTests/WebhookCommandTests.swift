import Foundation
import ParlorNode
import RoomControl
import Testing
import WebTransport

@Suite(.timeLimit(.minutes(1)))
struct WebhookCommandTests {
    @Test(arguments: [
        (["webhooks"], "parlor: \"webhooks\" needs another word: listen"),
        (["webhooks", "lsten"], "parlor: no command \"webhooks lsten\"; did you mean \"webhooks listen\"?"),
        (["webhooks", "listen", "--listen", "localhost:9000"], "parlor: --listen: \"localhost\" is not an address"),
        (["webhooks", "listen", "--listen", "127.0.0.1"], "parlor: --listen: \"127.0.0.1\" has no port"),
        (["webhooks", "listen", "--fail", "some"], "parlor: --fail: \"some\" is not a number of requests"),
        (["webhooks", "listen", "--fail", "-1"], "parlor: --fail: \"-1\" is not a number of requests"),
        (["webhooks", "listen", "--access-key", "a:b"], "parlor: \"a:b\" is not an access key"),
        (["webhooks", "listen", "extra"], "parlor: webhooks listen does not take \"extra\""),
    ])
    func badUsageIsOneLineAndCodeTwo(arguments: [String], message: String) async throws {
        let outcome = try await CommandRunner.run(arguments)
        #expect(outcome.code == 2)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.hasPrefix(message), "got \(outcome.errors)")
        #expect(outcome.errors.split(separator: "\n").count == 1)
    }

    @Test func aTakenPortIsAFailure() async throws {
        let server = HTTPServer()
        let port = try server.listen(host: "127.0.0.1", port: FreePorts.tcp())
        let outcome = try await CommandRunner.run("webhooks", "listen", "--listen", "127.0.0.1:\(port)")
        #expect(outcome.code == 1)
        #expect(outcome.errors.hasPrefix("parlor: cannot listen on TCP 127.0.0.1:\(port)"), "got \(outcome.errors)")
    }

    @Test func theManualsConfigurationLoads() throws {
        let text = try Package.text("docs/webhooks.md")
        let start = try #require(text.firstRange(of: "```yaml\n")).upperBound
        let end = try #require(text[start...].firstRange(of: "```\n")).lowerBound
        let loaded = try ConfigurationLoader.load(
            base: NodeConfiguration(), file: .init(path: "hooks.yaml", text: String(text[start..<end])),
            environment: [:], flags: [:], machine: .init(cores: 2))
        #expect(loaded.configuration.apps.first?.settings.eventCbUrl == "http://127.0.0.1:9000/")
        #expect(loaded.configuration.media.plain.enabled)
    }

    @Test func helpTellsTheOptions() async throws {
        let outcome = try await CommandRunner.run("webhooks", "listen", "--help")
        #expect(outcome.code == 0)
        for option in ["--listen", "--access-key", "--secret", "--fail", "--json"] {
            #expect(outcome.output.contains("  \(option)"))
        }
    }

    /// Runs the listener while the body sends, then stops it; gives its lines.
    private func received(
        _ options: [String] = [], _ body: (_ client: HTTPClient, _ url: String) async throws -> Void
    ) async throws -> [String] {
        let port = try FreePorts.tcp()
        let (output, errors) = (try TemporaryFile(), try TemporaryFile())
        let console = Console(output: output.descriptor, errors: errors.descriptor)
        let stop = StopRequest()
        let arguments = ["webhooks", "listen", "--listen", "127.0.0.1:\(port)"] + options
        let running = Task { await Program.execute(arguments, environment: [:], console: console, stop: stop) }
        while !errors.text.contains("listening on http://127.0.0.1:\(port)/") { await Task.yield() }
        try await body(try HTTPClient(), "http://127.0.0.1:\(port)/hook")
        #expect(stop.request())
        #expect(await running.value == 0)
        return output.text.split(separator: "\n").map(String.init)
    }

    private static func event(_ sequence: Int, _ name: String, _ more: String = "") -> String {
        """
        {"id":"s-\(sequence)","version":1,"event":"\(name)","time":1800000000123,"appId":"demo","roomName":"room",\
        "roomSession":"s","sequence":\(sequence)\(more),"somethingNew":[1]}
        """
    }

    private static func post(
        _ client: HTTPClient, _ url: String, _ body: String, secret: String = "devsecret", age: TimeInterval = 0
    ) async throws -> Int {
        let address = try WebURL(url)
        let host = "\(address.host):\(address.port)"
        let date = Date(timeIntervalSinceNow: -age).formatted(
            Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted, timeZone: .gmt))
        let signable = SignableRequest(
            method: "POST", target: address.target, host: host, contentType: "application/json",
            qiniuHeaders: [("X-Qiniu-Date", date)], body: Array(body.utf8))
        let authorization = RequestSignature.authorization(
            for: signable, key: AccessKey(id: "devkey", secret: secret))
        return try await client.request(
            "POST", url,
            headers: [
                "Host": host, "Content-Type": "application/json", "X-Qiniu-Date": date,
                "Authorization": authorization,
            ], body: Array(body.utf8)
        ).status
    }

    @Test func whatArrivesIsPrinted() async throws {
        let lines = try await received { (client, url) async throws in
            for body in [
                Self.event(1, "room.created", #","byServer":true"#),
                Self.event(2, "user.joined", #","userId":"alice""#),
                Self.event(
                    3, "track.published",
                    #","userId":"alice","track":{"trackId":"t1","kind":"video","codec":"VP8","tag":"camera"}"#),
                Self.event(4, "user.kicked", #","userId":"alice","kickedBy":"bob","byServer":false"#),
                Self.event(5, "user.left", #","userId":"alice","reason":"kicked""#),
            ] { #expect(try await Self.post(client, url, body) == 200) }
            #expect(try await Self.post(client, url, Self.event(6, "room.closed"), secret: "guess") == 200)
            #expect(try await Self.post(client, url, Self.event(7, "room.closed"), age: 1000) == 200)
            #expect(try await client.request("POST", url, body: Array(Self.event(8, "room.closed").utf8)).status == 200)
        }
        let time = "08:00:00.123Z"
        #expect(
            lines == [
                "\(time)  room.created       demo/room #1  -  by the server  signature ok",
                "\(time)  user.joined        demo/room #2  alice  signature ok",
                "\(time)  track.published    demo/room #3  alice  video VP8 t1, tag camera  signature ok",
                "\(time)  user.kicked        demo/room #4  alice  by bob  signature ok",
                "\(time)  user.left          demo/room #5  alice  reason kicked  signature ok",
                "\(time)  room.closed        demo/room #6  -  signature WRONG: wrong access key or signature",
                "\(time)  room.closed        demo/room #7  -  signature WRONG: X-Qiniu-Date is more than 15 minutes from now",
                "\(time)  room.closed        demo/room #8  -  signature WRONG: the request is not signed: Authorization is missing",
            ])
    }

    @Test func theFirstOnesFailWhenAsked() async throws {
        let lines = try await received(["--fail", "2"]) { (client, url) async throws in
            var statuses: [Int] = []
            for _ in 0..<4 { statuses.append(try await Self.post(client, url, Self.event(1, "room.created"))) }
            #expect(statuses == [500, 500, 200, 200])
        }
        #expect(lines.map { $0.hasSuffix("  answered 500") } == [true, true, false, false])
    }

    @Test func jsonHoldsTheEvent() async throws {
        let lines = try await received(["--json", "--fail", "1"]) { (client, url) async throws in
            #expect(try await Self.post(client, url, Self.event(1, "user.joined", #","userId":"alice""#)) == 500)
            #expect(try await Self.post(client, url, "{}") == 400)
        }
        #expect(lines.count == 2)
        let first = try #require(try JSONSerialization.jsonObject(with: Data(lines[0].utf8)) as? [String: Any])
        #expect(first["answered"] as? Int == 500 && first["signature"] as? String == "ok")
        #expect((first["event"] as? [String: Any])?["userId"] as? String == "alice")
        let second = try #require(try JSONSerialization.jsonObject(with: Data(lines[1].utf8)) as? [String: Any])
        #expect(second["answered"] as? Int == 400 && second["event"] == nil)
    }

    @Test func badRequestsAreRefusedAndSteerNoTerminal() async throws {
        let lines = try await received { (client, url) async throws in
            #expect(try await client.request("GET", url).status == 405)
            for body in ["", "nonsense", "[]", #"{"id":1}"#, String(repeating: "[", count: 100_000)] {
                #expect(try await Self.post(client, url, body) == 400)
            }
            let evil = #","userId":"a\u001b[2J\n\u009b\u202eb""#
            #expect(try await Self.post(client, url, Self.event(1, "user.joined", evil)) == 200)
        }
        #expect(lines.count == 6)
        #expect(lines[0] == "a body of 0 bytes that is not an event")
        #expect(lines.last?.contains("  a\u{FFFD}[2J\u{FFFD}\u{FFFD}\u{FFFD}b  signature ok") == true, "\(lines)")
    }
}
