import ClientEngine
import MediaCodecs
import MediaWire
import RTCClient
import Testing

/// What becomes of a track's packets before anybody decodes them.
@Suite struct TrackReceiverTests {
    private final class Track {
        let receiver: TrackReceiver
        private var packetizer = VP8Packetizer(firstPictureID: 1)
        private var sequence: Int64 = 100
        private var count: Int64 = 0

        init() {
            receiver = TrackReceiver(trackID: "t", kind: .video) { _, _ in }
            receiver.begin(.vp8)
        }

        /// A frame of one packet, each 40 ms; whether a key frame is asked for.
        func send(isKey: Bool = false) -> Bool {
            count += 1
            // The least that a VP8 frame is known by: the tag, and a key frame's start code (RFC 6386, section 9.1).
            let bytes: [UInt8] = isKey ? [0x10, 0, 0, 0x9D, 0x01, 0x2A, 16, 0, 16, 0, 1] : [0x11, 0, 0, 1]
            var isWanted = false
            for payload in packetizer.packetize(bytes) {
                sequence += 1
                let packet = ClientPacket(
                    stream: 0, sequence: sequence, timestamp: UInt32(truncatingIfNeeded: count * 3600),
                    marker: payload.marker, payloadType: 96, arrival: .zero + .milliseconds(count * 40))
                isWanted = payload.bytes.withUnsafeBytes { bytes in
                    receiver.receive(
                        packet, payload: RawSpan(_unsafeBytes: bytes), now: packet.arrival, wallTime: { 0 })
                }
            }
            return isWanted
        }

        func listen() -> TrackReceiver.Subscription { receiver.listen(.immediate) }

        /// A packet that does not come.
        func lose() { sequence += 1 }
    }

    @Test func `a listener that does not read asks for no key frames, and for one when it reads again`() async throws {
        let track = Track()
        let frames = track.receiver.frames(.immediate)
        #expect(track.send(), "a new listener needs one")
        #expect(!track.send(isKey: true))
        // Nobody reads: 64 frames wait, then they are left out, and no key frame would help.
        for _ in 0..<500 { #expect(!track.send()) }
        #expect(!track.send(isKey: true), "for which there is no room, either")
        var iterator = frames.makeAsyncIterator()
        for place in 0..<20 {
            let frame = await iterator.next()
            #expect(frame?.isKeyFrame == (place == 0))
        }
        #expect(!track.send(), "there is room for some, but it would soon be full again")
        for _ in 0..<30 { _ = await iterator.next() }
        #expect(track.send(), "now it is of use")
        #expect(!track.send(isKey: true))
        #expect(!track.send())
        for _ in 0..<14 { _ = await iterator.next() }
        let next = try #require(await iterator.next())
        #expect(next.isKeyFrame, "nothing between that could not be decoded")
        track.receiver.finish()
        #expect(await iterator.next() != nil)
        #expect(await iterator.next() == nil)
    }

    @Test func `a loss is healed for those who read, and for a track that nobody reads`() async {
        let track = Track()
        #expect(track.send(isKey: false))
        #expect(!track.send(isKey: true))
        track.lose()
        #expect(track.send(), "nobody listens: the first who comes should not wait")
        #expect(!track.send(isKey: true))
        let stalled = track.receiver.frames(.immediate)
        let reading = track.receiver.frames(.immediate)
        var iterator = reading.makeAsyncIterator()
        #expect(!track.send(isKey: true))
        for _ in 0..<100 {
            _ = await iterator.next()
            #expect(!track.send(), "the stalled one has no use for it")
        }
        track.lose()
        #expect(track.send(), "the other has")
        withExtendedLifetime(stalled) {}
    }

    @Test func `who goes away is forgotten`() async {
        let track = Track()
        do {
            let frames = track.receiver.frames(.immediate)
            #expect(track.send())
            withExtendedLifetime(frames) {}
        }
        #expect(!track.send(isKey: true))
        #expect(!track.send(), "there is nobody left who waits for a key frame")
        // A task that is cancelled while it waits ends, and its listener with it.
        let frames = track.receiver.frames(.adaptive())
        let task = Task { for await _ in frames {} }
        task.cancel()
        await task.value
        #expect(!track.send())
    }

    @Test func `a decoder's error holds up its own listener only, and costs one key frame`() async throws {
        let track = Track()
        let broken = track.listen()
        let other = track.listen()
        #expect(!track.send(isKey: true))
        #expect(!track.send())
        _ = await broken.next()
        _ = await broken.next()
        track.receiver.requireKeyFrame(for: broken)
        #expect(track.send(), "it is asked for")
        #expect(!track.send(isKey: true))
        #expect(!track.send())
        // A key frame that waits already does.
        track.receiver.requireKeyFrame(for: broken)
        #expect(!track.send())
        track.receiver.finish()
        var kinds: [[Bool]] = []
        for listener in [broken, other] {
            var keys: [Bool] = []
            while case .frame(let frame) = await listener.next() { keys.append(frame.isKeyFrame) }
            kinds.append(keys)
        }
        #expect(kinds == [[true, false, false], [true, false, false, true, false, false]])
    }

    @Test func `after a broken frame what leans on it is passed over, up to the next key frame`() throws {
        let settings = VPXEncoder.Settings(codec: .vp8)
        let encoder = try VPXEncoder(settings)
        var picture = VideoFrame(width: settings.width, height: settings.height)
        var frames: [RTCEncodedFrame] = []
        for count in 0..<6 as Range<UInt32> {
            TestPicture.draw(
                into: &picture, TestPicture.Mark(counter: count, captureMicroseconds: 0, publisher: 1))
            if count == 4 { encoder.requestKeyFrame() }
            guard let encoded = try encoder.encode(picture, time: Int64(count) * 6000) else { continue }
            frames.append(
                RTCEncodedFrame(
                    codec: .vp8, data: encoded.bytes, time: .milliseconds(66 * Int(count)),
                    isKeyFrame: encoded.isKeyFrame))
        }
        try #require(frames.map(\.isKeyFrame) == [true, false, false, false, true, false])
        // A key frame whose start code is none (RFC 6386, section 9.1).
        frames[1].data = [0x10, 0, 0, 1, 2, 3, 16, 0, 16, 0, 1]
        var decoder = PictureDecoder()
        let outcomes = frames.map { frame in
            switch decoder.decode(frame) {
            case .picture: "picture"
            case .none: "none"
            case .failed: "failed"
            }
        }
        #expect(outcomes == ["picture", "failed", "none", "none", "picture", "picture"])
    }

    @Test func `frames that are held come in order, with what became of them`() async throws {
        let track = Track()
        let frames = track.receiver.frames(.adaptive())
        #expect(!track.send(isKey: true))
        for _ in 0..<9 { _ = track.send() }
        // They are due long ago by the real clock.
        var iterator = frames.makeAsyncIterator()
        var times: [Duration] = []
        for _ in 0..<10 { times.append(try #require(await iterator.next()).time) }
        #expect(times == (0..<10).map { .milliseconds($0 * 40) })
        var statistics = RemoteTrackStatistics()
        track.receiver.fill(&statistics, now: .zero + .seconds(1))
        #expect(statistics.playoutDelay == 0.02)
        #expect(statistics.framesLate == 0 && statistics.framesConcealed == 0)
    }
}
