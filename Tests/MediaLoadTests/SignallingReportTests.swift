import MediaLoad
import Testing

@Suite struct SignallingReportTests {
    private func report(_ faults: SignallingFaults = SignallingFaults(), compared: UInt64 = 12) -> SignallingReport {
        var scenario = SignallingScenario()
        scenario.users = 20
        scenario.rooms = 2
        scenario.idle = 10
        scenario.seed = 7
        var joined = SignallingTally()
        for milliseconds in 1...20 { joined.joins.add(microseconds: Int64(milliseconds * 1000)) }
        joined.notifications = 100
        var after = joined
        after.resumes.add(microseconds: 2500)
        after.messagesSent = 40
        after.messagesDelivered = 300
        after.deliveries.add(microseconds: 1000)
        after.notifications = 500
        after.quietPoints = 3
        after.viewsCompared = compared
        after.faults = faults
        var end = after
        end.messagesSent = 42
        let node = SignallingReport.Node(
            processID: 1, memoryBefore: 20 << 20, memoryWithIdle: (20 << 20) + 10 * 2048,
            memoryWithUsers: (20 << 20) + 10 * 2048 + 20 * 3072, memoryAtEnd: 21 << 20, processorPercent: 12.4)
        return SignallingReport(
            scenario, end, seconds: 10, from: joined, to: after, node: node, testerProcessorPercent: 30)
    }

    @Test func theTableIsShort() {
        let report = report()
        #expect(report.passed)
        #expect(report.memoryPerIdle == 2048 && report.memoryPerUser == 3072)
        #expect(
            report.text == """
                20 users in 2 rooms, 10 idle in 1, 10 s, seed 7

                                  count  per s   p50   p99  max ms
                join                 20      -  10.2  20.0    20.0
                resume                1      -   2.5   2.5     2.5
                message sent         42      4     -     -       -
                message received    300     30   1.0   1.0     1.0
                notification        500     40     -     -       -

                node:   CPU 12 %, memory 20.0 MiB, 2.0 KiB per idle connection, 3.0 KiB per user, 21.0 MiB at the end
                tester: CPU 30 % of one processor

                All right: 12 views were their rooms at 3 quiet points, and every message came once, in order, to the right users.

                """)
    }

    @Test func everyKindOfFaultFailsTheRunAndHasItsLine() {
        for kind in SignallingFault.allCases {
            var faults = SignallingFaults()
            faults.add(kind, count: 3, "somewhere")
            let report = report(faults)
            #expect(!report.passed)
            #expect(
                report.text.hasSuffix("\nWRONG  \(kind.rawValue): 3 \(kind.text) (first: somewhere)\n"),
                "\(report.text)")
            #expect(report.json.contains("\"kind\" : \"\(kind.rawValue)\""))
        }
    }

    @Test func aRunThatComparedNothingFails() {
        let report = report(compared: 0)
        #expect(!report.passed)
        #expect(report.text.hasSuffix("\nWRONG  nothing was compared\n"))
    }
}
