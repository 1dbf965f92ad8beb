import FoundationEssentials
import RTCClient
import RoomProtocol
import Testing
import WebTransport

@Suite(.timeLimit(.minutes(1)))
struct RoomTokenClaimsTests {
    @Test func `the vendor's vectors are read, spaced and compact`() throws {
        let spaced =
            "test-ak:TJlKWTjVD2WAhrUt2HMg5a0800M=:eyJhcHBJZCI6ICJkOGxrN2w0ZWQiLCAicm9vbU5hbWUiOiAibWVldGluZy0wMDEiLCAidXNlcklkIjogImFsaWNlXzEiLCAiZXhwaXJlQXQiOiAxODkzNDU2MDAwLCAicGVybWlzc2lvbiI6ICJ1c2VyIn0="
        for token in [vectorToken, spaced] {
            let claims = try RoomTokenClaims(token: token)
            #expect(claims.appID == "d8lk7l4ed")
            #expect(claims.roomName == "meeting-001")
            #expect(claims.userID == "alice_1")
            #expect(claims.token == token)
        }
    }

    @Test(arguments: [
        "", "a", "a:b", "a:b:c:d", "a:b:!!!", "a:b:e30=", "a:b:bm9uc2Vuc2U=", "a:b:eyJhcHBJZCI6MX0=",
        "a:b c:eyJhcHBJZCI6ImEiLCJyb29tTmFtZSI6ImIiLCJ1c2VySWQiOiJjIn0=", "::", "a:b:=", "a:b:====A",
    ])
    func `what is no room token is refused with a sentence`(token: String) {
        let error = #expect(throws: SignallingError.self) { try RoomTokenClaims(token: token) }
        guard case .badToken(let text) = error else { return #expect(Bool(false), "\(String(describing: error))") }
        #expect(!text.isEmpty)
    }
}

@Suite(.timeLimit(.minutes(1)))
struct RoomAccessTests {
    private func token(_ claims: String) -> String { "h.\(Data(claims.utf8).base64EncodedString()).s" }

    @Test func `roomServers come by falling score, else signalingurl2`() throws {
        let many = try RoomAccess(
            accessToken: token(
                """
                {"signalingurl2":"ws://old/","roomServers":[{"url":"ws://b:1/x","score":1},\
                {"url":"wss://a/","score":2.5},{"url":"http://no/","score":9},{"url":"ws://c/"}]}
                """))
        #expect(many.urls == ["wss://a/", "ws://b:1/x", "ws://c/"])
        #expect(try RoomAccess(accessToken: token("{\"signalingurl2\":\"ws://x/s\"}")).urls == ["ws://x/s"])
        #expect(
            try RoomAccess(accessToken: token("{\"signalingurl2\":\"ws://x/s\",\"roomServers\":[]}")).urls == [
                "ws://x/s"
            ])
    }

    @Test(arguments: ["", "a.b", "a.b.c", "a.e30=.c", "a.e30=.c.d"])
    func `an access token without an address is refused`(token: String) {
        #expect(throws: SignallingError.self) { try RoomAccess(accessToken: token) }
    }

