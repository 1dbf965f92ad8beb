import CNet
package import MediaContract
package import MediaSwitch
package import MediaWire

/// How many ICE-TCP connections a worker keeps, and how much for each.
package struct StreamLimits: Sendable, Equatable {
    /// Connections of one worker.
    package var connections = 2048
    /// Those of one remote address, of one /64 for IPv6, that carry nobody yet. Users are not counted: behind a NAT there are many, each
    /// with several connections.
    package var strangersPerHost = 64
    /// Bytes that wait for one connection beside the kernel's own buffer; what comes on top is dropped.
    package var queueBytes = 256 << 10
    /// A connection that carries no peer for so long is closed.
    package var bindingTime = MediaDuration.seconds(10)

    package init() {}
}

/// One accepted connection.
struct StreamConnection {
    var id = SocketID(0)
    var descriptor: Int32 = -1
    var peer = TransportAddress.unspecified
    /// When it is to be looked at: whether it carries anybody.
    var deadline = MediaTime.zero
    /// Its neighbours by deadline; -1: none.
    var earlier: Int32 = -1
    var later: Int32 = -1
    /// It was seen to carry somebody.
    var isKnown = false
    /// The kernel takes no more; what waits is in the queue.
    var isBlocked = false
    /// The beginning of a frame, `partialCount` bytes; made at first need.
    var partial: UnsafeMutableRawPointer?
    var partialCount = 0
    var queue = FrameQueue()
}

