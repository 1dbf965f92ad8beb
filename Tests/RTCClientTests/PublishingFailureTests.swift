import RTCClient
import RoomProtocol
import Testing
import WebTransport

/// All or none of the tracks are published, whatever becomes of the request.
@Suite(.timeLimit(.minutes(1)))
struct PublishingFailureTests {
    /// Ways in which a request that was sent has no answer.
    enum Silence: CaseIterable {
        case timeout, cancellation, nonsense

        func fall(
            on request: Peer.ClientFrame, _ task: Task<Void, any Error>, _ peer: Peer, _ scene: ClientScene
        ) async {
            switch self {
            case .timeout: await scene.server.clock.passPause(upTo: .seconds(5))
            case .cancellation: task.cancel()
            case .nonsense: peer.send(raw: "\(request.type)-res={\"rpcid\":\"\(request.rpcid)\",\"code\":\"zero\"}")
            }
        }
    }

    private func publish(_ track: LocalTrack, as id: String, _ client: RTCClient, _ peer: Peer) async throws {
        let isFirst = client.publishedTracks.isEmpty
        let publishing = Task { try await client.publish([track]) }
        try await peer.acceptPublication(isFirst ? "pubpc" : "pub-tracks", [id])
        try await publishing.value
        _ = try await peer.expect("mute-tracks")
    }

    private func expectRemoval(of ids: [String], _ peer: Peer) async throws {
        let removal = try await peer.expect("unpub-tracks")
        let references = ids.map { TrackReference($0) }
        #expect(removal.message == .unpublishTracks(TracksRequest(tracks: references, rpcid: removal.rpcid)))
        peer.answer(removal, TracksAnswer<TrackReference>(rpcid: removal.rpcid, tracks: references))
    }

    @Test(arguments: Silence.allCases, [false, true])
    func `a publication of unknown outcome is taken back at once`(silence: Silence, isSecond: Bool) async throws {
        var scene = try ClientScene()
        let client = scene.client
        let (a, b) = (LocalTrack(kind: .audio), LocalTrack(kind: .video))
        let peer = try await scene.join()
        if isSecond { try await publish(a, as: "A", client, peer) }
        let lost = Task { try await client.publish([b]) }
        await silence.fall(
            on: try await peer.expect(isSecond ? "pub-tracks" : "pubpc"), lost, peer, scene)
        let error = await #expect(throws: RTCError.self) { try await lost.value }
        #expect(error?.code == (silence == .timeout ? .operationTimeout : .fatal))
        #expect(b.trackID == nil)

        // The server had executed it. The client comes back by itself, and both agree.
        let back = try await scene.returning()
        try await back.admit(publications: isSecond ? ["A", "ghost"] : ["ghost"])
        await scene.expect(.reconnected)
        if isSecond {
            try await back.acceptPublication("pubpc", ["A2"])
            _ = try await back.expect("mute-tracks")
        } else {
            try await expectRemoval(of: ["ghost"], back)
        }
        // It can be published now.
        let again = Task { try await client.publish([b]) }
        try await back.acceptPublication(isSecond ? "pub-tracks" : "pubpc", ["B"])
        try await again.value
        #expect(a.trackID == (isSecond ? "A2" : nil) && b.trackID == "B")
        #expect(client.publishedTracks == (isSecond ? [a, b] : [b]))
        await scene.stop()
    }

    @Test(arguments: Silence.allCases)
    func `what was unpublished is gone, also without an answer`(silence: Silence) async throws {
        var scene = try ClientScene()
        let client = scene.client
        let (a, b) = (LocalTrack(kind: .audio), LocalTrack(kind: .video))
        let peer = try await scene.join()
        try await publish(a, as: "A", client, peer)
        try await publish(b, as: "B", client, peer)
        let removal = Task { try await client.unpublish([b]) }
        await silence.fall(on: try await peer.expect("unpub-tracks"), removal, peer, scene)
        if silence == .nonsense {
            #expect(await #expect(throws: RTCError.self) { try await removal.value }?.code == .fatal)
        } else {
            try await removal.value
        }
        #expect(client.publishedTracks == [a] && b.trackID == nil)
        let back = try await scene.returning()
        try await back.admit(publications: ["A", "B"])
        await scene.expect(.reconnected)
        _ = try await back.expect("mute-tracks")
        try await expectRemoval(of: ["B"], back)
        await scene.stop()
    }

