import FoundationEssentials
import MediaWire
import RoomControl
import RoomProtocol
import RoomTestKit
import Testing

/// Races have one outcome each: the table of docs/rooms.md names these tests. Where two calls come at the same time, both
/// orders are tried, and then many times both at once.
@Suite struct RaceTests {
    private static let rounds = 40

    /// Both at once.
    private func together(
        _ first: @escaping @Sendable () async -> Void, _ second: @escaping @Sendable () async -> Void
    ) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await first() }
            group.addTask { await second() }
        }
    }

    /// Nobody who is there sees a user who is not, or misses one.
    private func expectExactView(_ watcher: SignallingConnection, _ users: [String]) throws {
        var view = RoomView(ownID: "watcher")
        var problems = view.reset(try #require(watcher.auth))
        for notification in watcher.notifications { problems += view.apply(notification) }
        #expect(problems.isEmpty)
        #expect(Set(view.players.keys) == Set(users).subtracting(["watcher"]))
    }

    // MARK: Closing

    @Test(arguments: [false, true])
    func `a rejoin while the room closes gets a new room`(isTimerLate: Bool) async throws {
        let kit = SignallingKit()
        let first = try await kit.join("user")
        let old = try #require(await kit.room()).instance
        await first.send("disconnect={}")
        // At the very instant at which the room closes, whether or not its timer has run.
        if isTimerLate { kit.clock.jump(by: .seconds(10)) } else { await kit.clock.advance(by: .seconds(10)) }
        let second = try await kit.join("user")
        #expect(second.auth?.code == .ok)
        #expect(await kit.room()?.instance != old)
        #expect(await kit.directory.roomCount == 1)
        #expect(kit.notices.of("room").filter { $0 == .closed(.empty) }.count == 1)
        await kit.clock.advance(by: .seconds(1))
        #expect(await kit.users() == ["user"], "the old room's end does not touch the new one")
    }

    @Test func `a rejoin just before the room closes keeps it`() async throws {
        let kit = SignallingKit()
        await (try await kit.join("user")).send("disconnect={}")
        let old = await kit.room()?.instance
        kit.clock.jump(by: MediaDuration(nanoseconds: 9_999_999_999))
        #expect(try await kit.join("user").auth?.code == .ok)
        #expect(await kit.room()?.instance == old)
    }

    @Test func `a room that is closed while somebody joins`() async throws {
        for round in 0..<Self.rounds {
            let kit = SignallingKit(seed: UInt64(round))
            let first = try await kit.join("first")
            let room = try #require(await kit.room())
            let connection = await kit.connect()
            let token = try await kit.accessToken("second")
            await together(
                { await room.close() }, { await connection.send("auth", AuthRequest(token: token, rpcid: "1")) })
            #expect(first.disconnectCode == .roomClosed)
            #expect(connection.auth?.code == .ok)
            // It was in the room before and is out of it, or it is in a new one.
            let isOut = connection.disconnectCode == .roomClosed
            #expect(await kit.users() == (isOut ? [] : ["second"]))
            #expect(room.instance != (await kit.room()?.instance))
        }
    }

    // MARK: Joining

    @Test(arguments: [false, true])
    func `of two joins of one user one stays`(noAutoKickUser: Bool) async throws {
        for round in 0..<Self.rounds {
            var settings = AppSettings()
            settings.noAutoKickUser = noAutoKickUser
            let kit = SignallingKit(settings, seed: UInt64(round))
            let watcher = try await kit.join("watcher")
            let token = try await kit.accessToken("user")
            let (a, b) = (await kit.connect(), await kit.connect())
            await together(
                { await a.send("auth", AuthRequest(token: token, rpcid: "1")) },
                { await b.send("auth", AuthRequest(token: token, rpcid: "1")) })
            #expect(await kit.users() == ["watcher", "user"])
            let codes = [a, b].map { $0.auth?.code }
            if noAutoKickUser {
                #expect(Set(codes) == [.ok, .userAlreadyExists])
                #expect(!a.isClosed && !b.isClosed, "the refused one may try again")
            } else {
                #expect(codes == [.ok, .ok])
                let out = [a, b].filter { $0.disconnectCode == .userAlreadyExists }
                #expect(out.count == 1 && out.first?.closes == [1000])
            }
            try expectExactView(watcher, ["watcher", "user"])
        }
    }

    @Test(arguments: [false, true])
    func `a user whose time is up joins again`(isTimerLate: Bool) async throws {
        let kit = SignallingKit()
        let watcher = try await kit.join("watcher")
        let user = try await kit.join("user")
        await user.publish(["a0"])
        await user.session.closed()
        for _ in 0..<10 {
            await kit.clock.advance(by: MediaDuration(nanoseconds: 2_900_000_000))
            await watcher.send("pong={}")
        }
        if isTimerLate { kit.clock.jump(by: .seconds(1)) } else { await kit.clock.advance(by: .seconds(1)) }
        let again = try await kit.join("user")
        #expect(again.auth?.code == .ok && again.auth?.tracks?.isEmpty == true)
        #expect(kit.notices.of("room").contains(.left(user: "user", .silent)), "it left before it came")
        try expectExactView(watcher, ["watcher", "user"])
        var view = RoomView(ownID: "user")
        var problems = view.reset(try #require(again.auth))
        for notification in again.notifications { problems += view.apply(notification) }
        #expect(problems.isEmpty, "nothing of its first life is told to its second")
        #expect(view.players.keys.sorted() == ["watcher"])
    }

    @Test(arguments: [false, true])
    func `a join at the instant of somebody's end sees the room without`(isTimerLate: Bool) async throws {
        let kit = SignallingKit()
        let gone = try await kit.join("gone")
        await gone.session.closed()
        if isTimerLate { kit.clock.jump(by: .seconds(30)) } else { await kit.clock.advance(by: .seconds(30)) }
        let user = try await kit.join("user")
        #expect(user.auth?.players?.isEmpty == true)
        #expect(user.notifications == [.ping], "and hears nothing of it afterwards")
    }

    // MARK: Kicks

    @Test func `a kick while joining comes before or after`() async throws {
        for round in 0..<Self.rounds {
            let kit = SignallingKit(seed: UInt64(round))
            let watcher = try await kit.join("watcher")
            let room = try #require(await kit.room())
            let connection = await kit.connect()
            let token = try await kit.accessToken("user")
            let outcomes = Outcomes()
            await together(
                { await outcomes.add(await room.kick("user")) },
                { await connection.send("auth", AuthRequest(token: token, rpcid: "1")) })
            #expect(connection.auth?.code == .ok)
            switch await outcomes.list {
            case [.done]:
                #expect(connection.disconnectCode == .kickedOut && connection.closes == [1000])
                #expect(await kit.users() == ["watcher"])
            case [.noSuchUser]:
                #expect(connection.disconnectCode == nil)
                #expect(await kit.users() == ["watcher", "user"])
            default: Issue.record("\(await outcomes.list)")
            }
            try expectExactView(watcher, await kit.users())
        }
    }

    @Test func `a ban while joining keeps the user out`() async throws {
        for round in 0..<Self.rounds {
            let kit = SignallingKit(seed: UInt64(round))
            let watcher = try await kit.join("watcher")
            let connection = await kit.connect()
            let token = try await kit.accessToken("user")
            let until = kit.clock.clock.unixTime() + 60
            await together(
                { _ = try? await kit.ban("user", until: until) },
                { await connection.send("auth", AuthRequest(token: token, rpcid: "1")) })
            #expect(await kit.users() == ["watcher"])
            #expect(
                connection.auth?.code == .noPermission
                    || (connection.auth?.code == .ok && connection.disconnectCode == .kickedOut))
            try expectExactView(watcher, ["watcher"])
            #expect(try await kit.tryAccess("user") == .banned)
        }
    }

    @Test func `a join while its app is deleted does not outlive it`() async throws {
        for round in 0..<Self.rounds {
            let kit = SignallingKit(seed: UInt64(round))
            var random = RandomSource.seeded(UInt64(round))
            let app = try kit.apps.create(
                AppChanges(), ownedBy: SignallingKit.key, unixTime: 0, random: &random
            ).id
            let connection = await kit.connect()
            let token = try await kit.accessToken("user", app: app)
            await together(
                {
                    // As the server API does it.
                    try? kit.apps.delete(app, ownedBy: SignallingKit.key)
                    await kit.directory.closeAll(app: app, .deleted, "the app was deleted")
                }, { await connection.send("auth", AuthRequest(token: token, rpcid: "1")) })
            #expect(kit.apps.app(app) == nil)
            #expect(await kit.directory.roomCount == 0)
            #expect(connection.auth?.code == .tokenInvalid || connection.disconnectCode == .roomClosed)
        }
    }

    @Test func `a join while the node stops does not outlive it`() async throws {
        for round in 0..<Self.rounds {
            let kit = SignallingKit(seed: UInt64(round))
            let connection = await kit.connect()
            let token = try await kit.accessToken("user")
            await together(
                {
                    kit.admission.stop()
                    await kit.directory.closeAll()
                }, { await connection.send("auth", AuthRequest(token: token, rpcid: "1")) })
            #expect(await kit.directory.roomCount == 0)
            #expect(connection.auth?.code == .serverUnavailable || connection.disconnectCode == .roomClosed)
        }
    }

    @Test func `a kick while resuming ends the session`() async throws {
        for round in 0..<Self.rounds {
            let kit = SignallingKit(seed: UInt64(round))
            let watcher = try await kit.join("watcher")
            let first = try await kit.join("user")
            await first.publish(["a0"])
            await first.session.closed()
            let answer = try #require(first.auth)
            let room = try #require(await kit.room())
            let connection = await kit.connect()
            var request = AuthRequest(token: try await kit.accessToken("user"), rpcid: "2")
            request.reconnectToken = answer.reconnectToken
            let resume = request
            await together({ _ = await room.kick("user") }, { await connection.send("auth", resume) })
            #expect(await kit.users() == ["watcher"])
            let isRefused = connection.auth?.code == .reconnectTokenInvalid
            #expect(isRefused || connection.disconnectCode == .kickedOut)
            try expectExactView(watcher, ["watcher"])
        }
    }

    @Test func `who leaves while it is kicked leaves once`() async throws {
        for round in 0..<Self.rounds {
            let kit = SignallingKit(seed: UInt64(round))
            let watcher = try await kit.join("watcher")
            let user = try await kit.join("user")
            let room = try #require(await kit.room())
            let outcomes = Outcomes()
            await together({ await outcomes.add(await room.kick("user")) }, { await user.send("disconnect={}") })
            #expect(await kit.users() == ["watcher"])
            let left = kit.notices.of("room").filter { if case .left = $0 { true } else { false } }
            let wasKicked = await outcomes.list == [.done]
            #expect(left == [.left(user: "user", wasKicked ? .kicked : .left)])
            #expect(user.closes == [1000])
            try expectExactView(watcher, ["watcher"])
        }
    }

    @Test func `tracks that are published while their user is kicked go with it`() async throws {
        for round in 0..<Self.rounds {
            let kit = SignallingKit(seed: UInt64(round))
            let watcher = try await kit.join("watcher")
            let user = try await kit.join("user")
            let room = try #require(await kit.room())
            await together({ _ = await room.kick("user") }, { await user.publish(["a0", "v0"]) })
            #expect([.ok, .userNotExist].contains(user.code("pubpc")))
            #expect(await room.details().flatMap(\.tracks).isEmpty)
            try expectExactView(watcher, ["watcher"])
        }
    }

    // MARK: Resuming

    @Test(arguments: [false, true])
    func `a resume at the instant of the thirty seconds is too late`(isTimerLate: Bool) async throws {
        let kit = SignallingKit()
        let user = try await kit.join("user")
        await user.session.closed()
        kit.clock.jump(by: MediaDuration(nanoseconds: 29_999_999_999))
        let inTime = try await kit.resume("user", with: try #require(user.auth))
        #expect(inTime.auth?.code == .ok)
        await inTime.session.closed()
        if isTimerLate { kit.clock.jump(by: .seconds(30)) } else { await kit.clock.advance(by: .seconds(30)) }
        let late = try await kit.resume("user", with: try #require(user.auth))
        #expect(late.auth?.code == .reconnectTokenInvalid)
        #expect(await kit.users() == [])
    }

    @Test func `of two resumes the later one stays`() async throws {
        for round in 0..<Self.rounds {
            let kit = SignallingKit(seed: UInt64(round))
            let watcher = try await kit.join("watcher")
            let first = try await kit.join("user")
            let (a, b) = (await kit.connect(), await kit.connect())
            var request = AuthRequest(token: try await kit.accessToken("user"), rpcid: "2")
            request.reconnectToken = first.auth?.reconnectToken
            let resume = request
            await together({ await a.send("auth", resume) }, { await b.send("auth", resume) })
            #expect(a.auth?.code == .ok && b.auth?.code == .ok)
            #expect([a, b].count(where: \.isClosed) == 1 && first.closes == [1000])
            // The ends of the others are not the user's.
            for connection in [first, a, b] where connection.isClosed { await connection.session.closed() }
            #expect(await kit.room()?.details().map(\.isReconnecting) == [false, false])
            try expectExactView(watcher, ["watcher", "user"])
        }
    }

    @Test func `a join while the old session resumes is the newer one`() async throws {
        for round in 0..<Self.rounds {
            let kit = SignallingKit(seed: UInt64(round))
            let watcher = try await kit.join("watcher")
            let first = try await kit.join("user")
            await first.session.closed()
            let (joining, resuming) = (await kit.connect(), await kit.connect())
            let token = try await kit.accessToken("user")
            var request = AuthRequest(token: token, rpcid: "2")
            request.reconnectToken = first.auth?.reconnectToken
            let resume = request
            await together(
                { await joining.send("auth", AuthRequest(token: token, rpcid: "1")) },
                { await resuming.send("auth", resume) })
            #expect(joining.auth?.code == .ok && !joining.isClosed)
            #expect(
                resuming.auth?.code == .reconnectTokenInvalid || resuming.disconnectCode == .userAlreadyExists)
            try expectExactView(watcher, ["watcher", "user"])
        }
    }

    // MARK: Tokens and draining

    @Test func `a token that expires during a session ends nothing`() async throws {
        let kit = SignallingKit()
        let access = try await kit.accessToken("user", lifetime: 5)
        let user = await kit.connect()
        await user.send("auth", AuthRequest(token: access, rpcid: "1"))
        for _ in 0..<5 {
            await kit.clock.advance(by: .seconds(4))
            await user.send("pong={}")
        }
        #expect(await kit.users() == ["user"])
        await user.session.closed()
        // A resume with the same, old token is no new join.
        let again = await kit.connect()
        var request = AuthRequest(token: access, rpcid: "2")
        request.reconnectToken = user.auth?.reconnectToken
        await again.send("auth", request)
        #expect(again.auth?.code == .ok)
        // A join with it is one.
        let joining = await kit.connect()
        await joining.send("auth", AuthRequest(token: access, rpcid: "3"))
        #expect(joining.auth?.code == .tokenExpired)
        #expect(!again.isClosed)
    }

    @Test func `a draining node makes no rooms and keeps those that are`() async throws {
        let kit = SignallingKit()
        let user = try await kit.join("user")
        let early = try await kit.accessToken("other", "new-room")
        kit.admission.beginDrain(deadline: nil)
        #expect(try await kit.tryAccess("third") == .draining)
        // Whoever made the first step before the drain is refused at the second.
        let joining = await kit.connect()
        await joining.send("auth", AuthRequest(token: early, rpcid: "1"))
        #expect(joining.auth?.code == .serverUnavailable)
        #expect(await kit.directory.roomCount == 1)
        await user.session.closed()
        let again = await kit.connect()
        // The access token of the join is used for the whole session.
        kit.admission.undo()
        var request = AuthRequest(token: try await kit.accessToken("user"), rpcid: "2")
        kit.admission.beginDrain(deadline: nil)
        request.reconnectToken = user.auth?.reconnectToken
        await again.send("auth", request)
        #expect(again.auth?.code == .ok, "who is in may come back")
        kit.admission.undo()
        #expect(try await kit.join("third").auth?.code == .ok)
    }

    @Test func `a connection that breaks during auth is a loss`() async throws {
        for round in 0..<Self.rounds {
            let kit = SignallingKit(seed: UInt64(round))
            let connection = await kit.connect()
            let token = try await kit.accessToken("user")
            await together(
                { await connection.session.closed() },
                { await connection.send("auth", AuthRequest(token: token, rpcid: "1")) })
            let details = await kit.room()?.details() ?? []
            // It never came in, or it is waited for.
            #expect(details.isEmpty || details.map(\.isReconnecting) == [true])
            await kit.clock.advance(by: .seconds(40))
            #expect(await kit.directory.roomCount == 0 && kit.clock.waiting == 0)
        }
    }
}

/// What the calls of a race gave.
private actor Outcomes {
    private(set) var list: [Room.KickOutcome] = []
    func add(_ outcome: Room.KickOutcome) { list.append(outcome) }
}

extension SignallingKit {
    /// Why the HTTP step refuses; `nil`: it does not.
    func tryAccess(_ user: String) async throws -> SignallingEndpoint.AccessRefusal? {
        do {
            _ = try await accessToken(user)
            return nil
        } catch let error as SignallingEndpoint.AccessRefusal { return error }
    }
}