/// The ICE-TCP connections of one worker (RFC 6544; the node is the passive end), and how their bytes become datagrams and datagrams
/// become bytes (RFC 4571). Knows sockets and nothing of who is behind them. Its thread's alone.
package struct StreamSet: ~Copyable {
    /// Bytes read from one connection in a round.
    package static var readSize: Int { 64 << 10 }
    /// Datagrams of one `send`: two segments each.
    package static var sendCapacity: Int { Int(PARLOR_STREAM_SEGMENTS) / 2 }
    /// Room for the longest beginning of a frame, and a multiple of a cache line.
    private static var partialSize: Int { 1536 }
    /// Queue storages kept for the next connection that blocks.
    private static var spareLimit: Int { 16 }
    /// Connections looked at for one that carries nobody, to make room for a new one.
    private static var evictionReach: Int { 64 }
    /// Of each accepted connection.
    private static var options: parlor_stream_options {
        // 64 KiB ahead of the path are 0.2 s at 2.5 Mbit/s. A peer that acknowledges nothing for 15 s is gone: consent would
        // have ended at 30 (RFC 7675). Silence is asked about after 30 s.
        parlor_stream_options(unsent_limit: 64 << 10, user_timeout: 15_000, keepalive_time: 30)
    }

    let limits: StreamLimits
    private let epoll: Int32
    let connections: UnsafeMutablePointer<StreamConnection>
    private var free: [Int32]
    private var nextSerial: UInt64 = 1
    /// Connections not known to carry anybody, by host.
    private var strangers: [TransportAddress: Int] = [:]
    /// The ends of the list by deadline.
    private var oldest: Int32 = -1
    private var newest: Int32 = -1
    private var ended: [SocketID] = []
    private var spare: [UnsafeMutableRawPointer] = []

    // Reading: the rest of the last read stands right before what comes now.
    private let buffer: UnsafeMutableRawPointer
    private var readID = SocketID(0)
    private var readPlace = 0
    private var readStart = 0
    private var readCount = 0
    private var reader = StreamFrameReader()

    // Sending
    let vectors: UnsafeMutablePointer<parlor_segment>
    let headers: UnsafeMutableRawPointer
    /// Which of the last `send`'s datagrams were taken, where not all were.
    package let taken: UnsafeMutablePointer<Bool>

    package private(set) var count = 0

    package init(epoll: Int32, limits: StreamLimits) {
        precondition(limits.connections < 1 << 20 && limits.queueBytes >= 4096, "limits that no connection can keep")
        self.epoll = epoll
        self.limits = limits
        connections = .allocate(capacity: max(limits.connections, 1))
        connections.initialize(repeating: StreamConnection(), count: max(limits.connections, 1))
        free = (0..<Int32(limits.connections)).reversed()
        buffer = .allocate(byteCount: Self.partialSize + Self.readSize, alignment: 64)
        vectors = .allocate(capacity: Self.sendCapacity * 2)
        headers = .allocate(byteCount: Self.sendCapacity * 2, alignment: 64)
        taken = .allocate(capacity: Self.sendCapacity)
        taken.initialize(repeating: true, count: Self.sendCapacity)
    }

    deinit {
        for place in 0..<limits.connections where connections[place].descriptor >= 0 {
            parlor_stream_close(connections[place].descriptor, 0)
            connections[place].partial?.deallocate()
            connections[place].queue.close()?.deallocate()
        }
        for storage in spare { storage.deallocate() }
        connections.deallocate()
        buffer.deallocate()
        vectors.deallocate()
        headers.deallocate()
        taken.deallocate()
    }

    /// Where an open connection stands; `nil`: it is gone.
    package func place(of id: SocketID) -> Int? {
        let place = id.slot
        guard id.isStream, place < limits.connections, connections[place].descriptor >= 0,
            connections[place].id.rawValue == id.rawValue
        else { return nil }
        return place
    }

    /// Bytes that wait for a connection.
    package func waiting(_ id: SocketID) -> Int { place(of: id).map { connections[$0].queue.count } ?? 0 }

    /// Connections that ended by themselves since the last call.
    package mutating func takeEnded() -> [SocketID] {
        guard !ended.isEmpty else { return [] }
        defer { ended.removeAll(keepingCapacity: true) }
        return ended
    }

    // MARK: Coming and going

    package enum Accepted: Equatable {
        case connection(SocketID)
        /// One came that there is no room for, or that was gone again.
        case refused
        case nobody
        /// The process has no descriptors left, or the kernel no memory: whoever waits goes on waiting.
        case exhausted(SystemError)
    }

    /// Takes the listener's next connection. Where all places are taken, one that carries nobody makes room: a real client's first check
    /// comes at once, so it is the oldest such connection that is worth least.
    package mutating func accept(
        from listener: Int32, now: MediaTime, isBound: (SocketID) -> Bool
    ) -> Accepted {
        var options = Self.options
        var peer = parlor_address()
        let descriptor = parlor_tcp_accept(listener, &options, &peer)
        guard descriptor >= 0 else {
            if descriptor == PARLOR_WOULD_BLOCK { return .nobody }
            precondition(descriptor != PARLOR_BAD_DESCRIPTOR, "a listener is closed that is waited for")
            return parlor_tcp_is_exhausted(descriptor) != 0 ? .exhausted(SystemError(result: descriptor)) : .refused
        }
        let address = TransportAddress(peer)
        let host = Self.host(address)
        if strangers[host, default: 0] >= limits.strangersPerHost { recognize(host, isBound) }
        if strangers[host, default: 0] >= limits.strangersPerHost {
            parlor_stream_close(descriptor, 1)
            return .refused
        }
        if free.isEmpty { evict(isBound) }
        guard let place = free.popLast() else {
            parlor_stream_close(descriptor, 1)
            return .refused
        }
        let id = SocketID(
            SocketID.streamBit | SocketID(serial: nextSerial, slot: Int(place)).rawValue)
        let watched = parlor_epoll_add(epoll, descriptor, id.rawValue, PARLOR_READABLE)
        guard watched == 0 else {
            // The system's limit of watches is used up, or its memory.
            free.append(place)
            parlor_stream_close(descriptor, 1)
            return .refused
        }
        nextSerial &+= 1
        strangers[host, default: 0] += 1
        count += 1
        connections[Int(place)] = StreamConnection(id: id, descriptor: descriptor, peer: address)
        enlist(Int(place), until: now + limits.bindingTime)
        return .connection(id)
    }

    /// Closes what carries nobody and has had its time.
    package mutating func expire(now: MediaTime, isBound: (SocketID) -> Bool) {
        while oldest >= 0, connections[Int(oldest)].deadline <= now {
            let place = Int(oldest)
            if isBound(connections[place].id) {
                know(place)
                unlist(place)
                enlist(place, until: max(now, connections[place].deadline) + max(limits.bindingTime, .milliseconds(1)))
            } else {
                end(place)
            }
        }
    }

    /// Looks again at a host's strangers: most are somebody's within a moment.
    private mutating func recognize(_ host: TransportAddress, _ isBound: (SocketID) -> Bool) {
        var place = oldest
        while place >= 0 {
            let connection = connections[Int(place)]
            if !connection.isKnown, Self.host(connection.peer) == host, isBound(connection.id) { know(Int(place)) }
            place = connection.later
        }
    }

    /// It is no stranger any more.
    private mutating func know(_ place: Int) {
        guard !connections[place].isKnown else { return }
        connections[place].isKnown = true
        let host = Self.host(connections[place].peer)
        let left = strangers[host, default: 1] - 1
        strangers[host] = left > 0 ? left : nil
    }

    private mutating func evict(_ isBound: (SocketID) -> Bool) {
        var place = oldest
        for _ in 0..<Self.evictionReach where place >= 0 {
            if !isBound(connections[Int(place)].id) { return end(Int(place)) }
            place = connections[Int(place)].later
        }
    }

    /// Ends a connection from our side of the wire: what waits for it is lost.
    mutating func end(_ place: Int) {
        ended.append(connections[place].id)
        close(place, abort: true)
    }

    /// Closes a connection whose peer is gone; what it was sent last leaves if the kernel can take it to the wire at once.
    package mutating func close(_ id: SocketID) {
        guard let place = place(of: id) else { return }
        close(place, abort: connections[place].queue.count > 0)
    }

    package mutating func closeAll() {
        for place in 0..<limits.connections where connections[place].descriptor >= 0 {
            close(place, abort: connections[place].queue.count > 0)
        }
    }

    private mutating func close(_ place: Int, abort: Bool) {
        let connection = connections[place]
        // Closing takes it out of epoll, too: nobody else has the descriptor.
        parlor_stream_close(connection.descriptor, abort ? 1 : 0)
        connection.partial?.deallocate()
        releaseQueue(place)
        unlist(place)
        know(place)
        count -= 1
        connections[place] = StreamConnection()
        free.append(Int32(place))
    }

    /// What counts as one remote address: a subscriber's whole /64 (RFC 6177), for it has all its addresses.
    private static func host(_ address: TransportAddress) -> TransportAddress {
        address.isIPv4
            ? address.with(port: 0) : TransportAddress(high: address.high, low: 0, port: 0, isIPv4: false)
    }

    private mutating func enlist(_ place: Int, until deadline: MediaTime) {
        connections[place].deadline = deadline
        connections[place].earlier = newest
        connections[place].later = -1
        if newest >= 0 { connections[Int(newest)].later = Int32(place) } else { oldest = Int32(place) }
        newest = Int32(place)
    }

    private mutating func unlist(_ place: Int) {
        let (earlier, later) = (connections[place].earlier, connections[place].later)
        if earlier >= 0 { connections[Int(earlier)].later = later } else { oldest = later }
        if later >= 0 { connections[Int(later)].earlier = earlier } else { newest = earlier }
    }

    // MARK: Receiving

    /// Reads once from a connection; false: nothing came, or it has ended. After true, `cut` hands out the datagrams.
    package mutating func read(_ place: Int) -> Bool {
        let kept = connections[place].partialCount
        if kept > 0, let partial = connections[place].partial {
            (buffer + Self.partialSize - kept).copyMemory(from: partial, byteCount: kept)
        }
        let result = parlor_stream_receive(
            connections[place].descriptor, buffer + Self.partialSize, Self.readSize)
        guard result > 0 else {
            precondition(result != Int64(PARLOR_BAD_DESCRIPTOR), "a connection of the set is closed")
            if result != Int64(PARLOR_WOULD_BLOCK) { end(place) }
            return false
        }
        readID = connections[place].id
        readPlace = place
        readStart = Self.partialSize - kept
        readCount = kept + Int(result)
        reader = StreamFrameReader()
        return true
    }

    /// Hands out the next datagrams of what was read: how many; 0: no more, and what is left is kept for the next read. They are valid
    /// until then. A frame that is too long ends the connection.
    package mutating func cut(into datagrams: UnsafeMutableBufferPointer<InboundDatagram>) -> Int {
        let bytes = UnsafeRawBufferPointer(start: buffer + readStart, count: readCount).bytes
        let isOpen = place(of: readID) != nil
        let source = isOpen ? connections[readPlace].peer : .unspecified
        var filled = 0
        while isOpen, filled < datagrams.count {
            switch reader.next(bytes) {
            case .frame(let offset, let length):
                datagrams[filled] = InboundDatagram(
                    socket: readID, source: source,
                    bytes: UnsafeMutableRawBufferPointer(start: buffer + readStart + offset, count: length))
                filled += 1
            case .incomplete:
                if filled == 0 { keepRest() }
                return filled
            case .tooLong:
                if filled == 0 { end(readPlace) }
                return filled
            }
        }
        return filled
    }

    private mutating func keepRest() {
        let rest = readCount - reader.consumed
        if rest > 0, connections[readPlace].partial == nil {
            connections[readPlace].partial = .allocate(byteCount: Self.partialSize, alignment: 64)
        }
        if rest > 0 {
            connections[readPlace].partial?.copyMemory(
                from: buffer + readStart + reader.consumed, byteCount: min(rest, Self.partialSize))
        }
        connections[readPlace].partialCount = rest
    }

    // MARK: Blocking

    /// From now on what leaves goes into the queue first.
    mutating func block(_ place: Int) {
        let storage =
            spare.popLast() ?? UnsafeMutableRawPointer.allocate(byteCount: limits.queueBytes, alignment: 64)
        connections[place].queue.open(storage, capacity: limits.queueBytes)
        connections[place].isBlocked = true
        watch(place, PARLOR_READABLE | PARLOR_WRITABLE)
    }

    mutating func unblock(_ place: Int) {
        releaseQueue(place)
        connections[place].isBlocked = false
        watch(place, PARLOR_READABLE)
    }

    private mutating func releaseQueue(_ place: Int) {
        guard let storage = connections[place].queue.close() else { return }
        if spare.count < Self.spareLimit { spare.append(storage) } else { storage.deallocate() }
    }

    private func watch(_ place: Int, _ events: UInt32) {
        let connection = connections[place]
        let result = parlor_epoll_modify(epoll, connection.descriptor, connection.id.rawValue, events)
        precondition(result == 0, "a connection of the set is not waited for")
    }
}
