import Dispatch
import Synchronization

/// Runs tasks, and holds them back while a test wants it: so things can happen between an answer and what is made of it.
final class HoldingExecutor: TaskExecutor {
    private struct State {
        var isHolding = false
        var held: [UnownedJob] = []
        var watchers: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "holding")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let watchers: [CheckedContinuation<Void, Never>]? = state.withLock { state in
            guard state.isHolding else { return nil }
            state.held.append(job)
            defer { state.watchers = [] }
            return state.watchers
        }
        guard let watchers else { return run(job) }
        for watcher in watchers { watcher.resume() }
    }

    private func run(_ job: UnownedJob) {
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    /// From now on what wants to go on waits. What runs now has come to its next wait before: an answer that overtakes it there lets it go
    /// on without asking.
    func hold() { queue.sync { state.withLock { $0.isHolding = true } } }

    /// Returns when something wants to go on.
    func somethingHeld() async {
        await withCheckedContinuation { continuation in
            let isHeld = state.withLock { state in
                if !state.held.isEmpty { return true }
                state.watchers.append(continuation)
                return false
            }
            if isHeld { continuation.resume() }
        }
    }

    func release() {
        let held = state.withLock { state in
            state.isHolding = false
            defer { state.held = [] }
            return state.held
        }
        for job in held { run(job) }
    }
}