    @Test func `the HTTP step asks as the vendor's clients do`() async throws {
        let server = try ScriptedServer()
        let http = try HTTPClient()
        let access = try await server.transport(http).access(RoomTokenClaims(token: vectorToken))
        #expect(access.urls == [server.socketURL])
        #expect(access.accessToken.hasPrefix("head."))
        #expect(
            server.targets == [
                "/v3/apps/d8lk7l4ed/rooms/meeting-001/auth?user=alice_1&token=\(vectorToken)"
            ])
        await server.stop()
    }

    @Test func `an answer of 500 or more, or none, leads to the next server`() async throws {
        let first = try ScriptedServer()
        let second = try ScriptedServer()
        let http = try HTTPClient()
        first.answerNext([HTTPResponse(status: 503, headers: ["Retry-After": "30"], text: "{\"error\":\"draining\"}")])
        let access = try await first.transport(http, servers: ["http://127.0.0.1:1", first.base + "/", second.base])
            .access(RoomTokenClaims(token: vectorToken))
        #expect(access.urls == [second.socketURL])
        #expect(first.targets.count == 1)
        await first.stop()
        await second.stop()
    }

    @Test func `an answer of 400 to 499 is final, with the server's code and sentence`() async throws {
        let server = try ScriptedServer()
        let http = try HTTPClient()
        server.answerNext([HTTPResponse(status: 401, text: "{\"error\":\"the token is over\",\"code\":10002}")])
        let error = await #expect(throws: SignallingError.self) {
            try await server.transport(http, servers: [server.base, server.base])
                .access(RoomTokenClaims(token: vectorToken))
        }
        #expect(error == .denied(status: 401, code: .tokenExpired, text: "the token is over"))
        #expect(server.targets.count == 1)
        await server.stop()
    }

    @Test func `all servers are asked anew each second, until the time is over`() async throws {
        let server = try ScriptedServer(authentication: { _, _ in HTTPResponse(status: 500) })
        let http = try HTTPClient()
        let transport = server.transport(http)
        let asking = Task {
            try await transport.access(RoomTokenClaims(token: vectorToken), within: .milliseconds(2500))
        }
        await server.clock.passPause(upTo: .seconds(1))
        await server.clock.passPause(upTo: .seconds(1))
        let error = await #expect(throws: SignallingError.self) { try await asking.value }
        #expect(error == .unreachable("\(server.base) answered HTTP 500"))
        #expect(server.targets.count == 3)
        await server.stop()
    }

    @Test(arguments: ["{}", "not JSON", "{\"accessToken\":1}", "{\"accessToken\":\"a.b.c\"}"])
    func `an answer of 200 without a token counts as none`(body: String) async throws {
        let server = try ScriptedServer(authentication: { _, _ in HTTPResponse(status: 200, text: body) })
        let http = try HTTPClient()
        let error = await #expect(throws: SignallingError.self) {
            try await server.transport(http).access(RoomTokenClaims(token: vectorToken), within: .zero)
        }
        guard case .unreadable = error else { return #expect(Bool(false), "\(String(describing: error))") }
        await server.stop()
    }
}

@Suite(.timeLimit(.minutes(1)))
struct SignallingConnectionTests {
    /// A server, the client's connection to it, and its other end.
    private func withConnection(
        limit: Int = 4096, _ body: (ScriptedServer, SignallingConnection, Peer) async throws -> Void
    ) async throws {
        let server = try ScriptedServer()
        var transport = server.transport(try HTTPClient())
        transport.notificationLimit = limit
        let connection = try await SignallingConnection.open(url: server.socketURL, transport: transport)
        let peer = try await server.nextPeer()
        try await body(server, connection, peer)
        connection.close()
        await server.stop()
    }

    @Test func `the first socket has no query, a later one has sixteen hexadecimal digits`() async throws {
        try await withConnection { server, _, peer in
            #expect(peer.target == "/signalling")
            let transport = server.transport(try HTTPClient())
            let again = try await SignallingConnection.open(
                url: server.socketURL, isReconnect: true, transport: transport)
            let target = try await server.nextPeer().target
            #expect(target.wholeMatch(of: /\/signalling\?rpcid=[0-9a-f]{16}/) != nil, "\(target)")
            #expect(again.url == server.socketURL)
            again.close()
        }
    }

    @Test func `auth says all that it should, and a resume more`() async throws {
        try await withConnection { _, connection, peer in
            var auth = SignallingAuth(accessToken: "a.b.c", userData: "data")
            auth.capabilitiesSDP = "v=0"
            let answered = Task { [auth] in try await connection.authenticate(auth) }
            let request = try await peer.admit(token: 99)
            #expect(try await answered.value.reconnectToken == 99)
            #expect(request.token == "a.b.c")
            #expect(request.playerData == "data")
            #expect(request.capabilitiesSDP == "v=0")
            #expect(request.privileges == ["subscribe", "publish"])
            #expect(request.reconnectToken == nil)
            #expect(request.messageSerial == nil)
            #expect(request.multicodec == nil)
            #expect(request.rpcid?.wholeMatch(of: /[0-9a-f]{8}/) != nil)
            #expect(request.agent?.isEmpty == false)
            #expect(request.sdkVersion == RTCClientVersion.text)

            auth.reconnectToken = 99
            auth.messageSerial = 5
            auth.isMulticodec = true
            let again = Task { [auth] in try await connection.authenticate(auth) }
            let resume = try await peer.admit()
            _ = try await again.value
            #expect(resume.reconnectToken == 99)
            #expect(resume.messageSerial == 5)
            #expect(resume.multicodec == true)
        }
    }

