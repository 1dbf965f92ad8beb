import RTCClient
import Synchronization

/// Time that goes on only when a test says so.
final class ManualClock: SignallingClock {
    private struct Sleeper {
        var due: Duration
        var continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var now = Duration.zero
        var sleepers: [Int: Sleeper] = [:]
        var next = 0
        var watchers: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    var now: Duration { state.withLock { $0.now } }

    func sleep(until time: Duration) async throws {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        let isOver = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (answer, watchers): (Bool?, [CheckedContinuation<Void, Never>]) = state.withLock { state in
                    if time <= state.now { return (true, []) }
                    if Task.isCancelled { return (false, []) }
                    state.sleepers[number] = Sleeper(due: time, continuation: continuation)
                    defer { state.watchers = [] }
                    return (nil, state.watchers)
                }
                if let answer { continuation.resume(returning: answer) }
                for watcher in watchers { watcher.resume() }
            }
        } onCancel: {
            let sleeper = state.withLock { $0.sleepers.removeValue(forKey: number) }
            sleeper?.continuation.resume(returning: false)
        }
        if !isOver { throw CancellationError() }
    }

    /// Sets the time, and wakes who slept until then.
    func advance(to time: Duration) {
        let woken = state.withLock { state in
            state.now = max(state.now, time)
            let due = state.sleepers.filter { $0.value.due <= state.now }
            for number in due.keys { state.sleepers[number] = nil }
            return due.values.sorted { $0.due < $1.due }
        }
        for sleeper in woken { sleeper.continuation.resume(returning: true) }
    }

    func advance(by duration: Duration) { advance(to: now + duration) }

    /// Waits until somebody sleeps until a time in that range.
    @discardableResult
    func sleeper(within range: ClosedRange<Duration>) async -> Duration {
        while true {
            let due: Duration? = state.withLock { state in
                state.sleepers.values.map(\.due).filter { range.contains($0) }.min()
            }
            if let due { return due }
            await withCheckedContinuation { continuation in
                let isThere = state.withLock { state in
                    if state.sleepers.values.contains(where: { range.contains($0.due) }) { return true }
                    state.watchers.append(continuation)
                    return false
                }
                if isThere { continuation.resume() }
            }
        }
    }

    /// Waits until somebody sleeps for that long from now at most, and goes on to the end of it.
    func passPause(upTo longest: Duration) async {
        let now = now
        advance(to: await sleeper(within: now...(now + longest)))
    }
}
