import CNet
import MediaContract
import MediaEngine
import MediaSwitch
import MediaWire
import Testing

/// The client's end of a TCP connection on loopback, closed when it goes.
final class TestStream {
    private(set) var descriptor: Int32
    let local: TransportAddress
    /// What came and is not part of a frame that was taken.
    private(set) var buffer: [UInt8] = []
    private(set) var hasEnded = false
    /// How it ended: 0 is in order.
    private(set) var end: Int64 = 0

    init(to address: TransportAddress, receiveBuffer: Int32? = nil) throws {
        var remote = parlor_address(
            high: address.high, low: address.low, port: address.port, is_ipv4: address.isIPv4 ? 1 : 0)
        var options = parlor_stream_options()
        descriptor = parlor_tcp_connect(&remote, &options)
        try #require(descriptor >= 0)
        var bound = parlor_address()
        try #require(parlor_udp_local_address(descriptor, &bound) == 0)
        local = TransportAddress(high: bound.high, low: bound.low, port: bound.port, isIPv4: bound.is_ipv4 != 0)
        try #require(wait(PARLOR_WRITABLE) != 0)
        try #require(parlor_tcp_connected(descriptor) == 0)
    }

    deinit { close() }

    func close(abort: Bool = false) {
        if descriptor >= 0 { parlor_stream_close(descriptor, abort ? 1 : 0) }
        descriptor = -1
    }

    /// Waits until the connection shows one of the events; 0 after the deadline.
    func wait(_ events: UInt32, seconds: Double = 10) -> UInt32 {
        let epoll = parlor_epoll_create()
        defer { parlor_close(epoll) }
        _ = parlor_epoll_add(epoll, descriptor, 7, events)
        var ready = parlor_ready()
        return parlor_epoll_wait(epoll, &ready, 1, Int64(seconds * 1e9)) == 1 ? ready.events : 0
    }

    static func frame(_ datagram: [UInt8]) -> [UInt8] {
        [UInt8(datagram.count >> 8), UInt8(datagram.count & 0xFF)] + datagram
    }

    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let result = bytes.withUnsafeBytes { raw in
                var segment = parlor_segment(bytes: raw.baseAddress.map { $0 + sent }, length: bytes.count - sent)
                return parlor_stream_send(descriptor, &segment, 1)
            }
            if result == Int64(PARLOR_WOULD_BLOCK) {
                try #require(wait(PARLOR_WRITABLE) != 0)
                continue
            }
            try #require(result > 0, "sending failed: \(result)")
            sent += Int(result)
        }
    }

    /// Reads what is there now into `buffer`.
    func read() {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        while !hasEnded {
            let result = bytes.withUnsafeMutableBytes { parlor_stream_receive(descriptor, $0.baseAddress, $0.count) }
            if result == Int64(PARLOR_WOULD_BLOCK) { return }
            if result <= 0 {
                hasEnded = true
                end = result
            } else {
                buffer += bytes[..<Int(result)]
            }
        }
    }

    /// The datagrams that are complete.
    func takeFrames() -> [[UInt8]] {
        var reader = StreamFrameReader()
        var frames: [[UInt8]] = []
        while case .frame(let offset, let length) = reader.next(buffer.span.bytes) {
            frames.append(Array(buffer[offset..<offset + length]))
        }
        buffer.removeFirst(reader.consumed)
        return frames
    }

    /// Waits for so many datagrams.
    func receive(_ count: Int) -> [[UInt8]] {
        var frames: [[UInt8]] = []
        while true {
            read()
            frames += takeFrames()
            if frames.count >= count || hasEnded || wait(PARLOR_READABLE) == 0 { return frames }
        }
    }

    /// Waits for the other side to close; false: it did not.
    func waitForEnd() -> Bool {
        while !hasEnded, wait(PARLOR_READABLE) != 0 { read() }
        return hasEnded
    }
}

/// A worker's set of connections with a listener on loopback, driven by hand.
final class StreamScene {
    let epoll: Int32
    let listener: Int32
    let address: TransportAddress
    var set: StreamSet
    /// Whom the test says to be somebody's.
    var bound: Set<SocketID> = []
    var now = MediaTime.zero
    private let datagrams: UnsafeMutableBufferPointer<InboundDatagram>

