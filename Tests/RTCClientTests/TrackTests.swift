import MediaWire
import RTCClient
import RoomProtocol
import Testing
import WebTransport

extension Peer {
    /// Takes `pubpc` or `pub-tracks` and gives the tracks these ids.
    @discardableResult
    func acceptPublication(_ type: String, _ ids: [String]) async throws -> PublishRequest {
        try acceptPublication(try await expect(type), ids)
    }

    @discardableResult
    func acceptPublication(_ frame: ClientFrame, _ ids: [String]) throws -> PublishRequest {
        let request: PublishRequest
        switch frame.message {
        case .publishConnection(let body), .publishTracks(let body): request = body
        default: throw Unexpected("no publication")
        }
        guard request.tracks.count == ids.count else { throw Unexpected("\(request.tracks.count) tracks came") }
        let results = zip(request.tracks, ids).map { PublishedTrackResult(localID: $0.localID, trackID: $1) }
        if frame.type == "pubpc" {
            var answer = PublishConnectionAnswer(rpcid: frame.rpcid)
            answer.connectionID = "pub-\(ids.first ?? "")"
            answer.tracks = results
            self.answer(frame, answer)
        } else {
            self.answer(frame, TracksAnswer(rpcid: frame.rpcid, tracks: results))
        }
        return request
    }

    /// Takes `subpc` or `sub-tracks`, accepts all but those refused; gives the ids that were wanted.
    @discardableResult
    func acceptSubscription(_ type: String, refusing: Set<String> = [], muted: Bool = false) async throws -> [String] {
        let frame = try await expect(type)
        let request: SubscribeRequest
        switch frame.message {
        case .subscribeConnection(let body), .subscribeTracks(let body): request = body
        default: throw Unexpected("no subscription")
        }
        let rtp = SubscribedRTP(encodings: [.init(ssrc: 1, rtx: 0)], rtcp: .init(cname: "c"), msid: "m")
        let results = request.tracks.map { wanted in
            refusing.contains(wanted.trackID)
                ? SubscribedTrackResult(trackID: wanted.trackID, Refused(.mediaNotSupported, "no"))
                : SubscribedTrackResult(trackID: wanted.trackID, mid: "0", muted: muted, rtpParameters: rtp)
        }
        if type == "subpc" {
            var answer = SubscribeConnectionAnswer(rpcid: frame.rpcid)
            answer.connectionID = "sub"
            answer.tracks = results
            self.answer(frame, answer)
        } else {
            self.answer(frame, TracksAnswer(rpcid: frame.rpcid, tracks: results))
        }
        return request.tracks.map(\.trackID)
    }
}

@Suite(.timeLimit(.minutes(1)))
struct PublishingTests {
    @Test func `publish sends one pubpc, then pub-tracks, and tells the mutes`() async throws {
        var scene = try ClientScene()
        let client = scene.client
        let microphone = LocalTrack(kind: .audio, tag: "mic", bitrate: 64)
        let camera = LocalTrack(kind: .video, tag: "cam", bitrate: 500)
        let early = await #expect(throws: RTCError.self) { try await client.publish([microphone]) }
        #expect(early?.code == .wrongState)
        #expect(throws: RTCError.self) { try microphone.updateMute(true) }
        let peer = try await scene.join()
        let publishing = Task { try await client.publish([microphone, camera]) }
        let request = try await peer.acceptPublication("pubpc", ["A", "B"])
        try await publishing.value
        #expect(microphone.trackID == "A")
        #expect(camera.trackID == "B")
        #expect(client.publishedTracks == [microphone, camera])
        #expect(request.policy == "preferUdp")
        #expect(request.tracks.map(\.kind) == [.audio, .video])
        #expect(request.tracks.map(\.master) == [true, true])
        #expect(request.tracks.map(\.tag) == ["mic", "cam"])
        #expect(request.tracks.map(\.kbps) == [64, 500])
        #expect(request.tracks.map(\.localMid) == ["2", "3"])
        #expect(Set(request.tracks.map(\.localID)).count == 2)
        #expect(
            try await peer.expect("mute-tracks").message
                == .muteTracks(
                    MuteTracks(tracks: [TrackMute(trackID: "A", muted: false), TrackMute(trackID: "B", muted: false)])))

        let screen = LocalTrack(kind: .video)
        let more = Task { try await client.publish([screen]) }
        let second = try await peer.acceptPublication("pub-tracks", ["C"])
        try await more.value
        #expect(second.tracks.map(\.localMid) == ["4"])
        #expect(second.tracks.map(\.master) == [false])
        #expect(second.tracks.first?.tag == nil)
        _ = try await peer.expect("mute-tracks")