    @Test func `what the server does not unpublish now stays published, until it does`() async throws {
        var scene = try ClientScene()
        let client = scene.client
        let track = LocalTrack(kind: .audio)
        let peer = try await scene.join()
        try await publish(track, as: "A", client, peer)
        let early = Task { try await client.unpublish([track]) }
        peer.refuse(try await peer.expect("unpub-tracks"), .tooManyOperations)
        #expect(await #expect(throws: RTCError.self) { try await early.value }?.code == .tooManyOperations)
        #expect(client.publishedTracks == [track] && track.trackID == "A")
        let removal = Task { try await client.unpublish([track]) }
        peer.refuse(try await peer.expect("unpub-tracks"), .publishNotExist)
        #expect(await #expect(throws: RTCError.self) { try await removal.value }?.code == .publishNotExist)
        #expect(client.publishedTracks.isEmpty && track.trackID == nil)
        await scene.stop()
    }

    @Test func `a task that is cancelled already changes nothing`() async throws {
        var scene = try ClientScene()
        let client = scene.client
        let (a, b) = (LocalTrack(kind: .audio), LocalTrack(kind: .video))
        let peer = try await scene.join()
        try await publish(a, as: "A", client, peer)
        let publishing = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await client.publish([b])
        }
        await #expect(throws: RTCError.self) { try await publishing.value }
        let removal = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await client.unpublish([a])
        }
        await #expect(throws: RTCError.self) { try await removal.value }
        #expect(client.publishedTracks == [a] && a.trackID == "A" && b.trackID == nil)
        // The next frame on the same connection is of what comes now.
        try await publish(b, as: "B", client, peer)
        #expect(client.connectionState == .connected)
        await scene.stop()
    }

    @Test(arguments: [false, true])
    func `a publication whose answer comes as the client leaves fails`(isSecond: Bool) async throws {
        var scene = try ClientScene()
        let client = scene.client
        let track = LocalTrack(kind: .audio)
        let peer = try await scene.join()
        if isSecond { try await publish(LocalTrack(kind: .video), as: "A", client, peer) }
        let executor = HoldingExecutor()
        let publishing = Task(executorPreference: executor) { try await client.publish([track]) }
        let frame = try await peer.expect(isSecond ? "pub-tracks" : "pubpc")
        executor.hold()
        try peer.acceptPublication(frame, ["B"])
        // The answer is there, and not looked at yet.
        await executor.somethingHeld()
        client.leave()
        executor.release()
        #expect(await #expect(throws: RTCError.self) { try await publishing.value }?.code == .wrongState)
        #expect(track.trackID == nil && client.publishedTracks.isEmpty)
        await scene.stop()
    }

    /// Ways in which a `pubpc` instead of a connection that is gone does not succeed.
    enum Failure: CaseIterable { case half, nameless, refused }

    @Test(arguments: Failure.allCases, [true, false])
    func `tracks that are published outlive one that cannot be, or are told as lost`(
        failure: Failure, isKept: Bool
    ) async throws {
        var scene = try ClientScene()
        let client = scene.client
        let (a, b) = (LocalTrack(kind: .audio), LocalTrack(kind: .video))
        let peer = try await scene.join()
        try await publish(a, as: "A", client, peer)
        let publishing = Task { try await client.publish([b]) }
        peer.refuse(try await peer.expect("pub-tracks"), .publishConnectionGone)
        let wish = try await peer.expect("pubpc")
        guard case .publishConnection(let request) = wish.message else { throw Unexpected("no pubpc") }
        #expect(request.tracks.map(\.kind) == [.audio, .video])
        let isTaken = failure == .nameless
        var answer = PublishConnectionAnswer(rpcid: wish.rpcid)
        answer.connectionID = failure == .half ? "pub" : nil
        answer.tracks = [
            PublishedTrackResult(localID: request.tracks[0].localID, trackID: "A2"),
            PublishedTrackResult(localID: request.tracks[1].localID, trackID: isTaken ? "B2" : nil, status: isTaken),
        ]
        if failure == .refused { peer.refuse(wish, .mediaNotSupported) } else { peer.answer(wish, answer) }
        if failure != .refused { try await expectRemoval(of: isTaken ? ["A2", "B2"] : ["A2"], peer) }

        // The server has let the first one go with its connection: it is published anew.
        if isKept {
            try await peer.acceptPublication("pubpc", ["A3"])
            _ = try await peer.expect("mute-tracks")
        } else {
            peer.refuse(try await peer.expect("pubpc"), .noPermission, "not any more")
            await scene.expect(.localTracksLost([a], RTCError(.noPermission, "not any more")))
        }
        let error = await #expect(throws: RTCError.self) { try await publishing.value }
        #expect(error?.code == (failure == .refused ? .mediaNotSupported : .fatal))
        #expect(a.trackID == (isKept ? "A3" : nil) && b.trackID == nil)
        #expect(client.publishedTracks == (isKept ? [a] : []))
        // The next one goes with it.
        try await publish(b, as: "B", client, peer)
        await scene.stop()
    }
}

