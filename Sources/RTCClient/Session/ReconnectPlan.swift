/// When to try to come back: soon, then less often, until the time is over.
package struct ReconnectPlan: Sendable {
    /// The pauses before the first attempts, in milliseconds; the last one repeats.
    private static let pauses = [500, 1000, 2000, 4000]
    /// What an attempt needs at least: two round trips to a distant server, with the handshake of TLS before.
    private static let attemptTime: Duration = .milliseconds(250)

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
        // The last attempt begins when just that is left: after it, or as soon as it is refused, the time is over.
        guard remaining > ReconnectPlan.attemptTime else { return nil }
        let pause = ReconnectPlan.pauses[min(attempts, ReconnectPlan.pauses.count - 1)]
        attempts += 1
        let spread = Duration.milliseconds(Int(Double(pause) * (0.5 + min(max(jitter, 0), 1))))
        return min(spread, remaining - ReconnectPlan.attemptTime)
    }
}
