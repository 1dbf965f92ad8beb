import RTCClient
import RoomProtocol
import Testing
import WebTransport

@Suite(.timeLimit(.minutes(1)))
struct SubscribingTests {
    private let bob = [PlayerInfo(playerID: "bob")]

    @Test func `subscribe sends one subpc, then sub-tracks; refused ones are left out`() async throws {
        var scene = try ClientScene()
        let client = scene.client
        let peer = try await scene.join(
            players: bob,
            tracks: [track("a", of: "bob"), track("v", of: "bob", .video), track("w", of: "bob", .video)])
        await scene.expect(.userJoined(userID: "bob", userData: ""))
        _ = await scene.events.next(isolation: nil)
        let user = try #require(client.remoteUser("bob"))
        let first = Task { try await client.subscribe(user.audioTracks + user.videoTracks) }
        #expect(try await peer.acceptSubscription("subpc", refusing: ["v"], muted: true) == ["a", "v", "w"])
        // What the answer says of mutes may be older than the notifications, and is not taken.
        let (a, w) = (remote("a", of: "bob", subscribed: true), remote("w", of: "bob", .video, subscribed: true))
        #expect(try await first.value == [a, w])
        await scene.expect(.tracksSubscribed(videoTracks: [w], audioTracks: [a], userID: "bob"))

        // Nothing is asked for what is there already.
        #expect(try await client.subscribe(user.audioTracks) == [a])
        let second = Task { try await client.subscribe(user.videoTracks) }
        #expect(try await peer.acceptSubscription("sub-tracks") == ["v"])
        #expect(try await second.value.map(\.trackID) == ["v", "w"])
        await scene.expect(
            .tracksSubscribed(
                videoTracks: [remote("v", of: "bob", .video, subscribed: true)], audioTracks: [], userID: "bob"))

        let end = Task { try await client.unsubscribe(user.audioTracks) }
        let request = try await peer.expect("unsub-tracks")
        #expect(
            request.message == .unsubscribeTracks(TracksRequest(tracks: [TrackReference("a")], rpcid: request.rpcid)))
        peer.answer(request, TracksAnswer<TrackReference>(rpcid: request.rpcid))
        try await end.value
        #expect(client.remoteUser("bob")?.audioTracks.first?.isSubscribed == false)

