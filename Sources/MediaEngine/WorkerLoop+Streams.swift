import CNet
import MediaContract
import MediaSwitch
import MediaWire

/// ICE-TCP: listeners and connections in the worker's round.
extension WorkerLoop {
    /// Connections taken from a listener in one round: a flood of them delays media no longer than this.
    private static var acceptLimit: Int { 32 }
    /// How long no connections are taken when there are no descriptors for them.
    private static var exhaustedPause: MediaDuration { .seconds(1) }

    /// The name of a listener in epoll; no connection has it.
    static func listenerToken(_ index: Int) -> UInt64 { mailboxToken - 1 - UInt64(index) }

    func listenerIndex(_ token: UInt64) -> Int? {
        let index = Self.mailboxToken - 1 - token
        return index < UInt64(worker.setup.sockets.listeners.count) ? Int(index) : nil
    }

    mutating func serveListener(_ index: Int, _ switchboard: borrowing Switchboard, _ now: MediaTime) {
        let listener = worker.setup.sockets.listeners[index]
        for _ in 0..<Self.acceptLimit {
            switch streams.accept(from: listener.descriptor, now: now, isBound: { switchboard.isBound($0) }) {
            case .connection, .refused: continue
            case .nobody: return
            case .exhausted(let error):
                // The listener stays ready; looking at it again and again would be all this thread does.
                watchListeners(0)
                acceptingResumes = now + Self.exhaustedPause
                if !hasReportedExhaustion {
                    hasReportedExhaustion = true
                    worker.setup.link.notice(.acceptFailed(worker: worker.index, error))
                }
                return
            }
        }
    }

    private func watchListeners(_ events: UInt32) {
        for (index, listener) in worker.setup.sockets.listeners.enumerated() {
            let result = parlor_epoll_modify(epoll, listener.descriptor, Self.listenerToken(index), events)
            precondition(result == 0, "a listener is not waited for")
        }
    }

    mutating func serveStream(
        _ id: SocketID, _ events: UInt32, _ switchboard: inout Switchboard, _ now: inout MediaTime
    ) {
        guard let place = streams.place(of: id) else { return }
        if events & PARLOR_WRITABLE != 0 {
            streams.drain(place)
            guard events & ~PARLOR_WRITABLE != 0, streams.place(of: id) != nil else { return }
        }
        guard streams.read(place) else { return }
        now = Self.clock()
        // As for UDP: whoever sent this exists.
        applyMailbox(&switchboard, now)
        while true {
            let count = streams.cut(into: datagrams)
            guard count > 0 else { return }
            handOver(count, &switchboard, now)
        }
    }

    /// Once a round: connections that had their time, listeners that may be looked at again.
    mutating func tendStreams(_ switchboard: borrowing Switchboard, _ now: MediaTime) {
        streams.expire(now: now, isBound: { switchboard.isBound($0) })
        if let resumes = acceptingResumes, resumes <= now {
            acceptingResumes = nil
            watchListeners(PARLOR_READABLE)
        }
    }

    /// Tells the switchboard of connections that ended by themselves.
    mutating func reportEnded(_ switchboard: inout Switchboard, _ now: MediaTime) {
        for id in streams.takeEnded() { switchboard.socketClosed(id, now: now) }
    }

    /// Sends consecutive messages of one connection from `first` on, as many as one call takes; returns their number.
    mutating func sendStream(from first: Int, of id: SocketID, _ switchboard: inout Switchboard) -> Int {
        let count = switchboard.outbox.messageCount
        let start = switchboard.outbox.messages[first].firstSegment
        var end = start
        var next = first
        while next < count {
            let message = switchboard.outbox.messages[next]
            let behind = message.firstSegment + message.segmentCount
            guard message.socket.rawValue == id.rawValue, message.firstSegment == end,
                behind - start <= StreamSet.sendCapacity
            else { break }
            end = behind
            next += 1
        }
        let outcome = streams.send(
            id, UnsafeBufferPointer(rebasing: UnsafeBufferPointer(switchboard.outbox.segments)[start..<end]))
        for index in first..<next {
            switch outcome {
            case .all: switchboard.complete(message: index, .sent)
            case .gone: switchboard.complete(message: index, .failed)
            case .some: switchboard.complete(message: index, isTaken: { streams.taken[$0 - start] })
            }
        }
        return next - first
    }
}
