import ClientEngine
import MediaWire
import Testing

/// When TCP candidates are dialled, dialled again, and given up.
@Suite struct StreamPlanTests {
    private static let candidate = ClientConnectionSpec.StreamCandidate(
        TransportAddress(ipv4: 0x7F00_0001, port: 9), priority: 1)

    private func time(_ milliseconds: Int64) -> MediaTime { .zero + .milliseconds(milliseconds) }

    private func plan(hasOtherPaths: Bool = true) -> StreamPlan {
        var plan = StreamPlan()
        plan.begin([Self.candidate], hasOtherPaths: hasOtherPaths, now: .zero)
        plan.note(.searching, now: .zero)
        return plan
    }

    /// When it says to dial up to a moment, in milliseconds.
    private func dials(_ plan: inout StreamPlan, until end: Int64) -> [Int64] {
        var times: [Int64] = []
        while plan.nextDeadline <= time(end) {
            let now = plan.nextDeadline
            if plan.takeStep(now: now) == .dial { times.append((now - .zero).nanoseconds / 1_000_000) }
        }
        return times
    }

    @Test func `UDP gets a second, then the pauses double up to fifteen seconds`() {
        var plan = plan()
        #expect(dials(&plan, until: 80_000) == [1000, 1500, 2500, 4500, 8500, 16_500, 31_500, 46_500, 61_500, 76_500])
    }

    @Test func `without another way it dials at once`() {
        var plan = plan(hasOtherPaths: false)
        #expect(dials(&plan, until: 100) == [0])
    }

    @Test func `a path in time makes TCP needless`() {
        var plan = plan()
        plan.note(.settled(overStream: false), now: time(300))
        #expect(plan.nextDeadline == .distantFuture)
    }

    @Test func `a connection that breaks is dialled again at once, each time`() {
        var plan = plan()
        for round in 0..<5 as Range<Int64> {
            let begin = 1000 + round * 60_000
            #expect(dials(&plan, until: begin) == [begin], "round \(round)")
            plan.note(.settled(overStream: true), now: time(begin + 50))
            #expect(plan.nextDeadline == .distantFuture)
            plan.note(.searching, now: time(begin + 60_000))
        }
    }

    @Test func `a connection that breaks soon again and again is dialled less and less often`() {
        var plan = plan(hasOtherPaths: false)
        var times: [Int64] = []
        while (times.last ?? 0) < 120_000 {
            let now = plan.nextDeadline
            #expect(plan.takeStep(now: now) == .dial)
            times.append((now - .zero).nanoseconds / 1_000_000)
            plan.note(.settled(overStream: true), now: now + .milliseconds(20))
            plan.note(.searching, now: now + .milliseconds(40))
        }
        #expect(times.count < 16, "\(times)")
        #expect(zip(times.dropFirst(), times).allSatisfy { $0 - $1 <= 15_000 })
    }

    @Test func `when UDP carries the media, TCP is closed after a moment`() {
        var plan = plan()
        #expect(dials(&plan, until: 1000) == [1000])
        plan.note(.settled(overStream: true), now: time(1100))
        plan.note(.settled(overStream: false), now: time(5000))
        plan.note(.settled(overStream: false), now: time(6000))
        #expect(plan.nextDeadline == time(7000))
        #expect(plan.takeStep(now: time(6999)) == .none)
        #expect(plan.takeStep(now: time(7000)) == .retire)
        plan.note(.settled(overStream: false), now: time(8000))
        #expect(plan.nextDeadline == .distantFuture, "once")
        // And it is dialled when UDP goes.
        plan.note(.searching, now: time(9000))
        #expect(plan.nextDeadline == time(9000))
    }

    @Test func `nothing is closed when UDP goes again in time`() {
        var plan = plan()
        #expect(dials(&plan, until: 1000) == [1000])
        plan.note(.settled(overStream: false), now: time(1200))
        plan.note(.searching, now: time(1300))
        #expect(plan.takeStep(now: time(10_000)) == .dial)
    }

    @Test func `a restart takes other candidates, or keeps those of before`() {
        var plan = plan()
        #expect(dials(&plan, until: 1000) == [1000])
        plan.note(.settled(overStream: true), now: time(1100))
        let other = ClientConnectionSpec.StreamCandidate(TransportAddress(ipv4: 0x7F00_0002, port: 9), priority: 2)
        plan.begin([other], hasOtherPaths: true, now: time(2000))
        plan.note(.searching, now: time(2000))
        #expect(plan.candidates == [other])
        // UDP gets its second again.
        #expect(plan.nextDeadline == time(3000))
        plan.begin(nil, hasOtherPaths: true, now: time(4000))
        #expect(plan.candidates == [other])
        plan.begin([], hasOtherPaths: true, now: time(5000))
        plan.note(.searching, now: time(5000))
        #expect(plan.candidates.isEmpty && plan.nextDeadline == .distantFuture)
        plan.begin(Array(repeating: other, count: 100), hasOtherPaths: true, now: time(6000))
        #expect(plan.candidates.count == StreamPlan.candidateLimit)
    }

    @Test func `what has failed dials only after a restart`() {
        var plan = plan()
        plan.note(.over, now: time(30_000))
        #expect(plan.nextDeadline == .distantFuture)
        plan.begin(nil, hasOtherPaths: false, now: time(31_000))
        #expect(plan.takeStep(now: time(31_000)) == .dial)
    }
}
