/// Durations in buckets that grow with them: 3 % fine, so many in little room, and histograms add up.
package struct LatencyHistogram: Sendable, Equatable {
    /// 32 buckets for each doubling, from 1 microsecond to over an hour.
    private static let perOctave = 32
    private static let octaves = 32
    private var buckets: [UInt32] = []
    package private(set) var count: UInt64 = 0
    package private(set) var largest: Int64 = 0

    package init() {}

    /// - Parameter microseconds: below 1 counts as 1: clocks may step.
    package mutating func add(microseconds: Int64) {
        if buckets.isEmpty { buckets = [UInt32](repeating: 0, count: Self.perOctave * Self.octaves) }
        let value = UInt64(max(microseconds, 1))
        buckets[Self.bucket(value)] &+= 1
        count += 1
        largest = max(largest, microseconds)
    }

    package mutating func add(_ other: LatencyHistogram) {
        guard other.count > 0 else { return }
        if buckets.isEmpty { buckets = [UInt32](repeating: 0, count: Self.perOctave * Self.octaves) }
        for index in buckets.indices { buckets[index] &+= other.buckets[index] }
        count += other.count
        largest = max(largest, other.largest)
    }

    /// What was added since `earlier`, a histogram of the same durations at an earlier time. The largest is known up to a bucket's
    /// width.
    package func subtracting(_ earlier: LatencyHistogram) -> LatencyHistogram {
        guard !earlier.buckets.isEmpty else { return self }
        var rest = LatencyHistogram()
        rest.buckets = zip(buckets, earlier.buckets).map { $0 > $1 ? $0 - $1 : 0 }
        rest.count = rest.buckets.reduce(0) { $0 + UInt64($1) }
        if let last = rest.buckets.lastIndex(where: { $0 > 0 }) {
            rest.largest = min(largest, Int64(Self.upperEdge(last)))
        }
        return rest
    }

    /// Milliseconds that `part` (0...1) of the durations do not exceed, up to a bucket's width; `nil` without any.
    package func milliseconds(part: Double) -> Double? {
        guard count > 0 else { return nil }
        let wanted = UInt64((Double(count) * part).rounded(.up))
        var seen: UInt64 = 0
        for index in buckets.indices {
            seen += UInt64(buckets[index])
            if seen >= max(wanted, 1) { return min(Self.upperEdge(index), Double(max(largest, 1))) / 1000 }
        }
        return Double(largest) / 1000
    }

    /// Octave by the leading bit, place in it by the next five.
    private static func bucket(_ value: UInt64) -> Int {
        let octave = min(63 - value.leadingZeroBitCount, octaves - 1)
        let fraction = octave >= 5 ? value >> UInt64(octave - 5) & 31 : value << UInt64(5 - octave) & 31
        return octave * perOctave + Int(fraction)
    }

    private static func upperEdge(_ bucket: Int) -> Double {
        let octave = bucket / perOctave
        return Double(UInt64(1) << UInt64(octave)) * (1 + Double(bucket % perOctave + 1) / Double(perOctave))
    }
}
