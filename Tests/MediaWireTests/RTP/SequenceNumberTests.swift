import MediaWire
import Testing

struct SequenceNumberTests {
    @Test(
        arguments: [
            (0, 1, 1), (1, 0, -1), (65535, 0, 1), (0, 65535, -1), (65534, 2, 4), (0, 32767, 32767), (0, 32768, -32768),
            (40000, 100, 25636), (7, 7, 0),
        ] as [(UInt16, UInt16, Int)]) func distance(from earlier: UInt16, to later: UInt16, is distance: Int)
    {
        #expect(SequenceNumber.distance(from: earlier, to: later) == distance)
        #expect(SequenceNumber.isNewer(later, than: earlier) == (distance > 0))
    }

    /// Two numbers are never each newer than the other.
    @Test func isNewerIsOneWay() {
        var random = SeededRandom(seed: 7)
        for _ in 0..<10_000 {
            let (a, b) = (random.uint16(), random.uint16())
            #expect(!(SequenceNumber.isNewer(a, than: b) && SequenceNumber.isNewer(b, than: a)), "\(a) \(b)")
        }
    }

    @Test func timestamps() {
        #expect(Timestamp.distance(from: 0xFFFF_FFFF, to: 9) == 10)
        #expect(Timestamp.distance(from: 9, to: 0xFFFF_FFFF) == -10)
        #expect(Timestamp.isNewer(0, than: 0xFFFF_FF00) && !Timestamp.isNewer(5, than: 5))
        #expect(!Timestamp.isNewer(0x8000_0000, than: 0) && !Timestamp.isNewer(0, than: 0x8000_0000))
    }

    /// A038: a duplicate of the highest number is no progress, and no gap of 65535.
    @Test func duplicate() {
        var extender = SequenceExtender()
        let first = extender.extend(100)
        let second = extender.extend(100)
        #expect(first == 100 && second == 100 && extender.highest == 100)
    }

    /// A052: after two wraps the extended highest number has 2 in its upper half.
    @Test func wraps() {
        var extender = SequenceExtender()
        #expect(extender.highest == nil)
        var last: Int64 = 0
        for number in 0..<(2 * 65536 + 6) { last = extender.extend(UInt16(truncatingIfNeeded: number)) }
        #expect(last == 0x20005)
        #expect(extender.highest.map { UInt32(truncatingIfNeeded: $0) } == 0x0002_0005)
    }

    @Test func lateFromBeforeTheStart() {
        var extender = SequenceExtender()
        let results = [extender.extend(0), extender.extend(65535), extender.extend(1)]
        #expect(results == [0, -1, 1] && extender.highest == 1)
    }

    /// The extender against plain counting: reordering within half the space never loses the place.
    @Test(arguments: [11, 12, 13] as [UInt64]) func model(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var extender = SequenceExtender()
        var truth = Int64(random.uint16())
        var top = truth
        var result = extender.extend(UInt16(truncatingIfNeeded: truth))
        #expect(result == truth)
        for round in 0..<50_000 {
            truth = top + Int64.random(in: -30_000...30_000, using: &random)
            let peek = extender.extended(UInt16(truncatingIfNeeded: truth))
            result = extender.extend(UInt16(truncatingIfNeeded: truth))
            top = max(top, truth)
            #expect(result == truth && peek == truth && extender.highest == top, "seed \(seed), round \(round)")
        }
    }
}
