import CNet
package import MediaContract
import MediaSwitch
import MediaTransport
package import MediaWire
import Synchronization

/// The media plane with real sockets: threads, each with its sockets and its switchboard, behind mailboxes.
package final class Engine: MediaPlane {
    package let workerCount: Int
    /// What an operator should know from the start: socket buffers that the system clamped, and what to raise.
    package let warnings: [String]
    /// Whether runs to one destination leave as UDP_SEGMENT messages.
    package let segmentation: Bool
    /// What seals outgoing packets, for people.
    package let sealingName: String

    let configuration: Configuration
    let workers: [Worker]
    let link: EngineLink
    let nextSocketSerial = Atomic<UInt64>(1)
    private let nextSnapshot = Atomic<UInt64>(0)
    private let nextChoice = Atomic<Int>(0)
    private let isStopped = Atomic<Bool>(false)

    /// How long `removePeer` and `snapshot` wait for a worker.
    static let answerLimit = Duration.seconds(1)
    /// How long `stop` waits for all threads together.
    static let stopLimit = MediaDuration.milliseconds(900)

    /// Binds the shared sockets and starts the threads.
    package init(_ configuration: Configuration) throws(StartError) {
        let count = configuration.workers > 0 ? configuration.workers : Int(parlor_processor_count())
        guard configuration.ipv4 != nil || configuration.ipv6 != nil else { throw .noAddress }
        guard configuration.mediaPort == 0 || Int(configuration.mediaPort) + count - 1 <= Int(UInt16.max) else {
            throw .portOutOfRange(first: configuration.mediaPort, workers: count)
        }
        let sealing = try Engine.sealing(configuration.sealing)
        self.configuration = configuration
        workerCount = count
        sealingName = sealing.name
        segmentation = configuration.segmentation && parlor_udp_knows_segmentation() != 0
        link = EngineLink(ports: PortPool(range: configuration.plainPorts))

        var board = Engine.switchboard(segmentation: segmentation, sealing: sealing.choice)
        board.dtls = configuration.dtls
        let workers = try Engine.makeWorkers(count, configuration, board, link)
        self.workers = workers
        warnings = Engine.bufferWarnings(configuration, workers.first?.setup.sockets.shared.first?.socket)

        for (started, worker) in workers.enumerated() {
            do {
                try worker.start()
            } catch {
                for other in workers[..<started] { other.post(.stop) }
                for other in workers[..<started] { _ = other.join(timeout: Engine.stopLimit) }
                for other in workers[started...] { other.discard() }
                link.close()
                throw .resources(error)
            }
        }
    }

    deinit { stop() }

    static func switchboard(segmentation: Bool, sealing: Switchboard.Sealing) -> Switchboard.Configuration {
        var board = Switchboard.Configuration()
        board.ntpOrigin = NTPTime(unixNanoseconds: parlor_wall_time() &- parlor_monotonic_time())
        board.segmentation = segmentation
        board.sealing = sealing
        return board
    }

    /// The switchboards' choice, and the name of what it comes to on this machine.
    static func sealing(_ name: String) throws(StartError) -> (choice: Switchboard.Sealing, name: String) {
        guard let choice = Switchboard.Sealing(rawValue: name) else { throw .unknownSealing(name) }
        let backend: SRTPBatch.Backend =
            switch choice {
            case .automatic: .automatic
            case .multiBuffer: .multiBuffer
            case .openSSL: .evp
            }
        if backend == .multiBuffer, !SRTPBatch.multiBufferAvailable { throw .noMultiBuffer }
        return (choice, SRTPBatch(capacity: 1, backend: backend).backendName)
    }

    /// Workers with bound sockets and no thread yet.
    private static func makeWorkers(
        _ count: Int, _ configuration: Configuration, _ board: Switchboard.Configuration, _ link: EngineLink
    ) throws(StartError) -> [Worker] {
        var workers: [Worker] = []
        var opened = WorkerSockets()
        do throws(StartError) {
            for index in 0..<count {
                opened = try WorkerSockets(configuration, worker: index)
                let setup = Worker.Setup(
                    sockets: opened, streams: configuration.streams, switchboard: board,
                    collecting: configuration.collecting,
                    processor: configuration.pinsThreads ? Int32(truncatingIfNeeded: index) : -1, link: link)
                do {
                    workers.append(try Worker(index: index, setup: setup))
                } catch {
                    throw .resources(error)
                }
                opened = WorkerSockets()
            }
            return workers
        } catch {
            opened.close()
            for worker in workers { worker.discard() }
            throw error
        }
    }

    private static func bufferWarnings(_ configuration: Configuration, _ socket: UDPSocket?) -> [String] {
        guard let socket else { return [] }
        let buffers = [
            ("receive", configuration.receiveBufferSize, socket.receiveBuffer, "net.core.rmem_max"),
            ("send", configuration.sendBufferSize, socket.sendBuffer, "net.core.wmem_max"),
        ]
        return buffers.compactMap { name, wanted, granted, setting in
            guard granted < wanted else { return nil }
            return "the system clamps the UDP \(name) buffer to \(granted) of \(wanted) bytes; "
                + "raise it with: sysctl -w \(setting)=\(wanted)"
        }
    }

    /// Where a worker's shared sockets are bound: the ports that answers announce.
    package func listeners(worker: Int) -> (ipv4: TransportAddress?, ipv6: TransportAddress?) {
        let shared = workers[worker].setup.sockets.shared
        return (
            shared.first { $0.id == .sharedIPv4 }?.socket.address, shared.first { $0.id == .sharedIPv6 }?.socket.address
        )
    }

    /// Where clients that come by TCP reach a worker; none with `Configuration.tcp` off.
    package func streamListeners(worker: Int) -> [TransportAddress] {
        workers[worker].setup.sockets.listeners.map(\.address)
    }

    /// Clients that are connected to a worker by TCP; a moment old.
    package func streamCount(worker: Int) -> Int { workers[worker].streamCount.load(ordering: .relaxed) }

    /// Lines for the log. One reader; only the newest are kept for it.
    package var notices: AsyncStream<Notice> { link.notices }

    /// Ends the threads in order: what was posted before is applied, what waits is sent, sockets close, `events` finishes.
    /// Takes at most a second; false: a thread did not end in that time. Later calls do nothing.
    @discardableResult
    package func stop() -> Bool {
        guard !isStopped.exchange(true, ordering: .acquiringAndReleasing) else { return true }
        for worker in workers { worker.post(.stop) }
        let deadline = WorkerLoop.clock() + Engine.stopLimit
        var ended = true
        for worker in workers {
            ended = worker.join(timeout: max(.zero, deadline - WorkerLoop.clock())) && ended
        }
        link.close()
        return ended
    }

    // MARK: MediaPlane

    package var events: AsyncStream<MediaEventBatch> { link.events }

    package func post(_ command: MediaCommand, to worker: Int) { workers[worker].post(.command(command)) }

    package func leastLoadedWorker() -> Int {
        // Tenths of a core first: what a worker does says more than whom it holds. Then peers; among equals in turn, so
        // that rooms made in a row, before anybody has joined, spread.
        let first = nextChoice.wrappingAdd(1, ordering: .relaxed).oldValue
        var best = 0
        var least = (Int.max, Int.max)
        for step in 0..<workerCount {
            let index = Int((UInt(bitPattern: first) &+ UInt(step)) % UInt(workerCount))
            let load = (workers[index].busy.load(ordering: .relaxed) / 100, workers[index].peerCount)
            if load < least {
                least = load
                best = index
            }
        }
        return best
    }

    package func removePeer(_ peer: PeerID, worker: Int) async -> Bool {
        let key = EngineLink.RemovalKey(peer: peer, worker: worker)
        let done = await link.removals.wait(for: key, limit: Engine.answerLimit) { ticket in
            workers[worker].post(.command(.removePeer(peer, ticket: RemovalTicket(ticket))))
        }
        return done ?? false
    }

    package func snapshot(worker: Int) async -> MediaSnapshot? {
        // Each its own question: a shared answer might be older than what the second caller posted before it asked.
        let key = nextSnapshot.wrappingAdd(1, ordering: .relaxed).oldValue
        var snapshot = await link.snapshots.wait(for: key, limit: Engine.answerLimit) { ticket in
            workers[worker].post(.command(.snapshot(ticket)))
        }
        // The switchboard has no clock, so the thread around it knows.
        snapshot?.load = Double(workers[worker].busy.load(ordering: .relaxed)) / 1000
        snapshot?.tcpConnections = streamCount(worker: worker)
        return snapshot
    }
}
