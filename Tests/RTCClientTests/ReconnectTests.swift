import RTCClient
import RoomProtocol
import Testing
import WebTransport

@Suite(.timeLimit(.minutes(1)))
struct ReconnectTests {
    /// wire.md 2.1: whatever ends the socket, the client comes back.
    @Test(arguments: [1000, 1001, 1005, 1006, 1011, 1012, 1013, 1014, 4000] as [UInt16])
    func `a lost socket is opened anew, with the token`(code: UInt16) async throws {
        var scene = try ClientScene()
        let peer = try await scene.join(userData: "data", token: 41)
        switch code {
        // A server cannot send these on purpose: no code, and (for a text that is no UTF-8) no closing handshake.
        case 1005: peer.close(code: 0)
        case 1006: peer.send(bytes: [0xFF])
        default: peer.close(code: code)
        }
        let back = try await scene.returning()
        #expect(back.target.wholeMatch(of: /\/signalling\?rpcid=[0-9a-f]{16}/) != nil)
        let request = try await back.admit(token: 42)
        #expect(request.reconnectToken == 41)
        #expect(request.playerData == "data")
        #expect(request.messageSerial == nil)
        #expect(request.capabilitiesSDP?.isEmpty == false)
        await scene.expect(.reconnected)
        #expect(scene.client.connectionState == .reconnected)
        // The next loss uses the newest token, and the state goes on.
        back.close(code: 1000)
        let again = try await scene.returning()
        #expect(try await again.admit(token: 43).reconnectToken == 42)
        await scene.expect(.reconnected)
        #expect(scene.server.targets.filter { $0.hasPrefix("/v3") }.count == 1)
        await scene.stop()
    }

    @Test func `a silent loss is noticed by the missing ping`() async throws {
        var scene = try ClientScene()
        let peer = try await scene.join()
        peer.send(.ping)
        _ = try await peer.expect("pong")
        await scene.server.clock.passPause(upTo: .seconds(9))
        try await scene.returning().admit()
        await scene.expect(.reconnected)
        await scene.stop()
    }

    @Test func `what was missed is told, and nothing else`() async throws {
        var scene = try ClientScene()
        let peer = try await scene.join(
            players: ["bob", "carol", "dave"].map { PlayerInfo(playerID: $0, playerData: $0) },
            tracks: [
                track("kept", of: "bob"), track("gone", of: "bob"), track("mute", of: "bob"),
                track("anew", of: "carol", .video), track("daves", of: "dave"),
            ])
        for _ in 0..<6 { _ = await scene.events.next(isolation: nil) }
        peer.send(.playerReconnecting(PlayerReference("bob")))
        await scene.expect(.userReconnecting(userID: "bob"))
        peer.close(code: 1000)
        let back = try await scene.returning()
        try await back.admit(
            players: ["carol", "bob", "erin"].map { PlayerInfo(playerID: $0, playerData: $0) },
            tracks: [
                track("kept", of: "bob"), track("mute", of: "bob", muted: true),
                track("anew", of: "carol", .video, version: 2), track("erins", of: "erin"), track("more", of: "bob"),
            ])
        await scene.expect(.reconnected)
        await scene.expect(.tracksUnpublished([remote("gone", of: "bob")], userID: "bob"))
        await scene.expect(.tracksUnpublished([remote("anew", of: "carol", .video)], userID: "carol"))
        await scene.expect(.tracksUnpublished([remote("daves", of: "dave")], userID: "dave"))
        await scene.expect(.userLeft(userID: "dave"))
        await scene.expect(.userReconnected(userID: "bob"))
        await scene.expect(.userJoined(userID: "erin", userData: "erin"))
        await scene.expect(.tracksPublished([remote("anew", of: "carol", .video)], userID: "carol"))
        await scene.expect(.tracksPublished([remote("erins", of: "erin")], userID: "erin"))
        await scene.expect(.tracksPublished([remote("more", of: "bob")], userID: "bob"))
        await scene.expect(.muteStateChanged(remote("mute", of: "bob", muted: true), userID: "bob"))
        back.send(.playerLeft(PlayerReference("carol")))
        await scene.expect(.tracksUnpublished([remote("anew", of: "carol", .video)], userID: "carol"))
        await scene.expect(.userLeft(userID: "carol"))
        await scene.stop()
    }