    @Test func `an answer must match in type and rpcid; answers come in any order`() async throws {
        try await withConnection { _, connection, peer in
            let kicked = Task { try await connection.kick("bob") }
            let kick = try await peer.expect("control")
            let role = Task { try await connection.setPrivileges([.subscribe]) }
            let privileges = try await peer.expect("set-privileges")
            #expect(kick.rpcid != privileges.rpcid)
            peer.send(raw: "control-res={\"rpcid\":\"00000000\",\"code\":10051,\"error\":\"another's\"}")
            peer.send(raw: "sub-tracks-res={\"rpcid\":\"\(kick.rpcid)\",\"code\":10051,\"tracks\":[]}")
            peer.send(raw: "control-res={\"code\":10051}")
            peer.answer(privileges, Answer(rpcid: privileges.rpcid))
            try await role.value
            peer.refuse(kick, .noPermission, "only an admin kicks")
            let error = await #expect(throws: SignallingError.self) { try await kicked.value }
            #expect(error == .refused(Refused(.noPermission, "only an admin kicks")))
        }
    }

    @Test func `a request without an answer ends in time, one with an unreadable answer at once`() async throws {
        try await withConnection { server, connection, peer in
            let kicked = Task { try await connection.kick("bob") }
            let late = try await peer.expect("control")
            await server.clock.passPause(upTo: .seconds(5))
            let timeout = await #expect(throws: SignallingError.self) { try await kicked.value }
            guard case .timeout = timeout else { return #expect(Bool(false), "\(String(describing: timeout))") }
            // The answer that comes now is nobody's.
            peer.answer(late, Answer(rpcid: late.rpcid))

            let role = Task { try await connection.setPrivileges([.subscribe]) }
            let request = try await peer.expect("set-privileges")
            peer.send(raw: "set-privileges-res={\"rpcid\":\"\(request.rpcid)\",\"code\":\"zero\"}")
            let unreadable = await #expect(throws: SignallingError.self) { try await role.value }
            guard case .unreadable = unreadable else {
                return #expect(Bool(false), "\(String(describing: unreadable))")
            }
        }
    }

    @Test func `a cancelled task stops waiting`() async throws {
        try await withConnection { _, connection, peer in
            let task = Task { try await connection.kick("bob") }
            _ = try await peer.expect("control")
            task.cancel()
            let error = await #expect(throws: SignallingError.self) { try await task.value }
            #expect(error == .cancelled)

            // One that is cancelled already sends nothing.
            let early = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await connection.kick("bob")
            }
            let unsent = await #expect(throws: SignallingError.self) { try await early.value }
            #expect(unsent == .cancelledUnsent)
            connection.leave()
            _ = try await peer.expect("disconnect")
        }
    }

    @Test func `pings are answered, and their absence is a loss`() async throws {
        try await withConnection { server, connection, peer in
            #expect(connection.end == nil)
            // Nothing is watched before the first ping.
            server.clock.advance(by: .seconds(100))
            for _ in 0..<3 {
                peer.send(.ping)
                _ = try await peer.expect("pong")
                await server.clock.sleeper(within: server.clock.now...(server.clock.now + .seconds(9)))
                server.clock.advance(by: .seconds(3))
            }
            #expect(connection.end == nil)
            // The third came 3 s ago: 6 s from now.
            let due = await server.clock.sleeper(within: server.clock.now...(server.clock.now + .seconds(6)))
            #expect(due == .seconds(100 + 6 + 9))
            server.clock.advance(to: due)
            for await _ in connection.notifications {}
            #expect(connection.end == .pingMissing)
        }
    }

