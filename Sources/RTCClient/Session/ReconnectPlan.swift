/// When to try to come back: soon, then less often, until the time is over.
package struct ReconnectPlan: Sendable {
    /// The pauses before the first attempts, in milliseconds; the last one repeats.
    private static let pauses = [500, 1000, 2000, 4000]

    private let end: Duration
    private var attempts = 0

    /// - Parameter end: after which no attempt begins.
    package init(end: Duration) { self.end = end }

    /// The pause before the next attempt; `nil` when the time is over.
    ///
    /// - Parameters:
    ///   - now: on the clock of `end`.
    ///   - jitter: 0 to 1; spreads those that lost their server at the same time over half to one and a half of the
    ///     pause.
    package mutating func nextPause(now: Duration, jitter: Double) -> Duration? {
        let remaining = end - now
        // An attempt that starts with less cannot succeed.
        guard remaining > .milliseconds(50) else { return nil }
        let pause = ReconnectPlan.pauses[min(attempts, ReconnectPlan.pauses.count - 1)]
        attempts += 1
        let spread = Duration.milliseconds(Int(Double(pause) * (0.5 + min(max(jitter, 0), 1))))
        return min(spread, max(remaining - .milliseconds(250), .zero))
    }
}
