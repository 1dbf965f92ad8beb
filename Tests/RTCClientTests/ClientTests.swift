import RTCClient
import RoomProtocol
import Testing
import WebTransport

@Suite(.timeLimit(.minutes(1)))
struct JoiningTests {
    @Test func `a join goes through its states and tells of users before their tracks`() async throws {
        var scene = try ClientScene()
        #expect(scene.client.connectionState == .disconnected)
        scene.client.join(token: vectorToken, userData: "hello")
        #expect(scene.client.connectionState == .connecting)
        await scene.expect(.connecting)
        let peer = try await scene.server.nextPeer()
        let request = try await peer.admit(
            players: [
                PlayerInfo(playerID: "alice_1", playerData: "myself"), PlayerInfo(playerID: "bob", playerData: "b"),
                PlayerInfo(playerID: "carol"),
            ],
            tracks: [
                track("t1", of: "carol", .video, muted: true), track("t2", of: "bob"), track("t3", of: "carol"),
                track("own", of: "alice_1"),
            ])
        #expect(request.playerData == "hello")
        #expect(request.capabilitiesSDP?.hasPrefix("v=0\r\n") == true)
        await scene.expect(.connected)
        await scene.expect(.userJoined(userID: "bob", userData: "b"))
        await scene.expect(.userJoined(userID: "carol", userData: ""))
        await scene.expect(
            .tracksPublished(
                [remote("t1", of: "carol", .video, muted: true), remote("t3", of: "carol")], userID: "carol"))
        await scene.expect(.tracksPublished([remote("t2", of: "bob")], userID: "bob"))
        #expect(scene.client.connectionState == .connected)
        #expect(scene.client.remoteUserList.map(\.userID) == ["bob", "carol"])
        let carol = try #require(scene.client.remoteUser("carol"))
        #expect(carol.videoTracks == [remote("t1", of: "carol", .video, muted: true)])
        #expect(carol.audioTracks == [remote("t3", of: "carol")])
        #expect(scene.client.remoteUser("alice_1") == nil)

        peer.send(.playerJoined(PlayerInfo(playerID: "dave", playerData: "d")))
        peer.send(.tracksAdded(TracksAdded(tracks: [track("t4", of: "dave")])))
        peer.send(.tracksMuted(MuteTracks(tracks: [TrackMute(trackID: "t4", muted: true)])))
        peer.send(.playerReconnecting(PlayerReference("dave")))
        peer.send(.playerReconnected(PlayerReference("dave")))
        peer.send(.tracksRemoved(TracksRemoved(tracks: [TrackReference("t4")])))
        peer.send(.playerLeft(PlayerReference("dave")))
        await scene.expect(.userJoined(userID: "dave", userData: "d"))
        await scene.expect(.tracksPublished([remote("t4", of: "dave")], userID: "dave"))
        await scene.expect(.muteStateChanged(remote("t4", of: "dave", muted: true), userID: "dave"))
        await scene.expect(.userReconnecting(userID: "dave"))
        await scene.expect(.userReconnected(userID: "dave"))
        await scene.expect(.tracksUnpublished([remote("t4", of: "dave", muted: true)], userID: "dave"))
        await scene.expect(.userLeft(userID: "dave"))
        await scene.stop()
    }

    @Test func `join acts only when disconnected`() async throws {
        var scene = try ClientScene()
        scene.client.join(token: vectorToken)
        scene.client.join(token: "another")
        await scene.expect(.connecting)
        let peer = try await scene.server.nextPeer()
        try await peer.admit()
        await scene.expect(.connected)
        scene.client.join(token: "another")
        peer.close(code: 1000)
        let back = try await scene.returning()
        scene.client.join(token: "another")
        try await back.admit()
        await scene.expect(.reconnected)
        scene.client.join(token: "another")
        scene.client.leave()
        #expect(try await scene.expectEnd() == DisconnectedInfo(reason: .leave))
        #expect(scene.server.targets.filter { $0.hasPrefix("/v3") }.count == 1)
        await scene.stop()
    }

