import Synchronization

/// Brings events to the delegate, one after the other, and to the streams.
final class EventDelivery: Sendable {
    /// Events that wait for the delegate; above, the client takes no more from the server until some are gone.
    private static let backlogLimit = 1024
    /// Events that wait in one stream; beyond, the stream ends.
    static let streamLimit = 16 * 1024

    private struct State {
        var waiting = 0
        var room: [CheckedContinuation<Void, Never>] = []
        var streams: [Int: AsyncStream<RTCClientEvent>.Continuation] = [:]
        var nextStream = 0
        var isFinished = false
        weak var client: RTCClient?
        weak var delegate: (any RTCClientDelegate)?
    }

    private let state = Mutex(State())
    private let continuation: AsyncStream<RTCClientEvent>.Continuation

    init() {
        // Bounded by `room()`: what the app itself causes without waiting adds a few.
        let (events, continuation) = AsyncStream.makeStream(of: RTCClientEvent.self)
        self.continuation = continuation
        Task { [weak self] in
            for await event in events { self?.deliver(event) }
        }
    }

    deinit { continuation.finish() }

    var delegate: (any RTCClientDelegate)? {
        get { state.withLock { $0.delegate } }
        set { state.withLock { $0.delegate = newValue } }
    }

    func belongs(to client: RTCClient) { state.withLock { $0.client = client } }

    /// A new stream of everything from now on.
    func stream() -> AsyncStream<RTCClientEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: RTCClientEvent.self, bufferingPolicy: .bufferingOldest(EventDelivery.streamLimit))
        let number: Int? = state.withLock { state in
            guard !state.isFinished else { return nil }
            state.nextStream += 1
            state.streams[state.nextStream] = continuation
            return state.nextStream
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            guard let self else { return }
            _ = self.state.withLock { $0.streams.removeValue(forKey: number) }
        }
        return stream
    }

    /// Never waits.
    func emit(_ event: RTCClientEvent) {
        let streams = state.withLock { state in
            state.waiting += 1
            return Array(state.streams.values)
        }
        continuation.yield(event)
        for stream in streams {
            if case .dropped = stream.yield(event) { stream.finish() }
        }
    }

    /// Returns when the delegate has caught up.
    func room() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if state.waiting < EventDelivery.backlogLimit { return true }
                state.room.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    /// Nothing comes after this.
    func finish() {
        let streams = state.withLock { state in
            state.isFinished = true
            defer { state.streams = [:] }
            return Array(state.streams.values)
        }
        continuation.finish()
        for stream in streams { stream.finish() }
    }

    private func deliver(_ event: RTCClientEvent) {
        let (client, delegate) = state.withLock { ($0.client, $0.delegate) }
        if let client { delegate?.receive(event, from: client) }
        let waiting = state.withLock { state in
            state.waiting -= 1
            guard state.waiting < EventDelivery.backlogLimit / 2 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.room = [] }
            return state.room
        }
        for continuation in waiting { continuation.resume() }
    }
}
