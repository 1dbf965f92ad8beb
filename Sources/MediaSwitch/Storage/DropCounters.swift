import MediaContract

/// One counter for each named drop. Raw storage: counting is one add.
struct DropCounters: ~Copyable {
    private let counts: UnsafeMutablePointer<UInt64>

    init() {
        counts = .allocate(capacity: DropReason.allCases.count)
        counts.initialize(repeating: 0, count: DropReason.allCases.count)
    }

    deinit { counts.deallocate() }

    @inline(__always) func count(_ reason: DropReason, _ n: UInt64 = 1) { counts[Int(reason.rawValue)] &+= n }

    func value(_ reason: DropReason) -> UInt64 { counts[Int(reason.rawValue)] }

    var all: [UInt64] { DropReason.allCases.map { value($0) } }
}