        let foreign = await #expect(throws: RTCError.self) {
            try await client.subscribe([remote("nobody's", of: "bob")])
        }
        #expect(foreign?.code == .subscribeNotExist)

        // 10062: a new connection with everything.
        let third = Task { try await client.subscribe(user.audioTracks) }
        peer.refuse(try await peer.expect("sub-tracks"), .subscribeConnectionGone)
        #expect(try await peer.acceptSubscription("subpc") == ["v", "w", "a"])
        #expect(try await third.value.count == 1)
        await scene.stop()
    }

    @Test func `autoSubscribe takes what is there and what comes, one request at a time`() async throws {
        var scene = try ClientScene(autoSubscribe: true)
        let peer = try await scene.join(players: bob, tracks: [track("a", of: "bob")])
        await scene.expect(.userJoined(userID: "bob", userData: ""))
        await scene.expect(.tracksPublished([remote("a", of: "bob")], userID: "bob"))
        let frame = try await peer.expect("subpc")
        // More comes while the first request is under way.
        for id in ["b", "c"] { peer.send(.tracksAdded(TracksAdded(tracks: [track(id, of: "bob", .video)]))) }
        await scene.expect(.tracksPublished([remote("b", of: "bob", .video)], userID: "bob"))
        await scene.expect(.tracksPublished([remote("c", of: "bob", .video)], userID: "bob"))
        let rtp = SubscribedRTP(encodings: [.init(ssrc: 1, rtx: 0)], rtcp: .init(cname: "c"), msid: "m")
        var answer = SubscribeConnectionAnswer(rpcid: frame.rpcid)
        answer.connectionID = "sub"
        answer.tracks = [SubscribedTrackResult(trackID: "a", mid: "0", muted: false, rtpParameters: rtp)]
        peer.answer(frame, answer)
        await scene.expect(
            .tracksSubscribed(videoTracks: [], audioTracks: [remote("a", of: "bob", subscribed: true)], userID: "bob"))
        #expect(try await peer.acceptSubscription("sub-tracks", refusing: ["b"]) == ["b", "c"])
        await scene.expect(
            .tracksSubscribed(
                videoTracks: [remote("c", of: "bob", .video, subscribed: true)], audioTracks: [], userID: "bob"))
        // A refused one is not asked for again, nor one that the app let go.
        let client = scene.client
        let end = Task { try await client.unsubscribe([remote("c", of: "bob", .video)]) }
        let request = try await peer.expect("unsub-tracks")
        peer.answer(request, TracksAnswer<TrackReference>(rpcid: request.rpcid))
        try await end.value
        peer.send(.tracksAdded(TracksAdded(tracks: [track("d", of: "bob")])))
        #expect(try await peer.acceptSubscription("sub-tracks") == ["d"])
        await scene.stop()
    }

    @Test func `a resume goes on where the loss cut it`() async throws {
        var scene = try ClientScene(autoSubscribe: true)
        let peer = try await scene.join(players: bob, tracks: [track("a", of: "bob")])
        _ = try await peer.acceptSubscription("subpc")
        for _ in 0..<3 { _ = await scene.events.next(isolation: nil) }
        peer.send(.tracksAdded(TracksAdded(tracks: [track("b", of: "bob")])))
        _ = try await peer.expect("sub-tracks")
        await scene.expect(.tracksPublished([remote("b", of: "bob")], userID: "bob"))
        peer.close(code: 1000)
        let back = try await scene.returning()
        try await back.admit(
            players: bob, tracks: [track("a", of: "bob"), track("b", of: "bob")], subscriptions: ["a", "b"])
        await scene.expect(.reconnected)
        // The request was unanswered: everything anew, and then the one that was cut.
        #expect(try await back.acceptSubscription("subpc") == ["a"])
        #expect(try await back.acceptSubscription("sub-tracks") == ["b"])
        await scene.expect(
            .tracksSubscribed(videoTracks: [], audioTracks: [remote("b", of: "bob", subscribed: true)], userID: "bob"))

        // All known: nothing is asked; the next frame is of a new track.
        back.close(code: 1000)
        let third = try await scene.returning()
        try await third.admit(
            players: bob, tracks: ["a", "b", "c"].map { track($0, of: "bob") }, subscriptions: ["a", "b"])
        await scene.expect(.reconnected)
        #expect(try await third.acceptSubscription("sub-tracks") == ["c"])
        await scene.stop()
    }

    @Test func `a track that comes while the client is cut off is subscribed to afterwards`() async throws {
        var scene = try ClientScene(autoSubscribe: true)
        let peer = try await scene.join(players: bob, tracks: [track("a", of: "bob")])
        for _ in 0..<2 { _ = await scene.events.next(isolation: nil) }
        // The request is cut, twice; each way back asks anew.
        _ = try await peer.expect("subpc")
        peer.close(code: 1000)
        let second = try await scene.returning()
        try await second.admit(players: bob, tracks: ["a", "b"].map { track($0, of: "bob") }, subscriptions: [])
        await scene.expect(.reconnected)
        await scene.expect(.tracksPublished([remote("b", of: "bob")], userID: "bob"))
        _ = try await second.expect("subpc")
        second.close(code: 1000)
        let third = try await scene.returning()
        try await third.admit(players: bob, tracks: ["a", "b"].map { track($0, of: "bob") }, subscriptions: [])
        await scene.expect(.reconnected)
        var wanted = try await third.acceptSubscription("subpc")
        // What came between two requests is a request of its own.
        while wanted.count < 2 { wanted += try await third.acceptSubscription("sub-tracks") }
        #expect(Set(wanted) == ["a", "b"])
        await scene.stop()
    }

    @Test func `a subscribing connection that cannot be renewed now is tried again, one that may not be is not`()
        async throws
    {
        var scene = try ClientScene()
        let client = scene.client
        let clock = scene.server.clock
        var peer = try await scene.join(players: bob, tracks: [track("a", of: "bob"), track("b", of: "bob")])
        for _ in 0..<2 { _ = await scene.events.next(isolation: nil) }
        func isSubscribed(_ id: String) -> Bool? {
            client.remoteUser("bob")?.audioTracks.first { $0.trackID == id }?.isSubscribed
        }
        func subscribe(_ id: String) -> Task<[RemoteTrack], any Error> {
            Task { try await client.subscribe([remote(id, of: "bob")]) }
        }
        let first = subscribe("a")
        try await peer.acceptSubscription("subpc")
        #expect(try await first.value.count == 1)

        // Each second anew, also when there was no answer.
        peer.send(.subscribeDisconnected(ConnectionNotice(connectionID: "sub")))
        for code in [ResultCode.serverUnavailable, .tooManyOperations] {
            await clock.passPause(upTo: .seconds(1))
            peer.refuse(try await peer.expect("subpc"), code)
        }
        await clock.passPause(upTo: .seconds(1))
        _ = try await peer.expect("subpc")
        await clock.passPause(upTo: .seconds(5))
        await clock.passPause(upTo: .seconds(1))
        #expect(try await peer.acceptSubscription("subpc") == ["a"])
        #expect(isSubscribed("a") == true)

        // The same after a resume to a server that has lost it.
        peer.close(code: 1000)
        while case .tracksSubscribed = await scene.events.next(isolation: nil) {}
        await clock.passPause(upTo: .seconds(1))
        peer = try await scene.server.nextPeer()
        try await peer.admit(
            players: bob, tracks: [track("a", of: "bob"), track("b", of: "bob")], subscriptions: [])
        await scene.expect(.reconnected)
        peer.refuse(try await peer.expect("subpc"), .serverUnavailable)
        await clock.passPause(upTo: .seconds(1))
        #expect(try await peer.acceptSubscription("subpc") == ["a"])

        // The same when a subscription finds out that the connection is gone.
        let second = subscribe("b")
        peer.refuse(try await peer.expect("sub-tracks"), .subscribeConnectionGone)
        peer.refuse(try await peer.expect("subpc"), .tooManyOperations)
        #expect(await #expect(throws: RTCError.self) { try await second.value }?.code == .tooManyOperations)
        await clock.passPause(upTo: .seconds(1))
        #expect(try await peer.acceptSubscription("subpc") == ["a"])

        // Refused for good: it is not subscribed any more, so that it can be asked for again.
        peer.send(.subscribeDisconnected(ConnectionNotice(connectionID: "sub")))
        await clock.passPause(upTo: .seconds(1))
        peer.refuse(try await peer.expect("subpc"), .noPermission)
        let third = subscribe("a")
        #expect(try await peer.acceptSubscription("subpc") == ["a"])
        #expect(try await third.value.count == 1)
        #expect(isSubscribed("a") == true)
        await scene.stop()
    }
}
