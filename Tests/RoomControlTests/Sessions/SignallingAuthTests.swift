import FoundationEssentials
import MediaWire
import RoomControl
import RoomProtocol
import RoomTestKit
import Testing

/// Coming in by signalling: tokens, what auth-res shows, deadlines, coming back.
@Suite struct SignallingAuthTests {
    @Test func `auth-res shows the room, then comes a ping`() async throws {
        let kit = SignallingKit()
        let first = try await kit.join("first", data: "data of the first")
        let ids = await first.publish(["a0", "v2", "v3"])
        let second = try await kit.join("second")
        let answer = try #require(second.auth)
        #expect(answer.code == .ok && answer.error == nil && answer.rpcid == "1")
        #expect(answer.reconnectToken ?? 0 != 0)
        #expect(answer.players == [PlayerInfo(playerID: "first", playerData: "data of the first")])
        #expect(answer.tracks?.map(\.trackID) == ids)
        #expect(answer.tracks?.map(\.profiles) == [nil, ["high", "low"], ["high", "medium", "low"]])
        #expect(answer.tracks?.allSatisfy { !$0.mid.isEmpty && $0.playerID == "first" } == true)
        #expect(answer.rtpCapabilities?.codecs.map(\.name) == ["opus", "VP8"])
        #expect(second.texts.count == 2 && second.texts[1] == "ping={}")
        #expect(first.notifications.contains(.playerJoined(PlayerInfo(playerID: "second", playerData: ""))))
        // Every three seconds one more.
        await kit.clock.advance(by: .seconds(3))
        #expect(second.texts.count == 3 && second.texts[2] == "ping={}")
    }

    @Test func `a client without capsdp has no media`() async throws {
        let kit = SignallingKit()
        let user = await kit.connect()
        await user.send("auth", AuthRequest(token: try await kit.accessToken("user"), rpcid: "1"))
        #expect(user.auth?.code == .ok && user.auth?.rtpCapabilities == nil)
        #expect(await user.publish(["a0"]).isEmpty && user.code("pubpc") == .mediaNotSupported)
        await user.send(#"subpc={"tracks":[],"rpcid":"s"}"#)
        #expect(user.code("subpc") == .mediaNotSupported)
    }

    @Test(arguments: [
        (SampleOffers.capabilitiesWithoutVP8, ResultCode.mediaNotSupported), ("nonsense", .invalidParameter),
    ])
    func `a join with unusable capabilities is refused and leaves no room`(_ sdp: String, _ code: ResultCode)
        async throws
    {
        let kit = SignallingKit()
        let user = await kit.connect()
        var request = AuthRequest(token: try await kit.accessToken("user"), rpcid: "1")
        request.capabilitiesSDP = sdp
        await user.send("auth", request)
        #expect(user.auth?.code == code && user.auth?.error?.isEmpty == false)
        #expect(await kit.directory.roomCount == 0 && kit.environment.population.users == 0)
        #expect(!user.isClosed)
    }

    // MARK: Tokens

    @Test func `tokens that are not this node's`() async throws {
        let (kit, foreign) = (SignallingKit(seed: 1), SignallingKit(seed: 2))
        let right = try await kit.accessToken("user")
        let parts = right.split(separator: ".").map(String.init)
        let other = try await kit.accessToken("boss").split(separator: ".").map(String.init)
        for token in [
            "", ".", "..", "a.b.c", "nonsense", String(repeating: "x", count: 100_000),
            try await foreign.accessToken("user"),
            kit.roomToken("user"), parts[0] + "." + other[1] + "." + parts[2], parts.dropLast().joined(separator: "."),
            right + "x", right + ".", "消息.消息.消息", String(right.dropLast(4)),
        ] {
            let connection = await kit.connect()
            await connection.send("auth", AuthRequest(token: token, rpcid: "1"))
            #expect(connection.auth?.code == .tokenInvalid && connection.auth?.error?.isEmpty == false)
            #expect(
                connection.texts.allSatisfy { token.isEmpty || token.count < 6 || !$0.contains(token) }, "never a token"
            )
            #expect(await kit.directory.roomCount == 0)
        }
    }

