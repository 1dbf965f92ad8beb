/// Random numbers that a seed determines (SplitMix64; Steele, Lea and Flood, 2014): the same seed, the same run, on every
/// machine. For tests, loads, and times that have to be spread; never for keys.
package struct SeededRandom: RandomNumberGenerator, Sendable {
    /// What the next number follows from.
    package private(set) var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    package mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) } }

    /// - Parameter probability: 0...1
    package mutating func chance(_ probability: Double) -> Bool { Double.random(in: 0..<1, using: &self) < probability }
}
