import MediaWire

/// Where a room's random numbers come from: the system's generator, or a seed when a run has to be repeatable.
package enum RandomSource: RandomNumberGenerator, Sendable {
    /// The kernel's cryptographic generator.
    case system
    /// What `SeededRandom` makes of the given state; for tests.
    case seeded(UInt64)

    package mutating func next() -> UInt64 {
        switch self {
        case .system:
            var generator = SystemRandomNumberGenerator()
            return generator.next()
        case .seeded(let state):
            var generator = SeededRandom(seed: state)
            defer { self = .seeded(generator.state) }
            return generator.next()
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
