import Foundation
import Synchronization

/// Lines for the log from those who must not wait: rooms. One thread writes them, in their order; while it cannot, so many wait, and
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

    /// Returns when what was posted before is written.
    package func flush() async {
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }
}
