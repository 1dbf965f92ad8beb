import MediaCodecs
import MediaWire
import ParlorNode
import RTCClient
import RoomControl
import Testing

/// A camera and a microphone of a test: drawn pictures with a counter, and a tone, in real time until they are cancelled.
struct SyntheticSource: Sendable {
    let number: UInt16
    let camera: LocalTrack?
    let microphone: LocalTrack?

    static let width = 320
    static let height = 240

    /// Sends until the task is cancelled. Without a connection nothing is sent, and it goes on.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            if let camera { group.addTask { await film(camera) } }
            if let microphone { group.addTask { await sound(microphone) } }
        }
    }

    private func film(_ camera: LocalTrack) async {
        let clock = ContinuousClock()
        let start = clock.now
        var counter: UInt32 = 0
        var picture = VideoFrame(width: Self.width, height: Self.height)
        while !Task.isCancelled {
            let time = Duration.milliseconds(40) * Int(counter)
            TestPicture.draw(
                into: &picture,
                TestPicture.Mark(counter: counter, captureMicroseconds: UInt64(counter) * 40_000, publisher: number))
            let frame = RTCVideoFrame(width: Self.width, height: Self.height, i420: picture.bytes, time: time)
            try? camera.send(frame)
            counter += 1
            try? await clock.sleep(until: start + time + .milliseconds(40))
        }
    }

    private func sound(_ microphone: LocalTrack) async {
        let clock = ContinuousClock()
        let start = clock.now
        var tone = TestTone(publisher: number)
        var count = 0
        while !Task.isCancelled {
            let time = Duration.milliseconds(20) * count
            try? microphone.send(RTCAudioFrame(samples: tone.nextFrame(), time: time))
            count += 1
            try? await clock.sleep(until: start + time + .milliseconds(20))
        }
    }
}

/// What somebody sees of a track.
enum Seen {
    /// Reads pictures until so many in a row were right: the publisher's, and each with a higher counter than before.
    static func pictures(
        _ count: Int, of number: UInt16, in frames: AsyncStream<RTCVideoFrame>
    ) async throws -> [TestPicture.Mark] {
        var marks: [TestPicture.Mark] = []
        for await frame in frames {
            var picture = VideoFrame(width: frame.width, height: frame.height)
            picture.bytes = frame.i420
            let mark = try #require(TestPicture.read(picture), "a picture without a mark")
            try #require(mark.publisher == number)
            if let last = marks.last { try #require(mark.counter > last.counter) }
            marks.append(mark)
            if marks.count == count { return marks }
        }
        throw Unexpected("the track ended after \(marks.count) of \(count) pictures")
    }

    /// Reads sound until the publisher's tone was heard for so many windows of 20 ms in a row.
    static func tone(_ count: Int, of number: UInt16, in frames: AsyncStream<RTCAudioFrame>) async throws {
        let detector = ToneDetector(publisher: number)
        var heard = 0
        for await frame in frames {
            guard frame.samples.count >= ToneDetector.smallestWindow else { continue }
            heard = detector.read(frame.samples).isPresent ? heard + 1 : 0
            if heard == count { return }
        }
        throw Unexpected("the track ended before the tone was heard")
    }
}

/// Media between clients through a real node, over real sockets.
@Suite(.timeLimit(.minutes(2)), .serialized)
struct MediaTests {
    /// Waits until the other one's tracks are there, and gives them.
    func tracks(
        _ listening: inout Listening, of user: String, _ client: RTCClient
    ) async throws -> (audio: RemoteTrack, video: RemoteTrack) {
        while true {
            if let other = client.remoteUser(user), let audio = other.audioTracks.first(where: \.isSubscribed),
                let video = other.videoTracks.first(where: \.isSubscribed)
            {
                return (audio, video)
            }
            _ = try await listening.wait { event in
                if case .tracksSubscribed(_, _, user) = event { () } else { nil }
            }
        }
    }

