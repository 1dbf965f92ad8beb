import CAllocationCounter
import MediaWire

/// The run: the matrix, our own code alone, allocations; then what became of it.
struct Benchmark {
    let options: Options
    private var report = Report()
    private let sinks = Sinks()
    private let earlier: Results?
    /// Subscribers while allocations are counted.
    private static let allocationFanOut = 10

    init(_ options: Options) throws {
        self.options = options
        earlier = try options.compare.map { path throws(BenchError) in try Results.read(path) }
    }

    /// False: something allocates, or is above its threshold.
    mutating func run() throws -> Bool {
        let cells = options.cells
        let most = cells.map(\.fanOut).max() ?? 1
        try sinks.reserve(max(most, Benchmark.allocationFanOut))
        if let side = options.only {
            try profile(side, cells)
            return true
        }
        let first = try Ours(cells[0], sinks.addresses, outboxSlots: options.outboxSlots)
        var results = Results(sealing: first.sealingName)
        report.line("CPU ns per forwarded copy, ours beside a C floor of the same system calls and crypto")
        report.line("\(results.machine), Linux \(results.kernel), sealing: \(results.sealing)")
        report.line(
            "\(Cell.batch) packets a turn; medians of \(options.samples) pairs of samples of \(options.copies) copies or more"
        )
        for cell in cells where cell.fanOut == options.fanOuts[0] {
            let small = Cell(fanOut: 3, size: cell.size, profile: cell.profile, segmentation: cell.segmentation)
            try Verification(cell: small).run(sinks.addresses, options)
        }
        if options.matrix { try measureMatrix(cells, &results) }
        if options.ownCode { try measureOwnCode(&results) }
        if options.matrix, options.allocations { try countAllocations(&results) }
        if let path = options.json { try results.write(path) }
        return try judge(results)
    }

    // MARK: The matrix

    private mutating func measureMatrix(_ cells: [Cell], _ results: inout Results) throws {
        for (done, cell) in cells.enumerated() {
            report.progress(done, of: cells.count, cell.key)
            let ours = try Ours(cell, sinks.addresses, outboxSlots: options.outboxSlots)
            let floor = try Floor(cell, sinks.addresses, slots: options.floorSlots)
            var pairs: [(ours: Double, floor: Double)] = []
            for sample in 0...options.samples {
                // In turns and in changing order, so that what disturbs the machine disturbs both.
                let pair: (Double, Double)
                if sample % 2 == 0 {
                    let a = try ours.sample(copies: options.copies)
                    pair = (a, try floor.sample(copies: options.copies))
                } else {
                    let b = try floor.sample(copies: options.copies)
                    pair = (try ours.sample(copies: options.copies), b)
                }
                if sample > 0 { pairs.append(pair) }
                report.progress(done, of: cells.count, "\(cell.key)  \(sample)/\(options.samples)")
            }
            let ratios = pairs.map { $0.ours / $0.floor }
            let result = Results.Forwarding(
                cell: cell.key, fanOut: cell.fanOut, ours: median(pairs.map(\.ours)), floor: median(pairs.map(\.floor)),
                ratio: median(ratios), spread: (quantile(ratios, 0.75) - quantile(ratios, 0.25)) / 2)
            results.forwarding.append(result)
            report.row(cell, result, earlier: earlier)
            for turn in ours.lostTurns + floor.lostTurns { report.line("          (a turn was repeated: \(turn))") }
        }
    }

    private func profile(_ side: String, _ cells: [Cell]) throws {
        for cell in cells {
            var samples: [Double] = []
            if side == "ours" {
                let ours = try Ours(cell, sinks.addresses, outboxSlots: options.outboxSlots)
                for _ in 0...options.samples { samples.append(try ours.sample(copies: options.copies)) }
            } else {
                let floor = try Floor(cell, sinks.addresses, slots: options.floorSlots)
                for _ in 0...options.samples { samples.append(try floor.sample(copies: options.copies)) }
            }
            report.line("\(cell.key)  \(side) \(text(median(Array(samples.dropFirst())), 1))")
        }
    }

    // MARK: Our own code

    private mutating func measureOwnCode(_ results: inout Results) throws {
        report.ownCodeTitle()
        let cells = options.cells.filter { $0.segmentation == options.segmentations[0] }
        for (done, cell) in cells.enumerated() {
            report.progress(done, of: cells.count, "own code, \(cell.key)")
            let result = try OwnCode(cell).measure(samples: options.samples, copies: options.copies, cell: cell.key)
            results.ownCode.append(result)
            report.row(result, earlier: earlier)
        }
    }

    // MARK: Allocations

    /// Counts over windows of many packets, with real sockets. What happens once a second or seldom (a report to the control
    /// plane, a growing packet cache) may allocate, and falls into some of the windows; what each packet did would be in all.
    private mutating func countAllocations(_ results: inout Results) throws {
        guard parlor_allocations_available() else {
            report.line("Allocations are not counted in this build.")
            return
        }
        report.line()
        report.line("Heap allocations on the packet path (recvmmsg to sendmmsg, in the worker's thread)")
        for size in options.sizes {
            for profile in options.profiles {
                let cell = Cell(
                    fanOut: Benchmark.allocationFanOut, size: size, profile: profile,
                    segmentation: options.segmentations[0])
                let ours = try Ours(cell, sinks.addresses, outboxSlots: options.outboxSlots)
                for _ in 0..<200 { _ = try ours.turn() }
                var least = UInt64.max
                var turns = 0
                for _ in 0..<10 where least > 0 {
                    var count: UInt64 = 0
                    turns = 32
                    for _ in 0..<turns { count += try ours.countAllocations() }
                    least = min(least, count)
                }
                let result = Results.Allocations(
                    cell: cell.key, packets: turns * Cell.batch, copies: turns * Cell.batch * cell.fanOut,
                    count: Int(least))
                results.allocations.append(result)
                report.line("  \(cell.key): \(result.count) for \(result.packets) packets and \(result.copies) copies")
            }
        }
    }

    // MARK: The end

    private func judge(_ results: Results) throws -> Bool {
        var passed = true
        for result in results.allocations where result.count > 0 {
            report.line("FAILED: \(result.cell): \(result.count) heap allocations on the packet path")
            passed = false
        }
        guard let path = options.thresholds else { return passed }
        let thresholds = try Thresholds.read(path)
        let violations = thresholds.violations(results)
        report.line()
        for violation in violations { report.line("FAILED: \(violation)") }
        let met = results.forwarding.filter { $0.ratio <= thresholds.targetRatio }.count
        report.line(
            "\(results.forwarding.count - violations.count) of \(results.forwarding.count) cells within their thresholds; "
                + "\(met) meet the target of \(text(thresholds.targetRatio, 2)) times the floor")
        return passed && violations.isEmpty
    }
}
