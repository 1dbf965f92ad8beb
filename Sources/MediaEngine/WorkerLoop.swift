import CNet
import MediaContract
import MediaSwitch
import MediaWire
import Synchronization

/// What a worker's thread owns beside its switchboard: sockets, slots and the loop around them. One round is: wait; read a
/// batch from each ready socket; before looking at it, apply all commands; hand it in; fire what is due; flush; report.
struct WorkerLoop: ~Copyable {
    /// Datagrams (or GRO runs of them) per recvmmsg.
    static var batch: Int { 64 }
    /// Cut datagrams per hand-over; a batch of long GRO runs takes several.
    static var datagramCapacity: Int { 1024 }
    /// Ready sockets per wait.
    static var readyCapacity: Int { 64 }
    /// The longest wait: the load figure of an idle worker is not older.
    static var longestWait: MediaDuration { .milliseconds(500) }
    /// The wait when blocked sockets fill the outbox, so that what is due cannot be done: until one has room, or this.
    static var stuckWait: MediaDuration { .milliseconds(1) }
    /// Names the mailbox's eventfd in epoll; no socket has it.
    static var mailboxToken: UInt64 { .max }

    let worker: Worker
    let epoll: Int32
    /// The shared sockets: waited for beside epoll, which would cost each datagram they send a wake-up.
    private let watched: UnsafeMutableBufferPointer<parlor_watched>
    private var watchedCount = 0
    let receiver: OpaquePointer
    var sender: BatchSender
    var sockets: SocketTable
    var streams: StreamSet
    /// While set, no connections are taken from the listeners.
    var acceptingResumes: MediaTime?
    var hasReportedExhaustion = false
    /// Sockets to close after the next flush.
    var closing: [SocketID] = []
    private var inbox: [WorkerMessage] = []
    private let ready: UnsafeMutableBufferPointer<parlor_ready>
    let datagrams: UnsafeMutableBufferPointer<InboundDatagram>
    private var meter = LoadMeter()
    private var isStopping = false
    private var isStuck = false
    private var hasReportedReceiveFailure = false

    /// The monotonic clock; every `MediaTime` of the process.
    static func clock() -> MediaTime { MediaTime(nanoseconds: parlor_monotonic_time()) }

    init(_ worker: Worker) {
        self.worker = worker
        epoll = worker.epoll
        guard let receiver = parlor_receiver_create(UInt32(Self.batch), PARLOR_GRO_SLOT) else {
            preconditionFailure("a worker found no memory for its receive slots")
        }
        self.receiver = receiver
        sender = BatchSender()
        ready = .allocate(capacity: Self.readyCapacity)
        ready.initialize(repeating: parlor_ready())
        watched = .allocate(capacity: Int(PARLOR_WATCHED))
        watched.initialize(repeating: parlor_watched())
        datagrams = .allocate(capacity: Self.datagramCapacity)
        let nothing = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        datagrams.initialize(
            repeating: InboundDatagram(socket: .sharedIPv4, source: .unspecified, bytes: nothing))
        sockets = SocketTable(plainPorts: worker.setup.link.ports.withLock { $0.range.count })
        streams = StreamSet(epoll: worker.epoll, limits: worker.setup.streams)
        watch(worker.mailbox.descriptor, token: Self.mailboxToken)
        for entry in worker.setup.sockets.shared { attach(entry.id, entry.socket) }
        for (index, listener) in worker.setup.sockets.listeners.enumerated() {
            watch(listener.descriptor, token: Self.listenerToken(index))
        }
    }

    deinit {
        parlor_receiver_destroy(receiver)
        ready.deallocate()
        watched.deallocate()
        datagrams.deallocate()
    }

    mutating func run(_ switchboard: inout Switchboard) {
        var now = Self.clock()
        while !isStopping { round(&switchboard, &now) }
    }