    @Test func `leave is at once, is told to the server, and lets the client join again`() async throws {
        var scene = try ClientScene()
        let peer = try await scene.join(players: [PlayerInfo(playerID: "bob")])
        await scene.expect(.userJoined(userID: "bob", userData: ""))
        scene.client.leave()
        #expect(scene.client.connectionState == .disconnected)
        #expect(scene.client.remoteUserList.isEmpty)
        scene.client.leave()
        #expect(try await scene.expectEnd() == DisconnectedInfo(reason: .leave))
        _ = try await peer.expect("disconnect")
        #expect(await peer.end()?.code == 1000)
        _ = try await scene.join()
        await scene.stop()
    }

    @Test func `leaving while joining ends it at any point`() async throws {
        var scene = try ClientScene()
        scene.client.join(token: vectorToken)
        scene.client.leave()
        await scene.expect(.connecting)
        #expect(try await scene.expectEnd().reason == .leave)

        scene.client.join(token: vectorToken)
        await scene.expect(.connecting)
        // The first join may have come as far as its socket.
        while true {
            let peer = try await scene.server.nextPeer()
            guard let frame = await peer.next(), frame.type == "auth" else { continue }
            scene.client.leave()
            #expect(try await scene.expectEnd().reason == .leave)
            // The server may have let the user in already: it hears of the leave.
            _ = try await peer.expect("disconnect")
            break
        }
        #expect(scene.client.connectionState == .disconnected)
        await scene.stop()
    }

    /// wire.md, the table of auth-res, at a first join.
    @Test(arguments: [
        (10001, DisconnectedReason.error), (10002, .error), (10003, .error), (10004, .error), (10005, .roomClosed),
        (10006, .kickedOut), (10011, .roomFull), (10012, .error), (10021, .error), (10022, .error), (10051, .error),
        (10053, .error), (10054, .error), (10055, .error),
    ])
    func `a refused join ends with the server's code`(code: Int, reason: DisconnectedReason) async throws {
        var scene = try ClientScene()
        scene.client.join(token: vectorToken)
        await scene.expect(.connecting)
        let peer = try await scene.server.nextPeer()
        try await peer.refuseAuth(ResultCode(rawValue: code), "because")
        let info = try await scene.expectEnd()
        #expect(info == DisconnectedInfo(reason: reason, error: RTCError(.init(rawValue: code), "because")))
        #expect(await peer.next() == nil, "the client closes")
        await scene.stop()
    }

    @Test func `10052 begins anew after a second, with the HTTP step`() async throws {
        var scene = try ClientScene()
        scene.client.join(token: vectorToken)
        await scene.expect(.connecting)
        try await scene.server.nextPeer().refuseAuth(.serverUnavailable)
        await scene.server.clock.passPause(upTo: .seconds(1))
        let peer = try await scene.server.nextPeer()
        #expect(peer.target == "/signalling")
        let request = try await peer.admit()
        #expect(request.reconnectToken == nil)
        await scene.expect(.connected)
        #expect(scene.server.targets.filter { $0.hasPrefix("/v3") }.count == 2)
        await scene.stop()
    }

    @Test func `what the HTTP step refuses is 21001, with the server's sentence`() async throws {
        var scene = try ClientScene()
        scene.server.answerNext([HTTPResponse(status: 401, text: "{\"error\":\"the token is over\",\"code\":10002}")])
        scene.client.join(token: vectorToken)
        await scene.expect(.connecting)
        let info = try await scene.expectEnd()
        #expect(info.reason == .error)
        #expect(info.error?.code == .authFailed)
        #expect(info.error?.message == "HTTP 401, code 10002: the token is over")
        await scene.stop()
    }

