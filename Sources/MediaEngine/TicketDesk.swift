/// Where callers wait for a worker's answer. A question has a key and a ticket; who asks the same key again while the
/// answer is pending waits for the same ticket. A caller that gives up leaves the question pending.
package final class TicketDesk<Key: Hashable & Sendable, Reply: Sendable>: Sendable {
    private struct Waiter {
        let continuation: CheckedContinuation<Reply?, Never>
        let timer: Task<Void, Never>
    }

    private struct Question {
        let key: Key
        /// By the number of the caller.
        var waiters: [UInt64: Waiter] = [:]
    }

    private struct State {
        var tickets: [Key: UInt64] = [:]
        var questions: [UInt64: Question] = [:]
        var nextTicket: UInt64
        var nextWaiter: UInt64 = 0
        var isClosed = false
    }

    private let state: Locked<State>

    /// Tickets count up from `firstTicket`.
    package init(firstTicket: UInt64) { state = Locked(State(nextTicket: firstTicket)) }

    /// Waits for the answer to `key`, at most `limit`; `nil` after that, or when nobody will answer. `ask` posts the
    /// question with its ticket, and is called only when none is pending; false: there is nobody to ask.
    package func wait(for key: Key, limit: Duration, ask: (UInt64) -> Bool) async -> Reply? {
        await withCheckedContinuation { continuation in
            let newTicket: UInt64? = state.withLock { state in
                if state.isClosed {
                    continuation.resume(returning: nil)
                    return nil
                }
                let number = state.nextWaiter
                state.nextWaiter += 1
                let pending = state.tickets[key]
                let ticket = pending ?? state.nextTicket
                if pending == nil {
                    state.nextTicket += 1
                    state.tickets[key] = ticket
                    state.questions[ticket] = Question(key: key)
                }
                let timer = Task { [weak self] in
                    guard (try? await Task.sleep(for: limit)) != nil else { return }
                    self?.giveUp(number, ticket: ticket)
                }
                state.questions[ticket]?.waiters[number] = Waiter(continuation: continuation, timer: timer)
                return pending == nil ? ticket : nil
            }
            if let newTicket, !ask(newTicket) { _ = finish(newTicket, nil) }
        }
    }

    /// Answers all who wait for the ticket. False: the ticket is not of this desk, or answered.
    package func answer(_ ticket: UInt64, _ reply: Reply) -> Bool { finish(ticket, reply) }

    /// Nobody will answer any more: all who wait, and who come later, get `nil`.
    package func close() {
        let open = state.withLock { state in
            state.isClosed = true
            return Array(state.questions.keys)
        }
        for ticket in open { _ = finish(ticket, nil) }
    }

    private func finish(_ ticket: UInt64, _ reply: Reply?) -> Bool {
        let question = state.withLock { state -> Question? in
            guard let question = state.questions.removeValue(forKey: ticket) else { return nil }
            state.tickets[question.key] = nil
            return question
        }
        guard let question else { return false }
        for waiter in question.waiters.values {
            waiter.timer.cancel()
            waiter.continuation.resume(returning: reply)
        }
        return true
    }

    private func giveUp(_ number: UInt64, ticket: UInt64) {
        let waiter = state.withLock { $0.questions[ticket]?.waiters.removeValue(forKey: number) }
        waiter?.continuation.resume(returning: nil)
    }
}
