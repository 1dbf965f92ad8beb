import MediaWire

/// The transactions of all authentic checks that were made with one set of credentials: STUN itself knows no replays, and what was read on
/// its way once can be sent again at any time.
///
/// A Bloom filter that grows: it never takes a known transaction for a new one. Now and then it takes a new one for known, one in 1700
/// for each slice; that check goes for nothing, and the next one is made 2.5 s later, or at once on a way that is not proven yet.
struct CheckHistory: ~Copyable {
    /// 16 bits for each of its checks, 2 KiB: 43 minutes of a browser's.
    private static var checksPerSlice: Int { 1024 }
    private static var wordsPerSlice: Int { 256 }
    /// 64 KiB for a peer that never restarts ICE: 22 hours of a browser's checks.
    private static var sliceLimit: Int { 32 }
    private static var probes: Int { 8 }
    static var capacity: Int { checksPerSlice * sliceLimit }

    private var slices: [UnsafeMutablePointer<UInt64>] = []
    private var count = 0

    init() {}

    deinit { for slice in slices { slice.deallocate() } }

    /// No transaction can be remembered any more.
    var isFull: Bool { count == Self.capacity }

    func contains(_ transaction: STUNTransactionID) -> Bool {
        let (start, step) = Self.hashes(transaction)
        return slices.contains { slice in
            var hash = start
            for _ in 0..<Self.probes {
                let bit = Int(truncatingIfNeeded: hash) & (Self.wordsPerSlice * 64 - 1)
                guard slice[bit >> 6] & (1 << UInt64(bit & 63)) != 0 else { return false }
                hash &+= step
            }
            return true
        }
    }

    /// Remembers one that is new.
    mutating func insert(_ transaction: STUNTransactionID) {
        guard !isFull else { return }
        if count == slices.count * Self.checksPerSlice {
            let slice = UnsafeMutablePointer<UInt64>.allocate(capacity: Self.wordsPerSlice)
            slice.initialize(repeating: 0, count: Self.wordsPerSlice)
            slices.append(slice)
        }
        count += 1
        let slice = slices[slices.count - 1]
        let (start, step) = Self.hashes(transaction)
        var hash = start
        for _ in 0..<Self.probes {
            let bit = Int(truncatingIfNeeded: hash) & (Self.wordsPerSlice * 64 - 1)
            slice[bit >> 6] |= 1 << UInt64(bit & 63)
            hash &+= step
        }
    }

    /// The peer alone chooses these, so they need no secret.
    private static func hashes(_ transaction: STUNTransactionID) -> (start: UInt64, step: UInt64) {
        let start = mix(transaction.low &+ 0x9E37_79B9_7F4A_7C15 &* UInt64(transaction.high))
        return (start, mix(start) | 1)
    }

    /// The last step of SplitMix64.
    private static func mix(_ word: UInt64) -> UInt64 {
        var z = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