    @Test func `the HTTP step refuses what is wrong with a room token`() async throws {
        let kit = SignallingKit()
        func refusal(
            _ token: String, app: String = "a", room: String = "room", user: String? = "user"
        ) async -> SignallingEndpoint.AccessRefusal? {
            do throws(SignallingEndpoint.AccessRefusal) {
                _ = try await kit.endpoint.access(app: app, room: room, user: user, roomToken: token, url: "wss://x")
                return nil
            } catch { return error }
        }
        let right = kit.roomToken("user")
        #expect(await refusal(right) == nil)
        #expect(await refusal(right, user: nil) == nil)
        for (app, room, user) in [("b", "room", "user"), ("a", "other", "user"), ("a", "room", "other")] {
            guard case .otherName(let sentence) = await refusal(right, app: app, room: room, user: user) else {
                Issue.record("\(app) \(room) \(user)")
                continue
            }
            #expect(!sentence.isEmpty)
        }
        #expect(await refusal(kit.roomToken("user", lifetime: -1)) == .token(.expired))
        let forged = RoomToken(app: "a", room: "room", user: "user", expiresAt: .max)
            .signed(by: AccessKey(id: "k", secret: "guess"))
        #expect(await refusal(forged) == .token(.wrongSignature))
        for token in ["", "a:b:c", "k::", String(repeating: ":", count: 10_000)] {
            guard case .token? = await refusal(token) else {
                Issue.record("\(token.prefix(20)) is taken")
                continue
            }
        }
    }

    @Test func `a room token that expires between the steps`() async throws {
        let kit = SignallingKit()
        let access = try await kit.accessToken("user", lifetime: 5)
        kit.clock.jump(by: .seconds(6))
        let connection = await kit.connect()
        await connection.send("auth", AuthRequest(token: access, rpcid: "1"))
        #expect(connection.auth?.code == .tokenExpired && connection.auth?.error?.isEmpty == false)
        #expect(await kit.directory.roomCount == 0)
    }

    @Test func `apps that make no rooms on demand`() async throws {
        var settings = AppSettings()
        settings.noAutoCreateRoom = true
        let kit = SignallingKit(settings)
        #expect(try await kit.join("user").auth?.code == .roomNotExist)
        _ = await kit.directory.create(RoomKey(app: "a", room: "room"), settings: settings)
        #expect(try await kit.join("user").auth?.code == .ok)
    }

    @Test func `a full room`() async throws {
        var settings = AppSettings()
        settings.maxUsers = 1
        let kit = SignallingKit(settings)
        let first = try await kit.join("first")
        let second = try await kit.join("second")
        #expect(second.auth?.code == .roomFull && second.auth?.error?.isEmpty == false)
        // One whose connection is lost still counts.
        await first.session.closed()
        #expect(try await kit.join("second").auth?.code == .roomFull)
        await kit.clock.advance(by: .seconds(30))
        #expect(try await kit.join("second").auth?.code == .ok)
    }

    @Test func `a room that the server made waits thirty seconds`() async throws {
        let kit = SignallingKit()
        let key = RoomKey(app: "a", room: "room")
        _ = await kit.directory.create(key, settings: AppSettings())
        await kit.clock.advance(by: MediaDuration(nanoseconds: 29_999_999_999))
        #expect(await kit.room() != nil)
        await kit.clock.advance(by: MediaDuration(nanoseconds: 1))
        #expect(await kit.room() == nil)
        #expect(kit.notices.of("room") == [.created(byServer: true), .closed(.unused)])
        // One who comes in time keeps it; from then on it is a room as any other.
        _ = await kit.directory.create(key, settings: AppSettings())
        await kit.clock.advance(by: .seconds(29))
        await (try await kit.join("user")).send("disconnect={}")
        await kit.clock.advance(by: MediaDuration(nanoseconds: 9_999_999_999))
        #expect(await kit.room() != nil)
        await kit.clock.advance(by: MediaDuration(nanoseconds: 1))
        #expect(await kit.room() == nil)
    }

