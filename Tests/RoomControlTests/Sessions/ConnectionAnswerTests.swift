import MediaContract
import MediaWire
import RoomControl
import RoomProtocol
import RoomTestKit
import Testing

/// What the answers about WebRTC connections hold: the worker's port, the node's certificate, the client's own numbers; and
/// tracks in codecs that the protocol has no word for.
@Suite struct ConnectionAnswerTests {
    @Test func `pubpc-res names the worker's port and the node's certificate`() async throws {
        let kit = SignallingKit()
        let alice = try await kit.join("alice")
        await alice.publish(["a0", "v0"])
        let answer = try #require(alice.answer("pubpc", as: PublishConnectionAnswer.self))
        let room = try #require(await kit.room())
        #expect(answer.code == .ok && answer.error == nil)
        #expect(answer.iceCandidates?.map(\.ip) == ["127.0.0.1"])
        #expect(answer.iceCandidates?.map(\.port) == [7000 + room.worker])
        #expect(answer.iceCandidates?.allSatisfy { $0.protocol == "udp" && $0.type == "host" } == true)
        #expect(answer.iceParameters?.iceLite == true)
        #expect(answer.dtlsParameters == DTLSParameters(role: .client, fingerprints: [.init(value: "AB:CD")]))
        #expect(answer.tracks?.count == 2)
    }

    @Test func `subpc-res has the other role, and new credentials`() async throws {
        let kit = SignallingKit()
        let alice = try await kit.join("alice")
        let tracks = await alice.publish(["a0", "v0"])
        let bob = try await kit.join("bob")
        await bob.send("subpc", SubscribeRequest(tracks: tracks.map { WantedTrack(trackID: $0) }, rpcid: "4"))
        let answer = try #require(bob.answer("subpc", as: SubscribeConnectionAnswer.self))
        #expect(answer.dtlsParameters?.role == .server)
        let published = try #require(alice.answer("pubpc", as: PublishConnectionAnswer.self))
        #expect(answer.iceParameters != published.iceParameters)
        let results = try #require(answer.tracks)
        #expect(results.allSatisfy { $0.status })
        #expect(results.map { $0.rtpParameters?.msid } == ["alice", "alice"])
        let ssrcs = results.compactMap { $0.rtpParameters?.encodings.first?.ssrc }
        #expect(Set(ssrcs).count == 2 && !ssrcs.contains(0))
        // Subscribed again, a track keeps its numbers; and mids are those of the announcement.
        await bob.send("sub-tracks", SubscribeRequest(tracks: [WantedTrack(trackID: tracks[1])], rpcid: "5"))
        let again = try #require(bob.answer("sub-tracks", as: TracksAnswer<SubscribedTrackResult>.self))
        #expect(again.tracks.first == results[1])
        #expect(results.map(\.mid) == bob.auth?.tracks?.map(\.mid))
    }

    @Test(arguments: ["forceTcp", "sometimes"])
    func `a policy that cannot be met is refused before anything changes`(_ policy: String) async throws {
        let kit = SignallingKit()
        let alice = try await kit.join("alice")
        await alice.send(
            "pubpc",
            PublishRequest(
                sdp: SampleOffers.publish, tracks: [SampleOffers.track("a0")], policy: policy, rpcid: "3"))
        #expect(alice.code("pubpc") == (policy == "forceTcp" ? .mediaNotSupported : .invalidParameter))
        let bob = try await kit.join("bob")
        #expect(bob.auth?.tracks == [])
    }

    @Test func `a restart changes the credentials and nothing else`() async throws {
        let kit = SignallingKit()
        let alice = try await kit.join("alice")
        await alice.publish(["a0"])
        let first = try #require(alice.answer("pubpc", as: PublishConnectionAnswer.self))
        let id = try #require(first.connectionID)
        await alice.send("pubpc-restart", ConnectionRequest(connectionID: id, rpcid: "4"))
        let second = try #require(alice.answer("pubpc-restart", as: ConnectionAnswer<TrackReference>.self))
        #expect(second.connectionID == id)
        #expect(second.iceParameters != nil && second.iceParameters != first.iceParameters)
        #expect(second.iceCandidates == first.iceCandidates)
        await alice.send("pubpc-restart", ConnectionRequest(connectionID: "another", rpcid: "5"))
        #expect(alice.code("pubpc-restart") == .publishConnectionGone)
        await alice.send("subpc-restart", ConnectionRequest(connectionID: "another", rpcid: "6"))
        #expect(alice.code("subpc-restart") == .subscribeConnectionGone)
    }

    @Test func `a client without the room's codec is refused, and leaves no room behind`() async throws {
        let kit = SignallingKit()
        let connection = await kit.connect()
        var request = AuthRequest(token: try await kit.accessToken("alice"), rpcid: "1")
        request.capabilitiesSDP = SampleOffers.capabilitiesWithoutVP8
        await connection.send("auth", request)
        #expect(connection.code("auth") == .mediaNotSupported)
        #expect(await kit.room() == nil)
        // Where the room's codec is the one that it has, it comes in.
        var settings = AppSettings()
        settings.videoCodec = .h264
        let other = SignallingKit(settings)
        let welcome = await other.connect()
        request.token = try await other.accessToken("alice")
        await welcome.send("auth", request)
        #expect(welcome.auth?.rtpCapabilities?.codecs.map(\.name) == ["opus", "H264"])
    }
}

/// Legs beside signalling, in one room with it.
@Suite struct SessionsAndLegsTests {
    private let now = MediaTime.zero

