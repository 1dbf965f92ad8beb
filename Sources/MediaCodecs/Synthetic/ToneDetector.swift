import CCodecs

/// Says whether sound holds one tone and hardly anything else (Goertzel's filter).
package struct ToneDetector: Sendable {
    package struct Reading: Hashable, Sendable {
        /// Root mean square of the whole window, as a part of full scale.
        package var level: Double
        /// The part of the window's energy that is the tone, 0...1 (a little above with a frequency between two bins).
        package var share: Double
        /// Long enough, audible, and the tone dominates.
        package var isPresent: Bool
    }

    /// In Hz.
    package let frequency: Int
    /// Quieter than this is not audible: -40 dB of full scale.
    package static let audibleLevel = 0.01
    /// More than half: no other tone can have as much.
    package static let dominantShare = 0.6
    /// 20 ms at 48 kHz, which tells tones 50 Hz apart. A shorter window never answers yes.
    package static let smallestWindow = 960

    private let coefficient: Double

    package init(frequency: Int) {
        self.frequency = frequency
        // cos(x) = sin(x + a quarter turn)
        coefficient = 2 * parlor_sine(Double(frequency) / Double(OpusEncoder.sampleRate) + 0.25)
    }

    package init(publisher: UInt16) { self.init(frequency: TestTone.frequency(publisher: publisher)) }

    /// - Parameter window: 16-bit PCM at 48 kHz, mono; a multiple of 960 samples tells neighbours best.
    package func read(_ window: some Collection<Int16>) -> Reading {
        var energy = 0.0
        var last = 0.0
        var beforeLast = 0.0
        var count = 0
        for sample in window {
            let value = Double(sample) / 32_768
            energy += value * value
            (last, beforeLast) = (value + coefficient * last - beforeLast, last)
            count += 1
        }
        guard count > 0, energy > 0 else { return Reading(level: 0, share: 0, isPresent: false) }
        let power = last * last + beforeLast * beforeLast - coefficient * last * beforeLast
        let level = (energy / Double(count)).squareRoot()
        let share = 2 * power / (Double(count) * energy)
        return Reading(
            level: level, share: share,
            isPresent: count >= Self.smallestWindow && level >= Self.audibleLevel && share >= Self.dominantShare)
    }
}