    /// - Parameter capacity: how many datagrams are handed out at once.
    init(_ limits: StreamLimits = StreamLimits(), capacity: Int = 16) throws {
        epoll = parlor_epoll_create()
        var local = Loopback.ipv4
        listener = parlor_tcp_listen(&local, 64)
        try #require(listener >= 0)
        _ = parlor_udp_local_address(listener, &local)
        address = TransportAddress(ipv4: 0x7F00_0001, port: local.port)
        _ = parlor_epoll_add(epoll, listener, 0, PARLOR_READABLE)
        set = StreamSet(epoll: epoll, limits: limits)
        datagrams = .allocate(capacity: capacity)
        let nothing = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        datagrams.initialize(repeating: InboundDatagram(socket: .sharedIPv4, source: .unspecified, bytes: nothing))
    }

    deinit {
        parlor_close(listener)
        parlor_close(epoll)
        datagrams.deallocate()
    }

    /// The set takes the next connection.
    func accept() throws -> StreamSet.Accepted {
        let deadline = ContinuousClock.now + .seconds(10)
        while true {
            let accepted = set.accept(from: listener, now: now) { bound.contains($0) }
            if accepted != .nobody { return accepted }
            try #require(ContinuousClock.now < deadline, "nobody came")
            var ready = parlor_ready()
            _ = parlor_epoll_wait(epoll, &ready, 1, 1_000_000_000)
        }
    }

    /// A client and its connection's name.
    func connect() throws -> (client: TestStream, id: SocketID) {
        let client = try TestStream(to: address)
        guard case .connection(let id) = try accept() else {
            throw Refused()
        }
        return (client, id)
    }

    struct Refused: Error {}

    /// Waits until the connection is ready for one of the events.
    func wait(_ id: SocketID, _ events: UInt32 = PARLOR_READABLE | 0x10) throws {
        let deadline = ContinuousClock.now + .seconds(10)
        var ready = [parlor_ready](repeating: parlor_ready(), count: 64)
        while ContinuousClock.now < deadline {
            let count = parlor_epoll_wait(epoll, &ready, 64, 1_000_000_000)
            for index in 0..<Int(max(count, 0))
            where ready[index].token == id.rawValue && ready[index].events & events != 0 { return }
        }
        throw TimedOut()
    }

    struct TimedOut: Error {}

    /// One read of a connection, cut into datagrams. `nil`: nothing came, or it has ended.
    func read(_ id: SocketID) throws -> [[UInt8]]? {
        guard let place = set.place(of: id), set.read(place) else { return nil }
        var result: [[UInt8]] = []
        while true {
            let count = set.cut(into: datagrams)
            if count == 0 { return result }
            for index in 0..<count {
                #expect(datagrams[index].socket == id)
                result.append(Array(datagrams[index].bytes))
            }
        }
    }

    /// Reads until so many datagrams came.
    func read(_ id: SocketID, until count: Int) throws -> [[UInt8]] {
        var result: [[UInt8]] = []
        while result.count < count {
            try wait(id)
            guard let more = try read(id) else { break }
            result += more
        }
        return result
    }

    /// Sends datagrams to a connection; which were taken, or `nil` if it is gone.
    func send(_ id: SocketID, _ packets: [[UInt8]]) -> [Bool]? {
        let bytes = packets.flatMap { $0 }
        return bytes.withUnsafeBytes { raw -> [Bool]? in
            var segments: [UnsafeRawBufferPointer] = []
            var offset = 0
            for packet in packets {
                segments.append(UnsafeRawBufferPointer(rebasing: raw[offset..<offset + packet.count]))
                offset += packet.count
            }
            return segments.withUnsafeBufferPointer { segments in
                switch set.send(id, segments) {
                case .all: [Bool](repeating: true, count: packets.count)
                case .some: (0..<packets.count).map { set.taken[$0] }
                case .gone: nil
                }
            }
        }
    }

    /// This process's descriptors on the listener's port, the listener among them: the node's ends.
    var openDescriptors: Int {
        (3..<Int32(8192)).count { descriptor in
            var local = parlor_address()
            return parlor_udp_local_address(descriptor, &local) == 0 && local.port == address.port
                && local.is_ipv4 == 1
        }
    }
}
