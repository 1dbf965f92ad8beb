import Synchronization

/// How the running command is asked to end in order: by the main thread, for a signal, or by the command's own reasons. Only a
/// command that listens can be asked.
package final class StopRequest: Sendable {
    private let listening = Atomic<Bool>(false)
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    private let requested = Atomic<Bool>(false)
    private let onRequest: @Sendable () -> Void

    /// - Parameter onRequest: called after each request, on its thread: whoever limits the time of an orderly end.
    package init(onRequest: @escaping @Sendable () -> Void = {}) {
        (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
        self.onRequest = onRequest
    }

    /// From here on a signal is a request, not the end.
    package func listen() { listening.store(true, ordering: .releasing) }

    /// Whether a signal is a request.
    package var isListening: Bool { listening.load(ordering: .acquiring) }

    /// Whether the command has been asked.
    package var isRequested: Bool { requested.load(ordering: .acquiring) }

    /// False when nobody listens.
    package func request() -> Bool {
        guard isListening else { return false }
        requested.store(true, ordering: .releasing)
        continuation.yield()
        onRequest()
        return true
    }

    /// Returns when `request` was called.
    package func wait() async {
        for await _ in stream { return }
    }
}
