import MediaContract
import MediaWire
import RoomControl
import RoomService
import RoomTestKit
import Testing
import WebTransport

@Suite struct LegRouteTests {
    @Test func publishingAndPlaying() async throws {
        let node = ServiceFixture()
        let answer = await node.post("/whip", as: "alice")
        #expect(answer.status == 201, "\(answer.text)")
        #expect(answer.headers["Content-Type"] == "application/sdp")
        #expect(answer.headers["Cache-Control"] == "no-store")
        let location = try #require(answer.headers["Location"])
        #expect(location.hasPrefix("/whip/"))
        #expect(answer.headers["Access-Control-Allow-Origin"] == "*")
        #expect(answer.headers["Access-Control-Expose-Headers"]?.contains("Location") == true)
        #expect(answer.headers["X-Reqid"]?.isEmpty == false)
        // The answer names the ports that are open, and the worker knows of them already.
        let ports = node.plane.openPorts
        #expect(ports == [8000, 8001, 8002, 8003])
        #expect(answer.text.contains("m=audio 8000 "))
        #expect(answer.text.contains("m=video 8002 "))
        #expect(node.plane.model().tracks.count == 2)

        let player = try await node.leg("/whep", as: "bob")
        #expect(player.hasPrefix("/whep/") && player != location)
        #expect(node.plane.model().subscriptions.count == 2)
        let subscriptions = node.plane.model().subscriptions.values
        #expect(Set(subscriptions.map(\.payloadType)) == [111, 100])
        #expect(await node.users() == ["alice", "bob"])
        for transport in node.plane.model().transports.values where transport.silenceLimit == nil {
            guard case .known(let rtp, _) = transport.remote else {
                Issue.record("a player's address is known")
                continue
            }
            #expect([6004, 6006].contains(rtp.port) && rtp.isLoopback)
        }
        #expect(node.plane.violations.isEmpty)
    }

    @Test func theIDsAreUnguessable() async throws {
        let node = ServiceFixture()
        var seen: Set<String> = []
        for _ in 0..<50 {
            let location = try await node.leg("/whip", as: "alice")
            let secret = try #require(location.split(separator: "-", maxSplits: 1).last)
            #expect(Base64URL.decode(secret)?.count == 16)
            #expect(seen.insert(String(secret)).inserted)
        }
        #expect(node.plane.openPorts.count == 4, "replaced legs give their ports back")
    }

    @Test func deleting() async throws {
        let node = ServiceFixture()
        let location = try await node.leg("/whip", as: "alice")
        #expect(await node.send("DELETE", location).status == 401)
        let foreign = await node.delete(location, as: "bob")
        #expect(foreign.status == 403)
        #expect(foreign.refusal?.code == 10051)
        let otherRoom = await node.send(
            "DELETE", location, headers: ["Authorization": "Bearer \(node.token("alice", room: "other"))"])
        #expect(otherRoom.status == 403)
        let wrongKind = await node.delete(location.replacing("whip", with: "whep"), as: "alice")
        #expect(wrongKind.status == 404)
        #expect(node.plane.openPorts.count == 4)
        #expect(await node.delete(location, as: "alice").status == 200)
        #expect(node.plane.openPorts.isEmpty)
        #expect(await node.users() == [])
        #expect(await node.delete(location, as: "alice").status == 404)
        for nonsense in ["/whip/x", "/whip/1-", "/whip/99999999999-AAAA", "/whip/%00", "/whip/-1-a"] {
            #expect(await node.delete(nonsense, as: "alice").status == 404)
        }
    }

