import CNet
package import MediaContract
import MediaSwitch
package import MediaWire

/// A worker without a thread: the same sockets, mailbox, loop and switchboard, driven a round at a time on the caller's thread.
/// For the benchmark, which runs it in lockstep with a feeder and reads the thread's CPU clock around each round.
package struct SteppedWorker: ~Copyable {
    /// Where the shared IPv4 socket is bound.
    package let address: TransportAddress
    package let sealingName: String
    package let segmentation: Bool
    private let worker: Worker
    private var loop: WorkerLoop
    private var switchboard: Switchboard
    private var now: MediaTime

    /// - Parameters:
    ///   - configuration: as for an engine, of which this is worker 0; `workers` and `pinsThreads` mean nothing here.
    ///   - outboxSlots: `nil`: as many as an engine has.
    package init(_ configuration: Engine.Configuration, seed: UInt64, outboxSlots: Int? = nil) throws(Engine.StartError)
    {
        let sealing = try Engine.sealing(configuration.sealing)
        let segmentation = configuration.segmentation && parlor_udp_knows_segmentation() != 0
        var board = Engine.switchboard(segmentation: segmentation, sealing: sealing.choice)
        if let outboxSlots { board.outboxSlots = outboxSlots }
        let (worker, address) = try Self.makeWorker(configuration, board)
        let now = WorkerLoop.clock()
        self.worker = worker
        self.address = address
        self.now = now
        self.segmentation = segmentation
        sealingName = sealing.name
        switchboard = Switchboard(configuration: board, seed: seed, now: now)
        loop = WorkerLoop(worker)
    }

    private static func makeWorker(
        _ configuration: Engine.Configuration, _ board: Switchboard.Configuration
    ) throws(Engine.StartError) -> (Worker, TransportAddress) {
        let sockets = try WorkerSockets(configuration, worker: 0)
        guard let first = sockets.shared.first(where: { $0.id == .sharedIPv4 }) else { throw .noAddress }
        let link = EngineLink(ports: PortPool(range: configuration.plainPorts))
        let setup = Worker.Setup(
            sockets: sockets, streams: configuration.streams, switchboard: board, collecting: configuration.collecting,
            processor: -1, link: link)
        do {
            return (try Worker(index: 0, setup: setup), first.socket.address)
        } catch {
            sockets.close()
            throw .resources(error)
        }
    }

    deinit { worker.discard() }

    package func post(_ command: MediaCommand) { worker.post(.command(command)) }

    /// One round of the loop: it waits for a datagram, a command or a deadline, and at most half a second.
    package mutating func round() { loop.round(&switchboard, &now) }

    /// Datagrams that left since the start.
    package var packetsOut: UInt64 { switchboard.packetsOut }
    /// What was dropped since the start, by name.
    package var drops: [String: UInt64] {
        var counts: [String: UInt64] = [:]
        for reason in DropReason.allCases where switchboard.dropCount(reason) > 0 {
            counts[reason.name] = switchboard.dropCount(reason)
        }
        return counts
    }
    /// Datagrams that still wait, for a socket that takes no more.
    package var waiting: Int { switchboard.outbox.count }
}
