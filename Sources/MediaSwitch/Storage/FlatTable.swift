import MediaContract
import MediaWire

/// A key that mixes itself into 64 bits. The table always compares the whole key; the hash only says where to look.
protocol FlatKey {
    var flatHash: UInt64 { get }
    /// Equality, field by field: `==` of another module's type would be a call through its witness table.
    func isSame(as other: Self) -> Bool
}

extension UInt64 {
    /// A finaliser with full avalanche, so that consecutive numbers spread.
    @inline(__always) fileprivate var mixed: UInt64 {
        var x = self
        x = (x ^ (x >> 33)) &* 0xFF51_AFD7_ED55_8CCD
        x = (x ^ (x >> 33)) &* 0xC4CE_B9FE_1A85_EC53
        return x ^ (x >> 33)
    }
}

extension SocketID: FlatKey {
    @inline(__always) var flatHash: UInt64 { rawValue.mixed }
    @inline(__always) func isSame(as other: SocketID) -> Bool { rawValue == other.rawValue }
}

extension TransportAddress: FlatKey {
    @inline(__always) var flatHash: UInt64 {
        (low ^ UInt64(port) << 48 ^ (isIPv4 ? 1 << 47 : 0)).mixed &+ high.mixed
    }
    @inline(__always) func isSame(as other: TransportAddress) -> Bool {
        low == other.low && high == other.high && port == other.port && isIPv4 == other.isIPv4
    }
}

/// Key to index, open addressing with linear probing: about a nanosecond for a look-up. Grows only when commands insert.
struct FlatTable<Key: FlatKey>: ~Copyable {
    private struct Entry {
        var key: Key
        var value: Int32
    }
    private static var vacant: Int32 { -1 }

    private var entries: UnsafeMutablePointer<Entry>
    private var mask: Int
    private(set) var count = 0
    private let anyKey: Key

    /// `anyKey` fills the vacant entries; it may also be used as a real key.
    init(capacity: Int = 64, anyKey: Key) {
        var size = 16
        while size < capacity * 2 { size *= 2 }
        mask = size - 1
        self.anyKey = anyKey
        entries = .allocate(capacity: size)
        entries.initialize(repeating: Entry(key: anyKey, value: Self.vacant), count: size)
    }

    deinit { entries.deallocate() }

    @inline(__always) func find(_ key: Key) -> Int32? {
        var place = Int(truncatingIfNeeded: key.flatHash) & mask
        while true {
            let entry = entries + place
            if entry.pointee.value == Self.vacant { return nil }
            if entry.pointee.key.isSame(as: key) { return entry.pointee.value }
            place = (place + 1) & mask
        }
    }

    /// `value` must not be negative.
    mutating func insert(_ key: Key, _ value: Int32) {
        if (count + 1) * 2 > mask + 1 { grow() }
        var place = Int(truncatingIfNeeded: key.flatHash) & mask
        while entries[place].value != Self.vacant {
            if entries[place].key.isSame(as: key) {
                entries[place].value = value
                return
            }
            place = (place + 1) & mask
        }
        entries[place] = Entry(key: key, value: value)
        count += 1
    }

    mutating func remove(_ key: Key) {
        var place = Int(truncatingIfNeeded: key.flatHash) & mask
        while entries[place].value != Self.vacant, !entries[place].key.isSame(as: key) { place = (place + 1) & mask }
        guard entries[place].value != Self.vacant else { return }
        count -= 1
        // Close the gap, so that no look-up stops short of an entry behind it.
        var gap = place
        var next = (gap + 1) & mask
        while entries[next].value != Self.vacant {
            let home = Int(truncatingIfNeeded: entries[next].key.flatHash) & mask
            if (next - home) & mask >= (next - gap) & mask {
                entries[gap] = entries[next]
                gap = next
            }
            next = (next + 1) & mask
        }
        entries[gap].value = Self.vacant
    }

    private mutating func grow() {
        let old = entries
        let oldSize = mask + 1
        mask = oldSize * 2 - 1
        entries = .allocate(capacity: oldSize * 2)
        entries.initialize(repeating: Entry(key: anyKey, value: Self.vacant), count: oldSize * 2)
        count = 0
        for place in 0..<oldSize where old[place].value != Self.vacant { insert(old[place].key, old[place].value) }
        old.deallocate()
    }
}
