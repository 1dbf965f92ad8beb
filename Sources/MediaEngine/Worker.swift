import CNet
import MediaContract
import MediaSwitch
import MediaWire
import Synchronization

/// What a worker's thread is told: the control plane's commands, and the engine's own word about sockets.
enum WorkerMessage: Sendable {
    case command(MediaCommand)
    /// The worker owns the descriptor of a plain leg's port from now on.
    case attach(SocketID, UDPSocket)
    /// Closes a plain leg's socket after the next flush, if it is still open.
    case detach(SocketID)
    case stop
}

/// One thread of the media plane, as the rest of the process sees it. What the thread owns is in `WorkerLoop`.
final class Worker: Sendable {
    let index: Int
    let setup: Setup
    let mailbox: Mailbox<WorkerMessage>
    /// What the thread waits in.
    let epoll: Int32
    /// Thousandths of the thread's time that are work.
    let busy = Atomic<Int>(0)
    /// Open ICE-TCP connections.
    let streamCount = Atomic<Int>(0)

    /// What all of a worker's life needs; handed over at start.
    struct Setup: Sendable {
        var sockets: WorkerSockets
        var streams: StreamLimits
        var switchboard: Switchboard.Configuration
        var collecting: MediaDuration
        /// The processor to run on; -1: any.
        var processor: Int32
        var link: EngineLink
    }

    /// Peers that commands put here and did not remove: known at once, before the thread has seen them.
    private let peers = Locked(Set<PeerID>())
    private let thread = Locked<OpaquePointer?>(nil)

    init(index: Int, setup: Setup) throws(SystemError) {
        self.index = index
        self.setup = setup
        mailbox = try Mailbox()
        epoll = try SystemError.check(parlor_epoll_create())
    }

    deinit { parlor_close(epoll) }

    func start() throws(SystemError) {
        var handle: OpaquePointer?
        // The thread holds the worker until it ends.
        let context = Unmanaged.passRetained(self)
        let result = parlor_thread_start(
            "media-\(index)", setup.processor, { runWorker($0) }, context.toOpaque(), &handle)
        if result < 0 {
            context.release()
            throw SystemError(result: result)
        }
        let started = SendablePointer(pointer: handle)
        thread.withLock { $0 = started.pointer }
    }

    /// False: the worker has stopped.
    @discardableResult
    func post(_ message: WorkerMessage) -> Bool {
        switch message {
        case .command(.addPeer(let peer, _)): peers.withLock { _ = $0.insert(peer) }
        case .command(.removePeer(let peer, _)): peers.withLock { _ = $0.remove(peer) }
        default: break
        }
        return mailbox.post(message)
    }

    var peerCount: Int { peers.withLock { $0.count } }

    /// Waits for the thread's end, after `.stop` was posted; false when it did not end in time.
    func join(timeout: MediaDuration) -> Bool {
        thread.withLock { thread in
            guard let handle = thread else { return true }
            guard parlor_thread_join(handle, timeout.nanoseconds) == 0 else { return false }
            thread = nil
            return true
        }
    }

    /// Before a thread was started, the sockets are still ours to close.
    func discard() { setup.sockets.close() }
}

private struct SendablePointer: @unchecked Sendable {
    let pointer: OpaquePointer?
}

/// The body of a worker's thread.
private func runWorker(_ context: UnsafeMutableRawPointer?) {
    guard let context else { return }
    let worker = Unmanaged<Worker>.fromOpaque(context).takeRetainedValue()
    var generator = SystemRandomNumberGenerator()
    let now = WorkerLoop.clock()
    var switchboard = Switchboard(configuration: worker.setup.switchboard, seed: generator.next(), now: now)
    var loop = WorkerLoop(worker)
    loop.run(&switchboard)
    loop.end(&switchboard)
}
