package import MediaWire
import Synchronization

/// Whether the node takes newcomers: one for the whole node, asked by every door (the auth route, new sessions, WHIP and WHEP, rooms
/// made by the server API). Who is in already, and who resumes a session, is not asked.
package final class Admission: Sendable {
    package enum State: Hashable, Sendable {
        case open
        /// Newcomers are refused, everything else goes on. `deadline`: when the node ends; `nil`: when somebody ends it.
        case draining(deadline: MediaTime?)
        /// The node ends. There is no way back.
        case stopping
    }

    /// What a refused newcomer is told to wait before it asks this node again, in seconds. Of our own: long enough that a crowd's
    /// retries are no load, short enough that an undone drain is noticed.
    package static let retryAfter = 30

    private let current = Mutex(State.open)

    package init() {}

    package var state: State { current.withLock { $0 } }

    package var isOpen: Bool { state == .open }

    /// Refuses newcomers from now on; called again, it sets another deadline. False: the node is stopping already.
    @discardableResult
    package func beginDrain(deadline: MediaTime?) -> Bool {
        current.withLock { state in
            if state == .stopping { return false }
            state = .draining(deadline: deadline)
            return true
        }
    }

    /// Takes newcomers again. False: the node is stopping, so it cannot.
    @discardableResult
    package func undo() -> Bool {
        current.withLock { state in
            if state == .stopping { return false }
            state = .open
            return true
        }
    }

    /// The node ends, whatever was before.
    package func stop() { current.withLock { $0 = .stopping } }

    /// Goes from draining to stopping if the deadline has come. True for exactly one caller: so a timer that rings while
    /// somebody undoes the drain, or moves its deadline, does nothing.
    package func stopIfDue(_ now: MediaTime) -> Bool {
        current.withLock { state in
            guard case .draining(let deadline?) = state, deadline <= now else { return false }
            state = .stopping
            return true
        }
    }
}
