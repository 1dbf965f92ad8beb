import ClientEngine
import MediaCodecs
import MediaLoad
import MediaWire
import Testing

/// The checks pass what is right, and find what is wrong.
@Suite struct LineCheckTests {
    @Test(arguments: VPXCodec.allCases)
    func rightPicturesPass(codec: VPXCodec) throws {
        var stream = try VirtualStream.video(codec, publisher: 3)
        let check = try LineCheck(.picture(codec), publisher: 3)
        for _ in 0..<30 { check.take(try stream.nextFrame()) }
        #expect(check.frames.frames == 30)
        #expect(check.faults.isEmpty)
        let latency = try #require(check.frames.latency.milliseconds(part: 0.5))
        #expect(latency >= 20 && latency < 21)
        #expect(check.firstFrame == MediaTime(nanoseconds: 1_020_000_000))
    }

    @Test func aPictureOfSomeoneElseIsFound() throws {
        var mine = try VirtualStream.video(.vp8, publisher: 3)
        var other = try VirtualStream.video(.vp8, publisher: 4)
        let check = try LineCheck(.picture(.vp8), publisher: 3)
        for _ in 0..<5 { check.take(try other.nextFrame()) }
        #expect(check.faults[.wrongPublisher] == 5)
        #expect(check.frames.wrong == 5)
        let second = try LineCheck(.picture(.vp8), publisher: 3)
        for _ in 0..<5 { second.take(try mine.nextFrame()) }
        #expect(second.faults.isEmpty)
    }

    /// Packets are numbered anew, so the transport sees no loss: a node that leaves frames out is found.
    @Test func aFrameThatIsLeftOutIsFound() throws {
        var stream = try VirtualStream.video(.vp8, publisher: 3)
        let check = try LineCheck(.picture(.vp8), publisher: 3)
        var removed: Int64 = 0
        for number in 0..<12 {
            var packets = try stream.nextFrame()
            if number == 6 {
                removed = Int64(packets.count)
                continue
            }
            for index in packets.indices { packets[index].packet.sequence -= removed }
            check.take(packets)
        }
        #expect(check.faults[.wrongOrder] == 1)
    }

    @Test func lossMayLeaveFramesOut() throws {
        var stream = try VirtualStream.video(.vp8, publisher: 3)
        let check = try LineCheck(.picture(.vp8), publisher: 3)
        var askedForKeyFrame = false
        for number in 0..<40 {
            let packets = try stream.nextFrame()
            if number == 6 { continue }
            if check.take(packets), !askedForKeyFrame {
                askedForKeyFrame = true
                stream.source.requestKeyFrame()
            }
        }
        #expect(askedForKeyFrame)
        #expect(check.faults.isEmpty)
        #expect(check.frames.frames > 20 && check.frames.frames < 39)
    }

    @Test func anUnreadablePictureIsFound() throws {
        // A picture without a mark, rightly encoded and packetized.
        let encoder = try VPXEncoder(VPXEncoder.Settings(codec: .vp8))
        var packetizer = VP8Packetizer()
        let check = try LineCheck(.picture(.vp8), publisher: 3)
        let encoded = try #require(try encoder.encode(VideoFrame(width: 320, height: 240), time: 0))
        var stream = VirtualStream.probes(publisher: 0)
        var packet = try stream.nextFrame()[0].packet
        for payload in packetizer.packetize(encoded.bytes) {
            packet.marker = payload.marker
            check.take([(packet, payload.bytes)])
            packet.sequence += 1
        }
        #expect(check.faults[.unreadable] == 1)
    }

    @Test func aPictureThatTheDecoderRefusesIsFound() throws {
        var stream = try VirtualStream.video(.vp8, publisher: 3)
        let check = try LineCheck(.picture(.vp8), publisher: 3)
        check.take(try stream.nextFrame())
        var packets = try stream.nextFrame()
        // A key frame by its first bit (RFC 7741, section 4.3), of which only ten bytes are left: no start code.
        packets = Array(packets.prefix(1))
        packets[0].packet.marker = true
        packets[0].payload = Array(packets[0].payload.prefix(4)) + [UInt8](repeating: 0, count: 10)
        check.take(packets)
        #expect(check.faults[.undecodable] + check.faults[.unreadable] + check.faults[.malformed] >= 1)
    }

