import FoundationEssentials
import MediaContract
import MediaWire
import RoomControl
import RoomProtocol
import RoomTestKit
import Testing

/// The room document's rules, seen by clients of signalling.
@Suite struct RoomRulesTests {
    @Test func `the first join makes the room, the last leave ends it ten seconds later`() async throws {
        let kit = SignallingKit()
        #expect(await kit.room() == nil)
        let (first, second) = (try await kit.join("first"), try await kit.join("second"))
        await first.send("disconnect={}")
        #expect(second.notifications.last == .playerLeft(PlayerReference("first")))
        #expect(first.closes == [1000])
        await second.send("disconnect={}")
        await kit.clock.advance(by: MediaDuration(nanoseconds: 9_999_999_999))
        #expect(await kit.room() != nil)
        await kit.clock.advance(by: MediaDuration(nanoseconds: 1))
        #expect(await kit.room() == nil)
        #expect(kit.notices.of("room").first == .created(byServer: false))
        #expect(kit.notices.of("room").last == .closed(.empty))
    }

    @Test func `users of one room see each other and nobody else`() async throws {
        let kit = SignallingKit()
        let (here, there) = (try await kit.join("user", "here"), try await kit.join("user", "there"))
        let otherApp = try await kit.join("user", "here", app: "b")
        let before = (there.frameCount, otherApp.frameCount)
        let second = try await kit.join("second", "here")
        let track = await second.publish(["a0"])[0]
        await second.send("send-message", SendMessage(messageID: "m", text: "hello"))
        #expect(here.notifications.count == 4, "ping, arrival, track, message")
        #expect(there.frameCount == before.0 && otherApp.frameCount == before.1)
        // A track of another room does not exist.
        await there.send("subpc", SubscribeRequest(tracks: [WantedTrack(trackID: track)], rpcid: "s"))
        #expect(there.texts.last?.contains("10041") == true && there.texts.last?.contains("\"status\":false") == true)
    }

