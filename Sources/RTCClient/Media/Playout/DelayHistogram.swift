import MediaWire

/// How late frames come, over about the last 200 of them, in steps of 5 ms up to a second and more. Its size never changes.
struct DelayHistogram {
    static let step = MediaDuration.milliseconds(5)
    private static let steps = 250
    /// What an older frame counts, against the one after it.
    private static let memory = 0.995

    private var weights = [Double](repeating: 0, count: steps)
    private var total = 0.0
    /// Of the next frame: it grows, in place of all others shrinking.
    private var unit = 1.0

    mutating func add(_ delay: MediaDuration) {
        let place = min(max(delay.nanoseconds, 0) / Self.step.nanoseconds, Int64(Self.steps - 1))
        weights[Int(place)] += unit
        total += unit
        unit /= Self.memory
        guard unit > 1e12 else { return }
        for place in weights.indices { weights[place] /= unit }
        total /= unit
        unit = 1
    }

    /// All delays were counted from too early a moment, by so many steps; negative: too late.
    mutating func shift(by count: Int) {
        let old = weights
        for place in weights.indices { weights[place] = 0 }
        for place in old.indices {
            weights[min(max(place - max(min(count, Self.steps), -Self.steps), 0), Self.steps - 1)] += old[place]
        }
    }

    /// The delay that this share of the frames did not exceed, rounded up to a step; zero before the first.
    func quantile(_ share: Double) -> MediaDuration {
        guard total > 0 else { return .zero }
        var sum = 0.0
        for place in weights.indices {
            sum += weights[place]
            if sum >= total * share { return MediaDuration(nanoseconds: Self.step.nanoseconds * Int64(place + 1)) }
        }
        return MediaDuration(nanoseconds: Self.step.nanoseconds * Int64(Self.steps))
    }
}