    // MARK: Order and deadlines

    @Test func `auth twice`() async throws {
        let kit = SignallingKit()
        let user = try await kit.join("user")
        await user.send("auth", AuthRequest(token: try await kit.accessToken("other"), rpcid: "again"))
        #expect(user.code("auth") == .invalidParameter)
        #expect(user.texts.last?.contains("again") == true)
        #expect(await kit.users() == ["user"] && !user.isClosed)
    }

    @Test func `a refused auth may be followed by a right one`() async throws {
        let kit = SignallingKit()
        let user = await kit.connect()
        await user.send("auth", AuthRequest(token: "wrong", rpcid: "1"))
        #expect(user.auth?.code == .tokenInvalid)
        await user.send("auth", AuthRequest(token: try await kit.accessToken("user"), rpcid: "2"))
        #expect(user.auth?.code == .ok)
        await kit.clock.advance(by: .seconds(11))
        #expect(!user.isClosed)
    }

    @Test func `no auth within ten seconds`() async throws {
        let kit = SignallingKit()
        let (silent, talking, user) = (await kit.connect(), await kit.connect(), try await kit.join("user"))
        await kit.clock.advance(by: MediaDuration(nanoseconds: 9_999_999_999))
        await talking.send("pong={}")
        await talking.send("auth", AuthRequest(token: "wrong", rpcid: "1"))
        #expect(!silent.isClosed && !talking.isClosed)
        await kit.clock.advance(by: MediaDuration(nanoseconds: 1))
        #expect(silent.closes == [4408] && talking.closes == [4408] && !user.isClosed)
        // Nothing more comes of it.
        let before = silent.frameCount
        await silent.send("auth", AuthRequest(token: try await kit.accessToken("late"), rpcid: "1"))
        #expect(silent.frameCount == before)
        #expect(await kit.users() == ["user"])
    }

    @Test func `a connection that leaves before auth`() async throws {
        let kit = SignallingKit()
        let connection = await kit.connect()
        await connection.send("disconnect={}")
        #expect(connection.closes == [1000] && connection.frameCount == 0)
        let gone = await kit.connect()
        await gone.session.closed()
        #expect(kit.clock.waiting == 1, "only the first one's deadline is left, and does nothing")
        await kit.clock.advance(by: .seconds(10))
        #expect(connection.closes == [1000])
    }

    // MARK: Being lost, and coming back

    @Test func `the others see a loss at once, and a silence after nine seconds`() async throws {
        let kit = SignallingKit()
        let (watcher, lost, silent) = (
            try await kit.join("watcher"), try await kit.join("lost"), try await kit.join("silent")
        )
        await lost.session.closed()
        #expect(watcher.notifications.last == .playerReconnecting(PlayerReference("lost")))
        for _ in 0..<3 {
            #expect(!watcher.notifications.contains(.playerReconnecting(PlayerReference("silent"))))
            await kit.clock.advance(by: .seconds(3))
            await watcher.send("pong={}")
        }
        #expect(watcher.notifications.contains(.playerReconnecting(PlayerReference("silent"))))
        #expect(await kit.users() == ["watcher", "lost", "silent"], "both still count")
        // Any frame is a sign of life, also one that is refused.
        await silent.send("nonsense={}")
        #expect(watcher.notifications.last == .playerReconnected(PlayerReference("silent")))
        for _ in 0..<7 {
            await kit.clock.advance(by: .seconds(3))
            await watcher.send("pong={}")
        }
        #expect(await kit.users() == ["watcher", "silent"])
        #expect(watcher.notifications.contains(.playerLeft(PlayerReference("lost"))))
        await kit.clock.advance(by: .seconds(8))
        await watcher.send("pong={}")
        await kit.clock.advance(by: .seconds(1))
        #expect(await kit.users() == ["watcher"])
        #expect(silent.closes == [1011])
    }