    /// One round; `now` is when the last one ended.
    mutating func round(_ switchboard: inout Switchboard, _ now: inout MediaTime) {
        let started = now
        let due = isStuck ? now + Self.stuckWait : switchboard.nextDeadline ?? .distantFuture
        var count = wait(until: min(due, now + Self.longestWait), now)
        now = Self.clock()
        // Let more collect, but only where the thread had to wait, and never past a deadline.
        if count > 0, now - started > .microseconds(10) {
            let pause = meter.collecting(limit: worker.setup.collecting)
            if pause > .zero {
                let end = min(switchboard.nextDeadline ?? .distantFuture, now + pause)
                parlor_sleep_until(end.nanoseconds)
                count = wait(until: .zero, now)
                now = Self.clock()
            }
        }
        let working = now
        for index in 0..<count {
            let event = ready[index]
            if event.token == Self.mailboxToken {
                worker.mailbox.clearSignal()
            } else if event.token & SocketID.streamBit == 0 {
                serve(SocketID(event.token), event.events, &switchboard, &now)
            } else if let listener = listenerIndex(event.token) {
                serveListener(listener, switchboard, now)
            } else {
                serveStream(SocketID(event.token), event.events, &switchboard, &now)
            }
        }
        applyMailbox(&switchboard, now)
        tendStreams(switchboard, now)
        reportEnded(&switchboard, now)
        switchboard.advance(to: now)
        finishRound(&switchboard, now)
        isStuck = switchboard.outbox.count > 0 && (switchboard.nextDeadline ?? .distantFuture) <= now
        now = Self.clock()
        meter.note(busy: now - working, total: now - started)
        worker.busy.store(Int(meter.busyFraction * 1000), ordering: .relaxed)
        worker.streamCount.store(streams.count, ordering: .relaxed)
    }

    /// Orderly end: what was posted until now is applied, what waits is sent, everything is closed.
    mutating func end(_ switchboard: inout Switchboard) {
        let now = Self.clock()
        for message in worker.mailbox.close() { apply(message, &switchboard, now) }
        finishRound(&switchboard, now)
        for id in sockets.open { close(id) }
        streams.closeAll()
        for listener in worker.setup.sockets.listeners { listener.close() }
    }

    /// Flush, then the round's events, then the sockets that nobody needs any more: a removal is reported and a socket
    /// closed only when what had to be sent before has left.
    private mutating func finishRound(_ switchboard: inout Switchboard, _ now: MediaTime) {
        if switchboard.wantsFlush { flush(&switchboard) }
        // Connections that broke while they were written to.
        reportEnded(&switchboard, now)
        let events = switchboard.takeEvents()
        if !events.isEmpty { worker.setup.link.report(events, worker: worker.index) }
        closing.append(contentsOf: switchboard.takeClosedSockets())
        if !closing.isEmpty {
            for id in closing { close(id) }
            closing.removeAll(keepingCapacity: true)
        }
    }

    // MARK: Waiting

    private func wait(until deadline: MediaTime, _ now: MediaTime) -> Int {
        let timeout = max(0, (deadline - now).nanoseconds)
        let count = parlor_wait(
            epoll, watched.baseAddress, UInt32(watchedCount), ready.baseAddress, UInt32(ready.count), timeout)
        precondition(count >= 0, "a worker's epoll is broken")
        return Int(count)
    }

    private func watch(_ descriptor: Int32, token: UInt64) {
        let result = parlor_epoll_add(epoll, descriptor, token, PARLOR_READABLE)
        precondition(result == 0, "a worker cannot watch a descriptor it was given")
    }

    /// Waits for room in the socket's send buffer, too, or no longer.
    mutating func setBlocked(_ slot: Int, _ blocked: Bool) {
        guard sockets[slot].isBlocked != blocked else { return }
        sockets[slot].isBlocked = blocked
        let entry = sockets[slot]
        let events = blocked ? PARLOR_READABLE | PARLOR_WRITABLE : PARLOR_READABLE
        if let place = watchedPlace(of: entry.id) {
            watched[place].events = events
            return
        }
        let result = parlor_epoll_modify(epoll, entry.descriptor, entry.id.rawValue, events)
        precondition(result == 0, "a worker cannot watch a socket of its table")
    }

    private func watchedPlace(of id: SocketID) -> Int? {
        (0..<watchedCount).first { watched[$0].token == id.rawValue }
    }

    // MARK: Mailbox

    mutating func applyMailbox(_ switchboard: inout Switchboard, _ now: MediaTime) {
        worker.mailbox.take(&inbox)
        guard !inbox.isEmpty else { return }
        for index in inbox.indices { apply(inbox[index], &switchboard, now) }
        inbox.removeAll(keepingCapacity: true)
    }

    private mutating func apply(_ message: WorkerMessage, _ switchboard: inout Switchboard, _ now: MediaTime) {
        switch message {
        case .command(let command): switchboard.apply(command, now: now)
        case .attach(let id, let socket): attach(id, socket)
        case .detach(let id): closing.append(id)
        case .stop: isStopping = true
        }
    }

