import MediaWire

/// Packets of a stream that have not come, and when to ask for them (RFC 4585, section 6.2.1). Bounded.
struct RepairRequests {
    private struct Entry {
        var sequence: Int64
        var due: MediaTime
        var requests: Int
    }

    /// Packets waited for at once. More at a time is an outage, which only a key frame repairs.
    static var limit: Int { 512 }
    /// A packet that comes this late was only reordered.
    static var tolerance: MediaDuration { .milliseconds(8) }
    /// Between two requests for one packet: longer than most round trips.
    static var spacing: MediaDuration { .milliseconds(40) }
    static var requestLimit: Int { 6 }

    private var entries: [Entry] = []

    /// Notes the numbers that were passed over. False: too many; none of them is asked for.
    mutating func add(_ gap: Range<Int64>, now: MediaTime) -> Bool {
        guard gap.count <= Self.limit &- entries.count else { return false }
        for sequence in gap { entries.append(Entry(sequence: sequence, due: now + Self.tolerance, requests: 0)) }
        return true
    }

    enum Arrival {
        case notMissing, reordered, recovered
    }

    /// It came: because it was asked for, or just late.
    mutating func arrived(_ sequence: Int64) -> Arrival {
        guard !entries.isEmpty, let place = entries.firstIndex(where: { $0.sequence == sequence }) else {
            return .notMissing
        }
        let entry = entries.remove(at: place)
        return entry.requests > 0 ? .recovered : .reordered
    }

    /// Numbers below are no longer of use.
    mutating func forget(before sequence: Int64) { entries.removeAll { $0.sequence < sequence } }

    var deadline: MediaTime { entries.lazy.map(\.due).min() ?? .distantFuture }

    /// Fills `numbers` with what is to be asked for now, ascending.
    mutating func takeDue(now: MediaTime, into numbers: inout [UInt16]) {
        numbers.removeAll(keepingCapacity: true)
        var kept = 0
        for place in entries.indices {
            var entry = entries[place]
            if entry.due <= now {
                guard entry.requests < Self.requestLimit else { continue }
                entry.requests += 1
                entry.due = now + Self.spacing
                numbers.append(UInt16(truncatingIfNeeded: entry.sequence))
            }
            entries[kept] = entry
            kept += 1
        }
        entries.removeSubrange(kept...)
    }
}
