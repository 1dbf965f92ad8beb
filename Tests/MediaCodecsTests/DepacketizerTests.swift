import MediaCodecs
import MediaWire
import Testing

@Suite struct DepacketizerTests {
    /// Something that looks like a frame of the codec from outside.
    private func frame(
        _ codec: VPXCodec, isKey: Bool, size: Int, using generator: inout SeededRandom
    ) -> [UInt8] {
        let head: [UInt8]
        switch codec {
        case .vp8: head = isKey ? [0x10, 2, 0, 0x9D, 1, 0x2A, 0x40, 1, 0xF0, 0] : [0x11, 2, 0]
        case .vp9: head = isKey ? [0x82, 0x49, 0x83, 0x42, 0] : [0x86, 0]
        }
        return head + generator.bytes(size)
    }

    private enum Packetizer {
        case vp8(VP8Packetizer)
        case vp9(VP9Packetizer)

        mutating func packetize(_ frame: [UInt8], isKeyFrame: Bool) -> [RTPPayload] {
            switch self {
            case .vp8(var packetizer):
                defer { self = .vp8(packetizer) }
                return packetizer.packetize(frame)
            case .vp9(var packetizer):
                defer { self = .vp9(packetizer) }
                return packetizer.packetize(frame, isKeyFrame: isKeyFrame)
            }
        }
    }

