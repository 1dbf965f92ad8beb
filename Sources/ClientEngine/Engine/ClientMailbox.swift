import CNet

/// Messages from any thread to the engine's, behind the house's one kind of lock, a pthread mutex.
final class ClientMailbox<Message>: @unchecked Sendable {
    /// Readable while something waits.
    let descriptor: Int32
    private let mutex = parlor_mutex_create()
    private var waiting: [Message] = []
    private var isClosed = false

    init() throws(ClientSystemError) {
        descriptor = parlor_wakeup_create()
        guard descriptor >= 0 else { throw ClientSystemError(result: descriptor) }
    }

    deinit {
        parlor_close(descriptor)
        parlor_mutex_destroy(mutex)
    }

    /// False: the engine has ended, and the message was not taken.
    @discardableResult
    func post(_ message: Message) -> Bool {
        parlor_mutex_lock(mutex)
        let accepted = !isClosed
        let wasEmpty = waiting.isEmpty
        if accepted { waiting.append(message) }
        parlor_mutex_unlock(mutex)
        if accepted, wasEmpty { parlor_wakeup_signal(descriptor) }
        return accepted
    }

    /// Swaps the empty `messages` with all that waits.
    func take(_ messages: inout [Message]) {
        parlor_wakeup_clear(descriptor)
        parlor_mutex_lock(mutex)
        swap(&waiting, &messages)
        parlor_mutex_unlock(mutex)
    }

    /// Takes nothing more, and hands out the last ones.
    func close() -> [Message] {
        parlor_mutex_lock(mutex)
        isClosed = true
        let last = waiting
        waiting = []
        parlor_mutex_unlock(mutex)
        return last
    }
}