    @Test(arguments: ["vp8", "vp9"])
    func `pictures and sound come through both ways`(codec: String) async throws {
        let scene = try NodeScene { configuration in
            configuration.apps[0].settings.videoCodec = codec == "vp8" ? .vp8 : .vp9
        }
        let (alice, bob) = (try scene.client(), try scene.client())
        var (alices, bobs) = (Listening(alice), Listening(bob))
        try await joinRoom(alice, token: scene.token("alice"))
        try await joinRoom(bob, token: scene.token("bob"))
        #expect(alice.codec?.rawValue == codec)
        let sources = (1...2).map { number in
            SyntheticSource(
                number: UInt16(number), camera: LocalTrack(kind: .video, tag: "camera"),
                microphone: LocalTrack(kind: .audio, tag: "microphone"))
        }
        for (client, source) in zip([alice, bob], sources) {
            try await client.publish([source.microphone, source.camera].compactMap(\.self))
        }
        let running = sources.map { source in Task { await source.run() } }
        let ofBob = try await tracks(&alices, of: "bob", alice)
        let ofAlice = try await tracks(&bobs, of: "alice", bob)
        async let first = Seen.pictures(20, of: 1, in: bob.videoFrames(of: ofAlice.video))
        async let second = Seen.pictures(20, of: 2, in: alice.videoFrames(of: ofBob.video))
        async let third: Void = Seen.tone(20, of: 1, in: bob.audioFrames(of: ofAlice.audio))
        async let fourth: Void = Seen.tone(20, of: 2, in: alice.audioFrames(of: ofBob.audio))
        _ = try await (first, second, third, fourth)

        let remote = try #require(await bob.statistics(of: ofAlice.video))
        #expect(remote.frames >= 20 && remote.framesDecoded >= 20 && remote.packets >= 20)
        #expect(remote.codec?.rawValue == codec)
        let local = try #require(await sources[0].camera?.statistics())
        #expect(local.frames >= 20 && local.packets >= 20)
        let timeline = bob.joinTimeline
        let steps = [
            timeline.http, timeline.webSocket, timeline.authenticated, timeline.subscribed, timeline.ice,
            timeline.dtls, timeline.firstPacket, timeline.firstFrame,
        ]
        #expect(steps.allSatisfy { $0 != nil }, "\(timeline)")
        #expect(steps.compactMap(\.self) == steps.compactMap(\.self).sorted(), "\(timeline)")
        // The encoders keep to what the server's feedback allows.
        let sent = try #require(await sources[0].camera?.statistics())
        #expect(try #require(sent.bitrateTargets.first) > 30_000 && sent.bitrateTargets.count == 1)
        #expect(try #require(sent.bitrateEstimate) > 100_000)
        for task in running { task.cancel() }
        for client in [alice, bob] { client.leave() }
        await scene.stop()
    }

    /// Alice publishes camera and microphone, and bob sees her.
    private func call(_ scene: NodeScene) async throws -> (
        alice: RTCClient, bob: RTCClient, source: SyntheticSource, tracks: (audio: RemoteTrack, video: RemoteTrack)
    ) {
        let (alice, bob) = (try scene.client(), try scene.client())
        var bobs = Listening(bob)
        try await joinRoom(alice, token: scene.token("alice"))
        try await joinRoom(bob, token: scene.token("bob"))
        let source = SyntheticSource(
            number: 7, camera: LocalTrack(kind: .video, tag: "camera"), microphone: LocalTrack(kind: .audio))
        try await alice.publish([source.microphone, source.camera].compactMap(\.self))
        let tracks = try await tracks(&bobs, of: "alice", bob)
        return (alice, bob, source, tracks)
    }

    @Test func `media goes on while signalling is lost on both sides`() async throws {
        let scene = try NodeScene()
        let (alice, bob, source, tracks) = try await call(scene)
        var (alices, bobs) = (Listening(alice), Listening(bob))
        let running = Task { await source.run() }
        let frames = try bob.videoFrames(of: tracks.video)
        let before = try await Seen.pictures(10, of: 7, in: frames)
        let ids = alice.publishedTracks.map(\.trackID)
        alice.loseConnection(.silent)
        bob.loseConnection(.noticed)
        try await alices.wait(for: .reconnecting)
        // The same stream, with nothing missing: nobody has made another connection.
        let during = try await Seen.pictures(25, of: 7, in: frames)
        try await alices.wait(for: .reconnected)
        try await bobs.wait(for: .reconnected)
        let after = try await Seen.pictures(25, of: 7, in: frames)
        let counters = (before + during + after).map(\.counter)
        #expect(counters == counters.sorted())
        #expect(zip(counters.dropFirst(), counters).allSatisfy { $0 - $1 <= 5 }, "\(counters)")
        #expect(alice.publishedTracks.map(\.trackID) == ids)
        running.cancel()
        for client in [alice, bob] { client.leave() }
        await scene.stop()
    }