/// A server that answers, and then says nothing of its connection for media.
@Suite(.timeLimit(.minutes(1)))
struct MediaTimeoutTests {
    @Test func `publish does not wait for ever, and takes the tracks back`() async throws {
        var scene = try ClientScene()
        let client = scene.client
        let peer = try await scene.join()
        let track = LocalTrack(kind: .audio)
        let publishing = Task { try await client.publish([track]) }
        let frame = try await peer.expect("pubpc")
        guard case .publishConnection(let request) = frame.message else { throw Unexpected("no pubpc") }
        peer.answerSilently(
            frame, connectionID: "p",
            [PublishedTrackResult(localID: request.tracks[0].localID, trackID: "A")])
        await scene.server.clock.sleeper(within: .seconds(9)...(.seconds(10)))
        scene.server.clock.advance(by: .seconds(10))
        let removal = try await peer.expect("unpub-tracks")
        #expect(
            removal.message == .unpublishTracks(TracksRequest(tracks: [TrackReference("A")], rpcid: removal.rpcid)))
        peer.answer(removal, TracksAnswer<TrackReference>(rpcid: removal.rpcid))
        let error = await #expect(throws: RTCError.self) { try await publishing.value }
        #expect(error?.code == .operationTimeout)
        #expect(!track.isPublished && client.publishedTracks.isEmpty)

        // It can be published all the same, later.
        let again = Task { try await client.publish([track]) }
        try await peer.acceptPublication("pubpc", ["B"])
        try await again.value
        #expect(track.trackID == "B")
        await scene.stop()
    }

    @Test func `an answer without a transport is said to be one`() async throws {
        var scene = try ClientScene()
        let client = scene.client
        let peer = try await scene.join()
        let track = LocalTrack(kind: .audio)
        let publishing = Task { try await client.publish([track]) }
        let frame = try await peer.expect("pubpc")
        guard case .publishConnection(let request) = frame.message else { throw Unexpected("no pubpc") }
        peer.answerSilently(
            frame, connectionID: "p",
            [PublishedTrackResult(localID: request.tracks[0].localID, trackID: "A")], hasTransport: false)
        let removal = try await peer.expect("unpub-tracks")
        peer.answer(removal, TracksAnswer<TrackReference>(rpcid: removal.rpcid))
        let error = await #expect(throws: RTCError.self) { try await publishing.value }
        #expect(error?.code == .fatal)
        #expect(error?.message.contains("iceParameters") == true)
        await scene.stop()
    }
}
