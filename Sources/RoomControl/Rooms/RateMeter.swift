import MediaWire

/// Allows so many things per second on average, and twice as many at once.
struct RateMeter: Sendable {
    private let perSecond: Int64
    /// When the bucket would be full again.
    private var fullAt = MediaTime.zero

    init(perSecond: Int) { self.perSecond = Int64(max(1, perSecond)) }

    /// Whether one more is allowed now; if so, it is counted.
    mutating func admits(now: MediaTime) -> Bool {
        let cost = 1_000_000_000 / perSecond
        let start = max(fullAt.nanoseconds, now.nanoseconds)
        guard start - now.nanoseconds <= 2_000_000_000 - cost else { return false }
        fullAt = MediaTime(nanoseconds: start + cost)
        return true
    }
}
