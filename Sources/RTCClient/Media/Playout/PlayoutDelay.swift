/// How evenly received frames are handed over.
public struct PlayoutDelay: Sendable, Hashable {
    /// The least that frames are held, between the moment at which they would have come over a network that delays all of them alike,
    /// and the one at which they are handed over.
    public let minimum: Duration
    /// The most; sound that comes later than this allows is left out.
    public let maximum: Duration
    let isImmediate: Bool

    private init(minimum: Duration, maximum: Duration, isImmediate: Bool) {
        self.minimum = minimum
        self.maximum = maximum
        self.isImmediate = isImmediate
    }

    /// As they come, in order: for those who record, pass on, or have a buffer of their own.
    public static let immediate = PlayoutDelay(minimum: .zero, maximum: .zero, isImmediate: true)

    /// Spaced as they were captured. The delay follows the jitter that is measured: what 97 of 100 frames need.
    ///
    /// - Parameters:
    ///   - minimum: 0 to 10 s.
    ///   - maximum: `minimum` to 10 s. Values outside are taken for the nearest.
    public static func adaptive(
        minimum: Duration = .milliseconds(20), maximum: Duration = .milliseconds(500)
    ) -> PlayoutDelay {
        let least = min(max(minimum, .zero), .seconds(10))
        return PlayoutDelay(minimum: least, maximum: min(max(maximum, least), .seconds(10)), isImmediate: false)
    }
}
