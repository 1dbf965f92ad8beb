import CNet
import MediaTransport
import MediaWire

enum ClientMessage<Session: ClientSession> {
    case add(ClientName, [ClientSocket], ClientTransport.Configuration, SessionBox<Session>, @Sendable (Bool) -> Void)
    case remove(ClientName)
    case perform(ClientName, @Sendable (inout Session, inout ClientTransport, inout ClientScene) -> Void)
    case inspect((inout ClientLoop<Session>) -> Void)
    case stop
}

/// What the engine's thread owns, and its rounds: wait, read, apply, advance, send.
struct ClientLoop<Session: ClientSession>: ~Copyable {
    /// One client.
    final class Client {
        let name: ClientName
        let sockets: [ClientSocket]
        var transport: ClientTransport
        var session: Session
        /// TCP connections; their places come after those of the sockets.
        var streams: [ClientStream] = []
        /// When its entry in the deadline queue is due.
        var scheduled = MediaTime.distantFuture
        var sendFailures: UInt64 = 0

        init(
            _ name: ClientName, _ sockets: [ClientSocket], _ transport: consuming ClientTransport, _ session: Session
        ) {
            self.name = name
            self.sockets = sockets
            self.transport = transport
            self.session = session
        }

        var nextDeadline: MediaTime {
            min(transport.nextDeadline, session.nextDeadline, transport.streamDeadline)
        }
    }

    private static var batch: Int { 64 }
    private static var readyCapacity: Int { 128 }
    private static var mailboxToken: UInt64 { .max }
    /// Room that one client's turn may take: a key frame of half a megabyte.
    static var turn: Int { 512 }
    private static var messageCapacity: Int { 256 }
    private static var longestWait: MediaDuration { .seconds(1) }

    private let mailbox: ClientMailbox<ClientMessage<Session>>
    let epoll: Int32
    private let receiver: OpaquePointer
    private let sender: OpaquePointer
    private let messages: UnsafeMutablePointer<parlor_outgoing>
    private let segments: UnsafeMutablePointer<parlor_segment>
    private let ready: UnsafeMutableBufferPointer<parlor_ready>
    private(set) var clients: [Client?] = []
    /// Streams that broke while a batch left.
    var brokenStreams: [(slot: Int, place: Int)] = []
    private var freeSlots: [Int] = []
    private var slots: [ClientName: Int] = [:]
    private var deadlines = DeadlineQueue()
    var scene: ClientScene
    private var inbox: [ClientMessage<Session>] = []
    private var isStopping = false
    private let started: Int64
    private var latest = MediaDuration.zero

    init(mailbox: ClientMailbox<ClientMessage<Session>>, epoll: Int32) {
        guard let receiver = parlor_receiver_create(UInt32(Self.batch), PARLOR_GRO_SLOT),
            let sender = parlor_sender_create(UInt32(Self.messageCapacity), UInt32(Self.messageCapacity)),
            let messages = parlor_sender_messages(sender), let segments = parlor_sender_segments(sender)
        else { preconditionFailure("a client engine found no memory for its slots") }
        self.mailbox = mailbox
        self.epoll = epoll
        self.receiver = receiver
        self.sender = sender
        self.messages = messages
        self.segments = segments
        ready = .allocate(capacity: Self.readyCapacity)
        ready.initialize(repeating: parlor_ready())
        started = parlor_monotonic_time()
        scene = ClientScene(
            outbox: ClientOutbox(capacity: 4096), now: MediaTime(nanoseconds: started), clock: .system)
        let watched = parlor_epoll_add(epoll, mailbox.descriptor, Self.mailboxToken, PARLOR_READABLE)
        precondition(watched == 0, "a client engine cannot watch its own mailbox")
    }

    deinit {
        parlor_receiver_destroy(receiver)
        parlor_sender_destroy(sender)
        ready.deallocate()
    }

    mutating func run() {
        while !isStopping {
            let due = min(deadlines.next ?? .distantFuture, scene.now + Self.longestWait)
            let count = parlor_epoll_wait(
                epoll, ready.baseAddress, UInt32(ready.count), max(0, (due - scene.now).nanoseconds))
            precondition(count >= 0, "a client engine's epoll is broken")
            scene.now = MediaTime(nanoseconds: parlor_monotonic_time())
            for index in 0..<Int(count) {
                let token = ready[index].token
                if token == Self.mailboxToken {
                    applyMailbox()
                } else {
                    read(slot: Int(token & 0xFFFF_FFFF), socket: Int(token >> 32), events: ready[index].events)
                }
            }
            advance()
            flush()
            scene.now = MediaTime(nanoseconds: parlor_monotonic_time())
        }
        for slot in clients.indices { drop(slot) }
        flush()
        for message in mailbox.close() { refuse(message) }
    }

    // MARK: Mailbox

