import Synchronization

/// Runs bodies one after the other, in the order in which they came.
final class SerialTurns: Sendable {
    private struct State {
        var isBusy = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    /// How many may wait.
    private static let limit = 256

    private let state = Mutex(State())

    /// - Throws: what the body throws; 10055 when too many wait already.
    func run<Result: Sendable>(
        _ body: () async throws(RTCError) -> Result
    ) async throws(RTCError) -> Result {
        guard await enter() else { throw RTCError(.tooManyOperations, "too many operations wait for their turn") }
        defer { exit() }
        return try await body()
    }

    private func enter() async -> Bool {
        enum Turn { case now, later, never }
        let turn: Turn = state.withLock { state in
            if !state.isBusy {
                state.isBusy = true
                return .now
            }
            return state.waiting.count < SerialTurns.limit ? .later : .never
        }
        switch turn {
        case .now: return true
        case .never: return false
        case .later:
            await withCheckedContinuation { continuation in
                let isFree = state.withLock { state in
                    if !state.isBusy {
                        state.isBusy = true
                        return true
                    }
                    state.waiting.append(continuation)
                    return false
                }
                if isFree { continuation.resume() }
            }
            return true
        }
    }

    private func exit() {
        let next: CheckedContinuation<Void, Never>? = state.withLock { state in
            if state.waiting.isEmpty {
                state.isBusy = false
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}
