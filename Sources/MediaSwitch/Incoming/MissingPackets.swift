import MediaWire

/// Packets of a track that have not come, and when to ask for them again. Bounded; nothing is asked for twice within the
/// spacing, nor more often than the limit.
struct MissingPackets: ~Copyable {
    struct Entry {
        var sequence: Int64
        var due: MediaTime
        var requests: UInt8
    }

    static var limit: Int { 128 }
    /// A packet that comes this late was only reordered.
    static var tolerance: MediaDuration { .milliseconds(10) }
    /// Between two requests for one packet. Longer than most round trips to a publisher, and doubled every three requests.
    static var spacing: MediaDuration { .milliseconds(40) }
    static var requestLimit: UInt8 { 10 }

    private let entries: UnsafeMutablePointer<Entry>
    private(set) var count = 0

    init() { entries = .allocate(capacity: Self.limit) }

    deinit { entries.deallocate() }

    mutating func forget() { count = 0 }

    var next: MediaTime? {
        var earliest: MediaTime?
        for place in 0..<count where earliest.map({ entries[place].due < $0 }) ?? true { earliest = entries[place].due }
        return earliest
    }

    /// Notes a gap. False: more than we keep track of; then only a key frame helps, and all are forgotten.
    mutating func add(_ gap: Range<Int64>, now: MediaTime) -> Bool {
        guard gap.count <= Self.limit - count else {
            count = 0
            return false
        }
        for sequence in gap {
            entries[count] = Entry(sequence: sequence, due: now + Self.tolerance, requests: 0)
            count += 1
        }
        return true
    }

    /// It came after all.
    @inline(__always) mutating func remove(_ sequence: Int64) {
        for place in 0..<count where entries[place].sequence == sequence {
            count &-= 1
            for later in place..<count { entries[later] = entries[later &+ 1] }
            return
        }
    }

    /// Fills `due` with the numbers to ask for now, as the source gave them, in order; returns how many, and whether any was given up.
    mutating func takeDue(
        now: MediaTime, from reception: Reception, into due: UnsafeMutableBufferPointer<UInt16>
    ) -> (count: Int, gaveUp: Bool) {
        var taken = 0
        var kept = 0
        var gaveUp = false
        for place in 0..<count {
            var entry = entries[place]
            if entry.due <= now, taken < due.count {
                if entry.requests >= Self.requestLimit {
                    gaveUp = true
                    continue
                }
                due[taken] = reception.sourceNumber(ofLine: entry.sequence)
                taken += 1
                entry.requests += 1
                entry.due = now + MediaDuration(nanoseconds: Self.spacing.nanoseconds << Int64(entry.requests / 3))
            }
            entries[kept] = entry
            kept += 1
        }
        count = kept
        return (taken, gaveUp)
    }
}