    private mutating func applyMailbox() {
        mailbox.take(&inbox)
        let messages = inbox
        inbox = []
        for message in messages {
            switch message {
            case .add(let name, let sockets, let configuration, let box, let done):
                done(add(name, sockets, configuration, box.session))
            case .remove(let name):
                if let slot = slots[name] { drop(slot) }
            case .perform(let name, let body):
                guard let slot = slots[name], let client = clients[slot] else { continue }
                if scene.outbox.free < Self.turn { flush() }
                body(&client.session, &client.transport, &scene)
                settle(client, slot)
            case .inspect(let body): body(&self)
            case .stop: isStopping = true
            }
        }
    }

    private mutating func refuse(_ message: ClientMessage<Session>) {
        switch message {
        case .add(_, let sockets, _, _, let done):
            for socket in sockets { socket.close() }
            done(false)
        case .inspect(let body): body(&self)
        case .remove, .perform, .stop: break
        }
    }

    private mutating func add(
        _ name: ClientName, _ sockets: [ClientSocket], _ configuration: ClientTransport.Configuration,
        _ session: Session
    ) -> Bool {
        let slot = freeSlots.popLast() ?? clients.count
        guard slots[name] == nil, let transport = ClientTransport(configuration, id: slot, now: scene.now),
            sockets.enumerated().allSatisfy({ place, socket in
                parlor_epoll_add(epoll, socket.descriptor, UInt64(slot) | UInt64(place) << 32, PARLOR_READABLE) == 0
            })
        else {
            if slot < clients.count { freeSlots.append(slot) }
            // Which takes them out of the epoll, too.
            for socket in sockets { socket.close() }
            return false
        }
        let client = Client(name, sockets, transport, session)
        if slot == clients.count { clients.append(client) } else { clients[slot] = client }
        slots[name] = slot
        // The first checks of a WebRTC connection are due.
        client.transport.advance(to: scene.now, wallTime: scene.wallTime, into: &scene.outbox)
        settle(client, slot)
        return true
    }

    /// Sends what waits, says goodbye, closes.
    private mutating func drop(_ slot: Int) {
        guard let client = clients[slot] else { return }
        if scene.outbox.free < Self.turn { flush() }
        client.transport.close(into: &scene.outbox)
        // The outbox points to the transport's keys.
        flush()
        for socket in client.sockets {
            _ = parlor_epoll_remove(epoll, socket.descriptor)
            socket.close()
        }
        for stream in client.streams where stream.state != .closed {
            _ = parlor_epoll_remove(epoll, stream.descriptor)
            stream.close()
        }
        slots[client.name] = nil
        clients[slot] = nil
        freeSlots.append(slot)
    }

    mutating func forEachClient(_ body: (inout ClientView<Session>) -> Void) {
        for case .some(let client) in clients {
            var view = ClientView(
                name: client.name, statistics: client.transport.statistics, reception: client.transport.reception,
                sending: client.transport.sending, connectionTimes: client.transport.connectionTimes,
                socketDrops: client.sockets.reduce(0) { $0 &+ $1.drops }, sendFailures: client.sendFailures,
                session: client.session)
            body(&view)
            client.session = view.session
        }
    }

    /// For tests: a client's TCP connections break.
    mutating func breakStreams(_ name: ClientName) {
        guard let slot = slots[name], let client = clients[slot] else { return }
        closeStreams(client, slot)
    }

    mutating func takeLoad() -> ClientEngineLoad {
        var load = ClientEngineLoad()
        load.cpuSeconds = Double(parlor_thread_cpu_time()) / 1e9
        load.wallSeconds = Double(parlor_monotonic_time() - started) / 1e9
        load.latest = latest
        load.backend = scene.outbox.backendName
        latest = .zero
        return load
    }

    // MARK: Time

    /// After anything that happened to a client: its session is told where the connection stands, and its next turn is planned.
    mutating func settle(_ client: Client, _ slot: Int) {
        if let state = client.transport.takeStateChange() {
            client.session.connectionChanged(state, &client.transport, &scene)
        }
        schedule(client, slot)
    }

    private mutating func schedule(_ client: Client, _ slot: Int) {
        let deadline = client.nextDeadline
        guard deadline < client.scheduled else { return }
        client.scheduled = deadline
        deadlines.add(deadline, slot: slot)
    }

    private mutating func advance() {
        while let entry = deadlines.takeDue(scene.now) {
            // An entry of an earlier plan, or of a client that is gone.
            guard entry.slot < clients.count, let client = clients[entry.slot], client.scheduled == entry.time else {
                continue
            }
            if scene.outbox.free < Self.turn { flush() }
            client.scheduled = .distantFuture
            latest = max(latest, scene.now - entry.time)
            if client.transport.nextDeadline <= scene.now {
                client.transport.advance(to: scene.now, wallTime: scene.wallTime, into: &scene.outbox)
                for stream in 0..<client.transport.receivedStreamCount { handOnOrdered(client, stream) }
            }
            if client.transport.streamDeadline <= scene.now { tendStreams(client, entry.slot) }
            if client.session.nextDeadline <= scene.now { client.session.advance(&client.transport, &scene) }
            settle(client, entry.slot)
        }
    }

