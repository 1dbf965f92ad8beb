import Foundation
import MediaContract
import MediaWire
import RoomControl
import RoomService
import RoomTestKit
import Testing
import WebTransport

/// WHIP and WHEP as WebRTC clients speak them (RFC 9725).
@Suite struct WebRTCLegRouteTests {
    private static func offer(_ name: String) throws -> String {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Fuzz/Offer/corpus/\(name).sdp")
        return String(decoding: try Data(contentsOf: file), as: UTF8.self)
    }

    private static let fragment = "application/trickle-ice-sdpfrag"
    private static let restart = "a=ice-ufrag:ysXw\r\na=ice-pwd:vw5LmwG4y/e6dPP/zAP9Gp5k\r\n"
    private static let candidate = "a=mid:0\r\na=candidate:1 1 udp 2122260223 192.0.2.1 61764 typ host\r\n"

    private struct Problem: Decodable {
        var type: String
        var title: String
        var status: Int
        var detail: String
        var error: String
        var code: Int?
    }

    private static func patch(
        _ node: ServiceFixture, _ location: String, as user: String = "alice", ifMatch: String?, _ body: String,
        type: String = fragment
    ) async -> HTTPResponse {
        var headers: HTTPFields = ["Authorization": "Bearer \(node.token(user))", "Content-Type": type]
        headers["If-Match"] = ifMatch
        return await node.send("PATCH", location, headers: headers, body: body)
    }

    // MARK: Legs

    @Test func publishingAndPlaying() async throws {
        let node = ServiceFixture()
        let answer = await node.post("/whip", as: "alice", offer: try Self.offer("chromium-whip"))
        #expect(answer.status == 201, "\(answer.text)")
        let tag = try #require(answer.headers["ETag"])
        #expect(tag.hasPrefix("\"") && tag.hasSuffix("\"") && tag.count > 10)
        #expect(answer.headers["Accept-Patch"] == Self.fragment)
        #expect(answer.headers["Cache-Control"] == "no-store")
        #expect(answer.headers["Access-Control-Expose-Headers"]?.contains("ETag") == true)
        #expect(answer.headers["Link"] == nil)
        let session = try SessionDescription(parsing: answer.text)
        #expect(session.media.map(\.iceUfrag).allSatisfy { $0.map { "\"\($0)\"" } == tag })
        #expect(
            session.media[0].values("candidate") == [
                "udp1 1 udp 2130706431 127.0.0.1 7900 typ host",
                "tcp1 1 tcp 1520435199 127.0.0.1 7900 typ host tcptype passive",
            ])
        #expect(node.plane.openPorts.isEmpty, "the workers' shared ports carry it")
        let transport = try #require(node.plane.model().webRTC.values.first)
        #expect(transport.credentials.usernameFragment == session.media[0].iceUfrag)
        #expect(transport.role == .server && transport.silenceLimit == .seconds(30))
        #expect(node.plane.model().tracks.values.map(\.payloadType).sorted() == [96, 111])

        let playing = await node.post("/whep?layer=low", as: "bob", offer: try Self.offer("safari-whep"))
        #expect(playing.status == 201, "\(playing.text)")
        let subscriptions = node.plane.model().subscriptions.values
        #expect(subscriptions.count == 2 && subscriptions.allSatisfy { $0.layer == .low })
        let video = try #require(subscriptions.first { $0.payloadType == 102 })
        #expect(video.rtx?.payloadType == 103)
        let played = try SessionDescription(parsing: playing.text)
        #expect(played.media[1].ssrcs.map(\.ssrc) == [video.ssrc, video.rtx?.ssrc])

