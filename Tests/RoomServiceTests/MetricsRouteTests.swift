import MediaContract
import MediaWire
import RoomControl
import RoomService
import RoomTestKit
import Testing
import WebTransport

@Suite struct MetricsRouteTests {
    private func metrics(_ node: ServiceFixture) async -> MetricsReader {
        let answer = await node.send("GET", "/metrics")
        #expect(answer.status == 200)
        #expect(answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
        let metrics = MetricsReader(answer.text)
        #expect(metrics.complaints.isEmpty, "\(metrics.complaints)")
        return metrics
    }

    @Test func everyFigureAndEveryDropHasALine() async {
        let node = ServiceFixture()
        var snapshot = MediaSnapshot(time: .zero)
        snapshot.packetsIn = 12
        snapshot.bytesOut = 3456
        snapshot.load = 0.25
        snapshot.drops[Int(DropReason.unknownSSRC.rawValue)] = 7
        node.plane.setSnapshot(snapshot)
        let metrics = await metrics(node)
        #expect(metrics["parlor_packets_in_total", ["worker": "0"]] == 12)
        #expect(metrics["parlor_bytes_out_total", ["worker": "0"]] == 3456)
        #expect(metrics["parlor_worker_load", ["worker": "0"]] == 0.25)
        #expect(metrics["parlor_worker_up", ["worker": "0"]] == 1)
        #expect(metrics["parlor_dropped_total", ["worker": "0", "reason": "unknown_ssrc"]] == 7)
        let reasons = metrics.values.keys.filter { $0.name == "parlor_dropped_total" }
        #expect(reasons.count == DropReason.allCases.count)
        #expect(DropReason.allCases.allSatisfy { $0.name.allSatisfy { $0.isLowercase || $0 == "_" } })
        // Without a server there are no figures of one.
        #expect(metrics.types["parlor_http_connections"] == nil)
    }

    @Test func aWorkerThatIsSilentIsDown() async {
        let metrics = await metrics(ServiceFixture(workers: 2))
        #expect(metrics["parlor_worker_up", ["worker": "0"]] == 0)
        #expect(metrics["parlor_worker_up", ["worker": "1"]] == 0)
        #expect(!metrics.values.keys.contains { $0.name == "parlor_packets_in_total" })
        #expect(metrics.types["parlor_dropped_total"] == "counter")
    }

    @Test func roomsUsersAndJoinsByTheirCode() async throws {
        let node = ServiceFixture()
        let cam = try await node.leg("/whip", as: "cam")
        _ = try await node.leg("/whep", as: "cam")
        _ = try await node.leg("/whip", as: "other", room: "second")
        #expect(await node.post("/whip", as: "bad", offer: "nonsense").status == 400)
        #expect(await node.send("POST", "/whep").status == 401)
        var metrics = await metrics(node)
        #expect(metrics["parlor_rooms"] == 2)
        #expect(metrics["parlor_users"] == 2)
        #expect(metrics["parlor_accepting"] == 1)
        #expect(metrics["parlor_joins_total", ["door": "whip", "code": "0"]] == 2)
        #expect(metrics["parlor_joins_total", ["door": "whip", "code": "10053"]] == 1)
        #expect(metrics["parlor_joins_total", ["door": "whep", "code": "0"]] == 1)
        #expect(metrics["parlor_joins_total", ["door": "whep", "code": "10001"]] == 1)
        #expect(await node.delete(cam, as: "cam").status == 200)
        #expect(await node.kick("cam").status == 200)
        node.admission.beginDrain(deadline: nil)
        metrics = await self.metrics(node)
        #expect(metrics["parlor_users"] == 1)
        #expect(metrics["parlor_accepting"] == 0)
    }