    @Test func `ICE restarts leave no gap`() async throws {
        let scene = try NodeScene()
        let (alice, bob, source, tracks) = try await call(scene)
        let running = Task { await source.run() }
        let frames = try bob.videoFrames(of: tracks.video)
        var counters = try await Seen.pictures(10, of: 7, in: frames).map(\.counter)
        for _ in 0..<3 {
            await alice.restartMedia()
            await bob.restartMedia()
            counters += try await Seen.pictures(15, of: 7, in: frames).map(\.counter)
        }
        // Less than half a second: pictures come 25 times a second.
        #expect(zip(counters.dropFirst(), counters).allSatisfy { $0 - $1 < 12 }, "\(counters)")
        let figures = try #require(await bob.statistics(of: tracks.video))
        #expect(figures.packetsLost == 0)
        #expect(try #require(figures.playoutDelay) >= 0.02)
        running.cancel()
        for client in [alice, bob] { client.leave() }
        await scene.stop()
    }

    @Test func `a muted track goes on as black and silence`() async throws {
        let scene = try NodeScene()
        let (alice, bob, source, tracks) = try await call(scene)
        let running = Task { await source.run() }
        let frames = try bob.videoFrames(of: tracks.video)
        let sound = try bob.audioFrames(of: tracks.audio)
        _ = try await Seen.pictures(5, of: 7, in: frames)
        try await Seen.tone(5, of: 7, in: sound)
        for track in alice.publishedTracks { try track.updateMute(true) }
        var black = 0
        for await frame in frames where frame.i420.prefix(frame.width * frame.height).allSatisfy({ $0 < 32 }) {
            black += 1
            if black == 10 { break }
        }
        var silent = 0
        for await frame in sound {
            silent = frame.samples.allSatisfy { abs(Int($0)) < 64 } ? silent + 1 : 0
            if silent == 20 { break }
        }
        #expect(black == 10 && silent == 20)
        for track in alice.publishedTracks { try track.updateMute(false) }
        let again = try bob.videoFrames(of: tracks.video)
        var seen = false
        for await frame in again {
            var picture = VideoFrame(width: frame.width, height: frame.height)
            picture.bytes = frame.i420
            if TestPicture.read(picture)?.publisher == 7 {
                seen = true
                break
            }
        }
        #expect(seen)
        running.cancel()
        for client in [alice, bob] { client.leave() }
        await scene.stop()
    }

    @Test func `unsubscribed tracks send nothing, and come back to the same stream`() async throws {
        let scene = try NodeScene()
        let (alice, bob, source, tracks) = try await call(scene)
        let running = Task { await source.run() }
        let frames = try bob.videoFrames(of: tracks.video)
        let before = try await Seen.pictures(10, of: 7, in: frames)
        try await bob.unsubscribe([tracks.video])
        #expect(await bob.statistics(of: tracks.video) == nil)
        #expect(try await bob.subscribe([tracks.video]).count == 1)
        let after = try await Seen.pictures(30, of: 7, in: frames)
        #expect(after[29].counter > before[9].counter)
        // The tracks go, and the streams end.
        try await alice.unpublish(alice.publishedTracks)
        for await _ in frames {}
        #expect(throws: RTCError.self) { _ = try bob.videoFrames(of: tracks.video) }
        running.cancel()
        for client in [alice, bob] { client.leave() }
        await scene.stop()
    }

