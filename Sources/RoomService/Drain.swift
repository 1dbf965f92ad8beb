package import MediaWire
package import RoomControl
import Synchronization

/// How far a node's drain is, as the server API says it and its clients read it.
package struct DrainStatus: Codable, Equatable, Sendable {
    package enum State: String, Codable, Sendable { case open, draining, stopping }

    /// The most that a deadline may be away, in seconds: a week. A longer drain is a mistake.
    package static let longest: Int64 = 604_800

    package var state: State
    package var rooms: Int
    package var users: Int
    /// Until the deadline; `nil` without one.
    package var secondsLeft: Double?
}

/// Empties a node: newcomers are refused, and at the deadline, if there is one, the node is told to end. Until then it can be
/// undone.
package final class Drain: Sendable {
    private let admission: Admission
    private let clock: RoomClock
    private let onDeadline: @Sendable () async -> Void
    private let alarm = Mutex<(@Sendable () -> Void)?>(nil)

    /// - Parameter onDeadline: called once, when a deadline has come and nobody undid the drain.
    package init(admission: Admission, clock: RoomClock, onDeadline: @escaping @Sendable () async -> Void) {
        self.admission = admission
        self.clock = clock
        self.onDeadline = onDeadline
    }

    /// Begins, or begins anew with another deadline. False: the node ends already.
    ///
    /// - Parameter time: until the node ends; `nil`: until somebody ends it.
    package func begin(for time: MediaDuration?) -> Bool {
        let deadline = time.map { clock.now() + $0 }
        // Under one lock, so that of two calls at once the one whose deadline counts has its alarm set, too.
        return alarm.withLock { alarm in
            guard admission.beginDrain(deadline: deadline) else { return false }
            alarm?()
            alarm = deadline.map { deadline in
                clock.schedule(deadline) { [weak self] in await self?.ring() }
            }
            return true
        }
    }

    /// False: the node ends already.
    package func undo() -> Bool {
        alarm.withLock { alarm in
            guard admission.undo() else { return false }
            alarm?()
            alarm = nil
            return true
        }
    }

    /// How long until the deadline; `nil` without one.
    package var timeLeft: MediaDuration? {
        guard case .draining(let deadline?) = admission.state else { return nil }
        return max(.zero, deadline - clock.now())
    }

    private func ring() async {
        if admission.stopIfDue(clock.now()) { await onDeadline() }
    }
}
