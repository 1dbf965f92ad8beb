/// Joins at a rate while streams flow: what the joins add to the latency of the streams.
package struct StormReport: Codable, Sendable, Equatable {
    /// Of durations, in milliseconds.
    package struct Times: Codable, Sendable, Equatable {
        package var count: UInt64
        package var p50: Double?
        package var p99: Double?
        package var max: Double?

        package init(_ histogram: LatencyHistogram) {
            count = histogram.count
            p50 = histogram.milliseconds(part: 0.5)
            p99 = histogram.milliseconds(part: 0.99)
            max = histogram.milliseconds(part: 1)
        }

        /// Each less so many milliseconds, and not below zero.
        func less(_ base: Double) -> Times {
            var times = self
            times.p50 = p50.map { Swift.max($0 - base, 0) }
            times.p99 = p99.map { Swift.max($0 - base, 0) }
            times.max = max.map { Swift.max($0 - base, 0) }
            return times
        }
    }

    /// So many seconds without joins, or with them.
    package struct Phase: Codable, Sendable, Equatable {
        package var seconds: Double
        /// From sent to received, of every packet of the steady streams.
        package var latency: Times
        /// How late the machine ran a thread of the tester that wanted to run each millisecond: the share of any latency that
        /// is no work of the node's.
        package var lag: Times
        /// Of one processor, in percent; `nil`: the node is not on this machine.
        package var nodeProcessorPercent: Double?
        package var testerProcessorPercent: Double
    }

    /// Joins a second that were wanted.
    package var wantedRate: Double
    /// And that began before the end of the time.
    package var rate: Double
    package var joined: UInt64
    package var failed: UInt64
    /// From the HTTP request to the open media path, of those who come.
    package var joins: Times
    /// How late the tester began a join: its own lag.
    package var begunLate: Times
    package var before: Phase
    package var during: Phase
    /// Of the packets during the storm: what they took longer than half of those before it.
    package var added: Times
    /// Of the machine over the last minute, at the beginning.
    package var loadAverage: Double

    package init(
        wantedRate: Double, visits: StormVisits, before: Phase, during: Phase, loadAverage: Double
    ) {
        self.wantedRate = wantedRate
        rate = during.seconds > 0 ? Double(visits.begunLate.count) / during.seconds : 0
        joined = visits.times.count
        failed = visits.failed
        joins = Times(visits.times)
        begunLate = Times(visits.begunLate)
        self.before = before
        self.during = during
        added = during.latency.less(before.latency.p50 ?? 0)
        self.loadAverage = loadAverage
    }
}

/// What became of those who came during a storm.
package struct StormVisits: Sendable {
    package var times = LatencyHistogram()
    package var begunLate = LatencyHistogram()
    package var failed: UInt64 = 0

    package init() {}
}

/// The counters at one moment; two of them make a phase.
package struct StormMoment: Sendable {
    /// Seconds of the monotonic clock.
    package var time: Double
    package var latency: LatencyHistogram
    package var lag: LatencyHistogram
    /// Processor time in seconds.
    package var node: Double?
    package var tester: Double

    package init(time: Double, latency: LatencyHistogram, lag: LatencyHistogram, node: Double?, tester: Double) {
        self.time = time
        self.latency = latency
        self.lag = lag
        self.node = node
        self.tester = tester
    }

    /// What lies between an earlier moment and this one.
    package func since(_ earlier: StormMoment) -> StormReport.Phase {
        let seconds = time - earlier.time
        func percent(_ before: Double, _ after: Double) -> Double { seconds > 0 ? (after - before) / seconds * 100 : 0 }
        var share: Double?
        if let node, let before = earlier.node { share = percent(before, node) }
        return StormReport.Phase(
            seconds: seconds, latency: StormReport.Times(latency.subtracting(earlier.latency)),
            lag: StormReport.Times(lag.subtracting(earlier.lag)), nodeProcessorPercent: share,
            testerProcessorPercent: percent(earlier.tester, tester))
    }
}

extension StormReport {
    /// Two tables: the streams, and those who came.
    package var text: String {
        var streams = LoadTable(
            "streams", "seconds", "packets", "latency p50", "p99", "max ms", "own lag p50", "p99", "max ms", "node CPU",
            "own CPU")
        for (name, phase) in [("before", before), ("during", during)] {
            streams.add(
                [name, LoadReport.fixed(phase.seconds, 1), "\(phase.latency.count)"] + Self.cells(phase.latency)
                    + Self.cells(phase.lag) + [
                        phase.nodeProcessorPercent.map { LoadReport.fixed($0, 0) + "%" } ?? "-",
                        LoadReport.fixed(phase.testerProcessorPercent, 0) + "%",
                    ])
        }
        streams.add(["added", "-", "-"] + Self.cells(added) + ["-", "-", "-", "-", "-"])
        var joins = LoadTable(
            "joins", "wanted/s", "begun/s", "joined", "failed", "join p50", "p99", "max ms", "begun late p50", "p99",
            "max ms")
        joins.add(
            [
                "storm", LoadReport.fixed(wantedRate, 0), LoadReport.fixed(rate, 1), "\(joined)", "\(failed)",
            ] + Self.cells(self.joins) + Self.cells(begunLate))
        return streams.text + "\n" + joins.text + (shortfall.map { "\n\($0)\n" } ?? "")
            + "\nLoad average at the beginning \(LoadReport.fixed(loadAverage, 1)) on \(LoadMachine.processors) processors.\n"
    }

    /// Of the wanted joins, as many must begin for the figures to be those of that rate.
    private static let enough = 0.95

    /// What to say of a storm that was weaker than wanted; `nil`: it was not.
    package var shortfall: String? {
        guard rate < wantedRate * Self.enough else { return nil }
        return
            "Only \(LoadReport.fixed(rate, 1)) joins a second began of \(LoadReport.fixed(wantedRate, 0)) that were wanted: "
            + "what the streams show is of so many. Joins hang, or the tester does not follow (begun late)."
    }

    private static func cells(_ times: Times) -> [String] {
        [times.p50, times.p99, times.max].map { $0.map { LoadReport.fixed($0, 2) } ?? "-" }
    }
}
