import MediaLoad
import Testing

@Suite struct StormReportTests {
    private func histogram(_ microseconds: [Int64]) -> LatencyHistogram {
        var histogram = LatencyHistogram()
        for value in microseconds { histogram.add(microseconds: value) }
        return histogram
    }

    /// Of a histogram that goes on, the part since a moment is that of its durations alone, whatever came before.
    @Test func aPartOfAHistogramIsThatOfItsOwnDurations() {
        var random = SystemRandomNumberGenerator()
        let seed = UInt64.random(in: 1...1_000_000, using: &random)
        var state = seed
        func next() -> Int64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int64(1 + (state >> 40) % (1 << (1 + (state >> 33) % 20)))
        }
        for _ in 0..<20 {
            let early = (0..<500).map { _ in next() }
            let late = (0..<300).map { _ in next() }
            let part = histogram(early + late).subtracting(histogram(early))
            let own = histogram(late)
            #expect(part.count == 300, "seed \(seed)")
            for share in [0.01, 0.5, 0.99] {
                #expect(part.milliseconds(part: share) == own.milliseconds(part: share), "\(share), seed \(seed)")
            }
            // The largest of the part is known by its bucket only.
            #expect(
                part.largest >= own.largest && Double(part.largest) <= Double(own.largest) * 1.04 + 1, "seed \(seed)")
        }
        let some = histogram([5, 7])
        #expect(some.subtracting(LatencyHistogram()) == some)
        #expect(some.subtracting(some).count == 0 && some.subtracting(some).milliseconds(part: 0.5) == nil)
    }

    /// - Parameter begun: joins that began in ten seconds, of a hundred a second that were wanted.
    private func storm(begun: Int = 1000) -> StormReport {
        let start = StormMoment(
            time: 100, latency: histogram([90_000]), lag: histogram([50_000]), node: 10, tester: 4)
        let calm = (1...1000).map { _ in Int64(512) }
        let middle = StormMoment(
            time: 110, latency: histogram([90_000] + calm), lag: histogram([50_000, 64, 64]), node: 10.5, tester: 4.2)
        // Two of a hundred packets wait for 4 ms.
        let busy = (1...1000).map { Int64($0 % 50 == 0 ? 4096 : 512) }
        let end = StormMoment(
            time: 120, latency: histogram([90_000] + calm + busy), lag: histogram([50_000, 64, 64, 1024]), node: 12.5,
            tester: 9.2)
        var visits = StormVisits()
        for number in 1...998 { visits.times.add(microseconds: Int64(number * 10)) }
        for _ in 0..<begun { visits.begunLate.add(microseconds: 128) }
        visits.failed = 2
        return StormReport(
            wantedRate: 100, visits: visits, before: middle.since(start), during: end.since(middle), loadAverage: 0.25)
    }

    @Test func whatTheJoinsAddIsTheLatencyDuringThemLessTheUsualOne() {
        let storm = storm()
        #expect(storm.before.latency.count == 1000 && storm.during.latency.count == 1000)
        #expect(storm.before.seconds == 10 && storm.during.seconds == 10)
        let (usual, slow) = (storm.before.latency.p50 ?? 0, storm.during.latency.p99 ?? 0)
        #expect(usual >= 0.512 && usual < 0.53 && slow >= 4.096 && slow < 4.3)
        #expect(storm.added.p50 == 0)
        #expect(storm.added.p99 == slow - usual)
        #expect(storm.before.lag.count == 2 && storm.during.lag.count == 1)
        #expect((storm.during.lag.max ?? 0) >= 1.024)
        #expect(storm.before.nodeProcessorPercent == 5 && storm.during.nodeProcessorPercent == 20)
        #expect(storm.rate == 100 && storm.joined == 998 && storm.failed == 2)
    }

    @Test func aNodeElsewhereHasNoShareOfTheProcessor() {
        let there = StormMoment(
            time: 0, latency: LatencyHistogram(), lag: LatencyHistogram(), node: nil, tester: 0)
        let phase = there.since(there)
        #expect(phase.nodeProcessorPercent == nil && phase.latency.p50 == nil && phase.testerProcessorPercent == 0)
    }

    @Test func theTableShowsBothPhasesAndWhatWasAdded() {
        let lines = storm().text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines[0].hasPrefix("streams  seconds  packets  latency p50"))
        #expect(
            lines[1].hasPrefix("before      10.0     1000")
                && Array(lines[1].split(separator: " ").suffix(2)) == ["5%", "2%"])
        #expect(
            lines[2].hasPrefix("during      10.0     1000")
                && Array(lines[2].split(separator: " ").suffix(2)) == ["20%", "50%"])
        #expect(lines[3].hasPrefix("added") && lines[3].contains("0.00"))
        #expect(lines[6].contains("998       2"))
        #expect(!lines.contains { $0.hasPrefix("Only ") })
        #expect(lines.last { !$0.isEmpty }?.hasPrefix("Load average at the beginning 0.3 on ") == true)
    }

    /// Figures of fewer joins than wanted say so: a node that hangs must not look as if the joins cost nothing.
    @Test(arguments: [(1000, false), (950, false), (949, true), (256, true), (0, true)])
    func aWeakStormIsSaidToBeOne(begun: Int, isWeak: Bool) {
        let storm = storm(begun: begun)
        #expect((storm.shortfall != nil) == isWeak)
        let line = storm.text.split(separator: "\n").first { $0.hasPrefix("Only ") }
        #expect(line.map(String.init) == storm.shortfall)
        if begun == 256 { #expect(line?.hasPrefix("Only 25.6 joins a second began of 100 that were wanted") == true) }
    }
}