    @Test func `a user that was another one meanwhile is told anew, one that is the same is not`() async throws {
        var scene = try ClientScene()
        let names = ["bob", "carol", "dave"]
        let peer = try await scene.join(players: names.map { PlayerInfo(playerID: $0, playerData: "old") })
        for _ in 0..<3 { _ = await scene.events.next(isolation: nil) }
        peer.close(code: 1000)
        let back = try await scene.returning()
        try await back.admit(players: [
            PlayerInfo(playerID: "bob", playerData: "new"), PlayerInfo(playerID: "carol", playerData: "old"),
            PlayerInfo(playerID: "dave"),
        ])
        await scene.expect(.reconnected)
        await scene.expect(.userLeft(userID: "bob"))
        await scene.expect(.userJoined(userID: "bob", userData: "new"))
        await scene.expect(.userLeft(userID: "dave"))
        await scene.expect(.userJoined(userID: "dave", userData: ""))
        #expect(scene.client.remoteUser("bob")?.userData == "new")
        #expect(scene.client.remoteUser("dave")?.userData == "")
        back.close(code: 1000)
        try await scene.returning().admit(players: [
            PlayerInfo(playerID: "bob", playerData: "new"), PlayerInfo(playerID: "carol", playerData: "old"),
            PlayerInfo(playerID: "dave"), PlayerInfo(playerID: "erin"),
        ])
        await scene.expect(.reconnected)
        await scene.expect(.userJoined(userID: "erin", userData: ""))
        await scene.stop()
    }

    /// wire.md 4.2 on a resume. What the vendor's web client hangs on for ever ends here with the code.
    @Test(arguments: [
        (10001, DisconnectedReason.error, 10001), (10002, .error, 10002), (10003, .error, 21003),
        (10004, .error, 21003), (10005, .roomClosed, 10005), (10006, .kickedOut, 10006), (10011, .roomFull, 10011),
        (10012, .error, 21003), (10021, .error, 10021), (10022, .error, 10022), (10054, .error, 10054),
    ])
    func `a refused resume ends`(code: Int, reason: DisconnectedReason, told: Int) async throws {
        var scene = try ClientScene()
        let peer = try await scene.join()
        peer.close(code: 1000)
        try await scene.returning().refuseAuth(ResultCode(rawValue: code), "because")
        let info = try await scene.expectEnd()
        #expect(info.reason == reason)
        #expect(info.error?.code.rawValue == told)
        #expect(info.error?.message.contains("because") == true)
        await scene.stop()
    }

    @Test func `10052 to a resume leads to a new join on the same access token`() async throws {
        var scene = try ClientScene(autoSubscribe: true)
        let microphone = LocalTrack(kind: .audio)
        let peer = try await scene.join(
            players: [PlayerInfo(playerID: "bob")], tracks: [track("t1", of: "bob", .video)])
        await scene.expect(.userJoined(userID: "bob", userData: ""))
        await scene.expect(.tracksPublished([remote("t1", of: "bob", .video)], userID: "bob"))
        try await peer.acceptSubscription("subpc")
        await scene.expect(
            .tracksSubscribed(
                videoTracks: [remote("t1", of: "bob", .video, subscribed: true)], audioTracks: [], userID: "bob"))
        let client = scene.client
        let publishing = Task { try await client.publish([microphone]) }
        try await peer.acceptPublication("pubpc", ["own1"])
        try await publishing.value
        _ = try await peer.expect("mute-tracks")
        peer.send(
            .messages(
                RoomMessages(messages: [
                    RoomMessage(messageID: "m", serial: 9, timestamp: 1, playerID: "bob", text: "x")
                ])))
        guard case .messageReceived = await scene.events.next(isolation: nil) else { throw Unexpected("no message") }

        peer.close(code: 1000)
        let refused = try await scene.returning()
        try await refused.refuseAuth(.serverUnavailable)
        await scene.server.clock.passPause(upTo: .milliseconds(1500))
        let back = try await scene.server.nextPeer()
        let request = try await back.admit(
            players: [PlayerInfo(playerID: "bob")], tracks: [track("t1", of: "bob", .video)])
        #expect(request.reconnectToken == nil)
        #expect(request.messageSerial == nil)
        await scene.expect(.reconnected)
        // A new session knows nothing: everything is published and subscribed anew.
        try await back.acceptPublication("pubpc", ["own2"])
        _ = try await back.expect("mute-tracks")
        #expect(try await back.acceptSubscription("subpc") == ["t1"])
        #expect(microphone.trackID == "own2")
        #expect(scene.server.targets.filter { $0.hasPrefix("/v3") }.count == 1)
        // The serials of a new life of the room begin anew.
        back.send(
            .messages(
                RoomMessages(messages: [
                    RoomMessage(messageID: "m", serial: 1, timestamp: 1, playerID: "bob", text: "y")
                ])))
        guard case .messageReceived(let info) = await scene.events.next(isolation: nil) else {
            throw Unexpected("no message")
        }
        #expect(info.content == "y")
        await scene.stop()
    }