    @Test func `an unreadable token is 10001, and nothing is sent`() async throws {
        var scene = try ClientScene()
        scene.client.join(token: "nonsense")
        await scene.expect(.connecting)
        let info = try await scene.expectEnd()
        #expect(info.error?.code == .tokenInvalid)
        #expect(scene.server.targets.isEmpty)
        await scene.stop()
    }

    @Test func `a join that nobody answers is 21004 after the time, one that nobody serves 21001`() async throws {
        var scene = try ClientScene()
        scene.client.join(token: vectorToken)
        await scene.expect(.connecting)
        let clock = scene.server.clock
        for _ in 0..<5 {
            _ = try await scene.server.nextPeer().expect("auth")
            await clock.passPause(upTo: .seconds(5))
            if clock.now < .seconds(29) { await clock.passPause(upTo: .seconds(1)) }
        }
        #expect(clock.now == .seconds(29))
        #expect(try await scene.expectEnd().error?.code == .networkTimeout)

        scene.server.answerNext(Array(repeating: HTTPResponse(status: 503), count: 30))
        scene.client.join(token: vectorToken)
        await scene.expect(.connecting)
        for _ in 0..<29 { await clock.passPause(upTo: .seconds(1)) }
        #expect(try await scene.expectEnd().error?.code == .authFailed)
        await scene.stop()
    }

    @Test func `a configuration that cannot work is refused`() {
        for servers in [[], ["ftp://x"], ["nonsense"], ["http://ok", "ws://x"]] {
            let error = #expect(throws: RTCError.self) {
                try RTCClient(configuration: RTCConfiguration(servers: servers))
            }
            #expect(error?.code == .invalidParameter)
        }
        var configuration = RTCConfiguration(servers: ["https://localhost"])
        configuration.trust = .authoritiesPEM("no PEM")
        #expect(throws: RTCError.self) { try RTCClient(configuration: configuration) }
    }

    @Test func `a client that nobody needs leaves its room`() async throws {
        let server = try ScriptedServer()
        var client: RTCClient? = try RTCClient(
            configuration: RTCConfiguration(servers: [server.base]), transport: server.transport(try HTTPClient()))
        var events = try #require(client?.events).makeAsyncIterator()
        client?.join(token: vectorToken)
        let peer = try await server.nextPeer()
        try await peer.admit()
        #expect(await events.next() == .connectionStateChanged(.connecting, nil))
        #expect(await events.next() == .connectionStateChanged(.connected, nil))
        client = nil
        _ = try await peer.expect("disconnect")
        #expect(await events.next() == .connectionStateChanged(.disconnected, DisconnectedInfo(reason: .leave)))
        #expect(await events.next() == nil)
        await server.stop()
    }
}

@Suite(.timeLimit(.minutes(1)))
struct PutOutTests {
    /// wire.md 12: codes of `disconnect`.
    @Test(arguments: [
        (0, DisconnectedReason.leave), (10003, .error), (10005, .roomClosed), (10006, .kickedOut), (10011, .roomFull),
        (10012, .error), (10021, .error), (10022, .error),
    ])
    func `disconnect puts out with its reason`(code: Int, reason: DisconnectedReason) async throws {
        var scene = try ClientScene()
        let peer = try await scene.join()
        peer.send(.disconnect(DisconnectNotice(ResultCode(rawValue: code), "because", kickedID: "admin")))
        let info = try await scene.expectEnd()
        #expect(info.reason == reason)
        #expect(info.error == (code == 0 ? nil : RTCError(.init(rawValue: code), "because")))
        #expect(await peer.end()?.code == 1000)
        _ = try await scene.join()
        await scene.stop()
    }

    @Test func `disconnect with 10052 is a wish to come back`() async throws {
        var scene = try ClientScene()
        let peer = try await scene.join(token: 3)
        peer.send(.disconnect(DisconnectNotice(.serverUnavailable, "moving")))
        let back = try await scene.returning()
        #expect(try await back.admit().reconnectToken == 3)
        await scene.expect(.reconnected)
        await scene.stop()
    }
}

