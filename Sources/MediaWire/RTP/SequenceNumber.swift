/// Arithmetic on 16-bit sequence numbers that wrap (RFC 3550, section 5.1; serial numbers as in RFC 1982).
package enum SequenceNumber {
    /// How far `later` lies after `earlier`: -32768...32767; 0 for a duplicate.
    @inlinable package static func distance(from earlier: UInt16, to later: UInt16) -> Int {
        Int(Int16(bitPattern: later &- earlier))
    }

    /// Whether `a` comes after `b`. At a distance of exactly half the space neither comes after the other.
    @inlinable package static func isNewer(_ a: UInt16, than b: UInt16) -> Bool {
        Int16(bitPattern: a &- b) > 0
    }
}

/// Arithmetic on 32-bit RTP timestamps that wrap.
package enum Timestamp {
    /// How far `later` lies after `earlier`, in ticks: -2^31...2^31-1.
    @inlinable package static func distance(from earlier: UInt32, to later: UInt32) -> Int {
        Int(Int32(bitPattern: later &- earlier))
    }

    /// Whether `a` comes after `b`. At a distance of exactly half the space neither comes after the other.
    @inlinable package static func isNewer(_ a: UInt32, than b: UInt32) -> Bool {
        Int32(bitPattern: a &- b) > 0
    }
}

/// Widens 16-bit sequence numbers to 64 bits, so that they compare and subtract as plain numbers.
///
/// The first number stands for itself; each further one becomes the extended number nearest to the highest so far. A packet
/// that comes late from before a wrap may so become negative.
package struct SequenceExtender: Sendable {
    /// The highest extended number so far; `nil` before the first.
    @inlinable package var highest: Int64? { isStarted ? top : nil }

    @usableFromInline var top: Int64 = 0
    @usableFromInline var isStarted = false

    @inlinable package init() {}

    /// What `sequence` would become, without taking note of it.
    @inlinable package func extended(_ sequence: UInt16) -> Int64 {
        guard isStarted else { return Int64(sequence) }
        return top &+ Int64(SequenceNumber.distance(from: UInt16(truncatingIfNeeded: top), to: sequence))
    }

    /// Extends `sequence` and raises `highest` to it if it is newer.
    @inlinable package mutating func extend(_ sequence: UInt16) -> Int64 {
        let result = extended(sequence)
        if !isStarted || result > top {
            top = result
            isStarted = true
        }
        return result
    }
}
