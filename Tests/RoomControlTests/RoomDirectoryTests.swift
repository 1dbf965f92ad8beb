import MediaContract
import MediaWire
import RoomControl
import RoomTestKit
import Synchronization
import Testing

@Suite struct RoomDirectoryTests {
    let clock = ManualClock()
    let plane = RecordingMediaPlane(workers: 2)
    let directory: RoomDirectory
    let endpoint: JoinEndpoint
    let notices = Notices()
    static let key = AccessKey(id: "k", secret: "s")

    final class Notices: Sendable {
        private let list = Mutex<[(RoomKey, RoomNotice)]>([])
        func add(_ key: RoomKey, _ notice: RoomNotice) { list.withLock { $0.append((key, notice)) } }
        func of(_ room: String) -> [RoomNotice] { list.withLock { $0.filter { $0.0.room == room }.map(\.1) } }
    }

    init() {
        let environment = RoomEnvironment(
            plane: plane, clock: clock.clock, random: .seeded(42),
            observe: { [notices] key, _, notice in notices.add(key, notice) })
        directory = RoomDirectory(environment: environment)
        endpoint = JoinEndpoint(
            apps: AppDirectory(apps: [App(id: "a", accessKey: "k")], keys: [Self.key]), directory: directory,
            environment: environment,
            settings: Current(
                PlainLegSettings(areAllowed: true, announced: [TransportAddress(ipv4: 0x7F00_0001, port: 0)])))
    }

    func token(_ user: String, _ room: String) throws -> RoomToken {
        let text = RoomToken(app: "a", room: room, user: user, expiresAt: clock.clock.unixTime() + 1000)
            .signed(by: Self.key)
        return try endpoint.verify(text)
    }

    @discardableResult
    func join(_ user: String, _ room: String, _ kind: LegKind = .sending) async throws -> JoinedLeg {
        let offer =
            """
            v=0
            o=- 1 1 IN IP4 127.0.0.1
            s=-
            c=IN IP4 127.0.0.1
            t=0 0
            m=audio 5004 RTP/SAVP 111
            a=rtpmap:111 opus/48000/2
            a=\(kind == .sending ? "sendonly" : "recvonly")
            a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwd

            """
        return try await endpoint.join(
            JoinEndpoint.Request(
                token: try token(user, room), kind: kind, offer: offer.replacing("\n", with: "\r\n"),
                client: TransportAddress(ipv4: 0x7F00_0001, port: 4000)))
    }

    @Test func roomsGoToTheLeastLoadedWorker() async throws {
        try await join("u", "one")
        try await join("u", "two")
        try await join("v", "one", .receiving)
        #expect(plane.model(0).transports.count == 2)
        #expect(plane.model(1).transports.count == 1)
        #expect(plane.model(0).subscriptions.count == 1 && plane.model(1).subscriptions.isEmpty)
        #expect(plane.violations.isEmpty)
    }

    @Test func sameNamesInTwoRoomsNeverMeet() async throws {
        try await join("u", "one")
        try await join("u", "two")
        try await join("v", "one", .receiving)
        try await join("v", "two", .receiving)
        let keys = Set(plane.model(0).peers.values).union(plane.model(1).peers.values)
        #expect(keys.count == 2, "each room has its own isolation key")
        let first = try #require(await directory.room(RoomKey(app: "a", room: "one")))
        #expect(await first.kick("u") == .done)
        #expect(await first.users() == ["v"])
        let second = try #require(await directory.room(RoomKey(app: "a", room: "two")))
        #expect(await second.users() == ["u", "v"])
    }

    @Test func anEmptyRoomClosesAndItsNameBecomesFree() async throws {
        let leg = try await join("u", "one")
        let first = try #require(await directory.room(leg.room)).instance
        #expect(await endpoint.removeLeg(leg.id, .sending, token: try token("u", "one")) == .removed)
        await clock.advance(by: .milliseconds(9_999))
        #expect(await directory.room(leg.room)?.instance == first)
        await clock.advance(by: .milliseconds(1))
        #expect(await directory.room(leg.room) == nil)
        #expect(notices.of("one").last == .closed(.empty))
        try await join("u", "one")
        let second = try #require(await directory.room(leg.room)).instance
        #expect(second != first)
        #expect(plane.violations.isEmpty, "no number of the first life was used again")
    }

    @Test func aJoinAtTheInstantOfClosingGetsANewRoom() async throws {
        let leg = try await join("u", "one")
        let first = try #require(await directory.room(leg.room)).instance
        _ = await endpoint.removeLeg(leg.id, .sending, token: try token("u", "one"))
        // The timer is late: the directory still knows the old room when the join comes.
        clock.jump(by: .seconds(10))
        #expect(await directory.room(leg.room)?.instance == first)
        try await join("u", "one")
        #expect(await directory.room(leg.room)?.instance != first)
        #expect(await directory.roomCount == 1)
        await clock.advance(by: .seconds(100))
        #expect(await directory.roomCount == 1, "the old room's timer does not touch the new room")
    }

    @Test func reportsFindTheirRoom() async throws {
        try await join("u", "one")
        try await join("u", "two")
        let transport = try #require(plane.model(1).transports.keys.first)
        plane.report(.removed(RemovalTicket(7)), .transportSilent(transport), worker: 1)
        plane.report(.transportSilent(TransportID(.max)), .subscriptionRefused(SubscriptionID(1)), worker: 0)
        plane.endEvents()
        await directory.run()
        #expect(await directory.room(RoomKey(app: "a", room: "one"))?.users() == ["u"])
        #expect(await directory.room(RoomKey(app: "a", room: "two"))?.users() == [])
        #expect(notices.of("two").contains(.left(user: "u", .silent)))
        #expect(plane.openPorts.count == 2)
    }

    @Test func manyJoinsAtOnce() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for n in 0..<60 {
                group.addTask { try await join("user\(n % 10)", "room\(n % 3)", n % 2 == 0 ? .sending : .receiving) }
            }
            try await group.waitForAll()
        }
        #expect(await directory.roomCount == 3)
        #expect(plane.violations.isEmpty)
        let page = await directory.list(app: "a", prefix: "room", offset: 1, limit: 1)
        #expect(page.rooms == ["room1"] && page.offset == 2 && !page.isLast)
        await directory.closeAll()
        #expect(await directory.roomCount == 0)
        #expect(plane.openPorts.isEmpty)
        #expect(plane.model(0).peers.isEmpty && plane.model(1).peers.isEmpty)
        #expect(clock.waiting == 0)
    }

    @Test func theSystemClock() async {
        let system = RoomClock.system
        let start = system.now()
        #expect(system.unixTime() > 1_700_000_000)
        let calls = AsyncStream.makeStream(of: Int.self)
        let cancel = system.schedule(start + .seconds(3600)) { calls.continuation.yield(0) }
        cancel()
        _ = system.schedule(start + .milliseconds(1)) { calls.continuation.yield(1) }
        var iterator = calls.stream.makeAsyncIterator()
        #expect(await iterator.next() == 1)
        #expect(system.now() >= start)
    }
}
