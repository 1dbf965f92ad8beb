import MediaContract
import Synchronization

/// What workers share with the engine: where events, answers and ports go back to. The engine itself is not held by its
/// threads, so it can end.
final class EngineLink: Sendable {
    let events: AsyncStream<MediaEventBatch>
    let notices: AsyncStream<Engine.Notice>
    let removals = TicketDesk<RemovalKey, Bool>(firstTicket: EngineLink.firstTicket)
    let snapshots = TicketDesk<UInt64, MediaSnapshot>(firstTicket: EngineLink.firstTicket)
    let ports: Locked<PortPool>

    struct RemovalKey: Hashable, Sendable {
        let peer: PeerID
        let worker: Int
    }

    /// Tickets of the engine's own questions are in the upper half, apart from those that others post.
    static let firstTicket: UInt64 = 1 << 63

    private let eventSink: AsyncStream<MediaEventBatch>.Continuation
    private let noticeSink: AsyncStream<Engine.Notice>.Continuation

    init(ports: PortPool) {
        // Unbounded because no event may be lost; the switchboard limits how often each thing may report.
        (events, eventSink) = AsyncStream.makeStream(of: MediaEventBatch.self, bufferingPolicy: .unbounded)
        (notices, noticeSink) = AsyncStream.makeStream(of: Engine.Notice.self, bufferingPolicy: .bufferingNewest(64))
        self.ports = Locked(ports)
    }

    /// A worker's events of one round, after its flush: answers what the engine asked, and passes the rest on as one batch.
    func report(_ events: [MediaEvent], worker: Int) {
        var batch = events
        batch.removeAll { event in
            switch event {
            case .removed(let ticket): removals.answer(ticket.rawValue, true)
            case .snapshot(let ticket, let snapshot): snapshots.answer(ticket, snapshot)
            default: false
            }
        }
        if !batch.isEmpty { eventSink.yield(MediaEventBatch(worker: worker, events: batch)) }
    }

    func notice(_ notice: Engine.Notice) { noticeSink.yield(notice) }

    /// Gives a closed plain socket's port back.
    func release(_ socket: SocketID) {
        ports.withLock { pool in pool.release(pool.port(at: socket.slot - SocketID.firstPlainSlot)) }
    }

    /// After the last worker has ended.
    func close() {
        removals.close()
        snapshots.close()
        eventSink.finish()
        noticeSink.finish()
    }
}
