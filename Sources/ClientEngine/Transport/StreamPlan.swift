package import MediaWire

/// When a client connects to the node's TCP candidates (RFC 6544), again after such a connection went, and when it gives up what
/// UDP has made needless. It has no clock and no socket: it is told how the connection stands, and says what to do.
package struct StreamPlan: Sendable {
    package enum Step: Sendable, Hashable {
        case none
        /// Connect to every candidate to which no connection is open.
        case dial
        /// Close all connections: UDP carries the media.
        case retire
    }

    /// How the connection stands.
    package enum Situation: Sendable, Hashable {
        /// There is no path, or none that answers.
        case searching
        /// A path was nominated, and answers.
        case settled(overStream: Bool)
        /// Nothing helps but an ICE restart, or nothing at all.
        case over
    }

    /// How long UDP may take to find a path before TCP is tried, too.
    package static let patience = MediaDuration.seconds(1)
    /// Between two attempts; it doubles.
    package static let firstPause = MediaDuration.milliseconds(500)
    package static let longestPause = MediaDuration.seconds(15)
    /// A path that stood this long was a good one: after it the pauses are short again.
    package static let steady = MediaDuration.seconds(10)
    /// What is on its way over TCP when UDP is nominated may still arrive.
    package static let grace = MediaDuration.seconds(2)
    /// Of more candidates, the last are left out.
    package static let candidateLimit = 8

    /// Kept for good: a connection may break more than once.
    package private(set) var candidates: [ClientConnectionSpec.StreamCandidate] = []
    private var dialDue = MediaTime.distantFuture
    private var retireDue = MediaTime.distantFuture
    private var lastDial: MediaTime?
    private var pause = StreamPlan.firstPause
    private var settledSince: MediaTime?
    /// Whether something was dialled since everything was closed.
    private var mayBeOpen = false

    package init() {}

    /// Begins, or begins anew after an ICE restart.
    ///
    /// - Parameters:
    ///   - candidates: `nil`: those of before.
    ///   - hasOtherPaths: UDP gets some time first.
    package mutating func begin(
        _ candidates: [ClientConnectionSpec.StreamCandidate]?, hasOtherPaths: Bool, now: MediaTime
    ) {
        if let candidates { self.candidates = Array(candidates.prefix(Self.candidateLimit)) }
        pause = Self.firstPause
        settledSince = nil
        retireDue = .distantFuture
        dialDue =
            self.candidates.isEmpty ? .distantFuture : hasOtherPaths ? now + Self.patience : now
    }

    package mutating func note(_ situation: Situation, now: MediaTime) {
        switch situation {
        case .searching:
            retireDue = .distantFuture
            if let since = settledSince, now - since >= Self.steady { pause = Self.firstPause }
            settledSince = nil
            if dialDue == .distantFuture, !candidates.isEmpty {
                dialDue = max(now, lastDial.map { $0 + pause } ?? now)
            }
        case .settled(let isOverStream):
            if settledSince == nil { settledSince = now }
            dialDue = .distantFuture
            if isOverStream {
                retireDue = .distantFuture
            } else if mayBeOpen, retireDue == .distantFuture {
                retireDue = now + Self.grace
            }
        case .over:
            settledSince = nil
            dialDue = .distantFuture
            retireDue = .distantFuture
        }
    }

    /// When `takeStep` gives something to do.
    package var nextDeadline: MediaTime { min(dialDue, retireDue) }

    package mutating func takeStep(now: MediaTime) -> Step {
        if retireDue <= now {
            retireDue = .distantFuture
            mayBeOpen = false
            return .retire
        }
        guard dialDue <= now else { return .none }
        lastDial = now
        dialDue = now + pause
        pause = min(pause + pause, Self.longestPause)
        mayBeOpen = true
        return .dial
    }
}
