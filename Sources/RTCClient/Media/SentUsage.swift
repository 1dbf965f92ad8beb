package import MediaWire

/// How much an encoding takes of what it may: what it sends, with a memory of some seconds for the most, so that one that sends
/// now and then is not taken for one that rests.
package struct SentUsage: Sendable {
    /// So long it may take until something is sent.
    private static let patience = MediaDuration.seconds(2)
    /// After so long a peak counts half.
    private static let halfLife = MediaDuration.seconds(2)

    private var began: MediaTime?
    private var last: (bytes: UInt64, time: MediaTime)?
    private var peak = 0.0

    package init() {}

    /// In bit/s; `nil`: it was not allowed to send long enough for this to be known.
    package var rate: Int? {
        guard let began, let last, last.time - began >= Self.patience else { return nil }
        return Int(min(peak, 1e12))
    }

    /// - Parameters:
    ///   - bytes: that were sent in all.
    ///   - isOn: whether it was allowed to send since the last call.
    package mutating func note(bytes: UInt64, isOn: Bool, now: MediaTime) {
        guard isOn else {
            self = SentUsage()
            return
        }
        guard let known = last else {
            (began, last) = (now, (bytes, now))
            return
        }
        // Pictures come one by one: a shorter time says little.
        let elapsed = now - known.time
        guard elapsed >= .milliseconds(200) else { return }
        let rate = Double(bytes >= known.bytes ? bytes - known.bytes : 0) * 8 / elapsed.seconds
        peak = max(rate, peak * Self.decay(elapsed))
        last = (bytes, now)
    }

    private static func decay(_ elapsed: MediaDuration) -> Double {
        // Halved in steps, straight between: no need of more.
        var (factor, left) = (1.0, elapsed.seconds / halfLife.seconds)
        while left >= 1, factor > 0.001 { (factor, left) = (factor / 2, left - 1) }
        return factor * (1 - min(left, 1) / 2)
    }
}