    @Test func `after thirty seconds it is over with 21003`() async throws {
        var scene = try ClientScene()
        let peer = try await scene.join(players: [PlayerInfo(playerID: "bob")])
        await scene.expect(.userJoined(userID: "bob", userData: ""))
        let clock = scene.server.clock
        await scene.server.stop()
        _ = await peer.end()
        await scene.expect(.reconnecting)
        #expect(scene.client.remoteUserList.map(\.userID) == ["bob"], "the list stays")
        await #expect(throws: RTCError.self) { try await scene.client.publish([LocalTrack(kind: .audio)]) }
        #expect(throws: RTCError.self) { try scene.client.sendMessage("x") }
        while clock.now < .milliseconds(29_900) {
            guard scene.client.connectionState == .reconnecting else { break }
            await clock.passPause(upTo: .seconds(6))
            if clock.now >= .milliseconds(29_700) { clock.advance(to: .seconds(30)) }
        }
        let info = try await scene.expectEnd()
        #expect(info.reason == .error)
        #expect(info.error?.code == .reconnectFailed)
        #expect(clock.now <= .seconds(30))
        #expect(scene.client.remoteUserList.isEmpty)
        scene.client.leave()
    }

    @Test func `leave ends the attempts`() async throws {
        var scene = try ClientScene()
        let peer = try await scene.join()
        peer.close(code: 1000)
        await scene.expect(.reconnecting)
        scene.client.leave()
        #expect(try await scene.expectEnd().reason == .leave)
        // The next join is a new one.
        #expect(try await scene.join().target == "/signalling")
        await scene.stop()
    }

    @Test func `a loss during a resume is tried again`() async throws {
        var scene = try ClientScene()
        let peer = try await scene.join(token: 5)
        peer.close(code: 1000)
        let first = try await scene.returning()
        _ = try await first.expect("auth")
        first.close(code: 1011)
        await scene.server.clock.passPause(upTo: .milliseconds(1500))
        let second = try await scene.server.nextPeer()
        #expect(try await second.admit().reconnectToken == 5)
        await scene.expect(.reconnected)
        await scene.stop()
    }

    /// Attempts that end at once, as with a server that refuses to connect, and slower ones.
    @Test(arguments: [0, 1, 10, 300])
    func `pauses grow, are spread, and end with the time`(attempt: Int) {
        for jitter in [0, 0.5, 1, 7, -1] {
            var plan = ReconnectPlan(end: .seconds(30))
            var now = Duration.zero
            var pauses: [Duration] = []
            while let pause = plan.nextPause(now: now, jitter: jitter) {
                pauses.append(pause)
                #expect(pause > .zero)
                #expect(now + pause <= .milliseconds(29_750), "the last attempt has a quarter of a second")
                now += pause + .milliseconds(attempt)
                // 3.75 s for the first four with the least jitter, then one in 2 s.
                guard pauses.count <= 20 else { break }
            }
            #expect((6...18).contains(pauses.count), "\(pauses.count) attempts")
            let spread = 0.5 + min(max(jitter, 0), 1)
            #expect(pauses[0] == .milliseconds(Int(500 * spread)))
            #expect(pauses[1] == .milliseconds(Int(1000 * spread)))
            #expect(pauses[2] == .milliseconds(Int(2000 * spread)))
            #expect(pauses[3] == .milliseconds(Int(4000 * spread)))
            #expect(now > .seconds(29) && now <= .milliseconds(30_050))
        }
    }
}