    @Test func `each subscriber gets the layer that it wants`() async throws {
        let scene = try NodeScene()
        let (alice, bob) = (try scene.client(), try scene.client())
        var bobs = Listening(bob)
        try await joinRoom(alice, token: scene.token("alice"))
        try await joinRoom(bob, token: scene.token("bob"))
        let camera = LocalTrack(kind: .video, layers: 2)
        try await alice.publish([camera])
        // 160 by 120 and 320 by 240, encoded by the app.
        let running = Task {
            let sizes = [(160, 120), (320, 240)]
            let encoders = try sizes.map { try VPXEncoder(VPXEncoder.Settings(codec: .vp8, width: $0, height: $1)) }
            let clock = ContinuousClock()
            let start = clock.now
            var counter: UInt32 = 0
            while !Task.isCancelled {
                let time = Duration.milliseconds(40) * Int(counter)
                for (layer, encoder) in encoders.enumerated() {
                    var picture = VideoFrame(width: sizes[layer].0, height: sizes[layer].1)
                    let mark = TestPicture.Mark(counter: counter, captureMicroseconds: 0, publisher: 7)
                    TestPicture.draw(into: &picture, mark)
                    if counter % 10 == 0 { encoder.requestKeyFrame() }
                    guard let encoded = try encoder.encode(picture, time: Int64(counter) * 3600) else { continue }
                    let frame = RTCEncodedFrame(
                        codec: .vp8, data: encoded.bytes, time: time, isKeyFrame: encoded.isKeyFrame)
                    try? camera.send(frame, layer: layer)
                }
                counter += 1
                try? await clock.sleep(until: start + time + .milliseconds(40))
            }
        }
        _ = try await bobs.wait { event in
            if case .tracksSubscribed(let video, _, "alice") = event, !video.isEmpty { () } else { nil }
        }
        let track = try #require(bob.remoteUser("alice")?.videoTracks.first)
        let frames = try bob.videoFrames(of: track)
        for (profile, width) in [(TrackProfile.high, 320), (.low, 160), (.high, 320)] {
            try bob.setProfile(profile, of: track)
            var seen = 0
            for await frame in frames {
                var picture = VideoFrame(width: frame.width, height: frame.height)
                picture.bytes = frame.i420
                #expect(TestPicture.read(picture)?.publisher == 7)
                seen = frame.width == width ? seen + 1 : 0
                if seen == 10 { break }
            }
            #expect(seen == 10, "\(profile)")
        }
        #expect(await bob.statistics(of: track)?.profile == .high)
        let sent = try #require(await camera.statistics())
        #expect(sent.bitrateTargets.count == 2 && sent.bitrateTargets[0] > 0)
        #expect(try #require(sent.bitrateEstimate) > 0)
        running.cancel()
        for client in [alice, bob] { client.leave() }
        await scene.stop()
    }

    @Test func `media goes over TCP where there is no other way`() async throws {
        let scene = try NodeScene()
        var configuration = RTCConfiguration(servers: [scene.base])
        configuration.transportPolicy = .forceTCP
        let (alice, bob) = (try RTCClient(configuration: configuration), try RTCClient(configuration: configuration))
        var bobs = Listening(bob)
        try await joinRoom(alice, token: scene.token("alice"))
        try await joinRoom(bob, token: scene.token("bob"))
        let source = SyntheticSource(
            number: 5, camera: LocalTrack(kind: .video), microphone: LocalTrack(kind: .audio))
        try await alice.publish([source.microphone, source.camera].compactMap(\.self))
        let running = Task { await source.run() }
        let tracks = try await tracks(&bobs, of: "alice", bob)
        let marks = try await Seen.pictures(30, of: 5, in: bob.videoFrames(of: tracks.video))
        #expect(zip(marks.dropFirst(), marks).allSatisfy { $0.counter - $1.counter <= 5 })
        #expect(try #require(await bob.statistics(of: tracks.video)).packetsLost == 0)
        // The connections break, more than once: others take their place, with the keys and streams of before.
        let frames = try bob.videoFrames(of: tracks.video)
        var last = try #require(marks.last).counter
        let ids = alice.publishedTracks.map(\.trackID)
        for _ in 0..<2 {
            alice.breakStreams()
            bob.breakStreams()
            let after = try await Seen.pictures(25, of: 5, in: frames)
            #expect(after[24].counter > last)
            last = after[24].counter
        }
        #expect(alice.publishedTracks.map(\.trackID) == ids)
        running.cancel()
        for client in [alice, bob] { client.leave() }
        await scene.stop()
    }
}
