import MediaWire

/// Allows so many things per second on average, and a number of them, twice as many if nothing is said, at once.
struct RateMeter: Sendable {
    private let perSecond: Int64
    private let atOnce: Int64
    /// When the bucket would be full again.
    private var fullAt = MediaTime.zero

    init(perSecond: Int, atOnce: Int? = nil) {
        self.perSecond = Int64(min(max(1, perSecond), 1_000_000_000))
        self.atOnce = Int64(min(max(1, atOnce ?? 2 * perSecond), 2_000_000_000))
    }

    /// Whether so many more are allowed now; if so, they are counted.
    mutating func admits(_ count: Int = 1, now: MediaTime) -> Bool {
        guard count <= atOnce else { return false }
        let each = 1_000_000_000 / perSecond
        let start = max(fullAt.nanoseconds, now.nanoseconds)
        guard start - now.nanoseconds <= (atOnce - Int64(count)) * each else { return false }
        fullAt = MediaTime(nanoseconds: start + Int64(count) * each)
        return true
    }
}
