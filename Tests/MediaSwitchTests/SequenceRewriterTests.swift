import MediaSwitch
import MediaTestKit
import MediaWire
import Testing

/// The slow reference: every number in a dictionary.
private struct ReferenceRewriter {
    var first: Int64
    var given: [Int64: Int64] = [:]
    var leftOut: Set<Int64> = []
    var started: Int64?
    var highestIn: Int64 = -1
    var highestOut: Int64

    init(first: Int64) {
        self.first = first
        highestOut = first - 1
    }

    mutating func start(at sequence: Int64) {
        // What was passed over before a new start, and was not numbered by then, has no number; what was reserved keeps it.
        for old in (highestIn + 1)..<max(sequence, highestIn + 1) { leftOut.insert(old) }
        if started == nil { reservedNext = highestOut + 1 }
        started = started ?? sequence
        highestIn = max(highestIn, sequence - 1)
    }

    /// Numbers everything up to `sequence`, in order.
    mutating func advance(to sequence: Int64, leaving: Bool) {
        var out = reservedNext
        for current in (highestIn + 1)...sequence {
            if leaving, current == sequence {
                leftOut.insert(current)
            } else {
                given[current] = out
                out += 1
            }
        }
        reservedNext = out
        highestIn = sequence
    }

    var reservedNext: Int64 = 0

    mutating func map(_ sequence: Int64) -> Int64? {
        guard let started, sequence >= started else { return nil }
        if sequence > highestIn { advance(to: sequence, leaving: false) }
        guard !leftOut.contains(sequence), let out = given[sequence] else { return nil }
        highestOut = max(highestOut, out)
        return out
    }

    mutating func skip(_ sequence: Int64) {
        guard started != nil, sequence > highestIn else { return }
        advance(to: sequence, leaving: true)
    }
}

@Suite struct SequenceRewriterTests {
    @Test func lateAndLeftOutPacketsKeepTheirPlaces() {
        var rewriter = SequenceRewriter(first: 100)
        #expect(rewriter.map(5) == nil)
        rewriter.start(at: 10)
        #expect(rewriter.map(10) == 100)
        #expect(rewriter.map(12) == 102)
        rewriter.skip(13)
        #expect(rewriter.map(14) == 103)
        #expect(rewriter.map(11) == 101)
        #expect(rewriter.map(13) == nil)
        rewriter.skip(15)
        rewriter.skip(16)
        rewriter.skip(17)
        #expect(rewriter.map(18) == 104)
        #expect(rewriter.map(9) == nil)
        #expect(rewriter.inverse(104) == 18)
        #expect(rewriter.inverse(103) == 14)
        #expect(rewriter.inverse(101) == 11)
        #expect(rewriter.inverse(105) == nil)
        #expect(rewriter.inverse(99) == nil)
    }

    /// Against the reference, with random loss, lateness up to 40, duplicates and runs left out. Intervals are bounded, so a late packet may
    /// find its interval forgotten: then it has no number; but never a wrong one.
    @Test func agreesWithTheReference() {
        for seed in UInt64(0)..<300 {
            var random = SeededRandom(seed: seed)
            let first = Int64.random(in: 0...32767, using: &random)
            var rewriter = SequenceRewriter(first: first)
            var reference = ReferenceRewriter(first: first)
            reference.reservedNext = first
            let begin = Int64.random(in: 0...100_000, using: &random)
            rewriter.start(at: begin)
            reference.start(at: begin)
            var skips = 0
            for step in 0..<400 {
                let forward = begin + Int64(step)
                let sequence = random.chance(0.2) ? max(0, forward - Int64.random(in: 0..<40, using: &random)) : forward
                if random.chance(0.1) { continue }
                // Now and then the stream starts anew, as at a key frame.
                if random.chance(0.01), forward > rewriter.highestIn {
                    skips += 1
                    rewriter.start(at: forward)
                    reference.start(at: forward)
                }
                if random.chance(0.08) {
                    if sequence > rewriter.highestIn { skips += 1 }
                    rewriter.skip(sequence)
                    reference.skip(sequence)
                    continue
                }
                let expected = reference.map(sequence)
                let actual = rewriter.map(sequence)
                if actual == nil, expected != nil, skips >= SequenceRewriter.depth, sequence < rewriter.highestIn {
                    continue
                }
                #expect(actual == expected, "seed \(seed), step \(step), sequence \(sequence)")
                if let actual, actual == expected { #expect(rewriter.inverse(actual) == sequence, "seed \(seed)") }
            }
            #expect(rewriter.highestOut == reference.highestOut, "seed \(seed)")
        }
    }

    @Test func aNewStartContinuesRightAfterTheHighest() {
        var rewriter = SequenceRewriter(first: 7)
        rewriter.start(at: 100)
        #expect(rewriter.map(100) == 7)
        #expect(rewriter.map(101) == 8)
        rewriter.start(at: 150)
        #expect(rewriter.map(150) == 9)
        #expect(rewriter.map(120) == nil)
        #expect(rewriter.map(101) == 8)
        #expect(rewriter.inverse(8) == 101)
        #expect(rewriter.inverse(9) == 150)
    }
}
