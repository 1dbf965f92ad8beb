import ClientEngine
import MediaLoad
import MediaWire
import RTCClient
import Testing

@Suite struct LoadReportTests {
    private func time(_ seconds: Double) -> MediaTime { MediaTime(nanoseconds: Int64(seconds * 1e9)) }

    /// Two rooms of one publisher and one subscriber each; everything is as it should be.
    private func tally() -> LoadTally {
        var scenario = LoadScenario()
        scenario.rooms = 2
        var tally = LoadTally(scenario)
        for room in 0..<2 {
            for isPublisher in [true, false] {
                var join = LoadTally.Join(
                    room: room, isPublisher: isPublisher, index: 0, user: isPublisher ? "pub-1" : "sub-1")
                join.milliseconds = isPublisher ? 2 : 4
                tally.joins.append(join)
            }
            var sent = ClientStatistics()
            sent.packetsSent = 1000
            sent.bytesSent = 250_000
            sent.keyFrameRequestsReceived = 1
            tally.publishers.append(PublisherFigures(room: room, user: tally.publishers.count, statistics: sent))

            var audio = SubscriberFigures.Line(kind: .audio, publisher: UInt16(room))
            audio.toneWindows = 90
            audio.firstFrame = time(1.01)
            audio.lastPacket = time(11)
            var video = SubscriberFigures.Line(kind: .video, publisher: UInt16(room))
            video.frames = 250
            video.firstFrame = time(1.05)
            video.lastPacket = time(11)
            video.reception.recovered = 3
            video.reception.jitter = 0.0021
            for step in 1...250 { video.latency.add(microseconds: Int64(step * 100)) }
            var subscriber = SubscriberFigures(
                room: room, name: "sub-1", lines: [audio, video], joinStarted: time(1))
            subscriber.statistics.packetsReceived = 1000
            subscriber.statistics.bytesReceived = 250_000
            subscriber.statistics.nacksSent = 2
            tally.subscribers.append(subscriber)
        }
        tally.end = time(11)
        tally.start = LoadTally.Mark()
        tally.start.time = time(1)
        tally.start.bytesSent = [0, 0]
        tally.start.bytesReceived = [0, 0]
        tally.start.packetsReceived = [0, 0]
        return tally
    }

