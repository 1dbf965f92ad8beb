import RoomControl
import RoomService
import Testing
import WebTransport

/// What the vendor's clients ask over HTTP before and beside the signalling: pages of any origin may read the answers.
@Suite struct SignallingRouteTests {
    private let node = ServiceFixture()

    private func get(_ target: String) async -> HTTPResponse {
        let answer = await node.send(
            "GET", target, headers: ["Host": "127.0.0.1:7880", "Origin": "https://example.com"])
        #expect(answer.headers["Access-Control-Allow-Origin"] == "*", "\(target)")
        #expect(answer.headers["X-Reqid"] != nil, "\(target)")
        return answer
    }

    @Test func theSDKsConfiguration() async {
        let answer = await get("/v4/sdk/config")
        #expect(answer.status == 200 && answer.text == #"{"content":""}"#)
        #expect(answer.headers["Content-Type"]?.hasPrefix("application/json") == true)
    }

    /// There is no relay: clients take the 404 and go on.
    @Test(arguments: ["/v3/apps/demo/rooms/room/relay/token", "/v4/sdk/log/upload/token"])
    func whatThisServerHasNot(_ target: String) async {
        let answer = await get(target)
        #expect(answer.status == 404 && answer.refusal?.code == 10053, "\(answer.text)")
        #expect(answer.refusal?.error.hasPrefix("this server") == true, "our own answer, not that of an unknown path")
    }

    /// The limit that is told to whoever exceeds it is the one that the socket has, with its margin.
    @Test(arguments: [16 << 10, 1 << 20, 4 << 20])
    func aSocketTakesFramesOfTheRoomsLimit(_ bytes: Int) async throws {
        var limits = RoomLimits()
        limits.frameBytes = bytes
        let request = HTTPRequest(method: "GET", target: "/v3/signalling", wantsWebSocket: true)
        guard case .upgrade(let upgrade) = await ServiceFixture(limits: limits).services.answer(request) else {
            Issue.record("no upgrade")
            return
        }
        #expect(upgrade.configuration.maximumMessage == bytes + max(bytes / 4, 64 << 10))
    }

    @Test func errorsOfAuthCanBeRead() async {
        let path = "/v3/apps/demo/rooms/room/auth"
        for (query, code) in [
            ("", 10001), ("?user=alice&token=", 10001), ("?user=alice&token=nonsense", 10001),
            ("?user=bob&token=\(node.token("alice"))", 10001), ("?token=\(node.token("alice", room: "other"))", 10001),
            ("?token=\(node.token("alice", ttl: -1))", 10002),
        ] {
            let answer = await get(path + query)
            #expect(answer.status == 401 && answer.refusal?.code == code, "\(query): \(answer.text)")
        }
        let answer = await get(path + "?user=alice&token=\(node.token("alice"))")
        #expect(answer.status == 200 && answer.text.hasPrefix(#"{"accessToken":""#), "\(answer.text)")
        let page = await get("/v3/signalling")
        #expect(page.status == 426 && page.headers["Upgrade"] == "websocket")
    }
}