    @Test func `user data comes with the arrival`() async throws {
        let kit = SignallingKit()
        let first = try await kit.join("first", data: "one")
        let second = try await kit.join("second", data: "{\"name\":\"二\"}")
        #expect(second.auth?.players == [PlayerInfo(playerID: "first", playerData: "one")])
        #expect(
            first.notifications.last
                == .playerJoined(PlayerInfo(playerID: "second", playerData: "{\"name\":\"二\"}")))
    }

    @Test func `thirty seconds without a word, and the user has left`() async throws {
        let kit = SignallingKit()
        let (watcher, user) = (try await kit.join("watcher"), try await kit.join("user"))
        let track = await user.publish(["a0"])[0]
        for second in 1...30 {
            #expect(await kit.users() == ["watcher", "user"], "\(second)")
            await kit.clock.advance(by: .seconds(1))
            await watcher.send("pong={}")
        }
        #expect(await kit.users() == ["watcher"])
        let last = watcher.notifications.filter { $0 != .ping }.suffix(3)
        #expect(
            Array(last) == [
                .playerReconnecting(PlayerReference("user")),
                .tracksRemoved(TracksRemoved(tracks: [TrackReference(track)])),
                .playerLeft(PlayerReference("user")),
            ])
    }

    /// Its last word may be three seconds old by then.
    @Test func `a broken socket is waited for thirty seconds from its break`() async throws {
        let kit = SignallingKit()
        let (watcher, user) = (try await kit.join("watcher"), try await kit.join("user"))
        await kit.clock.advance(by: .milliseconds(2_900))
        await user.session.closed()
        for second in 1...30 {
            #expect(await kit.users() == ["watcher", "user"], "\(second)")
            await kit.clock.advance(by: .seconds(1))
            await watcher.send("pong={}")
        }
        #expect(await kit.users() == ["watcher"])
    }

    /// The node itself may be who closes a socket that was silent.
    @Test func `the end of a socket that was silent gives no more time`() async throws {
        let kit = SignallingKit()
        let (watcher, user) = (try await kit.join("watcher"), try await kit.join("user"))
        for second in 1...30 {
            #expect(await kit.users() == ["watcher", "user"], "\(second)")
            if second == 15 { await user.session.closed() }
            await kit.clock.advance(by: .seconds(1))
            await watcher.send("pong={}")
        }
        #expect(await kit.users() == ["watcher"])
    }

    @Test func `pongs keep a user who says nothing else`() async throws {
        let kit = SignallingKit()
        let user = try await kit.join("user")
        for _ in 0..<100 {
            await kit.clock.advance(by: .seconds(3))
            #expect(user.notifications.last == .ping)
            await user.send("pong={}")
        }
        #expect(await kit.users() == ["user"])
    }

    // MARK: One user once

    @Test func `a newer join ends the older session with 10022`() async throws {
        let kit = SignallingKit()
        let (watcher, first) = (try await kit.join("watcher"), try await kit.join("user"))
        let old = await first.publish(["a0"])[0]
        let second = try await kit.join("user")
        #expect(first.disconnectCode == .userAlreadyExists && first.closes == [1000])
        #expect(second.auth?.code == .ok && second.auth?.tracks == [])
        #expect(
            Array(watcher.notifications.suffix(3)) == [
                .tracksRemoved(TracksRemoved(tracks: [TrackReference(old)])),
                .playerLeft(PlayerReference("user")),
                .playerJoined(PlayerInfo(playerID: "user", playerData: "")),
            ])
        #expect(second.notifications == [.ping], "its own past is not told to it")
        await first.session.closed()
        #expect(await kit.room()?.details().map(\.isReconnecting) == [false, false])
    }

    @Test func `with noAutoKickUser the newer join is refused with 10022`() async throws {
        var settings = AppSettings()
        settings.noAutoKickUser = true
        let kit = SignallingKit(settings)
        let first = try await kit.join("user")
        #expect(try await kit.join("user").auth?.code == .userAlreadyExists)
        #expect(!first.isClosed)
        // One whose connection is lost still has its place; a resume is not a second join.
        await first.session.closed()
        #expect(try await kit.join("user").auth?.code == .userAlreadyExists)
        #expect(try await kit.resume("user", with: try #require(first.auth)).auth?.code == .ok)
    }

    // MARK: Kicks

    @Test func `a kick by an agreed message`() async throws {
        let kit = SignallingKit()
        let (kicker, kicked, third) = (
            try await kit.join("kicker"), try await kit.join("kicked"), try await kit.join("third")
        )
        await kicker.send("send-message", SendMessage(messageID: "m", target: ["kicked"], text: "kickOut"))
        guard case .messages(let messages)? = kicked.notifications.last else {
            Issue.record("no message")
            return
        }
        #expect(messages.messages.map(\.text) == ["kickOut"] && messages.messages[0].playerID == "kicker")
        #expect(!third.texts.contains { $0.contains("kickOut") })
        // Its app leaves when it sees that.
        await kicked.send("disconnect={}")
        #expect(third.notifications.last == .playerLeft(PlayerReference("kicked")))
    }

    @Test func `a kick by the server puts the user out with 10006`() async throws {
        let kit = SignallingKit()
        let (watcher, user) = (try await kit.join("watcher"), try await kit.join("user"))
        await user.publish(["a0"])
        let room = try #require(await kit.room())
        #expect(await room.kick("user") == .done)
        #expect(user.disconnectCode == .kickedOut && user.closes == [1000])
        #expect(watcher.notifications.last == .playerLeft(PlayerReference("user")))
        #expect(await room.kick("user") == .noSuchUser)
        // It cannot resume, and may come back with the same token.
        #expect(try await kit.resume("user", with: try #require(user.auth)).auth?.code == .reconnectTokenInvalid)
        #expect(try await kit.join("user").auth?.code == .ok)
    }

    @Test func `a ban keeps the user out for its time`() async throws {
        let kit = SignallingKit()
        let key = RoomKey(app: "a", room: "room")
        let (watcher, user) = (try await kit.join("watcher"), try await kit.join("user"))
        let early = try await kit.accessToken("user")
        #expect(try await kit.ban("user", until: kit.clock.clock.unixTime() + 20) == .done)
        #expect(user.disconnectCode == .kickedOut)
        #expect(try await kit.tryAccess("user") == .banned)
        let again = await kit.connect()
        await again.send("auth", AuthRequest(token: early, rpcid: "1"))
        #expect(again.auth?.code == .noPermission && again.auth?.error?.isEmpty == false)
        // Over the end of the room, too.
        await watcher.send("disconnect={}")
        await kit.clock.advance(by: .seconds(11))
        #expect(await kit.room() == nil)
        #expect(try await kit.tryAccess("user") == .banned)
        await kit.clock.advance(by: .seconds(9))
        #expect(try await kit.join("user").auth?.code == .ok)
        #expect(try await kit.ban("user", until: kit.clock.clock.unixTime() + 20) == .done)
        #expect(try await kit.directory.unban("user", from: key))
        #expect(try await kit.join("user").auth?.code == .ok)
    }

    /// Whatever the clock on the wall does meanwhile: a room knows just the bans that the table has.
    @Test(arguments: [Int64(200), -200])
    func `bans hold when the clock on the wall is set`(by step: Int64) async throws {
        var limits = RoomLimits()
        limits.bansPerRoom = 2
        let kit = SignallingKit(limits: limits)
        let watcher = try await kit.join("watcher")
        let users = ["a", "b", "c"]
        var tokens: [String: String] = [:]
        for user in users { tokens[user] = try await kit.accessToken(user, lifetime: 86_400) }
        func code(_ user: String) async throws -> ResultCode? {
            let connection = await kit.connect()
            await connection.send("auth", AuthRequest(token: try #require(tokens[user]), rpcid: "1"))
            return connection.auth?.code
        }
        for user in ["a", "b"] {
            #expect(try await kit.ban(user, until: kit.clock.clock.unixTime() + 100) == .noSuchUser)
        }
        kit.clock.setWall(by: step)
        if step < 0 {
            await #expect(throws: BanTable.Refusal.tooMany(limit: 2)) {
                try await kit.ban("c", until: kit.clock.clock.unixTime() + 50)
            }
            #expect(try await code("c") == .ok)
        } else {
            #expect(try await kit.ban("c", until: kit.clock.clock.unixTime() + 50) == .noSuchUser)
            #expect(try await code("c") == .noPermission)
            #expect(try await code("a") == .ok, "its ban is over by the clock that bans are given in")
            await kit.clock.advance(by: .seconds(8))
            await watcher.send("pong={}")
            for _ in 0..<6 {
                await kit.clock.advance(by: .seconds(8))
                await watcher.send("pong={}")
            }
            #expect(try await code("c") == .ok)
        }
    }

    @Test func `an admin kicks over signalling`() async throws {
        let kit = SignallingKit()
        let admin = try await kit.join("admin", permission: .admin)
        let (user, other) = (try await kit.join("user"), try await kit.join("other"))
        await other.send("control", ControlRequest(command: "kickplayer", playerID: "user", rpcid: "k"))
        #expect(other.code("control") == .noPermission && !user.isClosed)
        await admin.send("control", ControlRequest(command: "kickplayer", playerID: "user", rpcid: "k"))
        let answer: Answer? = admin.answer("control")
        #expect(answer?.code == .ok && answer?.error == nil && answer?.playerID == "user")
        guard case .disconnect(let notice)? = user.notifications.last else {
            Issue.record("not put out")
            return
        }
        #expect(notice.code == .kickedOut && notice.kickedID == "admin")
        #expect(kit.notices.of("room").contains(.kicked(user: "user", by: "admin")))
        await admin.send("control", ControlRequest(command: "kickplayer", playerID: "user", rpcid: "k"))
        #expect(admin.code("control") == .userNotExist)
    }

    @Test func `a closed room puts everybody out with 10005`() async throws {
        let kit = SignallingKit()
        let (first, second) = (try await kit.join("first"), try await kit.join("second"))
        await kit.room()?.close(.deleted, "the meeting is over")
        for user in [first, second] {
            #expect(user.notifications.last == .disconnect(DisconnectNotice(.roomClosed, "the meeting is over")))
            #expect(user.closes == [1000])
        }
        #expect(await kit.room() == nil && kit.environment.population.users == 0)
    }

    // MARK: Tracks

    @Test func `tracks are announced, muted and removed for the others`() async throws {
        let kit = SignallingKit()
        let (watcher, user) = (try await kit.join("watcher"), try await kit.join("user"))
        let before = user.frameCount
        let ids = await user.publish(["a0", "v0"])
        #expect(user.frameCount == before + 1, "the answer, and nothing of its own")
        guard case .tracksAdded(let added)? = watcher.notifications.last else {
            Issue.record("not announced")
            return
        }
        #expect(added.tracks.map(\.trackID) == ids && added.tracks.allSatisfy { $0.playerID == "user" && !$0.muted })
        await user.send("mute-tracks", MuteTracks(tracks: [TrackMute(trackID: ids[0], muted: true)]))
        #expect(
            watcher.notifications.last == .tracksMuted(MuteTracks(tracks: [TrackMute(trackID: ids[0], muted: true)])))
        let frames = watcher.frameCount
        await user.send("mute-tracks", MuteTracks(tracks: [TrackMute(trackID: ids[0], muted: true)]))
        #expect(watcher.frameCount == frames, "only changes are told")
        await user.send("unpub-tracks", TracksRequest(tracks: ids.map { TrackReference($0) }, rpcid: "u"))
        #expect(
            watcher.notifications.last == .tracksRemoved(TracksRemoved(tracks: ids.map { TrackReference($0) })))
    }

    @Test func `mids are unique and used again by the same kind`() async throws {
        let kit = SignallingKit()
        let (watcher, user) = (try await kit.join("watcher"), try await kit.join("user"))
        func mids() async throws -> [String] {
            let all = try #require(await kit.room()).details
            return await all().flatMap(\.tracks).map(\.info.mid)
        }
        await watcher.publish(["a0", "v0"])
        await user.publish(["a0", "v0"])
        let first = try await mids()
        #expect(Set(first).count == 4)
        for _ in 0..<5 {
            await user.publish(["v0", "a0"])
            let now = try await mids()
            #expect(Set(now) == Set(first))
            #expect(now[2] == first[3] && now[3] == first[2], "never with another kind")
        }
    }

    // MARK: Roles

    @Test func `an audience does not publish`() async throws {
        let kit = SignallingKit()
        let user = try await kit.join("user")
        await user.send("set-privileges", SetPrivileges(privileges: [.subscribe], rpcid: "s"))
        #expect(user.code("set-privileges") == .ok)
        #expect(await user.publish(["a0"]).isEmpty && user.code("pubpc") == .noPermission)
        await user.send("set-privileges", SetPrivileges(privileges: [.subscribe, .publish], rpcid: "s"))
        let ids = await user.publish(["a0"])
        #expect(ids.count == 1)
        await user.send("set-privileges", SetPrivileges(privileges: [.subscribe], rpcid: "s"))
        #expect(user.code("set-privileges") == .noPermission, "first the tracks go")
        await user.send("unpub-tracks", TracksRequest(tracks: [TrackReference(ids[0])], rpcid: "u"))
        await user.send("set-privileges", SetPrivileges(privileges: [], rpcid: "s"))
        #expect(user.code("set-privileges") == .ok)
        await user.send("subpc", SubscribeRequest(tracks: [], rpcid: "s"))
        #expect(user.code("subpc") == .noPermission)
    }

    // MARK: Messages

    @Test func `one-way messages that are taken are not answered`() async throws {
        let kit = SignallingKit()
        let (user, other) = (try await kit.join("user"), try await kit.join("other"))
        let theirs = await other.publish(["a0"])[0]
        let own = await user.publish(["a0"])[0]
        await user.send("subpc", SubscribeRequest(tracks: [WantedTrack(trackID: theirs)], rpcid: "s"))
        let before = user.frameCount
        await user.send("pong={}")
        await user.send("mute-tracks", MuteTracks(tracks: [TrackMute(trackID: own, muted: true)]))
        await user.send("set-sub-profile", SetSubscribeProfile(tracks: [WantedTrack(trackID: theirs, profile: "low")]))
        await user.send("send-message", SendMessage(messageID: "m", text: "t"))
        await user.send("send-qos-message", SendQoSMessage(qos: "{}", rpcid: "q"))
        #expect(user.frameCount == before)
        await user.send("disconnect={}")
        #expect(user.frameCount == before && user.closes == [1000])
    }

    @Test func `messages go to all others or to those who are named`() async throws {
        let kit = SignallingKit()
        let users = [try await kit.join("u0"), try await kit.join("u1"), try await kit.join("u2")]
        await users[0].send("send-message", SendMessage(messageID: "all", text: "文 = {\"x\":1}"))
        await users[1].send("send-message", SendMessage(messageID: "one", target: ["u2", "u1", "nobody"], text: "t"))
        await users[1].send("send-message", SendMessage(messageID: "none", target: ["nobody"], text: "t"))
        await users[1].send("send-message", SendMessage(messageID: "empty", target: [], text: "t"))
        func ids(_ user: Int) -> [String] {
            users[user].notifications.flatMap { notification -> [String] in
                if case .messages(let messages) = notification { messages.messages.map(\.messageID) } else { [] }
            }
        }
        #expect(ids(0) == ["empty"] && ids(1) == ["all"] && ids(2) == ["all", "one", "empty"])
        guard case .messages(let messages)? = users[1].notifications.last else {
            Issue.record("no message")
            return
        }
        let message = messages.messages[0]
        #expect(message.text == "文 = {\"x\":1}" && message.serial == 1 && message.playerID == "u0")
        #expect(message.timestamp == kit.clock.clock.unixMilliseconds())
    }

    @Test func `quality reports go to subscribers and carry the message serial`() async throws {
        let kit = SignallingKit()
        let (user, subscriber, third) = (
            try await kit.join("user"), try await kit.join("subscriber"), try await kit.join("third")
        )
        let track = await user.publish(["a0"])[0]
        await subscriber.send("subpc", SubscribeRequest(tracks: [WantedTrack(trackID: track)], rpcid: "s"))
        await user.send("send-message", SendMessage(messageID: "m", text: "t"))
        let before = third.frameCount
        await user.send("send-qos-message", SendQoSMessage(qos: "{\"networkGrade\":1}", rpcid: "q"))
        #expect(
            subscriber.notifications.last
                == .qos(QoSMessages(messages: [.init(playerID: "user", qos: "{\"networkGrade\":1}", serial: 1)])))
        #expect(third.frameCount == before)
    }
}

/// A room fixture with users of signalling.
struct SignallingFixture {
    var fixture = RoomFixture()
    var links: [String: LinkID] = [:]

    @discardableResult
    mutating func join(_ user: String) throws -> SessionGrant {
        let link = LinkID(UInt64(links.count + 1))
        var entry = SessionEntry(user: user)
        entry.profile = try ClientCapabilities.capabilities(of: SampleOffers.capabilities, videoCodec: .vp8)
        let grant = try fixture.run { try $0.join(entry, link: link, now: $1, effects: &$2) }
        links[user] = link
        fixture.inbox[link] = []
        return grant
    }

    mutating func publish(_ user: String, _ mids: [String]) throws -> [String] {
        let link = try #require(links[user])
        let tracks = mids.map { SampleOffers.track($0) }
        let offer = try PublishOfferReader.read(sdp: SampleOffers.publish, tracks: tracks)
        return try fixture.run {
            try $0.openPublishing(user, link: link, offer: offer, tracks: tracks, now: $1, effects: &$2).1
        }.compactMap(\.trackID)
    }

    func last(_ user: String) -> Notification? { links[user].flatMap { fixture.inbox[$0]?.last } }
}
