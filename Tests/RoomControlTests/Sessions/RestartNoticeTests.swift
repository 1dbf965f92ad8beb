import MediaContract
import MediaWire
import RoomControl
import RoomProtocol
import RoomTestKit
import Testing

/// on-pubpc-restart-notify and on-subpc-restart-notify: when a client is asked to look for another path, and when not.
@Suite struct RestartNoticeTests {
    typealias Media = SessionMediaTests

    /// A room with a publisher and a subscriber, both connected at second 0.
    private struct Scene {
        var room = RoomFixture()
        let ann: Media.Client
        let bob: Media.Client
        let publishing: ConnectionGrant
        let subscribing: ConnectionGrant

        init() throws {
            ann = try Media.join("ann", 1, &room)
            bob = try Media.join("bob", 2, &room)
            let (grant, ids) = try Media.publish(ann, ["a0", "v0"], &room)
            publishing = grant
            subscribing = try Media.subscribe(bob, ids.map { WantedTrack(trackID: $0) }, &room).0
            for connection in room.state.inventory.connections {
                room.event(.transportConnected(connection.transport, TransportAddress(ipv4: 0x7F00_0001, port: 9)))
            }
            for link in room.inbox.keys { room.inbox[link] = [] }
        }

        var publishTransport: TransportID? { room.state.inventory.connections.first { $0.isPublishing }?.transport }
        var subscribeTransport: TransportID? { room.state.inventory.connections.first { !$0.isPublishing }?.transport }

        /// Time goes on, and those whose sockets are alive answer pings.
        mutating func run(to seconds: Int64, alive: [Media.Client]) {
            while room.now.nanoseconds < seconds * 1_000_000_000 {
                room.advance(to: room.now.nanoseconds / 1_000_000_000 + 1)
                for client in alive {
                    _ = room.run { $0.heard(client.user, link: client.link, now: $1, effects: &$2) }
                }
            }
        }