    /// Random frames, losses, copies and padding. The model: a frame comes out exactly if all its packets came and, unless it
    /// is a key frame, all packets since the last key frame that came whole.
    @Test(arguments: VPXCodec.allCases, 0..<40)
    func lossAgainstTheModel(codec: VPXCodec, round: Int) {
        let seed = UInt64(round) &* 7_919 &+ (codec == .vp8 ? 1 : 2)
        var generator = SeededRandom(seed: seed)
        let lossPercent = [0, 1, 5, 20][round % 4]
        var packetizer: Packetizer =
            switch (codec, round % 3) {
            case (.vp8, _): .vp8(VP8Packetizer(maximumPayloadSize: 100, firstPictureID: 0x7FF0))
            case (.vp9, 0):
                .vp9(VP9Packetizer(width: 320, height: 240, maximumPayloadSize: 100, firstPictureID: 0x7FF0))
            case (.vp9, 1): .vp9(VP9Packetizer(width: 320, height: 240, mode: .flexible, maximumPayloadSize: 100))
            case (.vp9, _): .vp9(VP9Packetizer(width: 320, height: 240, mode: .plain, maximumPayloadSize: 100))
            }
        var depacketizer = VideoDepacketizer(codec)
        var number = UInt16.random(in: 0 ... .max, using: &generator)
        var timestamp = UInt32.random(in: 0 ... .max, using: &generator)
        var expected: [[UInt8]] = []
        var got: [[UInt8]] = []
        var keys = 0
        var chainIsWhole = false

        for index in 0..<300 {
            let isKey = index == 0 || Int.random(in: 0..<12, using: &generator) == 0
            let bytes = frame(codec, isKey: isKey, size: .random(in: 0...500, using: &generator), using: &generator)
            var isWhole = true
            for payload in packetizer.packetize(bytes, isKeyFrame: isKey) {
                defer { number &+= 1 }
                if Int.random(in: 0..<100, using: &generator) < lossPercent {
                    isWhole = false
                    continue
                }
                let copies = Int.random(in: 0..<20, using: &generator) == 0 ? 2 : 1
                for copy in 0..<copies {
                    let answer = depacketizer.receive(
                        payload.bytes.span.bytes, sequenceNumber: number, timestamp: timestamp, marker: payload.marker)
                    if copy > 0 { #expect(answer == .dropped(.late)) }
                    if case .frame(let frame) = answer {
                        got.append(frame.bytes)
                        keys += frame.isKeyFrame ? 1 : 0
                        #expect(frame.isKeyFrame == isKey && frame.timestamp == timestamp && frame.pictureID != nil)
                        #expect(!depacketizer.needsKeyFrame)
                    }
                }
            }
            // A packet of padding between frames carries a number and nothing else.
            if Int.random(in: 0..<10, using: &generator) == 0 {
                let answer = depacketizer.receive(
                    [UInt8]().span.bytes, sequenceNumber: number, timestamp: timestamp, marker: false)
                #expect(answer == .incomplete)
                number &+= 1
            }
            chainIsWhole = isWhole && (isKey || chainIsWhole)
            if chainIsWhole { expected.append(bytes) }
            timestamp &+= 3_000
        }
        #expect(got == expected, "seed \(seed)")
        #expect(depacketizer.statistics.frames == expected.count)
        #expect(depacketizer.statistics.keyFrames == keys)
        #expect((depacketizer.statistics.missing == 0) == (lossPercent == 0) || lossPercent == 1)
    }

    /// Three spatial layers in two packets each, one marker: one frame for the decoder.
    @Test func layersOfAPictureComeOutTogether() {
        var depacketizer = VP9Depacketizer()
        var whole: [UInt8] = []
        var number: UInt16 = 65_534
        for layer in 0..<3 as Range<UInt8> {
            for half in 0..<2 as Range<UInt8> {
                let isFirst = half == 0
                let body: [UInt8] = layer == 0 && isFirst ? [0x82, 0x49, 0x83, 0x42, 0] : [0x86, layer, half]
                // I, L; P on the upper layers stays 0 (the picture is a key picture), B and E frame each layer.
                let bits: UInt8 = 0xA0 | (isFirst ? 0x08 : 0x04)
                let answer = depacketizer.receive(
                    ([bits, 0x01, layer << 1, 0] + body).span.bytes, sequenceNumber: number, timestamp: 5,
                    marker: layer == 2 && !isFirst)
                whole += body
                number &+= 1
                if case .frame(let frame) = answer {
                    #expect(layer == 2 && !isFirst)
                    #expect(frame.bytes == whole && frame.packets == 6 && frame.isKeyFrame)
                } else {
                    #expect(answer == .incomplete && !(layer == 2 && !isFirst))
                }
            }
        }
        #expect(depacketizer.statistics.frames == 1)
    }

    @Test func everyDropHasItsName() {
        let key: [UInt8] = [0x10, 0x10, 2, 0, 0x9D, 1, 0x2A, 0x40, 1, 0xF0, 0]
        let inter: [UInt8] = [0x10, 0x11, 2, 0]
        var depacketizer = VP8Depacketizer(maximumFrameSize: 20)
        func give(_ bytes: [UInt8], _ number: UInt16, _ timestamp: UInt32, marker: Bool = true) -> VideoReception {
            depacketizer.receive(bytes.span.bytes, sequenceNumber: number, timestamp: timestamp, marker: marker)
        }
        #expect(depacketizer.needsKeyFrame)
        #expect(give([0x00, 1, 2], 0, 0) == .dropped(.missingStart))
        #expect(give(inter, 1, 1) == .dropped(.awaitingKeyFrame))
        guard case .frame = give(key, 2, 2) else { return #expect(Bool(false), "the key frame") }
        #expect(!depacketizer.needsKeyFrame)
        #expect(give(key, 2, 2) == .dropped(.late))
        // The end of a frame is missing though no number is.
        #expect(give(inter, 3, 3, marker: false) == .incomplete)
        #expect(give(inter, 4, 4) == .dropped(.awaitingKeyFrame))
        #expect(depacketizer.needsKeyFrame)
        guard case .frame = give(key, 5, 5) else { return #expect(Bool(false), "the second key frame") }
        // Truncated descriptor; descriptor without content; content that is no frame.
        #expect(give([0x81, 0x81, 0x94], 6, 6) == .dropped(.malformed))
        #expect(give([0x90, 0x80, 0x81, 0x23], 7, 7) == .dropped(.malformed))
        #expect(give([0x90, 0x80, 0x81, 0x23, 0x10], 8, 8) == .dropped(.malformed))
        guard case .frame = give(key, 9, 9) else { return #expect(Bool(false), "the third key frame") }
        #expect(give(key, 10, 10, marker: false) == .incomplete)
        #expect(give([UInt8](repeating: 0, count: 12), 11, 10) == .dropped(.oversized))
        #expect(depacketizer.needsKeyFrame)
        guard case .frame = give(key, 12, 12) else { return #expect(Bool(false), "the fourth key frame") }
        depacketizer.requireKeyFrame()
        #expect(give(inter, 13, 13) == .dropped(.awaitingKeyFrame))
        var statistics = DepacketizerStatistics()
        statistics.payloads = 15
        statistics.frames = 4
        statistics.keyFrames = 4
        statistics.incompleteFrames = 3
        statistics.undecodableFrames = 3
        statistics.late = 1
        statistics.malformed = 3
        #expect(depacketizer.statistics == statistics)
    }

    /// Old numbers are late; two in a row from far behind are a sender that began anew (RFC 3550, appendix A.1).
    @Test func aSenderMayBeginAnew() {
        let key: [UInt8] = [0x10, 0x10, 2, 0, 0x9D, 1, 0x2A, 0x40, 1, 0xF0, 0]
        var depacketizer = VP8Depacketizer()
        var outcomes: [Bool] = []
        for number in [40_000, 40_001, 39_990, 39_991, 100, 101, 102, 103] as [UInt16] {
            let answer = depacketizer.receive(
                key.span.bytes, sequenceNumber: number, timestamp: UInt32(number), marker: true)
            if case .frame = answer { outcomes.append(true) } else { outcomes.append(false) }
        }
        #expect(outcomes == [true, true, false, false, true, true, true, true])
        // 100 is 25635 ahead of 40002 modulo 65536: a gap. From 103 back to 65000 is 639 behind.
        #expect(depacketizer.statistics.missing == 25_634)
        for (number, taken) in [(65_000, false), (65_001, true), (65_002, true)] as [(UInt16, Bool)] {
            let answer = depacketizer.receive(
                key.span.bytes, sequenceNumber: number, timestamp: UInt32(number), marker: true)
            if case .frame = answer { #expect(taken) } else { #expect(!taken) }
        }
    }

    @Test func opusLossIsTold() {
        var depacketizer = OpusDepacketizer()
        func give(_ bytes: [UInt8], _ number: UInt16) -> AudioReception {
            depacketizer.receive(
                bytes.span.bytes, sequenceNumber: number, timestamp: UInt32(number) * 960, marker: false)
        }
        let packet: [UInt8] = [0x78, 1, 2]
        func received(_ number: UInt16, missing: Int) -> AudioReception {
            .audio(
                ReceivedAudio(packet: packet, timestamp: UInt32(number) * 960, samples: 960, missingBefore: missing))
        }
        #expect(give(packet, 65_535) == received(65_535, missing: 0))
        #expect(give(packet, 0) == received(0, missing: 0))
        #expect(give(packet, 3) == received(3, missing: 2))
        #expect(give(packet, 2) == .dropped(.late))
        #expect(give([], 4) == .padding)
        #expect(give([0x7B], 5) == .dropped(.malformed))
        #expect(give(packet, 7) == received(7, missing: 2))
        #expect(depacketizer.statistics.missing == 3 && depacketizer.statistics.frames == 4)
    }
}