@Suite(.timeLimit(.minutes(1)))
struct MessageTests {
    private func message(_ serial: Int, _ text: String = "x") -> RoomMessage {
        RoomMessage(messageID: "m\(serial)", serial: serial, timestamp: 1_796_021_520_069, playerID: "bob", text: text)
    }

    private func info(_ serial: Int, _ text: String = "x") -> RTCClientEvent {
        .messageReceived(
            MessageInfo(identifier: "m\(serial)", userID: "bob", content: text, timestamp: 1_796_021_520_069))
    }

    @Test func `messages come by serial, once, and the mark goes back with a resume`() async throws {
        var scene = try ClientScene()
        let peer = try await scene.join()
        peer.send(.messages(RoomMessages(messages: [message(3, "c"), message(2, "你好 = {\"x\":1}")])))
        await scene.expect(info(2, "你好 = {\"x\":1}"))
        await scene.expect(info(3, "c"))
        peer.send(.qos(QoSMessages(messages: [.init(playerID: "bob", qos: "{}", serial: 5)])))
        peer.send(.playerJoined(PlayerInfo(playerID: "carol")))
        await scene.expect(.userJoined(userID: "carol", userData: ""))
        peer.close(code: 1000)
        let back = try await scene.returning()
        let request = try await back.admit(players: [PlayerInfo(playerID: "carol")])
        #expect(request.messageSerial == 5)
        await scene.expect(.reconnected)
        back.send(.messages(RoomMessages(messages: [message(3, "c"), message(6, "d")])))
        await scene.expect(info(6, "d"))
        await scene.stop()
    }

    @Test func `sending names the receivers, or nobody for all`() async throws {
        var scene = try ClientScene()
        #expect(throws: RTCError.self) { try scene.client.sendMessage("too early") }
        let peer = try await scene.join()
        #expect(try scene.client.sendMessage("kickOut", toUsers: ["bob"], messageID: "k1") == "k1")
        let made = try scene.client.sendMessage("hi")
        #expect(made.wholeMatch(of: /[0-9a-f]{8}/) != nil)
        #expect(
            try await peer.expect("send-message").message
                == .sendMessage(SendMessage(messageID: "k1", target: ["bob"], text: "kickOut")))
        #expect(
            try await peer.expect("send-message").message
                == .sendMessage(SendMessage(messageID: made, target: nil, text: "hi")))
        let empty = #expect(throws: RTCError.self) { try scene.client.sendMessage("") }
        #expect(empty?.code == .invalidParameter)
        peer.send(raw: "error={\"type\":\"send-message\",\"msgid\":\"k1\",\"code\":10053,\"error\":\"too long\"}")
        await scene.expect(.messageRefused(messageID: "k1", RTCError(.invalidParameter, "too long")))
        await scene.stop()
    }

    @Test func `a kick needs the server's consent`() async throws {
        var scene = try ClientScene()
        let early = await #expect(throws: RTCError.self) { try await scene.client.kick("bob") }
        #expect(early?.code == .wrongState)
        let peer = try await scene.join()
        let client = scene.client
        let allowed = Task { try await client.kick("bob") }
        let request = try await peer.expect("control")
        #expect(
            request.message == .control(ControlRequest(command: "kickplayer", playerID: "bob", rpcid: request.rpcid)))
        peer.answer(request, Answer(rpcid: request.rpcid))
        try await allowed.value
        let refused = Task { try await client.kick("bob") }
        peer.refuse(try await peer.expect("control"), .noPermission, "needs admin")
        let error = await #expect(throws: RTCError.self) { try await refused.value }
        #expect(error == RTCError(.noPermission, "needs admin"))
        await scene.stop()
    }
}

