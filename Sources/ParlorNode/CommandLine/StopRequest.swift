import Synchronization

/// How the main thread asks the running command to end in order. Only a command that listens can be asked.
package final class StopRequest: Sendable {
    private let listening = Atomic<Bool>(false)
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    package init() { (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1)) }

    /// From here on a signal is a request, not the end.
    package func listen() { listening.store(true, ordering: .releasing) }

    /// Whether a signal is a request.
    package var isListening: Bool { listening.load(ordering: .acquiring) }

    /// False when nobody listens.
    package func request() -> Bool {
        guard isListening else { return false }
        continuation.yield()
        return true
    }

    /// Returns when `request` was called.
    package func wait() async {
        for await _ in stream { return }
    }
}