    private mutating func attach(_ id: SocketID, _ socket: UDPSocket) {
        sockets.insert(id, descriptor: socket.descriptor, hasErrorQueue: socket.hasErrorQueue)
        guard id.slot < SocketID.firstPlainSlot, watchedCount < watched.count else {
            watch(socket.descriptor, token: id.rawValue)
            return
        }
        watched[watchedCount] = parlor_watched(
            token: id.rawValue, descriptor: socket.descriptor, events: PARLOR_READABLE)
        watchedCount += 1
    }

    /// Closes a socket once; a name that is not in the table was closed before.
    private mutating func close(_ id: SocketID) {
        if id.isStream { return streams.close(id) }
        guard let entry = sockets.remove(id) else { return }
        if let place = watchedPlace(of: id) {
            watchedCount -= 1
            watched[place] = watched[watchedCount]
        } else {
            _ = parlor_epoll_remove(epoll, entry.descriptor)
        }
        parlor_close(entry.descriptor)
        if id.slot >= SocketID.firstPlainSlot { worker.setup.link.release(id) }
    }

    // MARK: Receiving

    private mutating func serve(
        _ id: SocketID, _ events: UInt32, _ switchboard: inout Switchboard, _ now: inout MediaTime
    ) {
        guard let slot = sockets.slot(of: id) else { return }
        if events & PARLOR_WRITABLE != 0 { setBlocked(slot, false) }
        let entry = sockets[slot]
        if events & PARLOR_ERROR != 0, entry.hasErrorQueue { drainErrors(entry, &switchboard, now) }
        guard events & (PARLOR_READABLE | PARLOR_ERROR) != 0 else { return }
        let count = parlor_receiver_receive(receiver, entry.descriptor)
        guard count > 0 else {
            if count != PARLOR_WOULD_BLOCK { receiveFailed(count) }
            return
        }
        now = Self.clock()
        // Whatever provoked a datagram of this batch was posted before it: its peer exists from here on.
        applyMailbox(&switchboard, now)
        handIn(Int(count), from: id, &switchboard, now)
    }

    private mutating func receiveFailed(_ result: Int32) {
        precondition(result != PARLOR_BAD_DESCRIPTOR, "a socket in the table is closed")
        // An ICMP error's echo; reading it has cleared it.
        guard result != PARLOR_CONNECTION_REFUSED, !hasReportedReceiveFailure else { return }
        hasReportedReceiveFailure = true
        worker.setup.link.notice(.receiveFailed(worker: worker.index, SystemError(result: result)))
    }

    /// Cuts what the receiver holds into datagrams and hands them in.
    private mutating func handIn(
        _ count: Int, from id: SocketID, _ switchboard: inout Switchboard, _ now: MediaTime
    ) {
        guard let messages = parlor_receiver_messages(receiver) else { return }
        var filled = 0
        var truncated: UInt64 = 0
        for index in 0..<count {
            let message = messages[index]
            guard message.truncated == 0 else {
                truncated += 1
                continue
            }
            let source = TransportAddress(message.source)
            let length = Int(message.length)
            let step = message.segment_size == 0 ? max(length, 1) : Int(message.segment_size)
            var offset = 0
            repeat {
                if filled == datagrams.count {
                    handOver(filled, &switchboard, now)
                    filled = 0
                }
                let bytes = UnsafeMutableRawBufferPointer(
                    start: message.bytes + offset, count: min(step, length - offset))
                datagrams[filled] = InboundDatagram(socket: id, source: source, bytes: bytes)
                filled += 1
                offset += step
            } while offset < length
        }
        if filled > 0 { handOver(filled, &switchboard, now) }
        if truncated > 0 { switchboard.countDrop(.truncated, truncated) }
    }

    mutating func handOver(_ count: Int, _ switchboard: inout Switchboard, _ now: MediaTime) {
        let batch = UnsafeBufferPointer(rebasing: datagrams[..<count])
        var cursor = 0
        var flushed = false
        while !switchboard.receive(batch, cursor: &cursor, flushed: flushed, now: now) {
            flush(&switchboard)
            flushed = true
        }
    }

    // MARK: Errors from the network

    private func drainErrors(_ entry: SocketTable.Entry, _ switchboard: inout Switchboard, _ now: MediaTime) {
        var error = parlor_udp_error()
        // Bounded by what may come in while reading; the rest shows again at the next wait.
        for _ in 0..<Self.batch {
            let result = parlor_udp_next_error(entry.descriptor, &error)
            precondition(result != PARLOR_BAD_DESCRIPTOR, "a socket in the table is closed")
            guard result > 0 else { return }
            if error.from_network != 0, error.error == PARLOR_CONNECTION_REFUSED {
                switchboard.socketUnreachable(
                    entry.id, destination: TransportAddress(error.destination), now: now)
            }
        }
    }
}