    /// Whatever clients send, no label holds it.
    @Test func requestsCountByRouteNeverByPath() async {
        let node = ServiceFixture()
        _ = await node.send("GET", "/whip/secret-name")
        _ = await node.send("GET", "/v3/apps/secret-name/rooms")
        _ = await node.server("GET", "/v3/apps/demo/rooms")
        _ = await node.server("GET", "/v3/apps/theirs/rooms")
        _ = await node.send("PUT", "/whip")
        _ = await node.send("SECRETMETHOD", "/whip")
        _ = await node.send("GET", "/secret-name")
        _ = await node.send("OPTIONS", "/whip")
        _ = await node.metricsText()
        let text = await node.metricsText()
        #expect(!text.lowercased().contains("secret"))
        let metrics = MetricsReader(text)
        #expect(metrics.complaints.isEmpty, "\(metrics.complaints)")
        func count(_ route: String, _ method: String, _ status: String) -> Double? {
            metrics["parlor_http_requests_total", ["route": route, "method": method, "status": status]]
        }
        #expect(count("/whip/:leg", "GET", "4xx") == 1)
        #expect(count("/v3/apps/:app/rooms", "GET", "4xx") == 1)
        #expect(count("/v3/apps/:app/rooms", "GET", "2xx") == 1)
        #expect(count("/v3/apps/:app/rooms", "GET", "6xx") == 1)
        #expect(count("/whip", "PUT", "4xx") == 1)
        #expect(count("/whip", "other", "4xx") == 1)
        #expect(count("/whip", "OPTIONS", "2xx") == 1)
        #expect(count("none", "GET", "4xx") == 1)
        #expect(count("/metrics", "GET", "2xx") == 1)
    }

    @Test func signallingCountsByTypeAndDirection() async {
        let node = ServiceFixture()
        node.counters.connectionOpened()
        node.counters.connectionOpened()
        node.counters.connectionClosed()
        node.counters.message(type: "auth", .incoming)
        node.counters.message(frame: Array("auth-res={\"code\":0}".utf8), .outgoing)
        node.counters.message(type: "on-player-in", .outgoing, count: 40)
        node.counters.message(type: "ping", .outgoing, count: -1)
        for made in ["", "made-up", String(repeating: "x", count: 10_000), "auth\"\n", "\u{FFFD}"] {
            node.counters.message(type: made, .incoming)
            node.counters.message(frame: Array("\(made)={}".utf8), .incoming)
        }
        node.counters.joined(code: 0)
        node.counters.joined(code: 10022)
        node.counters.joined(code: 77)
        let metrics = await metrics(node)
        #expect(metrics["parlor_signalling_connections"] == 1)
        #expect(metrics["parlor_signalling_connections_total"] == 2)
        func count(_ direction: String, _ type: String) -> Double? {
            metrics["parlor_signalling_messages_total", ["direction": direction, "type": type]]
        }
        #expect(count("in", "auth") == 1)
        #expect(count("out", "auth-res") == 1)
        #expect(count("out", "on-player-in") == 40)
        #expect(count("out", "ping") == 0)
        #expect(count("in", "other") == 10)
        #expect(metrics["parlor_joins_total", ["door": "signalling", "code": "10022"]] == 1)
        #expect(metrics["parlor_joins_total", ["door": "signalling", "code": "-1"]] == 1)
        #expect(metrics["parlor_joins_total", ["door": "signalling", "code": "77"]] == nil)
    }

    @Test func theServersCountsByReason() async {
        var server = HTTPServerCounters()
        server.connections = 3
        server.slowReaders = 2
        server.tlsFailures = 5
        let metrics = await metrics(ServiceFixture(server: server))
        #expect(metrics["parlor_http_connections"] == 3)
        #expect(metrics["parlor_http_dropped_total", ["reason": "slow_reader"]] == 2)
        #expect(metrics["parlor_http_dropped_total", ["reason": "tls_failure"]] == 5)
        #expect(metrics.values.keys.filter { $0.name == "parlor_http_dropped_total" }.count == 10)
    }

    /// The reader is strict, or the other tests say nothing.
    @Test(arguments: [
        "a 1", "# TYPE a gauge\na 1\n", "# HELP a x\n# TYPE a gauge\na\n", "# HELP a x\n# TYPE a gauge\na x\n",
        "# HELP a x\n# TYPE a gauge\na 1\na 2\n", "# HELP a x\n# TYPE a counter\na 1\n",
        "# HELP a x\n# TYPE a gauge\na{b=1} 1\n", "# HELP a x\n# TYPE a gauge\na{b=\"1} 1\n",
        "# HELP a x\n# TYPE a gauge\nb 1\n", "# HELP a x\n# TYPE a gauge\na{b=\"\\x\"} 1\n", "\n",
    ])
    func theReaderRefuses(text: String) { #expect(!MetricsReader(text).complaints.isEmpty) }
}

extension ServiceFixture {
    func metricsText() async -> String { await send("GET", "/metrics").text }
}
