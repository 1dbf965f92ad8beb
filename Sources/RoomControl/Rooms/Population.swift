import Synchronization

/// How many users are in all rooms of the node, and which number the next connection gets.
package final class Population: Sendable {
    private let usersNow = Atomic<Int>(0)
    private let lastLink = Atomic<UInt64>(0)

    package init() {}

    package var users: Int { usersNow.load(ordering: .relaxed) }

    func change(users delta: Int) { usersNow.add(delta, ordering: .relaxed) }

    /// A number for a signalling connection, never given twice.
    package func nextLink() -> LinkID { LinkID(lastLink.add(1, ordering: .relaxed).newValue) }
}