        try camera.updateMute(true)
        #expect(
            try await peer.expect("mute-tracks").message
                == .muteTracks(MuteTracks(tracks: [TrackMute(trackID: "B", muted: true)])))

        let twice = await #expect(throws: RTCError.self) { try await client.publish([camera]) }
        #expect(twice?.code == .publishAlreadyExists)
        let removal = Task { try await client.unpublish([microphone]) }
        let request3 = try await peer.expect("unpub-tracks")
        #expect(
            request3.message == .unpublishTracks(TracksRequest(tracks: [TrackReference("A")], rpcid: request3.rpcid)))
        peer.answer(request3, TracksAnswer<TrackReference>(rpcid: request3.rpcid, tracks: [TrackReference("A")]))
        try await removal.value
        #expect(microphone.trackID == nil)
        #expect(client.publishedTracks == [camera, screen])
        let unknown = await #expect(throws: RTCError.self) { try await client.unpublish([microphone]) }
        #expect(unknown?.code == .publishNotExist)

        // The dead section stays; mids go on.
        let again = Task { try await client.publish([microphone]) }
        let third = try await peer.acceptPublication("pub-tracks", ["D"])
        try await again.value
        #expect(third.tracks.map(\.localMid) == ["5"])
        #expect(third.tracks.map(\.master) == [true])
        let offer = try SessionDescription(parsing: third.sdp)
        #expect(offer.media.map(\.isRejected) == [false, false, true, false, false, false])
        #expect(offer.bundles.first?.mids == ["0", "1", "3", "4", "5"])
        client.leave()
        #expect(camera.trackID == nil)
        await scene.stop()
    }

    @Test func `the offer is what the server needs`() async throws {
        var scene = try ClientScene()
        let client = scene.client
        let peer = try await scene.join()
        let publishing = Task { try await client.publish([LocalTrack(kind: .audio), LocalTrack(kind: .video)]) }
        let request = try await peer.acceptPublication("pubpc", ["A", "B"])
        try await publishing.value
        let offer = try SessionDescription(parsing: request.sdp)
        #expect(offer.media.map(\.media) == ["audio", "video", "audio", "video"])
        #expect(offer.media.map(\.direction) == [.inactive, .inactive, .sendonly, .sendonly])
        #expect(offer.media.map(\.mid) == ["0", "1", "2", "3"])
        #expect(offer.bundles.map(\.mids) == [["0", "1", "2", "3"]])
        #expect(Set(offer.media.map(\.iceUfrag)).count == 1)
        #expect(Set(offer.media.map(\.icePwd)).count == 1)
        for media in offer.media {
            #expect(media.iceUfrag?.utf8.count == 4)
            #expect(media.icePwd?.utf8.count == 24)
            #expect(media.setup == "actpass")
            #expect(media.fingerprints.map(\.hash) == ["sha-256"])
            #expect(media.fingerprints.first?.bytes.count == 32)
            #expect(media.rtcpMux && media.rtcpReducedSize)
            #expect(media.profile == .dtlsRTP(feedback: true))
            #expect(media.extensions.allSatisfy { (1...14).contains($0.id) && $0.kind != nil })
            #expect(Set(media.extensions.map(\.id)).count == media.extensions.count)
        }
        #expect(offer.media[0].ssrcs.isEmpty && offer.media[1].ssrcs.isEmpty)
        #expect(offer.media[2].ssrcs.count == 1)
        let video = offer.media[3]
        #expect(video.ssrcs.count == 2)
        #expect(video.ssrcGroups.map(\.semantics) == ["FID"])
        #expect(video.ssrcGroups.first?.ssrcs == video.ssrcs.map(\.ssrc))
        #expect(video.rtpMaps.compactMap(\.codec) == [.vp8, .vp9, .h264])
        #expect(offer.media[2].rtpMaps.compactMap(\.codec) == [.opus])
        #expect(offer.text == request.sdp, "what was written reads back")
        await scene.stop()
    }

    @Test func `refusals leave nothing published`() async throws {
        var scene = try ClientScene()
        let client = scene.client
        let track = LocalTrack(kind: .audio)
        let peer = try await scene.join()
        let refused = Task { try await client.publish([track]) }
        peer.refuse(try await peer.expect("pubpc"), .noPermission, "only broadcasters")
        let error = await #expect(throws: RTCError.self) { try await refused.value }
        #expect(error == RTCError(.noPermission, "only broadcasters"))

        let silly = Task { try await client.publish([track]) }
        let frame = try await peer.expect("pubpc")
        var answer = PublishConnectionAnswer(rpcid: frame.rpcid)
        answer.connectionID = "x"
        answer.tracks = []
        peer.answer(frame, answer)
        #expect(await #expect(throws: RTCError.self) { try await silly.value }?.code == .fatal)
        #expect(track.trackID == nil)
        #expect(client.publishedTracks.isEmpty)

        // One of two: the other is taken back.
        let half = Task { try await client.publish([track, LocalTrack(kind: .video)]) }
        let wish = try await peer.expect("pubpc")
        guard case .publishConnection(let request) = wish.message else { throw Unexpected("no pubpc") }
        answer = PublishConnectionAnswer(rpcid: wish.rpcid)
        answer.connectionID = "y"
        answer.tracks = [
            PublishedTrackResult(localID: request.tracks[0].localID, trackID: "A"),
            PublishedTrackResult(localID: request.tracks[1].localID, trackID: nil, status: false),
        ]
        peer.answer(wish, answer)
        let removal = try await peer.expect("unpub-tracks")
        #expect(
            removal.message == .unpublishTracks(TracksRequest(tracks: [TrackReference("A")], rpcid: removal.rpcid)))
        peer.answer(removal, TracksAnswer<TrackReference>(rpcid: removal.rpcid))
        #expect(await #expect(throws: RTCError.self) { try await half.value }?.code == .fatal)
        #expect(track.trackID == nil)
        await scene.stop()
    }

    @Test func `a connection that is gone is opened anew with all tracks`() async throws {
        var scene = try ClientScene()
        let client = scene.client
        let (a, b) = (LocalTrack(kind: .audio), LocalTrack(kind: .video))
        let peer = try await scene.join()
        let first = Task { try await client.publish([a]) }
        try await peer.acceptPublication("pubpc", ["A"])
        try await first.value
        _ = try await peer.expect("mute-tracks")
        let second = Task { try await client.publish([b]) }
        peer.refuse(try await peer.expect("pub-tracks"), .publishConnectionGone)
        try await peer.acceptPublication("pubpc", ["A2", "B2"])
        try await second.value
        #expect(a.trackID == "A2" && b.trackID == "B2")
        _ = try await peer.expect("mute-tracks")

        peer.send(.publishDisconnected(ConnectionNotice(connectionID: "pub-A2")))
        await scene.server.clock.passPause(upTo: .seconds(1))
        try await peer.acceptPublication("pubpc", ["A3", "B3"])
        _ = try await peer.expect("mute-tracks")
        #expect(a.trackID == "A3" && b.trackID == "B3")
        await scene.stop()
    }

    @Test func `after a resume the server's tracks and the client's agree`() async throws {
        var scene = try ClientScene()
        let client = scene.client
        let (a, b) = (LocalTrack(kind: .audio), LocalTrack(kind: .video))
        let peer = try await scene.join()
        let publishing = Task { try await client.publish([a, b]) }
        try await peer.acceptPublication("pubpc", ["A", "B"])
        try await publishing.value
        _ = try await peer.expect("mute-tracks")

        // All there: only the mutes are told, for they may have changed meanwhile.
        peer.close(code: 1000)
        await scene.expect(.reconnecting)
        try a.updateMute(true)
        await scene.server.clock.passPause(upTo: .seconds(1))
        let second = try await scene.server.nextPeer()
        try await second.admit(publications: ["A", "B"])
        await scene.expect(.reconnected)
        #expect(
            try await second.expect("mute-tracks").message
                == .muteTracks(
                    MuteTracks(tracks: [TrackMute(trackID: "A", muted: true), TrackMute(trackID: "B", muted: false)])))

        // One more than the client has: it was unpublished while the socket broke.
        let removal = Task { try await client.unpublish([b]) }
        _ = try await second.expect("unpub-tracks")
        second.close(code: 1000)
        try await removal.value
        let third = try await scene.returning()
        try await third.admit(publications: ["A", "B"])
        await scene.expect(.reconnected)
        _ = try await third.expect("mute-tracks")
        let ghost = try await third.expect("unpub-tracks")
        #expect(ghost.message == .unpublishTracks(TracksRequest(tracks: [TrackReference("B")], rpcid: ghost.rpcid)))
        third.answer(ghost, TracksAnswer<TrackReference>(rpcid: ghost.rpcid))

        // One less: everything is published anew.
        third.close(code: 1000)
        let fourth = try await scene.returning()
        try await fourth.admit(publications: [])
        await scene.expect(.reconnected)
        try await fourth.acceptPublication("pubpc", ["A4"])
        #expect(
            try await fourth.expect("mute-tracks").message
                == .muteTracks(MuteTracks(tracks: [TrackMute(trackID: "A4", muted: true)])))

        // A request that was unanswered at the loss fails, and the next socket begins anew without its tracks.
        let lost = Task { try await client.publish([b]) }
        _ = try await fourth.expect("pub-tracks")
        fourth.close(code: 1000)
        #expect(await #expect(throws: RTCError.self) { try await lost.value }?.code == .networkTimeout)
        let fifth = try await scene.returning()
        try await fifth.admit(publications: ["A4", "B5"])
        await scene.expect(.reconnected)
        try await fifth.acceptPublication("pubpc", ["A5"])
        #expect(b.trackID == nil)
        _ = try await fifth.expect("mute-tracks")

        // What the server does not take any more is lost, and said.
        fifth.close(code: 1000)
        let sixth = try await scene.returning()
        try await sixth.admit(publications: [])
        await scene.expect(.reconnected)
        sixth.refuse(try await sixth.expect("pubpc"), .noPermission, "not any more")
        await scene.expect(.localTracksLost([a], RTCError(.noPermission, "not any more")))
        #expect(a.trackID == nil)
        await scene.stop()
    }

    @Test func `a mute by the back end shows in the track, and is not told as its own`() async throws {
        var scene = try ClientScene()
        let client = scene.client
        let track = LocalTrack(kind: .audio)
        let peer = try await scene.join(players: [PlayerInfo(playerID: "bob")])
        await scene.expect(.userJoined(userID: "bob", userData: ""))
        let publishing = Task { try await client.publish([track]) }
        // The mute comes right before the answer: the back end was faster.
        let frame = try await peer.expect("pubpc")
        guard case .publishConnection(let request) = frame.message else { throw Unexpected("no publication") }
        peer.send(.tracksMuted(MuteTracks(tracks: [TrackMute(trackID: "A", muted: true)])))
        try await told(&scene, peer)
        var answer = PublishConnectionAnswer(rpcid: frame.rpcid)
        answer.connectionID = "pub"
        answer.tracks = request.tracks.map { PublishedTrackResult(localID: $0.localID, trackID: "A") }
        peer.answer(frame, answer)
        try await publishing.value
        #expect(track.isMuted && track.isMutedByServer)
        let unmuted = ClientMessage.muteTracks(MuteTracks(tracks: [TrackMute(trackID: "A", muted: false)]))
        #expect(try await peer.expect("mute-tracks").message == unmuted)

        // Its own mute is another one.
        try track.updateMute(true)
        _ = try await peer.expect("mute-tracks")
        peer.send(.tracksMuted(MuteTracks(tracks: [TrackMute(trackID: "A", muted: false)])))
        try await told(&scene, peer)
        #expect(track.isMuted && !track.isMutedByServer)
        try track.updateMute(false)
        _ = try await peer.expect("mute-tracks")
        #expect(!track.isMuted)

        // A resume: the answer, then the mutes of the back end, also those made meanwhile.
        peer.close(code: 1000)
        let back = try await scene.returning()
        try await back.admit(players: [PlayerInfo(playerID: "bob")], publications: ["A"])
        back.send(.tracksMuted(MuteTracks(tracks: [TrackMute(trackID: "A", muted: true)])))
        await scene.expect(.reconnected)
        try await told(&scene, back)
        #expect(track.isMuted && track.isMutedByServer)
        #expect(try await back.expect("mute-tracks").message == unmuted)

        // A resume without them: the back end has taken it back meanwhile.
        back.close(code: 1000)
        let again = try await scene.returning()
        try await again.admit(players: [PlayerInfo(playerID: "bob")], publications: ["A"])
        await scene.expect(.reconnected)
        #expect(!track.isMuted)
        #expect(try await again.expect("mute-tracks").message == unmuted)

        // It does not outlive the publication.
        again.send(.tracksMuted(MuteTracks(tracks: [TrackMute(trackID: "A", muted: true)])))
        try await told(&scene, again)
        #expect(track.isMuted)
        client.leave()
        #expect(!track.isMuted)
        await scene.stop()
    }

    /// Returns when the client has taken everything that was sent to it.
    private func told(_ scene: inout ClientScene, _ peer: Peer) async throws {
        for event in [Notification.playerReconnecting, Notification.playerReconnected] {
            peer.send(event(PlayerReference("bob")))
        }
        await scene.expect(.userReconnecting(userID: "bob"))
        await scene.expect(.userReconnected(userID: "bob"))
    }

    @Test func `what the server published and the client does not know is taken back`() async throws {
        var scene = try ClientScene()
        let client = scene.client
        let peer = try await scene.join()
        let lost = Task { try await client.publish([LocalTrack(kind: .audio)]) }
        _ = try await peer.expect("pubpc")
        peer.close(code: 1000)
        await #expect(throws: RTCError.self) { try await lost.value }
        // The server had executed it. There is no track for a `pubpc` that would replace it.
        let back = try await scene.returning()
        try await back.admit(publications: ["ghost"])
        await scene.expect(.reconnected)
        let removal = try await back.expect("unpub-tracks")
        #expect(
            removal.message == .unpublishTracks(TracksRequest(tracks: [TrackReference("ghost")], rpcid: removal.rpcid)))
        back.answer(removal, TracksAnswer<TrackReference>(rpcid: removal.rpcid))
        let next = Task { try await client.publish([LocalTrack(kind: .audio)]) }
        try await back.acceptPublication("pubpc", ["A"])
        try await next.value
        await scene.stop()
    }
}
