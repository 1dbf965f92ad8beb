import Synchronization

/// Tells several streams the latest of something: who is slow hears of the last one only.
final class Broadcast<Element: Sendable>: Sendable {
    private struct State {
        var streams: [Int: AsyncStream<Element>.Continuation] = [:]
        var next = 0
    }

    private let state = Mutex(State())

    deinit { for stream in state.withLock({ $0.streams }).values { stream.finish() } }

    func stream() -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.next += 1
            state.streams[state.next] = continuation
            return state.next
        }
        continuation.onTermination = { [weak self] _ in
            guard let self else { return }
            _ = self.state.withLock { $0.streams.removeValue(forKey: number) }
        }
        return stream
    }

    func send(_ element: Element) {
        for stream in state.withLock({ $0.streams }).values { stream.yield(element) }
    }
}
