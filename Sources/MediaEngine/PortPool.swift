/// The UDP ports of plain legs: which are leased. A released port comes round again only after all others, so a late
/// datagram for an ended leg does not meet the next one.
package struct PortPool {
    package let range: ClosedRange<UInt16>
    private var leased: [Bool]
    private var cursor = 0
    package private(set) var leasedCount = 0

    package init(range: ClosedRange<UInt16>) {
        self.range = range
        leased = [Bool](repeating: false, count: range.count)
    }

    /// Position of a port in the range.
    func slot(of port: UInt16) -> Int { Int(port) - Int(range.lowerBound) }

    func port(at slot: Int) -> UInt16 { range.lowerBound + UInt16(slot) }

    /// Leases the next free port; `nil` when all are leased.
    package mutating func lease() -> UInt16? { search { pool, slot in !pool.leased[slot] ? 1 : nil } }

    /// Leases the next even port whose follower is free too, and that follower (RFC 3550, section 11).
    package mutating func leasePair() -> UInt16? {
        search { pool, slot in
            guard pool.port(at: slot) % 2 == 0, slot + 1 < pool.leased.count else { return nil }
            return !pool.leased[slot] && !pool.leased[slot + 1] ? 2 : nil
        }
    }

    package mutating func release(_ port: UInt16) {
        let slot = slot(of: port)
        precondition(leased.indices.contains(slot) && leased[slot], "a port is given back that was not leased")
        leased[slot] = false
        leasedCount -= 1
    }

    /// `fits` says how many ports to lease from a slot on, or `nil`.
    private mutating func search(_ fits: (borrowing PortPool, Int) -> Int?) -> UInt16? {
        for step in 0..<leased.count {
            let slot = (cursor + step) % leased.count
            guard let width = fits(self, slot) else { continue }
            for taken in slot..<slot + width { leased[taken] = true }
            leasedCount += width
            cursor = (slot + width) % leased.count
            return port(at: slot)
        }
        return nil
    }
}
