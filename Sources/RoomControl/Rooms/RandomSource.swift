/// Where a room's random numbers come from: the system's generator, or a seed when a run has to be repeatable.
package enum RandomSource: RandomNumberGenerator, Sendable {
    /// The kernel's cryptographic generator.
    case system
    /// SplitMix64 from the given state; for tests.
    case seeded(UInt64)

    package mutating func next() -> UInt64 {
        switch self {
        case .system:
            var generator = SystemRandomNumberGenerator()
            return generator.next()
        case .seeded(var state):
            state &+= 0x9E37_79B9_7F4A_7C15
            self = .seeded(state)
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }

    /// A source of its own for one of several users: the system's is one for all, seeds are told apart.
    package func part(_ n: UInt64) -> RandomSource {
        guard case .seeded(let seed) = self else { return self }
        var mixer = RandomSource.seeded(seed ^ (n &+ 1) &* 0xD1B5_4A32_D192_ED03)
        return .seeded(mixer.next())
    }

    package mutating func bytes(_ count: Int) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(count + 7)
        while result.count < count {
            let word = next()
            for shift in 0..<8 { result.append(UInt8(truncatingIfNeeded: word >> UInt64(shift * 8))) }
        }
        result.removeLast(result.count - count)
        return result
    }
}
