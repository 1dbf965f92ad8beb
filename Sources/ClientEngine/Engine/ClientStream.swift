import CNet
import MediaWire

/// One TCP connection of a client to a passive candidate of the node (RFC 6544), with datagrams in frames (RFC 4571). On the engine's
/// thread only.
final class ClientStream {
    /// Bytes that may wait for the path; beyond, datagrams are dropped, as a full socket does with UDP.
    static let queueLimit = 512 << 10
    private static let readSize = 64 << 10

    enum State {
        case connecting, connected, closed
    }

    let descriptor: Int32
    let remote: TransportAddress
    /// Of the candidate.
    let priority: UInt32
    /// When it began to connect.
    let began: MediaTime
    private(set) var state = State.connecting
    private var incoming: [UInt8] = []
    private var outgoing: [UInt8] = []
    /// Bytes of `outgoing` that have left.
    private var sent = 0

    /// Begins to connect; `nil`: the system refuses at once.
    init?(to remote: TransportAddress, priority: UInt32, now: MediaTime) {
        var address = parlor_address(remote)
        var options = parlor_stream_options(unsent_limit: 64 << 10, user_timeout: 15_000, keepalive_time: 0)
        descriptor = parlor_tcp_connect(&address, &options)
        guard descriptor >= 0 else { return nil }
        self.remote = remote
        self.priority = priority
        began = now
    }

    /// It has become writable, or has failed. True: it stands.
    func finishConnecting() -> Bool {
        guard state == .connecting else { return state == .connected }
        guard parlor_tcp_connected(descriptor) == 0 else { return false }
        state = .connected
        return true
    }

    /// Whether it waits to write.
    var isBlocked: Bool { state == .connecting || sent < outgoing.count }

    /// Queues a datagram. False: there is no room, and it is lost.
    func append(_ datagram: UnsafeRawBufferPointer) -> Bool {
        guard state == .connected, datagram.count <= Int(UInt16.max),
            outgoing.count &- sent &+ datagram.count <= Self.queueLimit
        else { return false }
        outgoing.append(UInt8(truncatingIfNeeded: datagram.count >> 8))
        outgoing.append(UInt8(truncatingIfNeeded: datagram.count))
        outgoing.append(contentsOf: datagram)
        return true
    }

    /// Writes what the path takes. False: the connection is gone.
    func write() -> Bool {
        while sent < outgoing.count {
            let result = outgoing.withUnsafeBytes { bytes in
                var segment = parlor_segment(
                    bytes: bytes.baseAddress?.advanced(by: sent), length: bytes.count &- sent)
                return parlor_stream_send(descriptor, &segment, 1)
            }
            if result == Int64(PARLOR_WOULD_BLOCK) { break }
            guard result > 0 else { return false }
            sent &+= Int(result)
        }
        if sent == outgoing.count {
            outgoing.removeAll(keepingCapacity: true)
            sent = 0
        } else if sent > Self.readSize {
            outgoing.removeFirst(sent)
            sent = 0
        }
        return true
    }

    /// Reads what has come, and hands each datagram on. False: the connection is gone.
    func read(_ body: (UnsafeMutableRawBufferPointer) -> Void) -> Bool {
        let held = incoming.count
        incoming.append(contentsOf: repeatElement(0, count: Self.readSize))
        let result = incoming.withUnsafeMutableBytes { bytes in
            parlor_stream_receive(descriptor, bytes.baseAddress?.advanced(by: held), Self.readSize)
        }
        incoming.removeLast(Self.readSize &- Int(max(result, 0)))
        guard result > 0 else { return result == Int64(PARLOR_WOULD_BLOCK) }
        var reader = StreamFrameReader()
        while true {
            let step = incoming.withUnsafeBytes { reader.next(RawSpan(_unsafeBytes: $0)) }
            guard case .frame(let offset, let length) = step else {
                if case .tooLong = step { return false }
                break
            }
            incoming.withUnsafeMutableBytes { bytes in
                body(UnsafeMutableRawBufferPointer(rebasing: bytes[offset..<(offset &+ length)]))
            }
        }
        incoming.removeFirst(reader.consumed)
        return true
    }

    func close() {
        guard state != .closed else { return }
        state = .closed
        parlor_stream_close(descriptor, 0)
    }
}