    @Test func theStateOfALeg() async throws {
        let node = ServiceFixture()
        let player = try await node.leg("/whep?user=alice", as: "bob")
        var state = try await node.send("GET", player).decoded(LegState.self)
        #expect(state.kind == "whep" && state.app == "demo" && state.room == "room" && state.user == "bob")
        #expect(state.state == "waiting")
        #expect(state.tracks.map(\.kind) == ["audio", "video"])
        #expect(state.tracks.allSatisfy { $0.state == "waiting" && $0.track == nil })
        #expect(state.leaseSeconds == 3600)

        let publisher = try await node.leg("/whip", as: "alice")
        let model = node.plane.model()
        var snapshot = MediaSnapshot(time: .zero)
        // The worker lists them in its own order; the answer has the order of the m-lines.
        for (place, id) in model.transports.keys.sorted(by: { $0.rawValue < $1.rawValue }).enumerated().reversed() {
            var transport = MediaSnapshot.Transport(id: id)
            (transport.packetsIn, transport.bytesOut) = (10, 1000)
            transport.remote = TransportAddress(ipv4: 0x7F00_0001, port: UInt16(7000 + place))
            snapshot.transports.append(transport)
        }
        for id in model.subscriptions.keys {
            var subscription = MediaSnapshot.Subscription(id: id)
            (subscription.packets, subscription.bytes) = (7, 700)
            snapshot.subscriptions.append(subscription)
        }
        node.plane.setSnapshot(snapshot)
        await node.clock.advance(by: WorkerFigures.age)
        state = try await node.send("GET", player).decoded(LegState.self)
        #expect(state.state == "active")
        #expect(state.tracks.map(\.user) == ["alice", "alice"])
        #expect(state.tracks.map(\.codec) == ["opus", "VP8"])
        #expect(state.tracks.map(\.packets) == [7, 7])
        #expect(state.packetsIn == 20 && state.bytesOut == 2000)
        #expect(state.remote == ["127.0.0.1:7000", "127.0.0.1:7001"])

        let sender = try await node.send("GET", publisher).decoded(LegState.self)
        #expect(sender.kind == "whip" && sender.state == "waiting" && sender.leaseSeconds == nil)
        let tracks = sender.tracks.compactMap(\.track)
        #expect(tracks == state.tracks.compactMap(\.track))
        #expect(await node.send("GET", publisher.replacing("whip", with: "whep")).status == 404)
        #expect(await node.send("GET", "/whip/1-AAAAAAAAAAAAAAAAAAAAAA").status == 404)

        // The first packet makes it active.
        node.plane.report(.trackStarted(try #require(model.tracks.keys.first)))
        await node.deliver()
        #expect(try await node.send("GET", publisher).decoded(LegState.self).state == "active")
        // A track by its id.
        let one = try await node.leg("/whep?track=\(tracks[1])", as: "carol")
        let oneState = try await node.send("GET", one).decoded(LegState.self)
        #expect(oneState.tracks.map(\.track) == [nil, tracks[1]])
    }

    /// However many look, the media thread copies its figures at most five times per second.
    @Test func manyLooksAreOneCopy() async throws {
        let node = ServiceFixture()
        let location = try await node.leg("/whip", as: "alice")
        var snapshot = MediaSnapshot(time: .zero)
        var transport = MediaSnapshot.Transport(id: try #require(node.plane.model().transports.keys.first))
        transport.packetsIn = 1
        snapshot.transports = [transport]
        node.plane.setSnapshot(snapshot)
        await withTaskGroup(of: Int.self) { group in
            for number in 0..<500 {
                group.addTask { await node.send("GET", number % 5 == 0 ? "/metrics" : location).status }
            }
            for await status in group { #expect(status == 200) }
        }
        #expect(node.plane.snapshotsMade == 1)

        snapshot.transports[0].packetsIn = 2
        node.plane.setSnapshot(snapshot)
        await node.clock.advance(by: .milliseconds(199))
        #expect(try await node.send("GET", location).decoded(LegState.self).packetsIn == 1)
        await node.clock.advance(by: .milliseconds(1))
        #expect(try await node.send("GET", location).decoded(LegState.self).packetsIn == 2)
        #expect(node.plane.snapshotsMade == 2)
    }

    @Test func aLookRenewsTheLease() async throws {
        let node = ServiceFixture()
        let player = try await node.leg("/whep", as: "bob")
        await node.clock.advance(by: .seconds(3599))
        #expect(await node.send("GET", player).status == 200)
        await node.clock.advance(by: .seconds(3599))
        #expect(await node.users() == ["bob"])
        await node.clock.advance(by: .seconds(1))
        #expect(await node.users() == [])
        #expect(await node.send("GET", player).status == 404)
        #expect(node.plane.openPorts.isEmpty)
        await node.clock.advance(by: .seconds(10))
        #expect(await node.directory.roomCount == 0)
        #expect(node.clock.waiting == 0, "a closed room leaves no timer behind")
    }

    // MARK: Refusals

    @Test func tokens() async throws {
        let node = ServiceFixture()
        func status(_ authorization: String?) async -> (Int, Int?) {
            var headers: HTTPFields = ["Content-Type": "application/sdp"]
            headers["Authorization"] = authorization
            let answer = await node.send("POST", "/whip", headers: headers, body: ServiceFixture.publishOffer)
            #expect(answer.status == 201 || answer.headers["WWW-Authenticate"] == "Bearer")
            return (answer.status, answer.refusal?.code)
        }
        let right = node.token("alice")
        for bad in [nil, "", "Bearer", "Bearer ", "Basic \(right)", "Bearer x", "Bearer a:b:c", right] as [String?] {
            #expect(await status(bad) == (401, 10001), "\(bad ?? "none")")
        }
        #expect(await status("Bearer \(node.token("alice", ttl: -1))") == (401, 10002))
        #expect(await status("Bearer \(node.token("alice", app: "theirs"))") == (401, 10001))
        let stranger = AccessKey(id: "stranger", secret: "devsecret")
        #expect(await status("Bearer \(node.token("alice", key: stranger))") == (401, 10001))
        #expect(node.plane.commands.isEmpty)
        #expect(await node.directory.roomCount == 0)
        for lenient in ["bearer \(right)", "BEARER   \(right)  ", "Bearer\t\(right)"] {
            #expect(await status(lenient) == (201, nil), "\(lenient)")
        }
    }

    @Test func contentType() async {
        let node = ServiceFixture()
        for (type, expected) in [
            (nil, 415), ("", 415), ("text/plain", 415), ("application/sdpx", 415),
            ("application/trickle-ice-sdpfrag", 415),
            ("application/sdp", 201), ("Application/SDP; charset=utf-8", 201), ("application/sdp ;x", 201),
        ] as [(String?, Int)] {
            var headers: HTTPFields = ["Authorization": "Bearer \(node.token("alice"))"]
            headers["Content-Type"] = type
            let answer = await node.send("POST", "/whip", headers: headers, body: ServiceFixture.publishOffer)
            #expect(answer.status == expected, "\(type ?? "none")")
            if expected == 415 { #expect(answer.headers["Accept-Post"] == "application/sdp") }
        }
    }

    @Test func offersThatCannotBeUsedLeaveNothingBehind() async {
        let node = ServiceFixture()
        let good = ServiceFixture.publishOffer
        for (offer, expected) in [
            ("", 400), ("hello", 400), ("v=0\r\n", 400), (good.replacing("m=audio", with: "m audio"), 400),
            (good.replacing("a=crypto", with: "a=nothing"), 406), (good.replacing("opus", with: "PCMU"), 201),
            (good.replacing("opus", with: "PCMU").replacing("VP8", with: "THEORA"), 406),
            (good.replacing("RTP/SAVP", with: "UDP/TLS/RTP/SAVPF"), 406),
        ] {
            let answer = await node.post("/whip", as: "alice", offer: offer)
            #expect(answer.status == expected, "\(answer.text)")
            if expected != 201 {
                #expect(answer.refusal?.error.isEmpty == false)
                #expect(answer.refusal?.code == (expected == 400 ? 10053 : 10054))
            }
            if answer.status == 201 { _ = await node.delete(answer.headers["Location"] ?? "", as: "alice") }
        }
        let broken = await node.post("/whip", as: "alice", offer: good.replacing("m=video", with: "mvideo"))
        #expect(broken.refusal?.line == 10)
        #expect(node.plane.openPorts.isEmpty)
        #expect(await node.users() == [])
    }

    @Test func noTrafficToThirdParties() async {
        let node = ServiceFixture()
        let elsewhere = ServiceFixture.playOffer(host: "192.0.2.7")
        #expect(await node.post("/whep", as: "bob", offer: elsewhere).status == 406)
        #expect(node.plane.commands.isEmpty && node.plane.openPorts.isEmpty)
        #expect(await node.post("/whep", as: "bob", offer: elsewhere, from: "192.0.2.7").status == 201)
        // IPv4 in IPv6's clothes is the same host.
        #expect(await node.post("/whep", as: "bob", offer: elsewhere, from: "::ffff:192.0.2.7").status == 201)
        func forwarded(_ header: String, from peer: String) async -> Int {
            await node.send(
                "POST", "/whep",
                headers: [
                    "Authorization": "Bearer \(node.token("bob"))", "Content-Type": "application/sdp",
                    "X-Forwarded-For": header,
                ], body: elsewhere, from: peer
            ).status
        }
        // Anybody can write the header; only a trusted proxy is believed, and it only for its own peer.
        #expect(await forwarded("192.0.2.7", from: "203.0.113.5") == 406)
        #expect(await forwarded("192.0.2.7", from: "10.0.0.1") == 201)
        #expect(await forwarded("192.0.2.7, 203.0.113.5", from: "10.0.0.1") == 406)
        #expect(await forwarded("203.0.113.5, 192.0.2.7", from: "10.0.0.1") == 201)
        #expect(await forwarded("192.0.2.7, 10.0.0.1", from: "10.0.0.1") == 201)
        #expect(await forwarded("192.0.2.7:4000", from: "10.0.0.1") == 201)
        #expect(await forwarded("192.0.2.7, nonsense", from: "10.0.0.1") == 406)
        #expect(await forwarded("", from: "10.0.0.1") == 406)
    }

    /// A leg that the node sends to itself would go round for ever.
    @Test func theNodesOwnPortsAreNoDestination() async {
        let node = ServiceFixture()
        func play(_ lines: String..., from peer: String = "127.0.0.1") async -> Int {
            let key = String(repeating: "A", count: 40)
            let offer =
                "v=0\r\no=- 1 1 IN IP4 \(peer)\r\ns=-\r\nc=IN IP4 \(peer)\r\nt=0 0\r\n"
                + lines.map { "\($0)\r\n" }.joined()
                + "a=rtpmap:111 opus/48000/2\r\na=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:\(key)\r\na=recvonly\r\n"
            return await node.post("/whep", as: "bob", offer: offer, from: peer).status
        }
        #expect(await play("m=audio 5004 RTP/SAVP 111") == 201)
        for port in [7900, 7901, 8000, 8499] {
            #expect(await play("m=audio \(port) RTP/SAVP 111") == 406, "port \(port)")
            #expect(await play("m=audio 5004 RTP/SAVP 111", "a=rtcp:\(port)") == 406, "RTCP port \(port)")
        }
        #expect(await play("m=audio 8000 RTP/SAVP 111", from: "192.0.2.7") == 201)
    }

    @Test func plainLegsAreOffUnlessAllowed() async {
        let node = ServiceFixture(plainLegs: false)
        let answer = await node.post("/whip", as: "alice")
        #expect(answer.status == 403)
        #expect(answer.refusal?.error.contains("plain") == true)
        #expect(await node.directory.roomCount == 0)
    }

    @Test func usedUpPorts() async throws {
        // Room for three lines with RTCP beside; a leg of ours has two.
        let node = ServiceFixture(ports: 8000...8005)
        let first = try await node.leg("/whip", as: "alice")
        let refused = await node.post("/whip", as: "bob", room: "other")
        #expect(refused.status == 503)
        #expect(refused.headers["Retry-After"] != nil)
        #expect(node.plane.openPorts.count == 4, "the port that was opened for the first line is given back")
        #expect(await node.directory.roomCount == 1, "the room that was made for it is gone")
        #expect(await node.users("other") == [])
        #expect(await node.delete(first, as: "alice").status == 200)
        #expect(await node.post("/whip", as: "bob", room: "other").status == 201)
        #expect(node.plane.violations.isEmpty)
    }

    @Test func fullRoomsAndSecondLegs() async throws {
        let node = ServiceFixture {
            $0.maxUsers = 1
            $0.noAutoKickUser = true
        }
        let leg = try await node.leg("/whip", as: "alice")
        let full = await node.post("/whep", as: "bob")
        #expect(full.status == 403 && full.refusal?.code == 10011)
        let second = await node.post("/whip", as: "alice")
        #expect(second.status == 409 && second.refusal?.code == 10022)
        #expect(await node.post("/whep", as: "alice").status == 201)
        #expect(await node.send("GET", leg).status == 200)
        #expect(node.plane.openPorts.count == 8)
    }

    @Test func roomsThatMustExist() async {
        let node = ServiceFixture { $0.noAutoCreateRoom = true }
        let answer = await node.post("/whip", as: "alice")
        #expect(answer.status == 404 && answer.refusal?.code == 10012)
    }

    @Test func picksThatCannotBe() async {
        let node = ServiceFixture()
        #expect(await node.post("/whep?user=bob", as: "bob").refusal?.code == 10044)
        for query in ["user=", "user=a%20b", "track=%2F", "user=" + String(repeating: "x", count: 51)] {
            #expect(await node.post("/whep?\(query)", as: "bob").status == 400)
        }
        let many = (0..<33).map { "user=u\($0)" }.joined(separator: "&")
        #expect(await node.post("/whep?\(many)", as: "bob").status == 400)
        #expect(await node.post("/whep?anything=else", as: "bob").status == 201)
    }

    @Test func theAnswerNamesTheCodecOfATrackThatIsThere() async throws {
        let node = ServiceFixture()
        let h264 = ServiceFixture.publishOffer.replacing("VP8", with: "H264")
        _ = try await node.leg("/whip", as: "alice", offer: h264)
        let both = ServiceFixture.playOffer(codecs: ["VP8", "H264"])
        let answer = await node.post("/whep", as: "bob", offer: both)
        #expect(answer.text.contains("a=rtpmap:101 H264/90000"))
        #expect(!answer.text.contains("VP8"))
        // For one that is still to come, it keeps all that the player can take.
        let waiting = await node.post("/whep?user=zoe", as: "carol", offer: both)
        #expect(waiting.text.contains("H264") && waiting.text.contains("VP8"))
    }

    // MARK: HTTP

    @Test func methodsAndPaths() async {
        let node = ServiceFixture()
        for (method, target, status, allow) in [
            ("GET", "/whip", 405, "POST, OPTIONS"), ("PUT", "/whep", 405, "POST, OPTIONS"),
            ("PUT", "/whip/1-a", 405, "GET, HEAD, PATCH, DELETE, OPTIONS"),
            ("POST", "/whep/1-a", 405, "GET, HEAD, PATCH, DELETE, OPTIONS"),
            ("HEAD", "/whip", 405, "POST, OPTIONS"), ("HEAD", "/nothing", 404, nil),
            ("OPTIONS", "/whip", 204, "POST, OPTIONS"),
            ("OPTIONS", "/whep/1-a", 204, "GET, HEAD, PATCH, DELETE, OPTIONS"),
            ("GET", "/nothing", 404, nil), ("OPTIONS", "/nothing", 404, nil),
            ("POST", "/healthz", 405, "GET, HEAD, OPTIONS"),
            ("GET", "/v3/apps/demo/rooms/r/users/u", 405, "DELETE, PATCH, POST, OPTIONS"),
        ] as [(String, String, Int, String?)] {
            let answer = await node.send(method, target)
            #expect(answer.status == status, "\(method) \(target)")
            #expect(answer.headers["Allow"] == allow)
            #expect(answer.headers["Access-Control-Allow-Origin"] == "*")
            #expect(answer.headers["X-Reqid"]?.isEmpty == false)
            if method == "OPTIONS", status == 204 {
                #expect(answer.headers["Access-Control-Allow-Methods"] == allow)
                #expect(answer.headers["Access-Control-Allow-Headers"]?.contains("Authorization") == true)
                #expect(answer.body.isEmpty)
            }
        }
        let health = await node.send("GET", "/healthz")
        #expect(health.status == 200 && health.text == "ok\n")
        let ids = [await node.send("GET", "/healthz"), health].map { $0.headers["X-Reqid"] }
        #expect(ids[0] != ids[1])
    }
}
