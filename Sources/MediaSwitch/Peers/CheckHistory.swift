import MediaWire

/// The transactions of the last authentic checks of a transport, as hashes: ten minutes of a browser's, which makes one every 2.5 s. Two
/// checks of one transport meet in a hash once in sixteen million; the second one is then not taken, and the next one is.
struct CheckHistory: ~Copyable {
    static var capacity: Int { 256 }

    private let hashes: UnsafeMutablePointer<UInt32>
    private var next = 0
    private var count = 0

    init() {
        hashes = .allocate(capacity: Self.capacity)
        hashes.initialize(repeating: 0, count: Self.capacity)
    }

    deinit { hashes.deallocate() }

    /// False: it is there already.
    mutating func insert(_ transaction: STUNTransactionID) -> Bool {
        // The peer alone chooses these, so they need no secret.
        let mixed = (transaction.low ^ UInt64(transaction.high) << 17) &* 0x9E37_79B9_7F4A_7C15
        let hash = UInt32(truncatingIfNeeded: mixed >> 32)
        for place in 0..<count where hashes[place] == hash { return false }
        hashes[next] = hash
        next = (next + 1) % Self.capacity
        count = min(count + 1, Self.capacity)
        return true
    }
}