    @Test func theRightToneIsHeardAndAnotherIsNot() throws {
        var stream = try VirtualStream.audio(publisher: 9)
        let right = try LineCheck(.tone, publisher: 9)
        let wrong = try LineCheck(.tone, publisher: 10)
        for _ in 0..<100 {
            let packets = try stream.nextFrame()
            right.take(packets)
            wrong.take(packets)
        }
        #expect(right.tone.windows == 18)
        #expect(right.faults.isEmpty)
        #expect(wrong.tone.windows == 18)
        #expect(wrong.faults[.wrongTone] == 18)
    }

    @Test func silenceIsNoTone() {
        var judge = ToneJudge(publisher: 1)
        judge.note(
            [Int16](repeating: 0, count: ToneJudge.settlingSamples + 2 * ToneJudge.windowSamples), lossBefore: false)
        #expect(judge.windows == 2 && judge.wrong == 2)
    }

    @Test func probesAreCountedAndChecked() throws {
        var stream = VirtualStream.probes(publisher: 5)
        let check = try LineCheck(.probes, publisher: 5)
        for _ in 0..<100 { check.take(try stream.nextFrame()) }
        #expect(check.frames.frames == 100)
        #expect(check.faults.isEmpty)

        // One is left out of an unbroken numbering.
        _ = try stream.nextFrame()
        var next = try stream.nextFrame()
        next[0].packet.sequence -= 1
        check.take(next)
        #expect(check.faults[.wrongOrder] == 1)

        // The same again.
        next[0].packet.sequence += 1
        check.take(next)
        #expect(check.faults[.wrongOrder] == 2)

        // A gap in the numbering allows a gap in the counters.
        _ = try stream.nextFrame()
        _ = try stream.nextFrame()
        check.take(try stream.nextFrame())
        #expect(check.faults[.wrongOrder] == 2)

        var broken = try stream.nextFrame()
        broken[0].payload[5] ^= 1
        check.take(broken)
        #expect(check.faults[.unreadable] == 1)

        var foreign = VirtualStream.probes(publisher: 6)
        check.take(try foreign.nextFrame())
        #expect(check.faults[.wrongPublisher] == 1)
        #expect(check.frames.wrong == 4)
    }

    @Test(arguments: VPXCodec.allCases)
    func headersAloneShowFramesThatAreLeftOut(codec: VPXCodec) throws {
        var stream = try VirtualStream.video(codec, publisher: 3)
        let check = try LineCheck(.pictureHeaders(codec.codec), publisher: 3)
        var removed: Int64 = 0
        for number in 0..<12 {
            var packets = try stream.nextFrame()
            if number == 6 {
                removed = Int64(packets.count)
                continue
            }
            for index in packets.indices { packets[index].packet.sequence -= removed }
            check.take(packets)
        }
        #expect(check.framesChecked == 11)
        #expect(check.frames.frames == 0)
        #expect(check.faults[.wrongOrder] == 1)
    }

    private func read(_ bytes: [UInt8]) -> ProbePayload? { ProbePayload(bytes.span.bytes) }

    @Test func probePayloadsSurviveTheTripAndNothingElseDoes() throws {
        let probe = ProbePayload(counter: 0xDEAD_BEEF, microseconds: 1_700_000_000_123_456, publisher: 77)
        for size in [16, 20, 1150] {
            let bytes = probe.encoded(size: size)
            #expect(bytes.count == size)
            #expect(read(bytes) == probe)
        }
        let bytes = probe.encoded(size: 16)
        for place in bytes.indices {
            var changed = bytes
            changed[place] ^= 0x10
            #expect(read(changed) == nil)
        }
        #expect(read(bytes.dropLast()) == nil)
    }
}
