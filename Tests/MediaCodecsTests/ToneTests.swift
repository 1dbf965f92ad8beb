import MediaCodecs
import MediaWire
import Testing

@Suite struct ToneTests {
    /// One second of a publisher's tone through Opus, without the first 100 ms (the codec's start).
    private func decoded(publisher: UInt16, bitrate: Int = 32_000, channels: Int = 1) throws -> [Int16] {
        let encoder = try OpusEncoder(OpusEncoder.Settings(channels: channels, bitsPerSecond: bitrate))
        let decoder = try OpusDecoder()
        var tone = TestTone(publisher: publisher)
        var samples: [Int16] = []
        for _ in 0..<50 {
            let mono = tone.nextFrame()
            let packet = try encoder.encode(channels == 2 ? mono.flatMap { [$0, $0] } : mono)
            samples += try decoder.decode(packet)
        }
        #expect(samples.count == 48_000)
        return Array(samples[4_800...])
    }

    private func windows(_ samples: [Int16], of size: Int) -> [ArraySlice<Int16>] {
        stride(from: 0, through: samples.count - size, by: size).map { samples[$0..<$0 + size] }
    }

    @Test(arguments: [0, 1, 2, 7, 20, 40, 63] as [UInt16])
    func theToneIsHeardAndItsNeighboursAreNot(publisher: UInt16) throws {
        let samples = try decoded(publisher: publisher)
        let detector = ToneDetector(publisher: publisher)
        for size in [960, 1_920, 4_800] {
            for window in windows(samples, of: size) {
                let reading = detector.read(window)
                #expect(reading.isPresent, "\(reading)")
                for other in Set([publisher &+ 1, publisher &- 1, publisher &+ 9, 0, 63]) {
                    let frequency = TestTone.frequency(publisher: other)
                    guard frequency != detector.frequency else { continue }
                    #expect(!ToneDetector(frequency: frequency).read(window).isPresent)
                }
            }
        }
    }

    @Test func stereoAndLowBitrateWorkToo() throws {
        for (bitrate, channels) in [(16_000, 1), (32_000, 2)] {
            let samples = try decoded(publisher: 5, bitrate: bitrate, channels: channels)
            #expect(windows(samples, of: 1_920).allSatisfy { ToneDetector(publisher: 5).read($0).isPresent })
        }
    }

    @Test func silenceNoiseAndWhispersAreNoTone() throws {
        let detector = ToneDetector(publisher: 3)
        #expect(!detector.read([]).isPresent)
        #expect(!detector.read([Int16](repeating: 0, count: 960)).isPresent)
        #expect(!detector.read([Int16](repeating: 8_000, count: 960)).isPresent)
        var generator = SeededRandom(seed: 8)
        for _ in 0..<50 {
            let noise = (0..<960).map { _ in Int16.random(in: -9_000...9_000, using: &generator) }
            #expect(!detector.read(noise).isPresent)
        }
        var whisper = TestTone(publisher: 3, amplitude: 0.005)
        #expect(!detector.read(whisper.nextFrame()).isPresent)
        var tone = TestTone(publisher: 3)
        #expect(!detector.read(tone.nextFrame(samples: 480)).isPresent)
        let silence = try OpusEncoder()
        let decoder = try OpusDecoder()
        for _ in 0..<10 {
            let packet = try silence.encode([Int16](repeating: 0, count: 960))
            #expect(!detector.read(try decoder.decode(packet)).isPresent)
        }
    }

    @Test func twoTonesAreNeitherDominant() {
        var first = TestTone(publisher: 3)
        var second = TestTone(publisher: 8)
        let both = zip(first.nextFrame(), second.nextFrame()).map { $0 + $1 }
        #expect(!ToneDetector(publisher: 3).read(both).isPresent)
        #expect(!ToneDetector(publisher: 8).read(both).isPresent)
    }

    /// Frames of any length continue each other without a step in phase, for longer than a second.
    @Test func thePhaseRunsOn() {
        var whole = TestTone(frequency: 437)
        var pieces = whole
        var generator = SeededRandom(seed: 2)
        var samples: [Int16] = []
        while samples.count < 100_000 {
            samples += pieces.nextFrame(samples: .random(in: 1...2_000, using: &generator))
        }
        #expect(whole.nextFrame(samples: samples.count) == samples)
        let step = zip(samples, samples.dropFirst()).map { abs(Int($1) - Int($0)) }.max() ?? 0
        // 2 pi 437 / 48000 of the peak.
        #expect(step < 700)
    }

    @Test func lostPacketsAreConcealed() throws {
        let encoder = try OpusEncoder()
        let decoder = try OpusDecoder()
        var tone = TestTone(publisher: 4)
        for index in 0..<50 {
            let packet = try encoder.encode(tone.nextFrame())
            let samples = index == 25 ? try decoder.conceal(samples: 960) : try decoder.decode(packet)
            #expect(samples.count == 960)
            if index > 5 { #expect(ToneDetector(publisher: 4).read(samples).level > 0.05) }
        }
    }

    @Test func badOpusBytesAreErrors() throws {
        let decoder = try OpusDecoder(channels: 2)
        #expect(throws: CodecError.self) { try decoder.decode([]) }
        #expect(throws: CodecError.self) { try decoder.decode([0xFF, 0xFF, 0xFF]) }
        var generator = SeededRandom(seed: 6)
        for _ in 0..<500 { _ = try? decoder.decode(generator.bytes(.random(in: 1...200, using: &generator))) }
        #expect(throws: CodecError.self) { try OpusDecoder(channels: 3) }
        #expect(throws: CodecError.self) { try OpusEncoder(OpusEncoder.Settings(channels: 0)) }
        let encoder = try OpusEncoder()
        let error = #expect(throws: CodecError.self) { try encoder.encode([1, 2, 3]) }
        #expect("\(try #require(error))".contains("libopus"))
        try encoder.setBitrate(bitsPerSecond: 20_000)
    }
}