    @Test func `a newcomer knows who is reconnecting`() async throws {
        let kit = SignallingKit()
        await (try await kit.join("lost")).session.closed()
        let user = try await kit.join("user")
        #expect(user.notifications == [.ping, .playerReconnecting(PlayerReference("lost"))])
        await kit.clock.advance(by: .seconds(30))
        #expect(user.notifications.last == .playerLeft(PlayerReference("lost")))
    }

    @Test func `a resume brings tracks, subscriptions and missed messages`() async throws {
        let kit = SignallingKit()
        let other = try await kit.join("other")
        let theirs = await other.publish(["a0"])
        let first = try await kit.join("user")
        let own = await first.publish(["v0"])
        await first.send("subpc", SubscribeRequest(tracks: [WantedTrack(trackID: theirs[0])], rpcid: "s"))
        await other.send("send-message", SendMessage(messageID: "m1", text: "seen"))
        await first.session.closed()
        await other.send("send-message", SendMessage(messageID: "m2", text: "missed"))
        await other.send("send-message", SendMessage(messageID: "m3", target: ["user"], text: "for the user"))
        await other.send("send-message", SendMessage(messageID: "m4", target: ["other"], text: "for nobody"))
        await kit.clock.advance(by: .seconds(20))
        await other.send("pong={}")

        let again = try await kit.resume("user", with: try #require(first.auth), messageSerial: 1)
        let answer = try #require(again.auth)
        #expect(answer.code == .ok && answer.reconnectToken == first.auth?.reconnectToken)
        #expect(answer.ownPublications == own.map { TrackReference($0) })
        #expect(answer.ownSubscriptions == theirs.map { TrackReference($0) })
        #expect(answer.tracks?.map(\.trackID) == theirs)
        let messages = again.notifications.compactMap { notification -> [String]? in
            if case .messages(let messages) = notification { messages.messages.map(\.messageID) } else { nil }
        }
        #expect(messages == [["m2", "m3"]])
        #expect(other.notifications.last == .playerReconnected(PlayerReference("user")))
        #expect(await kit.room()?.details().last?.subscriptions == theirs)
    }

    @Test func `a resume without the loss takes over quietly`() async throws {
        let kit = SignallingKit()
        let first = try await kit.join("user")
        let second = try await kit.resume("user", with: try #require(first.auth))
        #expect(second.auth?.code == .ok)
        #expect(first.closes == [1000] && first.disconnectCode == nil)
        // What still comes over the old one is not the user's.
        await first.send(#"sub-tracks={"tracks":[],"rpcid":"x"}"#)
        #expect(first.code("sub-tracks") == .userNotExist)
        await first.session.closed()
        #expect(await kit.room()?.details().first?.isReconnecting == false)
    }

    @Test func `whatever is wrong with a resume is 10004`() async throws {
        let kit = SignallingKit()
        let user = try await kit.join("user")
        let other = try await kit.join("other")
        var wrong = try #require(other.auth)
        let crossed = try await kit.resume("user", with: wrong)
        #expect(crossed.auth?.code == .reconnectTokenInvalid, "another user's token")
        for token in [1, -1, Int.max, Int.min] {
            wrong.reconnectToken = token
            #expect(try await kit.resume("user", with: wrong).auth?.code == .reconnectTokenInvalid)
        }
        #expect(try await kit.resume("user", "no-such-room", with: wrong).auth?.code == .reconnectTokenInvalid)
        #expect(!user.isClosed && !other.isClosed)
        await user.send("disconnect={}")
        #expect(try await kit.resume("user", with: try #require(user.auth)).auth?.code == .reconnectTokenInvalid)
    }
}
