import Foundation
import Synchronization

/// Lines for the log from those who must not wait: rooms, requests, webhooks. One thread writes them, in their order; while it cannot, so many wait, and
/// what comes then is lost and counted.
package final class LogQueue: Sendable {
    private let queue = DispatchQueue(label: "log")
    private let limit: Int
    private let waiting = Atomic<Int>(0)
    private let lost = Atomic<Int>(0)
    private let write: @Sendable (String) -> Void

    /// - Parameters:
    ///   - limit: lines that wait at most.
    ///   - write: may block; called from one thread at a time.
    package init(limit: Int = 10_000, write: @escaping @Sendable (String) -> Void) {
        self.limit = limit
        self.write = write
    }

    /// Never waits.
    package func post(_ line: String) {
        guard waiting.add(1, ordering: .relaxed).newValue <= limit else {
            waiting.subtract(1, ordering: .relaxed)
            lost.add(1, ordering: .relaxed)
            return
        }
        queue.async { [self] in
            write(line)
            waiting.subtract(1, ordering: .relaxed)
            let count = lost.exchange(0, ordering: .relaxed)
            if count > 0 { write("\(count) lines of this log were lost: it is not read as fast as it is written") }
        }
    }

    /// Returns when what was posted before is written, or after the limit: nobody may ever read the log again.
    package func flush(within limit: Duration = .seconds(1)) async {
        let (seconds, attoseconds) = limit.components
        await withCheckedContinuation { continuation in
            let waiter = Waiter(continuation)
            queue.async { waiter.resume() }
            DispatchQueue.global().asyncAfter(deadline: .now() + Double(seconds) + Double(attoseconds) / 1e18) {
                waiter.resume()
            }
        }
    }
}

/// Goes on once, whoever wakes it first.
private final class Waiter: Sendable {
    private let continuation: Mutex<CheckedContinuation<Void, Never>?>

    init(_ continuation: CheckedContinuation<Void, Never>) { self.continuation = Mutex(continuation) }

    func resume() {
        continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }?.resume()
    }
}
