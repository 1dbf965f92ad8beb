import MediaEngine
import MediaWire
import Testing

@Suite struct LoadMeterTests {
    /// A meter after two seconds of rounds of 1 ms with this share of work.
    private func meter(busy: Double) -> LoadMeter {
        var meter = LoadMeter()
        for _ in 0..<2000 {
            meter.note(busy: MediaDuration(nanoseconds: Int64(busy * 1e6)), total: .milliseconds(1))
        }
        return meter
    }

    @Test func theFigureFollowsTheWork() {
        for busy in [0.0, 0.3, 1.0] {
            #expect(abs(meter(busy: busy).busyFraction - busy) < 0.01)
        }
        var one = meter(busy: 1)
        one.note(busy: .zero, total: .milliseconds(500))  // one long wait
        #expect(one.busyFraction == 0)
    }

    @Test func anIdleCoreDoesNotCollectAndAFullOneNeither() {
        let limit = MediaDuration.milliseconds(1)
        #expect(meter(busy: 0).collecting(limit: limit) == .zero)
        #expect(meter(busy: 0.05).collecting(limit: limit) == .zero)
        #expect(meter(busy: 1).collecting(limit: limit) < .microseconds(1))
        #expect(meter(busy: 0.3).collecting(limit: .zero) == .zero)
        let some = meter(busy: 0.3).collecting(limit: limit)
        #expect(some > .microseconds(300) && some < limit)
        // A round of collecting and work stays within the limit.
        for percent in 11...99 {
            let meter = meter(busy: Double(percent) / 100)
            let round = meter.collecting(limit: limit).seconds / (1 - meter.busyFraction)
            #expect(round < limit.seconds, "at \(percent) % busy")
        }
    }

    @Test func aClockThatStandsOrGoesBackDoesNoHarm() {
        var meter = LoadMeter()
        for _ in 0..<100 { meter.note(busy: MediaDuration(nanoseconds: -5), total: .zero) }
        #expect(meter.busyFraction == 0)
    }
}