    // MARK: Receiving

    private mutating func read(slot: Int, socket: Int, events: UInt32) {
        guard slot < clients.count, let client = clients[slot] else { return }
        guard client.sockets.indices.contains(socket) else {
            serveStream(client, slot, place: socket - client.sockets.count, events)
            return
        }
        let count = parlor_receiver_receive(receiver, client.sockets[socket].descriptor)
        guard count > 0, let received = parlor_receiver_messages(receiver) else { return }
        scene.now = MediaTime(nanoseconds: parlor_monotonic_time())
        for index in 0..<Int(count) where received[index].truncated == 0 {
            let message = received[index]
            let length = Int(message.length)
            let step = message.segment_size == 0 ? max(length, 1) : Int(message.segment_size)
            let source = ICEPath(socket: socket, address: TransportAddress(message.source))
            var offset = 0
            while offset < length {
                handIn(
                    UnsafeMutableRawBufferPointer(start: message.bytes + offset, count: min(step, length - offset)),
                    from: source, client)
                offset += step
            }
        }
        finishReading(client, slot)
    }

    mutating func finishReading(_ client: Client, _ slot: Int) {
        let wanted = client.transport.takeKeyFrameRequests()
        if wanted != 0 { client.session.keyFramesWanted(wanted, &client.transport, &scene) }
        if let bitrate = client.transport.takeSendRate() {
            client.session.sendRateJudged(bitrate, &client.transport, &scene)
        }
        settle(client, slot)
    }

    mutating func handIn(_ datagram: UnsafeMutableRawBufferPointer, from source: ICEPath, _ client: Client) {
        if scene.outbox.free < Self.turn { flush() }
        let arrival = client.transport.receive(datagram, from: source, now: scene.now, into: &scene.outbox)
        guard case .media(let packet, let payload) = arrival else {
            switch arrival {
            case .notInOrder:
                for stream in 0..<client.transport.receivedStreamCount { handOnOrdered(client, stream) }
            case .late(let packet): client.session.receivedLate(packet)
            case .media, .control, .connection, .dropped: break
            }
            return
        }
        let bytes = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(datagram)[payload])
        client.session.receive(packet, payload: RawSpan(_unsafeBytes: bytes), &client.transport, &scene)
        handOnOrdered(client, packet.stream)
    }

    private mutating func handOnOrdered(_ client: Client, _ stream: Int) {
        while let held = client.transport.takeOrdered(stream: stream, now: scene.now) {
            held.payload.withUnsafeBytes { bytes in
                client.session.receive(
                    held.packet, payload: RawSpan(_unsafeBytes: bytes), &client.transport, &scene)
            }
        }
    }

    // MARK: Sending

    /// Seals all that waits and sends it: one sendmmsg for each run of datagrams of one client.
    mutating func flush() {
        guard scene.outbox.count > 0 else { return }
        scene.outbox.seal()
        let total = scene.outbox.count
        var index = 0
        while index < total {
            let (slot, socket) = (scene.outbox[index].client, scene.outbox[index].path.socket)
            if let client = clients[slot], socket >= client.sockets.count {
                index = sendOverStream(client, slot, from: index)
                continue
            }
            var count = 0
            while index < total, count < Self.messageCapacity {
                let entry = scene.outbox[index]
                guard entry.client == slot, entry.path.socket == socket else { break }
                if entry.isSealed {
                    let bytes = scene.outbox.datagram(index)
                    segments[count] = parlor_segment(bytes: bytes.baseAddress, length: bytes.count)
                    messages[count] = parlor_outgoing(
                        destination: parlor_address(entry.path.address), first_segment: UInt32(count), segment_count: 1,
                        segment_size: 0)
                    count += 1
                } else if let client = clients[slot] {
                    client.sendFailures &+= 1
                }
                index += 1
            }
            if count > 0, let client = clients[slot] { send(count, socket, client) }
        }
        scene.outbox.clear()
        dropBrokenStreams()
    }

    private func send(_ count: Int, _ socket: Int, _ client: Client) {
        guard client.sockets.indices.contains(socket) else { return }
        let descriptor = client.sockets[socket].descriptor
        var done = 0
        while done < count {
            let result = parlor_sender_send(sender, descriptor, UInt32(done), UInt32(count - done))
            if result > 0 {
                done += Int(result)
            } else {
                // The socket's buffer is full, or the datagram cannot leave: it is lost, and the tester says so.
                client.sendFailures &+= 1
                done += 1
            }
        }
    }
}