    private func entry(_ user: String, isMulticodec: Bool = false) throws -> SessionEntry {
        SessionEntry(
            user: user,
            profile: try ClientCapabilities.capabilities(of: SampleOffers.capabilities, videoCodec: .vp8),
            isMulticodec: isMulticodec)
    }

    /// Whoever comes by signalling, with its view fed from here on.
    private func join(
        _ user: String, _ link: UInt64, _ room: inout RoomFixture, isMulticodec: Bool = false
    ) throws -> SessionGrant {
        let entry = try entry(user, isMulticodec: isMulticodec)
        let grant = try room.run { try $0.join(entry, link: LinkID(link), now: $1, effects: &$2) }
        room.inbox[LinkID(link)] = []
        return grant
    }

    @Test func `a leg's tracks are announced like all others`() throws {
        var room = RoomFixture()
        _ = try join("alice", 1, &room)
        let leg = try room.join("cam", .sending)
        let inbox = room.inbox[LinkID(1)] ?? []
        guard inbox.count == 2, case .playerJoined(let player) = inbox[0], case .tracksAdded(let added) = inbox[1]
        else {
            Issue.record("\(inbox)")
            return
        }
        #expect(player.playerID == "cam")
        #expect(added.tracks.map(\.kind) == [.audio, .video])
        room.remove(leg)
        guard case .tracksRemoved(let removed)? = room.inbox[LinkID(1)]?[2],
            case .playerLeft(let left)? = room.inbox[LinkID(1)]?[3]
        else {
            Issue.record("\(room.inbox)")
            return
        }
        #expect(removed.tracks.map(\.trackID) == added.tracks.map(\.trackID))
        #expect(left.playerID == "cam")
    }

    @Test func `a track in another codec is announced, and only multicodec clients subscribe to it`() throws {
        var room = RoomFixture()
        _ = try room.join("cam", .sending, [RoomFixture.audio, RoomFixture.video(.h264)])
        for (user, link, isMulticodec) in [("alice", UInt64(1), false), ("bob", 2, true)] {
            let grant = try join(user, link, &room, isMulticodec: isMulticodec)
            #expect(grant.tracks.map(\.kind) == [.audio, .video])
            let wanted = grant.tracks.map { WantedTrack(trackID: $0.trackID) }
            let (_, results) = try room.run {
                try $0.openSubscribing(user, link: LinkID(link), wanted: wanted, now: $1, effects: &$2)
            }
            #expect(results.map(\.status) == [true, isMulticodec])
            if isMulticodec {
                #expect(results[1].rtpParameters?.codec?.name == "H264")
                #expect(results[1].rtpParameters?.codec?.sendPayloadType == 102)
                #expect(results[0].rtpParameters?.codec == nil)
            } else {
                #expect(results[1].code == .mediaNotSupported)
            }
        }
    }

    @Test func `a user with a leg stays when its signalling leaves, and is one user all the time`() throws {
        var room = RoomFixture()
        _ = try join("alice", 1, &room)
        _ = try join("cam", 2, &room)
        try room.join("cam", .sending)
        #expect(room.state.userCount == 2)
        room.run { $0.leaveSession("cam", link: LinkID(2), now: $1, effects: &$2) }
        #expect(room.state.users == ["alice", "cam"])
        #expect(room.inbox[LinkID(1)]?.contains { if case .playerLeft = $0 { true } else { false } } == false)
        room.kick("cam")
        #expect(room.state.users == ["alice"])
        guard case .playerLeft? = room.inbox[LinkID(1)]?.last else {
            Issue.record("\(room.inbox)")
            return
        }
    }

    @Test func `user data that comes after a leg is shown by coming anew`() throws {
        var room = RoomFixture()
        _ = try join("alice", 1, &room)
        try room.join("cam", .sending)
        room.inbox[LinkID(1)] = []
        var entry = try entry("cam")
        entry.userData = "front door"
        let late = entry
        _ = try room.run { try $0.join(late, link: LinkID(2), now: $1, effects: &$2) }
        var view = RoomView(ownID: "alice")
        _ = view.apply(.playerJoined(PlayerInfo(playerID: "cam", playerData: "")))
        // Its tracks were there before.
        let before = room.state.details.first { $0.user == "cam" }?.tracks.map(\.info) ?? []
        _ = view.apply(.tracksAdded(TracksAdded(tracks: before)))
        for notification in room.inbox[LinkID(1)] ?? [] { #expect(view.apply(notification) == []) }
        #expect(view.players["cam"]?.playerData == "front door")
        #expect(view.players["cam"]?.tracks.count == 2)
    }

    @Test func `a muted track stops at the legs that had it, and they get it back`() throws {
        var room = RoomFixture()
        let cam = try room.join("cam", .sending)
        try room.join("second", .sending)
        let viewer = try room.join("viewer", .receiving, [RoomFixture.video(.vp8, transport: 0)])
        #expect(room.heard(by: viewer) == ["cam VP8"])
        let video = room.tracks(of: cam)[1]
        let subscriptions = room.plane.subscriptions.count
        #expect(room.run { $0.muteByServer(video, true, now: $1, effects: &$2) })
        // It waits for its own track rather than showing somebody else.
        #expect(room.heard(by: viewer) == [nil])
        #expect(room.plane.subscriptions.count == subscriptions - 1)
        #expect(room.run { $0.muteByServer(video, false, now: $1, effects: &$2) })
        #expect(room.heard(by: viewer) == ["cam VP8"])
        // When the muted track goes for good, another may take its place.
        #expect(room.run { $0.muteByServer(video, true, now: $1, effects: &$2) })
        room.remove(cam)
        #expect(room.heard(by: viewer) == ["second VP8"])
        #expect(room.plane.violations == [])
    }
}
