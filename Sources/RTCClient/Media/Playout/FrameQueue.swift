import ClientEngine
import MediaWire
import Synchronization

/// Frames on their way from the media thread to one listener's task, by a `PlayoutBuffer`: a lock, a timer, and who waits.
final class FrameQueue: Sendable {
    private struct State {
        var buffer: PlayoutBuffer
        var isFinished = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        /// Something happened while nobody waited.
        var isSignalled = false
        var timer: Task<Void, Never>?
        var timerDue = MediaTime.distantFuture
    }

    private enum Step {
        case item(PlayoutBuffer.Item)
        case wait
        case finished
    }

    private let state: Mutex<State>

    init(_ playout: PlayoutDelay, _ kind: TrackKind, conceals: Bool) {
        state = Mutex(State(buffer: PlayoutBuffer(playout, kind, conceals: conceals)))
    }

    deinit { state.withLock { $0.timer }?.cancel() }

    // MARK: The media thread

    /// False: there is no room.
    func insert(_ frame: RTCEncodedFrame, samples: Int, arrival: MediaTime, now: MediaTime) -> Bool {
        let isTaken = state.withLock { state in
            state.isFinished
                || state.buffer.insert(frame, samples: samples, arrival: arrival, now: now)
        }
        wake()
        return isTaken
    }

    func noteLate(_ time: Duration, arrival: MediaTime, now: MediaTime) {
        state.withLock { $0.buffer.noteLate(time, arrival: arrival, now: now) }
    }

    var holdsKeyFrame: Bool { state.withLock { $0.buffer.holdsKeyFrame } }
    var hasRoom: Bool { state.withLock { $0.buffer.hasRoom } }
    var patience: MediaDuration? { state.withLock { $0.buffer.patience } }

    /// Delay and counts.
    var figures: (delay: MediaDuration?, counts: PlayoutBuffer.Statistics) {
        state.withLock { ($0.buffer.currentDelay, $0.buffer.statistics) }
    }

    /// Nothing comes any more: what is held is still given out.
    func finish() {
        state.withLock { $0.isFinished = true }
        wake()
    }

    // MARK: The listener

    /// The next one, when it is due; `nil`: nothing comes any more, or the task is cancelled.
    func next() async -> PlayoutBuffer.Item? {
        while !Task.isCancelled {
            switch step(now: ClientClock.monotonic) {
            case .item(let item): return item
            case .finished: return nil
            case .wait: await wait()
            }
        }
        return nil
    }

    private func step(now: MediaTime) -> Step {
        state.withLock { state in
            if let item = state.buffer.take(now: now) { return .item(item) }
            if state.isFinished, state.buffer.count == 0 { return .finished }
            plan(&state, now)
            return .wait
        }
    }

    /// One timer at a time; it may fire early, never late.
    private func plan(_ state: inout State, _ now: MediaTime) {
        let due = state.buffer.nextDeadline
        guard due < state.timerDue else { return }
        state.timer?.cancel()
        state.timerDue = due
        let pause = max((due - now).nanoseconds, 0)
        state.timer = Task { [weak self] in
            try? await Task.sleep(for: .nanoseconds(pause))
            if !Task.isCancelled { self?.fire() }
        }
    }

    private func fire() {
        state.withLock { $0.timerDue = .distantFuture }
        wake()
    }

    private func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isNeeded = state.withLock { state in
                    if state.isSignalled {
                        state.isSignalled = false
                        return false
                    }
                    state.waiting.append(continuation)
                    return true
                }
                if !isNeeded { continuation.resume() }
            }
        } onCancel: {
            wake()
        }
    }

    private func wake() {
        let waiting = state.withLock { state in
            if state.waiting.isEmpty { state.isSignalled = true }
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
