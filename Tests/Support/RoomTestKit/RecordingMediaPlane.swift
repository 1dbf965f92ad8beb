package import MediaContract
import MediaWire
import Synchronization

/// A media plane without media: it records commands, follows them in a `PlaneModel`, hands out ports from a small
/// range, and answers removals at once or when the test says so.
package final class RecordingMediaPlane: MediaPlane {
    fileprivate struct State {
        var commands: [(worker: Int, command: MediaCommand)] = []
        var models: [PlaneModel]
        var nextSocket: UInt64 = 2
        var openPorts: [SocketID: UInt16] = [:]
        var holdsRemovals = false
        var waiting: [PeerID: [CheckedContinuation<Bool, Never>]] = [:]
        var pending: Set<PeerID> = []
        var nextTicket: UInt64 = 0
        var nextWorker = 0
        var snapshots: [Int: MediaSnapshot] = [:]
        var snapshotsMade = 0
    }

    package let workerCount: Int
    package let events: AsyncStream<MediaEventBatch>
    private let continuation: AsyncStream<MediaEventBatch>.Continuation
    private let state: Mutex<State>
    private let ports: ClosedRange<UInt16>

    package init(workers: Int = 1, ports: ClosedRange<UInt16> = 8000...8499) {
        workerCount = workers
        self.ports = ports
        (events, continuation) = AsyncStream.makeStream()
        state = Mutex(State(models: [PlaneModel](repeating: PlaneModel(), count: workers)))
    }

    // MARK: What tests look at

    package var commands: [MediaCommand] { state.withLock { $0.commands.map(\.command) } }
    package func model(_ worker: Int = 0) -> PlaneModel { state.withLock { $0.models[worker] } }
    package var violations: [String] { state.withLock { $0.models.flatMap(\.violations) } }
    /// Ports that are open, in order.
    package var openPorts: [UInt16] { state.withLock { $0.openPorts.values.sorted() } }
    /// Callers that wait for a removal.
    package var waitingRemovals: Int { state.withLock { $0.waiting.values.reduce(0) { $0 + $1.count } } }

    /// How often a worker was asked for its figures.
    package var snapshotsMade: Int { state.withLock { $0.snapshotsMade } }

    // MARK: What tests do

    package func report(_ events: MediaEvent..., worker: Int = 0) {
        continuation.yield(MediaEventBatch(worker: worker, events: events))
    }

    package func endEvents() { continuation.finish() }

    package func holdRemovals() { state.withLock { $0.holdsRemovals = true } }

    package func setSnapshot(_ snapshot: MediaSnapshot, worker: Int = 0) {
        state.withLock { $0.snapshots[worker] = snapshot }
    }

    /// Callers give up, as after the real second; the removals stay pending.
    package func timeOutRemovals() { resume(with: false, done: false) }

    /// The held removals come through.
    package func releaseRemovals() { resume(with: true, done: true) }

    private func resume(with answer: Bool, done: Bool) {
        let waiting = state.withLock { state in
            let waiting = state.waiting.values.flatMap { $0 }
            state.waiting = [:]
            if done {
                state.pending = []
                state.holdsRemovals = false
            }
            return waiting
        }
        for continuation in waiting { continuation.resume(returning: answer) }
    }

    // MARK: MediaPlane

    package func leastLoadedWorker() -> Int {
        state.withLock { state in
            defer { state.nextWorker = (state.nextWorker + 1) % workerCount }
            return state.nextWorker
        }
    }

    package func openPlainPorts(worker: Int, rtcp: Bool, ipv6: Bool) -> PlainPorts? {
        state.withLock { state in
            let used = Set(state.openPorts.values)
            var port = ports.lowerBound
            while port <= ports.upperBound, port < .max {
                let pair = rtcp ? [port, port + 1] : [port]
                if pair.allSatisfy({ ports.contains($0) && !used.contains($0) }), port % 2 == 0 || !rtcp {
                    let sockets = pair.map { port -> SocketID in
                        let socket = SocketID(state.nextSocket)
                        state.nextSocket += 1
                        state.openPorts[socket] = port
                        return socket
                    }
                    return PlainPorts(
                        socket: sockets[0], port: port, rtcpSocket: sockets[sockets.count - 1],
                        rtcpPort: pair[pair.count - 1])
                }
                port += 1
            }
            return nil
        }
    }

    package func close(_ ports: PlainPorts, worker: Int) {
        state.withLock { state in
            state.openPorts[ports.socket] = nil
            state.openPorts[ports.rtcpSocket] = nil
        }
    }

    package func post(_ command: MediaCommand, to worker: Int) { state.withLock { $0.take(command, worker) } }

    package func removePeer(_ peer: PeerID, worker: Int) async -> Bool {
        await withCheckedContinuation { continuation in
            let answer: Bool? = state.withLock { state in
                if !state.pending.contains(peer) {
                    state.nextTicket += 1
                    let ticket = RemovalTicket(state.nextTicket)
                    // The second removal of a peer is legitimate here: it is how a caller asks again.
                    if state.models[worker].peers[peer] != nil { state.take(.removePeer(peer, ticket: ticket), worker) }
                    guard state.holdsRemovals else { return true }
                    state.pending.insert(peer)
                }
                state.waiting[peer, default: []].append(continuation)
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    package func snapshot(worker: Int) async -> MediaSnapshot? {
        state.withLock {
            $0.snapshotsMade += 1
            return $0.snapshots[worker]
        }
    }
}

extension RecordingMediaPlane.State {
    fileprivate mutating func take(_ command: MediaCommand, _ worker: Int) {
        commands.append((worker, command))
        let before = models[worker].sockets
        models[worker].apply(command)
        for socket in before.subtracting(models[worker].sockets) { openPorts[socket] = nil }
    }
}