        let state = try await node.send("GET", playing.headers["Location"] ?? "").decoded(LegState.self)
        #expect(state.transport == "webrtc" && state.connected == false && state.leaseSeconds == nil)
        #expect(state.tracks.map(\.user) == ["alice", "alice"])
        #expect(node.plane.violations.isEmpty)
    }

    /// What one publishes by SDES another plays by WebRTC, and the other way round.
    @Test func plainAndWebRTCLegsMeet() async throws {
        let node = ServiceFixture()
        _ = try await node.leg("/whip", as: "alice")
        _ = try await node.leg("/whep", as: "bob", offer: try Self.offer("firefox-whep"))
        _ = try await node.leg("/whip", as: "carol", offer: try Self.offer("gstreamer-whip"))
        _ = try await node.leg("/whep?user=carol", as: "dave")
        #expect(node.plane.model().subscriptions.count == 4)
        #expect(node.plane.violations.isEmpty)
    }

    @Test func aPlayerWaitsForWhoComes() async throws {
        let node = ServiceFixture()
        let player = try await node.leg("/whep?user=alice", as: "bob", offer: try Self.offer("chromium-whep"))
        #expect(node.plane.model().subscriptions.isEmpty)
        // Whatever its codec: the player takes them all.
        let publisher = try await node.leg("/whip", as: "alice", offer: try Self.offer("obs-whip"))
        #expect(node.plane.model().subscriptions.count == 2)
        let before = node.plane.model().subscriptions.values.map(\.ssrc).sorted()
        #expect(await node.delete(publisher, as: "alice").status == 200)
        _ = try await node.leg("/whip", as: "alice", offer: try Self.offer("aiortc-whip"))
        #expect(node.plane.model().subscriptions.values.map(\.ssrc).sorted() == before)
        #expect(await node.delete(player, as: "bob").status == 200)
        #expect(node.plane.violations.isEmpty)
    }

    @Test(arguments: [MediaEventKind.silent, .failed, .closed])
    func aLegLivesAsLongAsItsTransport(kind: MediaEventKind) async throws {
        let node = ServiceFixture()
        let player = try await node.leg("/whep", as: "bob", offer: try Self.offer("chromium-whep"))
        await node.clock.advance(by: .seconds(100_000))
        #expect(await node.users() == ["bob"], "no lease ends it")
        let id = try #require(node.plane.model().webRTC.keys.first)
        node.plane.report(.transportConnected(id, TransportAddress(ipv4: 0x7F00_0001, port: 5)))
        switch kind {
        case .silent: node.plane.report(.transportSilent(id))
        case .failed: node.plane.report(.transportFailed(id, .handshakeFailed))
        case .closed: node.plane.report(.transportFailed(id, .closedByPeer))
        }
        await node.deliver()
        #expect(await node.users() == [])
        #expect(await node.send("GET", player).status == 404)
        #expect(node.plane.model().webRTC.isEmpty && node.plane.violations.isEmpty)
    }

    enum MediaEventKind: Sendable { case silent, failed, closed }

    /// Whether plain legs are allowed is no matter here; that the node can be reached is.
    @Test func whatItTakes() async throws {
        let closed = ServiceFixture(plainLegs: false)
        #expect(await closed.post("/whip", as: "alice", offer: try Self.offer("obs-whip")).status == 201)
        let nowhere = ServiceFixture(connections: ConnectionSettings())
        let refused = await nowhere.post("/whip", as: "alice", offer: try Self.offer("obs-whip"))
        #expect(refused.status == 503 && refused.headers["Retry-After"] != nil)
        #expect(await nowhere.directory.roomCount == 0)
        let node = ServiceFixture()
        #expect(await node.post("/whep?layer=best", as: "bob", offer: try Self.offer("chromium-whep")).status == 400)
        let unbundled = await node.post("/whip", as: "bob", offer: try Self.offer("gstreamer-unbundled"))
        #expect(unbundled.status == 406 && unbundled.refusal?.error.contains("BUNDLE") == true)
    }

    /// A token is for coming in: what is in can be looked at, trickled, restarted and ended by its user when it has run out.
    @Test(arguments: ["/whip", "/whep"])
    func aLegOutlivesItsToken(path: String) async throws {
        let node = ServiceFixture()
        let offer = try Self.offer(path == "/whip" ? "chromium-whip" : "chromium-whep")
        let answer = await node.post(path, as: "alice", offer: offer)
        let location = try #require(answer.headers["Location"])
        let tag = try #require(answer.headers["ETag"])
        func send(_ method: String, _ target: String, _ token: String, match: String? = nil, _ body: String = "")
            async -> HTTPResponse
        {
            var headers: HTTPFields = ["Authorization": "Bearer \(token)"]
            headers["Content-Type"] = method == "POST" ? "application/sdp" : Self.fragment
            headers["If-Match"] = match
            return await node.send(method, target, headers: headers, body: body)
        }
        let token = node.token("alice", ttl: 600)
        await node.clock.advance(by: .seconds(601))

        #expect(await send("POST", path, token, offer).refusal?.code == 10002, "nobody comes in with it")
        #expect(await send("GET", location, token).status == 200)
        #expect(await send("PATCH", location, token, match: tag, Self.candidate).status == 204)
        let restarted = await send("PATCH", location, token, match: "*", Self.restart)
        #expect(restarted.status == 200 && restarted.headers["ETag"] != tag)

        let others = [
            node.token("bob", ttl: -1), node.token("alice", room: "other", ttl: -1), node.token("bob"),
        ]
        for other in others {
            #expect(await send("PATCH", location, other, match: "*", Self.restart).status == 403)
            #expect(await send("DELETE", location, other).status == 403)
        }
        let forged = [
            node.token("alice", ttl: -1, key: AccessKey(id: "devkey", secret: "guessed")),
            node.token("alice", app: "theirs", ttl: -1), "nonsense", "",
        ]
        for token in forged {
            #expect(await send("PATCH", location, token, match: "*", Self.restart).status == 401)
            #expect(await send("DELETE", location, token).status == 401)
            #expect(await send("GET", location, token).status == 401)
        }
        #expect(await send("DELETE", location, token).status == 200)
        #expect(await send("DELETE", location, token).status == 404)
        #expect(await node.users() == [] && node.plane.violations.isEmpty)
    }

    // MARK: PATCH

    @Test func trickling() async throws {
        let node = ServiceFixture()
        let answer = await node.post("/whip", as: "alice", offer: try Self.offer("chromium-whip"))
        let location = try #require(answer.headers["Location"])
        let tag = try #require(answer.headers["ETag"])
        for match in [tag, "\"other\", \(tag)", String(tag.dropFirst().dropLast())] {
            let taken = await Self.patch(node, location, ifMatch: match, Self.candidate)
            #expect(taken.status == 204 && taken.body.isEmpty, "\(match)")
        }
        let own = "a=ice-ufrag:Db8R\r\na=ice-pwd:oK2zRffqZfJK2EJSr5RMmTxY\r\na=end-of-candidates\r\n"
        #expect(await Self.patch(node, location, ifMatch: tag, own).status == 204)

        for (match, body, type, status) in [
            (nil, Self.candidate, Self.fragment, 428), ("", Self.candidate, Self.fragment, 428),
            ("\"other\"", Self.candidate, Self.fragment, 412), ("W/\(tag)", Self.candidate, Self.fragment, 412),
            (tag, Self.candidate, "application/sdp", 415), (tag, Self.candidate, "", 415),
            (tag, "hello", Self.fragment, 400), (tag, "", Self.fragment, 400), (tag, Self.restart, Self.fragment, 400),
            ("*", Self.candidate, Self.fragment, 400),
        ] as [(String?, String, String, Int)] {
            let refused = await Self.patch(node, location, ifMatch: match, body, type: type)
            #expect(refused.status == status, "\(match ?? "none"): \(refused.text)")
            if status == 415 { #expect(refused.headers["Accept-Patch"] == Self.fragment) }
            if status == 412 { #expect(refused.headers["ETag"] == tag) }
        }
        #expect(await node.send("PATCH", location).status == 401)
        #expect(await Self.patch(node, location, as: "bob", ifMatch: tag, Self.candidate).status == 403)
        let wrongKind = location.replacing("whip", with: "whep")
        #expect(await Self.patch(node, wrongKind, ifMatch: tag, Self.candidate).status == 404)
        #expect(await Self.patch(node, "/whip/1-AAAAAAAAAAAAAAAAAAAAAA", ifMatch: tag, Self.candidate).status == 404)
        // None of it touched the ICE session.
        #expect(node.plane.model().webRTC.values.first.map { "\"\($0.credentials.usernameFragment)\"" } == tag)
        let plain = try await node.leg("/whip", as: "carol")
        let none = await Self.patch(node, plain, as: "carol", ifMatch: "*", Self.restart)
        #expect(none.status == 405 && none.headers["Allow"] == "GET, HEAD, DELETE, OPTIONS")
    }

    @Test func restarting() async throws {
        let node = ServiceFixture()
        let answer = await node.post("/whep", as: "alice", offer: try Self.offer("firefox-whep"))
        let location = try #require(answer.headers["Location"])
        let tag = try #require(answer.headers["ETag"])
        let before = try #require(node.plane.model().webRTC.values.first)
        let restarted = await Self.patch(node, location, ifMatch: "*", Self.restart)
        #expect(restarted.status == 200 && restarted.headers["Content-Type"] == Self.fragment)
        #expect(restarted.headers["Cache-Control"] == "no-store")
        let newTag = try #require(restarted.headers["ETag"])
        #expect(newTag != tag)
        let after = try #require(node.plane.model().webRTC.values.first)
        #expect(after.id == before.id && after.credentials != before.credentials)
        let lines = restarted.text.split(separator: "\r\n").map { String($0) }
        #expect(lines.contains("a=ice-ufrag:\(after.credentials.usernameFragment)"))
        #expect(lines.contains("a=ice-pwd:\(after.credentials.password)"))
        #expect(lines.contains("a=ice-lite") && lines.contains("a=group:BUNDLE 0 1") && lines.contains("a=mid:0"))
        #expect(lines.count { $0.hasPrefix("a=candidate:") } == 2 && lines.last == "a=end-of-candidates")
        // Each fragment is for one session.
        let fragment = Self.restart + Self.candidate
        #expect(await Self.patch(node, location, ifMatch: tag, fragment).status == 412)
        #expect(await Self.patch(node, location, ifMatch: newTag, fragment).status == 204)
        #expect(node.plane.violations.isEmpty)
    }

    // MARK: HTTP

    @Test func refusalsAreProblemDocuments() async throws {
        let node = ServiceFixture()
        for (answer, status) in [
            (await node.send("POST", "/whip"), 401), (await node.post("/whip", as: "alice", offer: "hello"), 400),
            (await node.post("/whip", as: "a", offer: try Self.offer("gstreamer-unbundled")), 406),
            (await node.send("GET", "/whep/1-AAAAAAAAAAAAAAAAAAAAAA"), 404), (await node.send("PUT", "/whip"), 405),
            (await node.send("DELETE", "/whip/1-a"), 401), (await node.send("GET", "/whip/x/y"), 404),
        ] {
            #expect(answer.status == status)
            #expect(answer.headers["Content-Type"] == "application/problem+json")
            let problem = try answer.decoded(Problem.self)
            #expect(problem.type == "about:blank" && problem.status == status && !problem.title.isEmpty)
            #expect(problem.detail == problem.error && !problem.error.isEmpty)
        }
        #expect(await node.send("GET", "/nothing").headers["Content-Type"] == "application/json")
    }

    @Test func iceServersAreLinked() async throws {
        let node = ServiceFixture(iceServers: [
            ICEServer(urls: ["stun:stun.example.net"]),
            ICEServer(
                urls: ["turn:turn.example.net?transport=udp"],
                access: .password(username: "us\"er", credential: "se cret")),
        ])
        let stun = "<stun:stun.example.net>; rel=\"ice-server\""
        let turn =
            "<turn:turn.example.net?transport=udp>; rel=\"ice-server\"; username=\"us\\\"er\"; credential=\"se cret\";"
            + " credential-type=\"password\""
        let answer = await node.post("/whip", as: "alice", offer: try Self.offer("obs-whip"))
        #expect(answer.headers["Link"] == "\(stun), \(turn)")
        let options = await node.send("OPTIONS", "/whip")
        #expect(options.headers["Link"] == stun, "nobody gets credentials without a token")
        #expect(options.headers["Accept-Post"] == "application/sdp")
        #expect(options.headers["Access-Control-Allow-Headers"]?.contains("If-Match") == true)
        let session = await node.send("OPTIONS", answer.headers["Location"] ?? "")
        #expect(session.headers["Accept-Patch"] == Self.fragment && session.headers["Allow"]?.contains("PATCH") == true)
    }

    /// draft-uberti-behave-turn-rest-00, section 2.2, as coturn's `use-auth-secret` reckons it.
    @Test func turnServersWithASecretGetACredentialForEachUser() async throws {
        let secret = "the-shared-secret"
        let server = ICEServer(
            urls: ["stun:a.example.net", "turn:a.example.net", "turns:a.example.net:443?transport=tcp"],
            access: .secret(secret))
        let node = ServiceFixture(iceServers: [server])
        let answer = await node.post("/whip", as: "alice", offer: try Self.offer("obs-whip"))
        let expiry = node.clock.clock.unixTime() + 86_400
        let made = try #require(TURNCredential(secret: secret, user: "alice", expiresAt: expiry))
        let link = try #require(answer.headers["Link"])
        let access =
            "username=\"\(expiry):alice\"; credential=\"\(made.password)\"; credential-type=\"password\""
        #expect(
            link == "<stun:a.example.net>; rel=\"ice-server\", <turn:a.example.net>; rel=\"ice-server\"; \(access), "
                + "<turns:a.example.net:443?transport=tcp>; rel=\"ice-server\"; \(access)")
        #expect(!link.contains(secret))
        let options = await node.send("OPTIONS", "/whip")
        #expect(options.headers["Link"] == "<stun:a.example.net>; rel=\"ice-server\"")

        // A restart when they have run out comes with new ones, for another day; a candidate's answer has none.
        let location = try #require(answer.headers["Location"])
        let tag = try #require(answer.headers["ETag"])
        await node.clock.advance(by: .seconds(100_000))
        let later = node.clock.clock.unixTime() + 86_400
        #expect(later == expiry + 100_000)
        let renewed = try #require(TURNCredential(secret: secret, user: "alice", expiresAt: later))
        #expect(await Self.patch(node, location, ifMatch: tag, Self.candidate).headers["Link"] == nil)
        let restarted = await Self.patch(node, location, ifMatch: "*", Self.restart)
        #expect(
            restarted.status == 200
                && restarted.headers["Link"]
                    == link.replacing("\(expiry):alice", with: "\(later):alice")
                    .replacing(made.password, with: renewed.password)
        )
        #expect(await Self.patch(node, location, as: "bob", ifMatch: "*", Self.restart).headers["Link"] == nil)
        for text in ["\(server)", "\([server])", String(reflecting: [server]), "\(made)", String(reflecting: [made])] {
            #expect(!text.contains(secret) && !text.contains(made.password), "in a log it would be read: \(text)")
        }
        var dumped = ""
        dump(server, to: &dumped)
        #expect(!dumped.contains(secret))
    }

    @Test func aTokenThatIsShownMustBeGood() async throws {
        let node = ServiceFixture()
        let location = try await node.leg("/whip", as: "alice", offer: try Self.offer("obs-whip"))
        for (authorization, status) in [
            (nil, 200), ("Bearer \(node.token("bob"))", 200), ("Bearer nonsense", 401),
            ("Bearer \(node.token("alice", ttl: -1))", 200),
            ("Bearer \(node.token("alice", key: AccessKey(id: "devkey", secret: "another")))", 401),
        ] as [(String?, Int)] {
            var headers: HTTPFields = [:]
            headers["Authorization"] = authorization
            #expect(await node.send("GET", location, headers: headers).status == status)
        }
    }
}