        mutating func quiet(_ transport: TransportID?) throws {
            room.event(.transportQuiet(try #require(transport)))
        }

        /// What a client was told since the last call, but pings.
        mutating func told(_ client: Media.Client) -> [RoomProtocol.Notification] {
            let all = (room.inbox[client.link] ?? []).filter { $0 != .ping }
            room.inbox[client.link] = []
            return all
        }
    }

    @Test func `a client whose socket is alive is asked once, and about its own connection`() throws {
        var scene = try Scene()
        scene.run(to: 10, alive: [scene.ann, scene.bob])
        try scene.quiet(scene.publishTransport)
        guard case .publishRestart(let notice)? = scene.told(scene.ann).first else {
            Issue.record("nobody was asked")
            return
        }
        #expect(notice.connectionID == scene.publishing.id && notice.error?.isEmpty == false)
        #expect(scene.told(scene.bob) == [], "the others have nothing to do with it")

        try scene.quiet(scene.subscribeTransport)
        guard case .subscribeRestart(let other)? = scene.told(scene.bob).first else {
            Issue.record("nobody was asked")
            return
        }
        #expect(other.connectionID == scene.subscribing.id && scene.told(scene.ann) == [])

        // The client follows; its connection, keys and tracks stay as they are.
        let before = scene.room.commands.count
        let grant = try scene.room.run { [scene] in
            try $0.restartPublishing("ann", link: scene.ann.link, id: notice.connectionID, now: $1, effects: &$2)
        }
        #expect(grant.id == scene.publishing.id && grant.credentials != scene.publishing.credentials)
        #expect(scene.room.commands.count == before + 1)
        Media.check(scene.room)
    }

    /// A restart that does not help is followed by the end of the connection, and not by restarts for ever.
    @Test func `there is no loop of restarts`() throws {
        var scene = try Scene()
        scene.run(to: 10, alive: [scene.ann, scene.bob])
        try scene.quiet(scene.publishTransport)
        #expect(scene.told(scene.ann).count == 1)
        // A path that comes and goes: each time it is heard for a moment.
        for second in stride(from: Int64(21), to: 39, by: 6) {
            scene.run(to: second, alive: [scene.ann, scene.bob])
            scene.room.event(.transportHeard(try #require(scene.publishTransport)))
            try scene.quiet(scene.publishTransport)
            #expect(scene.told(scene.ann) == [], "at second \(second)")
        }
        scene.run(to: 40, alive: [scene.ann, scene.bob])
        try scene.quiet(scene.publishTransport)
        #expect(scene.told(scene.ann).count == 1, "half a minute later it may be worth a try")

        let transport = try #require(scene.publishTransport)
        scene.run(to: 60, alive: [scene.ann, scene.bob])
        scene.room.event(.transportSilent(transport))
        guard case .publishDisconnected? = scene.told(scene.ann).first else {
            Issue.record("the connection did not end")
            return
        }
        scene.room.event(.transportQuiet(transport))
        #expect(scene.told(scene.ann) == [], "what is gone is not restarted")
        Media.check(scene.room)
    }

    @Test func `a client that restarts by itself is not asked on top`() throws {
        var scene = try Scene()
        scene.run(to: 7, alive: [scene.ann, scene.bob])
        for (user, client, id) in [
            ("ann", scene.ann, scene.publishing.id), ("bob", scene.bob, scene.subscribing.id),
        ] {
            _ = try scene.room.run {
                user == "ann"
                    ? try $0.restartPublishing(user, link: client.link, id: id, now: $1, effects: &$2)
                    : try $0.restartSubscribing(user, link: client.link, id: id, now: $1, effects: &$2)
            }
        }
        scene.run(to: 10, alive: [scene.ann, scene.bob])
        try scene.quiet(scene.publishTransport)
        try scene.quiet(scene.subscribeTransport)
        #expect(scene.told(scene.ann) == [] && scene.told(scene.bob) == [])
    }

    /// Then the whole network is away, and the client sees to its media when it is back.
    @Test(arguments: [3, 4, 9])
    func `a client whose socket is silent or gone is not asked`(lastHeard: Int64) throws {
        var scene = try Scene()
        scene.run(to: lastHeard, alive: [scene.ann, scene.bob])
        scene.run(to: 10, alive: [scene.bob])
        try scene.quiet(scene.publishTransport)
        let isAsked = scene.told(scene.ann).contains { if case .publishRestart = $0 { true } else { false } }
        #expect(isAsked == (10 - lastHeard <= 6), "last heard at second \(lastHeard)")

        scene.room.run { [scene] in $0.lost("bob", link: scene.bob.link, now: $1, effects: &$2) }
        let sent = scene.room.inbox
        try scene.quiet(scene.subscribeTransport)
        #expect(scene.room.inbox == sent)
        // The word is not kept either: back again, the client looks by itself.
        let grant = try scene.room.run { [scene] in
            try $0.resume(
                "bob", token: scene.bob.token, link: LinkID(9), messageSerial: nil, profile: nil, now: $1, effects: &$2)
        }
        #expect(!grant.connections.contains { if case .subscribeRestart = $0 { true } else { false } })
    }

    @Test func `a connection that is not up yet has no path to lose`() throws {
        var room = RoomFixture()
        let ann = try Media.join("ann", 1, &room)
        try Media.publish(ann, ["a0"], &room)
        room.inbox[ann.link] = []
        room.event(.transportQuiet(try #require(room.state.inventory.connections.first?.transport)))
        #expect(room.inbox[ann.link] == [])
        // Of no leg, either: there is nobody to tell.
        let leg = try room.join("cam", .sending)
        let notices = room.notices.count
        for id in room.transports(of: leg) { room.event(.transportQuiet(id)) }
        #expect(room.notices.count == notices && room.inbox[ann.link]?.allSatisfy { $0 != .ping } == true)
        Media.check(room)
    }

    @Test func `the limits reach the worker`() throws {
        let scene = try Scene()
        for transport in scene.room.plane.webRTC.values {
            #expect(transport.quietLimit == .seconds(10) && transport.silenceLimit == .seconds(30))
        }
    }
}