    @Test func `notifications come in order, unreadable frames are passed over`() async throws {
        try await withConnection { _, connection, peer in
            peer.send(.playerJoined(PlayerInfo(playerID: "bob", playerData: "x = {\"a\":1}")))
            for bad in [
                "", "nonsense", "on-player-in={", "on-player-in={}", "on player=", "on-add-tracks={\"tracks\":7}",
            ] {
                peer.send(raw: bad)
            }
            peer.send(raw: "on-command={\"command\":\"upload-log\"}")
            peer.send(.tracksAdded(TracksAdded(tracks: [track("t1", of: "bob")])))
            peer.send(.playerLeft(PlayerReference("bob")))
            var received: [RoomProtocol.Notification] = []
            for await notification in connection.notifications {
                received.append(notification)
                if received.count == 3 { break }
            }
            #expect(
                received == [
                    .playerJoined(PlayerInfo(playerID: "bob", playerData: "x = {\"a\":1}")),
                    .tracksAdded(TracksAdded(tracks: [track("t1", of: "bob")])), .playerLeft(PlayerReference("bob")),
                ])
            #expect(connection.unreadableFrames == 6)
            #expect(connection.end == nil)
        }
    }

    @Test func `notifications that nobody takes end the connection`() async throws {
        try await withConnection(limit: 10) { _, connection, peer in
            for number in 0..<12 { peer.send(.playerLeft(PlayerReference("user\(number)"))) }
            _ = await peer.end()
            #expect(connection.end == .overflow)
            var count = 0
            for await _ in connection.notifications { count += 1 }
            #expect(count == 10)
        }
    }

    @Test func `a loss ends what waits, and what comes after it`() async throws {
        try await withConnection { _, connection, peer in
            let kicked = Task { try await connection.kick("bob") }
            _ = try await peer.expect("control")
            peer.close(code: 4001, reason: "restart")
            let error = await #expect(throws: SignallingError.self) { try await kicked.value }
            #expect(error == .ended(.closed(code: 4001, reason: "restart")))
            #expect(connection.end == .closed(code: 4001, reason: "restart"))
            await #expect(throws: SignallingError.self) { try await connection.kick("bob") }
            #expect(throws: SignallingError.self) { try connection.mute([]) }
        }
    }

    @Test func `a server that does not read is given up, as the socket says`() async throws {
        let server = HTTPServer(configuration: HTTPServerConfiguration())
        let port = try ScriptedServer.listen(server)
        let (never, end) = AsyncStream.makeStream(of: Void.self)
        // Takes nothing, as long as the test lasts.
        server.start(answering: { _ in .upgrade(WebSocketUpgrade { _ in for await _ in never {} }) })
        let transport = SignallingTransport(http: try HTTPClient(), servers: [])
        let connection = try await SignallingConnection.open(url: "ws://127.0.0.1:\(port)/", transport: transport)
        let text = String(repeating: "x", count: 65_536)
        var refusal: SignallingError?
        // Both sides' queues and the system's are full long before 64 MiB.
        for number in 0..<1024 where refusal == nil {
            do throws(SignallingError) { try connection.sendMessage(text, messageID: "\(number)") } catch {
                refusal = error
            }
        }
        let tooSlow = SignallingEnd.closed(code: 1013, reason: "the server does not read")
        #expect(refusal == .ended(tooSlow))
        #expect(connection.end == tooSlow)
        end.finish()
        await server.stop(grace: .zero)
    }

    @Test func `a leave says so, a loss does not`() async throws {
        try await withConnection { server, connection, peer in
            connection.leave()
            _ = try await peer.expect("disconnect")
            #expect(await peer.end() == WebSocketClose(code: 1000))
            #expect(connection.end == .left)

            let transport = server.transport(try HTTPClient())
            let lost = try await SignallingConnection.open(url: server.socketURL, transport: transport)
            let noticing = try await server.nextPeer()
            lost.abort(.noticed)
            #expect(lost.end == .aborted)
            #expect(await noticing.end() == WebSocketClose(code: 1001))

            var dropped: SignallingConnection? = try await SignallingConnection.open(
                url: server.socketURL, transport: transport)
            let dropping = try await server.nextPeer()
            #expect(dropped?.end == nil)
            dropped = nil
            #expect(await dropping.end() == WebSocketClose(code: 1001))
        }
    }

    @Test func `a silent loss leaves the server in its belief`() async throws {
        try await withConnection { server, connection, peer in
            connection.abort(.silent)
            #expect(connection.end == .aborted)
            peer.send(.ping)
            peer.send(.playerLeft(PlayerReference("x")))
            // The way of a resume: a new socket, then the server closes the old one, on which nothing was said.
            let again = try await SignallingConnection.open(
                url: server.socketURL, isReconnect: true, transport: server.transport(try HTTPClient()))
            _ = try await server.nextPeer()
            peer.close(code: 4000)
            #expect(await peer.next() == nil)
            for await notification in connection.notifications { #expect(Bool(false), "\(notification)") }
            again.close()
        }
    }

    @Test func `the auth-res of a big room is read, up to the limit`() async throws {
        // More than a WebSocket takes when nothing is said (1 MiB a message, 2 MiB waiting).
        let data = String(repeating: "d", count: 1024)
        let players = (0..<3000).map { PlayerInfo(playerID: "user-\($0)", playerData: data) }
        #expect(SignallingTransport(http: try HTTPClient(), servers: []).messageLimit == 64 * 1024 * 1024)
        for limit in [64 * 1024 * 1024, 3_000_000] {
            let server = try ScriptedServer()
            var transport = server.transport(try HTTPClient())
            transport.messageLimit = limit
            let connection = try await SignallingConnection.open(url: server.socketURL, transport: transport)
            let peer = try await server.nextPeer()
            let answering = Task { try await peer.admit(players: players) }
            if limit > 3_000_000 {
                let answer = try await connection.authenticate(SignallingAuth(accessToken: "a.b.c"))
                #expect(answer.players == players)
                peer.send(.playerLeft(PlayerReference("user-0")))
                var notifications = connection.notifications.makeAsyncIterator()
                #expect(await notifications.next(isolation: nil) == .playerLeft(PlayerReference("user-0")))
            } else {
                let error = await #expect(throws: SignallingError.self) {
                    _ = try await connection.authenticate(SignallingAuth(accessToken: "a.b.c"))
                }
                guard case .ended(.closed(code: 1009, _)) = error else {
                    throw Unexpected("\(String(describing: error))")
                }
            }
            _ = try await answering.value
            connection.close()
            await server.stop()
        }
    }

    @Test func `a thousand connections share one thread`() async throws {
        let server = try ScriptedServer()
        let transport = server.transport(try HTTPClient(threadName: "one-for-all"))
        let connections = try await withThrowingTaskGroup(of: SignallingConnection.self) { group in
            for _ in 0..<1000 {
                group.addTask { try await SignallingConnection.open(url: server.socketURL, transport: transport) }
            }
            var all: [SignallingConnection] = []
            for try await connection in group { all.append(connection) }
            return all
        }
        #expect(threads(named: "one-for-all") == 1)
        for _ in 0..<1000 {
            let peer = try await server.nextPeer()
            Task { try await peer.admit() }
        }
        try await withThrowingTaskGroup(of: Int?.self) { group in
            for connection in connections {
                group.addTask {
                    try await connection.authenticate(SignallingAuth(accessToken: "a.b.c")).reconnectToken
                }
            }
            for try await token in group { #expect(token == 7) }
        }
        for connection in connections { connection.close() }
        await server.stop()
    }

    private func threads(named name: String) -> Int {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return tasks.count { task in
            (try? String(contentsOf: URL(filePath: "/proc/self/task/\(task)/comm"), encoding: .utf8)) == name + "\n"
        }
    }
}
