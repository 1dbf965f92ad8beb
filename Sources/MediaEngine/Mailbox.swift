import CNet

/// Messages from any thread to one. The reader takes all at once, in the order they were posted; it is woken only when
/// the mailbox was empty before.
package final class Mailbox<Message: Sendable>: Sendable {
    /// Readable while something waits; for the reader's epoll.
    package let descriptor: Int32

    private struct State {
        var waiting: [Message] = []
        var isClosed = false
    }

    private let state = Locked(State())

    /// Throws when the process has no descriptors left.
    package init() throws(SystemError) { descriptor = try SystemError.check(parlor_wakeup_create()) }

    deinit { parlor_close(descriptor) }

    /// Never waits. False: the mailbox is closed, and the message was not taken.
    @discardableResult
    package func post(_ message: Message) -> Bool {
        let (accepted, wasEmpty) = state.withLock { state in
            guard !state.isClosed else { return (false, false) }
            let wasEmpty = state.waiting.isEmpty
            state.waiting.append(message)
            return (true, wasEmpty)
        }
        if wasEmpty { parlor_wakeup_signal(descriptor) }
        return accepted
    }

    /// Swaps `messages`, which must be empty, with all that waits; both arrays keep their storage. The reader's alone.
    package func take(_ messages: inout [Message]) {
        precondition(messages.isEmpty, "the reader takes messages before it has worked off the last ones")
        state.withLock { state in
            if !state.waiting.isEmpty { swap(&state.waiting, &messages) }
        }
    }

    /// Makes the descriptor quiet. Call before `take`: what is posted in between makes it readable again.
    package func clearSignal() { parlor_wakeup_clear(descriptor) }

    /// Takes no more messages from now on, and hands out the last ones.
    package func close() -> [Message] {
        state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [] }
            return state.waiting
        }
    }
}
