/// Follows the sequence numbers of one stream whose packets come in order, with gaps where one is lost.
struct SequenceTracker: Hashable {
    enum Step: Hashable {
        case first
        case next
        /// So many packets are missing before this one.
        case gap(Int)
        /// Older than what was there before, or a copy: to be ignored.
        case late
        /// The sender began anew.
        case restart
    }

    /// Two packets in a row that far behind are a new run (RFC 3550, appendix A.1, MAX_MISORDER).
    private static let maximumMisorder: UInt16 = 100

    private var expected: UInt16?
    private var suspected: UInt16?

    mutating func take(_ number: UInt16) -> Step {
        guard let expected else {
            self.expected = number &+ 1
            return .first
        }
        let distance = number &- expected
        if distance >= 0x8000 {
            guard 0 &- distance > Self.maximumMisorder else { return .late }
            guard suspected == number else {
                suspected = number &+ 1
                return .late
            }
            self.expected = number &+ 1
            suspected = nil
            return .restart
        }
        self.expected = number &+ 1
        suspected = nil
        return distance == 0 ? .next : .gap(Int(distance))
    }
}
