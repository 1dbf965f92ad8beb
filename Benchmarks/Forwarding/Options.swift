import MediaWire

/// What the command line asks for.
struct Options {
    var fanOuts = Cell.fanOuts
    var sizes = Cell.sizes
    var profiles = Cell.profiles
    var segmentations = [true, false]
    /// Samples of each side, in turn; the first pair of each cell warms up and does not count.
    var samples = 9
    /// Copies of one sample, at least one turn's.
    var copies = 100_000
    var json: String?
    var compare: String?
    var thresholds: String?
    var outboxSlots: Int?
    var floorSlots = 1024
    var ownCode = true
    var matrix = true
    var allocations = true
    /// For a profiler: this side alone.
    var only: String?

    static let help = """
        Usage: parlor-bench [OPTIONS]

        CPU nanoseconds per forwarded copy (one packet to one subscriber), beside a C floor of the same system calls and
        crypto in the same run; our own code alone, without kernel and crypto; heap allocations on the packet path.
        Exit code 1 if anything allocates, or, with --check, if a ratio is above its threshold.

          --quick            fewer and shorter samples: under 40 s on a free machine
          --fanout N[,N]     subscribers: 1, 3, 10, 100, 1000 without this
          --size N[,N]       bytes of a packet: 120, 1200
          --profile P        gcm or cm
          --gso, --no-gso    only with, only without UDP_SEGMENT
          --samples N        pairs of samples in each cell (9)
          --copies N         least copies in a sample (100000)
          --json FILE        writes the results
          --compare FILE     shows the change since an earlier --json FILE
          --check FILE       holds the results against thresholds
          --own              only our own code alone
          --no-own           without it
          --slots N          datagrams in the worker's outbox
          --floor-slots N    datagrams that the floor seals and sends together (1024)
          --only SIDE        ours or floor, without the other: for a profiler
        """

    init(_ arguments: [String]) throws(BenchError) {
        var rest = arguments[...]
        func value(_ option: String) throws(BenchError) -> String {
            guard let value = rest.popFirst() else { throw BenchError("\(option) wants a value") }
            return value
        }
        func numbers(_ option: String, _ limit: ClosedRange<Int>) throws(BenchError) -> [Int] {
            let parts = try value(option).split(separator: ",").map { Int($0) }
            let valid = parts.compactMap { $0 }.filter { limit.contains($0) }
            guard !valid.isEmpty, valid.count == parts.count else {
                throw BenchError("\(option) wants numbers of \(limit.lowerBound) to \(limit.upperBound)")
            }
            return valid
        }
        while let option = rest.popFirst() {
            switch option {
            case "--quick": (samples, copies) = (5, 10_000)
            case "--fanout": fanOuts = try numbers(option, 1...4000)
            case "--size": sizes = try numbers(option, 40...1400)
            case "--profile":
                let name = try value(option)
                profiles = Cell.profiles.filter { Cell.name($0) == name }
                guard !profiles.isEmpty else { throw BenchError("--profile is gcm or cm") }
            case "--gso": segmentations = [true]
            case "--no-gso": segmentations = [false]
            case "--samples": samples = try numbers(option, 1...1000)[0]
            case "--copies": copies = try numbers(option, 1...100_000_000)[0]
            case "--json": json = try value(option)
            case "--compare": compare = try value(option)
            case "--check": thresholds = try value(option)
            case "--own": matrix = false
            case "--no-own": ownCode = false
            case "--slots": outboxSlots = try numbers(option, 64...65_536)[0]
            case "--floor-slots": floorSlots = try numbers(option, 64...65_536)[0]
            case "--only":
                let side = try value(option)
                guard side == "ours" || side == "floor" else { throw BenchError("--only is ours or floor") }
                only = side
            default: throw BenchError("no option \"\(option)\" (see parlor-bench --help)")
            }
        }
    }

    var cells: [Cell] {
        sizes.flatMap { size in
            profiles.flatMap { profile in
                segmentations.flatMap { segmentation in
                    fanOuts.map { Cell(fanOut: $0, size: size, profile: profile, segmentation: segmentation) }
                }
            }
        }
    }
}
