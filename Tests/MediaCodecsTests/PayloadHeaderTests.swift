import MediaCodecs
import Testing

@Suite struct PayloadHeaderTests {
    /// All 32 combinations of X, I, L, T and K, and both lengths of picture id, against a count of the fields
    /// (RFC 7741, section 4.2); every cut inside the descriptor is refused.
    @Test func vp8DescriptorLengths() {
        for flags in 0..<64 {
            let (x, i, l, t, k, wide) = (
                flags & 1 != 0, flags & 2 != 0, flags & 4 != 0, flags & 8 != 0, flags & 16 != 0, flags & 32 != 0
            )
            var bytes: [UInt8] = [(x ? 0x80 : 0) | 0x10]
            if x { bytes.append((i ? 0x80 : 0) | (l ? 0x40 : 0) | (t ? 0x20 : 0) | (k ? 0x10 : 0)) }
            if x, i { bytes += wide ? [0x92, 0x34] : [0x12] }
            if x, l { bytes.append(7) }
            if x, t || k { bytes.append(0x21) }
            let header = VP8PayloadHeader(bytes: (bytes + [1, 2, 3]))
            #expect(header?.length == bytes.count)
            #expect(header?.isStart == true)
            #expect(header?.pictureID == (x && i ? (wide ? 0x1234 : 0x12) : nil))
            #expect((0..<bytes.count).allSatisfy { VP8PayloadHeader(bytes: Array(bytes.prefix($0))) == nil })
        }
        // Cut inside a 15-bit picture id.
        #expect(VP8PayloadHeader(bytes: [0x81, 0x81, 0x94]) == nil)
        // Partition 1 begins, not the frame.
        #expect(VP8PayloadHeader(bytes: [0x11, 0])?.isStart == false)
    }

    /// All combinations of the fields, against a writer of our own; every cut is refused (RFC 9628, section 4.2).
    @Test func vp9DescriptorLengths() {
        for flags in 0..<256 {
            let first = UInt8(flags)
            let (i, p, l, f, v) = (
                first & 0x80 != 0, first & 0x40 != 0, first & 0x20 != 0, first & 0x10 != 0, first & 0x02 != 0
            )
            for wide in [false, true] {
                var bytes = [first]
                if i { bytes += wide ? [0x92, 0x34] : [0x12] }
                if l { bytes += f ? [0x4A] : [0x4A, 99] }
                if f, p { bytes += [0x03, 0x05, 0x06] }
                // Three layers with sizes, and a group of two pictures with one and two references.
                if v { bytes += [0x58] + [UInt8](repeating: 1, count: 12) + [2, 0x04, 1, 0x28, 1, 2] }
                let header = VP9PayloadHeader(bytes: (bytes + [0x82]))
                #expect(header?.length == bytes.count)
                #expect(header?.pictureID == (i ? (wide ? 0x1234 : 0x12) : nil))
                #expect(header?.isStart == (first & 0x08 != 0) && header?.isEnd == (first & 0x04 != 0))
                #expect(header?.temporalLayer == (l ? 2 : 0) && header?.spatialLayer == (l ? 5 : 0))
                #expect((0..<bytes.count).allSatisfy { VP9PayloadHeader(bytes: Array(bytes.prefix($0))) == nil })
            }
        }
        // A fourth reference.
        #expect(VP9PayloadHeader(bytes: [0x50, 3, 3, 3, 2, 0x82]) == nil)
    }

    @Test func keyFramesByTheirOwnHeader() {
        #expect(VP8PayloadHeader.isKeyFrame([0x10, 2, 0, 0x9D, 1, 0x2A, 0x40, 1, 0xF0, 0]) == true)
        #expect(VP8PayloadHeader.isKeyFrame([0x10, 2, 0, 0x9D, 1, 0x2B, 0x40, 1, 0xF0, 0]) == nil)
        #expect(VP8PayloadHeader.isKeyFrame([0x10, 2, 0, 0x9D, 1, 0x2A]) == nil)
        #expect(VP8PayloadHeader.isKeyFrame([0x11, 2, 0]) == false)
        #expect(VP8PayloadHeader.isKeyFrame([0x11]) == nil)
        #expect(VP9PayloadHeader.isKeyFrame([0x82, 0x49, 0x83, 0x42, 0]) == true)
        #expect(VP9PayloadHeader.isKeyFrame([0x82, 0x49, 0x83, 0x43, 0]) == nil)
        #expect(VP9PayloadHeader.isKeyFrame([0x86, 0]) == false)
        // show_existing_frame, and no frame marker.
        #expect(VP9PayloadHeader.isKeyFrame([0x88]) == false)
        #expect(VP9PayloadHeader.isKeyFrame([0x42, 0x49, 0x83, 0x42, 0]) == nil)
        #expect(VP9PayloadHeader.isKeyFrame([]) == nil)
    }

    /// What the encoder makes, for each length of frame that it knows.
    @Test func opusLengthsAgreeWithTheEncoder() throws {
        for bitrate in [12_000, 32_000, 96_000] {
            let encoder = try OpusEncoder(OpusEncoder.Settings(channels: 2, bitsPerSecond: bitrate))
            for samples in [120, 240, 480, 960, 1_920, 2_880] {
                var tone = TestTone(frequency: 700)
                let stereo = tone.nextFrame(samples: samples).flatMap { [$0, $0] }
                for _ in 0..<3 {
                    let packet = try encoder.encode(stereo)
                    #expect(OpusPacketHeader(bytes: packet)?.samples == samples)
                }
            }
        }
    }

    @Test func opusRules() {
        #expect(OpusPacketHeader(bytes: [UInt8]()) == nil)
        // Code 1 with an odd rest, code 2 without a length, code 3 without count, with none, with more than 120 ms.
        #expect(OpusPacketHeader(bytes: [0x79, 1]) == nil)
        #expect(OpusPacketHeader(bytes: [0x7A]) == nil)
        #expect(OpusPacketHeader(bytes: [0x7B]) == nil)
        #expect(OpusPacketHeader(bytes: [0x7B, 0x40]) == nil)
        #expect(OpusPacketHeader(bytes: [0xFB, 7]) == nil)
        #expect(OpusPacketHeader(bytes: [0xFB, 6])?.samples == 5_760)
        #expect(OpusPacketHeader(bytes: [0xE3, 48])?.samples == 5_760)
        #expect(OpusPacketHeader(bytes: [0xE4])?.isStereo == true)
    }
}

// A literal needs its type said, or its numbers are Ints of eight bytes.
extension VP8PayloadHeader {
    fileprivate init?(bytes: [UInt8]) { self.init(bytes.span.bytes) }
}

extension VP9PayloadHeader {
    fileprivate init?(bytes: [UInt8]) { self.init(bytes.span.bytes) }
}

extension OpusPacketHeader {
    fileprivate init?(bytes: [UInt8]) { self.init(bytes.span.bytes) }
}