    @Test func theTableShowsRoomsAndTheirSum() {
        let report = tally().report
        #expect(report.passed)
        #expect(
            report.text == """
                room         pubs  subs  sent  received  Mbit/s up  down  lost   loss  frames  wrong     tone  latency p50  p99 ms
                load-1          1     1  1000      1000       0.20  0.20     0  0.00%     250      0    90/90         12.5    25.0
                load-2          1     1  1000      1000       0.20  0.20     0  0.00%     250      0    90/90         12.5    25.0
                all 2 rooms     2     2  2000      2000       0.40  0.40     0  0.00%     500      0  180/180         12.5    25.0

                room         join p50  p95 ms  first frame p50  p95 ms  NACK  repaired  key frames asked  own drops  jitter ms
                load-1            2.0     4.0             50.0    50.0     2         3                 1          0        2.1
                load-2            2.0     4.0             50.0    50.0     2         3                 1          0        2.1
                all 2 rooms       2.0     4.0             50.0    50.0     4         6                 2          0        2.1

                All right: every frame that was checked was the right one, in order, and nothing was lost.

                """)
    }

    @Test func eachFaultFailsTheRunWithALineOfItsOwn() {
        func check(_ kind: FaultKind, _ count: UInt64 = 1, _ change: (inout LoadTally) -> Void) {
            var tally = tally()
            change(&tally)
            let report = tally.report
            #expect(!report.passed, "\(kind)")
            #expect(report.faults.map(\.kind) == [kind], "\(kind)")
            #expect(report.faults.first?.count == count, "\(kind)")
            #expect(report.text.contains("WRONG  \(kind.rawValue): \(count) \(kind.text)"), "\(kind)")
            #expect(!report.text.contains("All right"), "\(kind)")
        }
        check(.joinFailed) { $0.joins[3].failure = "503" }
        check(.lost, 4) { $0.subscribers[1].lines[1].reception.lost = 4 }
        check(.nothingReceived) { $0.subscribers[0].lines[0].firstFrame = nil }
        check(.stalled) { $0.subscribers[0].lines[1].lastPacket = self.time(9) }
        check(.testerDropped, 2) { $0.subscribers[0].socketDrops = 2 }
        check(.testerTooSlow, 7) { $0.publishers[1].skipped = 7 }
        check(.testerTooSlow) { $0.subscribers[1].sendFailures = 1 }
        check(.ended) { $0.subscribers[1].statistics.goodbyesReceived = 3 }
        check(.leaveFailed) { $0.otherFaults.add(.leaveFailed, "sub-1: 500") }
        for kind in [FaultKind.wrongPublisher, .wrongOrder, .unreadable, .undecodable, .wrongTone, .malformed] {
            check(kind, 5) { $0.subscribers[0].lines[1].faults.add(kind, count: 5, "example") }
        }
    }

    @Test func whoLosesTheNodeKeepsTheLastFigures() {
        var tally = tally()
        let (publishers, subscribers) = (tally.publishers, tally.subscribers)
        tally.take([publishers[1]], [subscribers[0]], isWhole: false)
        #expect(tally.publishers.map(\.user).sorted() == publishers.map(\.user))
        #expect(tally.subscribers.map(\.room).sorted() == [0, 1])
        #expect(tally.report.total.packetsReceived == 2000)
        tally.take([publishers[1]], [], isWhole: true)
        #expect(tally.publishers.map(\.user) == [publishers[1].user] && tally.subscribers.isEmpty)
        // One that has come back counts anew: less than at the start is nothing, and no number without bounds.
        tally.start.bytesSent = [1_000_000, 1_000_000]
        #expect(tally.report.total.megabitsSent == 0)
    }

    @Test func aLineWithoutPublisherIsNotAskedFor() {
        var tally = tally()
        tally.joins[0].failure = "409"
        tally.subscribers[0].lines[0].firstFrame = nil
        tally.subscribers[0].lines[1].firstFrame = nil
        #expect(tally.report.faults.map(\.kind) == [.joinFailed])
        #expect(tally.report.faults[0].example == "pub-1 of load-1: 409")
    }

    @Test func theTesterSaysWhatItLostItself() {
        var tally = tally()
        tally.subscribers[0].socketDrops = 3
        tally.subscribers[0].lines[1].reception.lost = 9
        tally.tester.receivingThreadsPercent = [95]
        tally.tester.latestMilliseconds = 120
        let text = tally.report.text
        #expect(text.contains("The tester lost packets itself"))
        #expect(text.contains("receiving 95 % of a processor"))
        #expect(text.contains("up to 120 ms late"))
        #expect(tally.report.total.testerDrops == 3)
    }

    @Test func jsonHoldsTheSame() {
        let json = tally().report.json
        for part in ["\"passed\" : true", "\"name\" : \"all 2 rooms\"", "\"packetsReceived\" : 2000", "\"faults\" : ["]
        {
            #expect(json.contains(part), "\(part)")
        }
        #expect(!json.contains("\u{1B}"))
    }

    @Test func numbersAreRoundedAndPadded() {
        #expect(LoadReport.fixed(0, 1) == "0.0")
        #expect(LoadReport.fixed(1.05, 2) == "1.05")
        #expect(LoadReport.fixed(9.999, 2) == "10.00")
        #expect(LoadReport.fixed(-0.001, 2) == "0.00")
        #expect(LoadReport.fixed(-2.5, 0) == "-3")
        #expect(LoadReport.fixed(.nan, 1) == "-")
    }

    /// Percentiles against the sorted values themselves.
    @Test func histogramsAreThreePercentFine() {
        var histogram = LatencyHistogram()
        var values: [Int64] = []
        var state: UInt64 = 5
        for _ in 0..<20_000 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            // As many short ones as long ones: 1 microsecond to 4 s.
            let limit: UInt64 = 1 << (1 + (state >> 33) % 22)
            let value = Int64(1 + (state >> 40) % limit)
            values.append(value)
            histogram.add(microseconds: value)
        }
        values.sort()
        for part in [0.01, 0.1, 0.5, 0.9, 0.99, 1] {
            let exact = Double(values[max(0, Int((Double(values.count) * part).rounded(.up)) - 1)])
            let found = (histogram.milliseconds(part: part) ?? -1) * 1000
            #expect(found >= exact && found <= exact * 1.04 + 1, "\(part): \(found) for \(exact)")
        }
        var sum = LatencyHistogram()
        sum.add(histogram)
        sum.add(histogram)
        #expect(sum.count == 40_000)
        #expect(sum.milliseconds(part: 0.5) == histogram.milliseconds(part: 0.5))
        #expect(LatencyHistogram().milliseconds(part: 0.5) == nil)
    }

    @Test func theStepsOfJoinsAreTimedFromStepToStep() throws {
        var phases = JoinPhases()
        for number in 1...20 {
            var timeline = JoinTimeline()
            timeline.http = .milliseconds(number)
            timeline.webSocket = .milliseconds(number + 2)
            timeline.authenticated = .milliseconds(number + 5)
            timeline.subscribed = .milliseconds(number + 6)
            timeline.ice = .milliseconds(number + 8)
            timeline.dtls = .milliseconds(number + 12)
            timeline.firstPacket = .milliseconds(number + 13)
            phases.add(timeline, firstFrame: .milliseconds(Int64(number + 40)))
        }
        var tally = tally()
        tally.joinPhases = phases
        let report = tally.report
        let found = try #require(report.joinPhases)
        #expect(found.map(\.count) == Array(repeating: 20, count: 9))
        let medians = found.map { $0.p50Milliseconds ?? 0 }
        for (median, wanted) in zip(medians, [10.0, 2, 3, 1, 2, 4, 1, 27, 50]) {
            #expect(abs(median - wanted) <= wanted * 0.04, "\(medians)")
        }
        #expect(found.last?.longestMilliseconds == 60)
        #expect(report.tables.contains("step of a join") && report.tables.contains("first frame"))
    }
}
