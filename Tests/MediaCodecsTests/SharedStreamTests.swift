import MediaCodecs
import MediaWire
import Testing

@Suite struct SharedStreamTests {
    struct Track: CustomTestStringConvertible {
        var codec: VPXCodec
        var mode: VP9Packetizer.Mode

        var testDescription: String { "\(codec) \(mode)" }

        static let all = [
            Track(codec: .vp8, mode: .nonFlexible), Track(codec: .vp9, mode: .nonFlexible),
            Track(codec: .vp9, mode: .flexible), Track(codec: .vp9, mode: .plain),
        ]
    }

    /// The whole way: picture, encoder, payloads, depacketizer, decoder, mark. Every tenth packet of some frames is lost; a
    /// key frame is asked for when the depacketizer says so.
    @Test(arguments: Track.all)
    func fromPictureToMark(track: Track) throws {
        let settings = VPXEncoder.Settings(codec: track.codec, framesPerSecond: 20, bitrate: 300)
        let stream = try SharedStream(
            video: settings, publisher: 77, firstTimestamp: .max - 10_000, firstPictureID: 0x7FFA, vp9Mode: track.mode)
        #expect(stream.codec == track.codec.codec && stream.frameDuration == 50_000_000)
        var depacketizer = VideoDepacketizer(track.codec)
        let decoder = try VPXDecoder(track.codec)
        var picture = VideoFrame(width: 1, height: 1)
        var number: UInt16 = 65_500
        let start: Int64 = 1_764_000_000_123_456_789
        var read = 0
        var lostFrames = 0
        var keys = 0
        for index in 0..<200 {
            let time = start + Int64(index) * stream.frameDuration
            let frame = try stream.nextFrame(at: time)
            keys += frame.isKeyFrame ? 1 : 0
            #expect(frame.timestamp == UInt32.max &- 10_000 &+ UInt32(index * 4_500))
            #expect(frame.payloads.allSatisfy { $0.bytes.count <= RTPPayload.defaultMaximumSize })
            let isLossy = index % 40 == 30
            var decodes = 0
            for (position, payload) in frame.payloads.enumerated() {
                defer { number &+= 1 }
                if isLossy, position == frame.payloads.count - 1 { continue }
                let answer = depacketizer.receive(
                    payload.bytes.span.bytes, sequenceNumber: number, timestamp: frame.timestamp, marker: payload.marker
                )
                guard case .frame(let assembled) = answer else { continue }
                decodes += 1
                #expect(assembled.isKeyFrame == frame.isKeyFrame)
                #expect(try decoder.decode(assembled.bytes, into: &picture))
                let mark = try #require(TestPicture.read(picture))
                #expect(mark.counter == UInt32(index) && mark.publisher == 77)
                #expect(mark.captureMicroseconds == UInt64(time / 1_000))
                read += 1
            }
            if isLossy || decodes == 0 { lostFrames += 1 }
            if depacketizer.needsKeyFrame { stream.requestKeyFrame() }
        }
        // Five losses; each is noticed by the packet after it, in a frame that is then lost too, and repaired by the next.
        #expect(lostFrames == 10)
        #expect(read == 190 && depacketizer.statistics.frames == 190)
        #expect(keys == 6 && depacketizer.statistics.missing == 5)
    }

    @Test func soundFromToneToTone() throws {
        let stream = try SharedStream(audio: OpusEncoder.Settings(), publisher: 9, firstTimestamp: .max)
        var depacketizer = OpusDepacketizer()
        let decoder = try OpusDecoder()
        let detector = ToneDetector(publisher: 9)
        for index in 0..<100 {
            let frame = try stream.nextFrame(at: Int64(index) * stream.frameDuration)
            #expect(frame.timestamp == UInt32.max &+ UInt32(index * 960) && frame.payloads.count == 1)
            #expect(frame.payloads[0].marker == (index == 0))
            let payload = frame.payloads[0]
            let answer = depacketizer.receive(
                payload.bytes.span.bytes, sequenceNumber: UInt16(index), timestamp: frame.timestamp,
                marker: payload.marker)
            guard case .audio(let audio) = answer else { return #expect(Bool(false), "\(answer)") }
            #expect(audio.samples == 960)
            let samples = try decoder.decode(audio.packet)
            if index >= 2 { #expect(detector.read(samples).isPresent, "packet \(index): \(detector.read(samples))") }
        }
        #expect(stream.counter == 100 && stream.codec == .opus)
    }

    /// A clock that stands, steps back or jumps: timestamps grow, nothing traps.
    @Test func aBadClockIsBorne() throws {
        let stream = try SharedStream(video: VPXEncoder.Settings(codec: .vp8), publisher: 1)
        var last: UInt32?
        for time in [0, 0, -5, 1_000_000_000, 10, .max, .min, .max] as [Int64] {
            let frame = try stream.nextFrame(at: time)
            if let last { #expect(frame.timestamp != last) }
            last = frame.timestamp
        }
    }
}
