import CNet

/// A value behind the house's one kind of lock, a pthread mutex: mailboxes, ports and tickets, nothing on the packet path.
/// (`Synchronization.Mutex` reports races that are none under ThreadSanitizer.)
final class Locked<Value>: @unchecked Sendable {
    private let mutex = parlor_mutex_create()
    private var value: Value

    init(_ value: sending Value) { self.value = value }

    deinit { parlor_mutex_destroy(mutex) }

    /// Runs `body` alone. It must neither block nor take the same lock again.
    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        parlor_mutex_lock(mutex)
        defer { parlor_mutex_unlock(mutex) }
        return try body(&value)
    }
}