@Suite(.timeLimit(.minutes(1)))
struct RoleTests {
    @Test func `in live mode a join waits for set-privileges`() async throws {
        var scene = try ClientScene(mode: .live)
        scene.client.join(token: vectorToken)
        await scene.expect(.connecting)
        let peer = try await scene.server.nextPeer()
        #expect(try await peer.admit().privileges == ["subscribe"])
        let request = try await peer.expect("set-privileges")
        #expect(request.message == .setPrivileges(SetPrivileges(privileges: [.subscribe], rpcid: request.rpcid)))
        #expect(scene.client.connectionState == .connecting)
        peer.answer(request, Answer(rpcid: request.rpcid))
        await scene.expect(.connected)

        let audience = await #expect(throws: RTCError.self) {
            try await scene.client.publish([LocalTrack(kind: .audio)])
        }
        #expect(audience?.code == .wrongRole)
        let client = scene.client
        let change = Task { try await client.setClientRole(.broadcaster) }
        let wish = try await peer.expect("set-privileges")
        #expect(
            wish.message == .setPrivileges(SetPrivileges(privileges: [.subscribe, .publish], rpcid: wish.rpcid)))
        peer.answer(wish, Answer(rpcid: wish.rpcid))
        try await change.value
        #expect(client.clientRole == .broadcaster)
        let refused = Task { try await client.setClientRole(.audience) }
        peer.refuse(try await peer.expect("set-privileges"), .noPermission)
        await #expect(throws: RTCError.self) { try await refused.value }
        #expect(client.clientRole == .broadcaster)
        await scene.stop()
    }

    @Test func `a refused role refuses the join`() async throws {
        var scene = try ClientScene(mode: .live)
        try await scene.client.setClientRole(.broadcaster)
        scene.client.join(token: vectorToken)
        await scene.expect(.connecting)
        let peer = try await scene.server.nextPeer()
        #expect(try await peer.admit().privileges == ["subscribe", "publish"])
        peer.refuse(try await peer.expect("set-privileges"), .noPermission, "may not publish")
        #expect(try await scene.expectEnd().error == RTCError(.noPermission, "may not publish"))
        await scene.stop()
    }

    @Test func `a role that the server cannot hear of does not change`() async throws {
        var scene = try ClientScene(mode: .live)
        let client = scene.client
        func refuse(_ sourceLocation: SourceLocation = #_sourceLocation) async {
            let error = await #expect(throws: RTCError.self, sourceLocation: sourceLocation) {
                try await client.setClientRole(.broadcaster)
            }
            #expect(error?.code == .wrongState, sourceLocation: sourceLocation)
            #expect(client.clientRole == .audience, sourceLocation: sourceLocation)
        }
        client.join(token: vectorToken)
        await scene.expect(.connecting)
        await refuse()
        let peer = try await scene.server.nextPeer()
        try await peer.admit()
        let first = try await peer.expect("set-privileges")
        peer.answer(first, Answer(rpcid: first.rpcid))
        await scene.expect(.connected)

        // In the pause before an attempt there is no connection, during one there is: both are cut off.
        peer.close(code: 1000)
        await scene.expect(.reconnecting)
        _ = await scene.server.clock.sleeper(within: .zero...(.seconds(1)))
        await refuse()
        await scene.server.clock.passPause(upTo: .seconds(1))
        let back = try await scene.server.nextPeer()
        await refuse()
        try await back.admit()
        await scene.expect(.reconnected)
        let change = Task { try await client.setClientRole(.broadcaster) }
        let wish = try await back.expect("set-privileges")
        back.answer(wish, Answer(rpcid: wish.rpcid))
        try await change.value
        #expect(client.clientRole == .broadcaster)
        await scene.stop()
    }

    @Test func `there are no roles in rtc mode`() async throws {
        let scene = try ClientScene()
        let error = await #expect(throws: RTCError.self) { try await scene.client.setClientRole(.broadcaster) }
        #expect(error?.code == .wrongMode)
        await scene.stop()
    }
}
