import CCodecs

/// A sine at 48 kHz, mono, whose phase runs on from frame to frame.
package struct TestTone: Sendable {
    /// In Hz, 1..<24000.
    package let frequency: Int
    /// Peak, as a part of full scale, 0...1.
    package let amplitude: Double
    /// Samples made so far, modulo one second: every whole frequency is back at its start then.
    private var position = 0

    /// 20 ms.
    package static let samplesPerFrame = 960

    package init(frequency: Int, amplitude: Double = 0.35) {
        self.frequency = min(max(frequency, 1), OpusEncoder.sampleRate / 2 - 1)
        self.amplitude = min(max(amplitude, 0), 1)
    }

    /// The tone of one publisher; see `frequency(publisher:)`.
    package init(publisher: UInt16, amplitude: Double = 0.35) {
        self.init(frequency: Self.frequency(publisher: publisher), amplitude: amplitude)
    }

    /// 300, 350 ... 3450 Hz, then from the start: 50 Hz apart is what a window of 20 ms can tell.
    package static func frequency(publisher: UInt16) -> Int { 300 + 50 * Int(publisher % 64) }

    /// The next 16-bit samples.
    package mutating func nextFrame(samples: Int = samplesPerFrame) -> [Int16] {
        let peak = amplitude * 32_767
        let rate = OpusEncoder.sampleRate
        let frame = (0..<max(samples, 0)).map { index -> Int16 in
            // Whole cycles are taken off in integers, so the phase never drifts.
            let cycles = (position + index) % rate * frequency % rate
            return Int16(peak * parlor_sine(Double(cycles) / Double(rate)))
        }
        position = (position + frame.count) % rate
        return frame
    }
}
