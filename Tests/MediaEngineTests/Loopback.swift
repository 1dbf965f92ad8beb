import CNet
import MediaWire
import Testing

/// A UDP socket on loopback for tests, closed when it goes.
final class Loopback {
    let descriptor: Int32
    let address: parlor_address
    let granted: parlor_udp_socket

    static let ipv4 = parlor_address(high: 0, low: 0x7F00_0001, port: 0, is_ipv4: 1)
    static let ipv6 = parlor_address(high: 0, low: 1, port: 0, is_ipv4: 0)

    init(
        _ local: parlor_address, receiveBuffer: Int32 = 1 << 20, sendBuffer: Int32 = 1 << 20, gro: Bool = false,
        errorQueue: Bool = false
    ) throws {
        var local = local
        var options = parlor_udp_options(
            receive_buffer: receiveBuffer, send_buffer: sendBuffer, gro: gro ? 1 : 0, error_queue: errorQueue ? 1 : 0)
        var opened = parlor_udp_socket()
        let result = parlor_udp_open(&local, &options, &opened)
        guard result == 0 else { throw Failed(result: result) }
        descriptor = opened.descriptor
        granted = opened
        var bound = parlor_address()
        _ = parlor_udp_local_address(opened.descriptor, &bound)
        address = bound
    }

    deinit { parlor_close(descriptor) }

    struct Failed: Error, Equatable { let result: Int32 }

    /// Waits until the socket shows one of the events; 0 after the deadline.
    func wait(for events: UInt32, seconds: Double = 5) -> UInt32 {
        let epoll = parlor_epoll_create()
        defer { parlor_close(epoll) }
        _ = parlor_epoll_add(epoll, descriptor, 7, events)
        var ready = parlor_ready()
        let count = parlor_epoll_wait(epoll, &ready, 1, Int64(seconds * 1e9))
        return count == 1 && ready.token == 7 ? ready.events : 0
    }
}

extension parlor_address {
    func isEqual(_ other: parlor_address) -> Bool {
        high == other.high && low == other.low && port == other.port && is_ipv4 == other.is_ipv4
    }
}

/// Sends datagrams, as messages of several segments.
final class TestSender {
    private let sender: OpaquePointer
    private let storage: UnsafeMutableRawBufferPointer
    static let messages = 64
    static let segments = 1024

    init() throws {
        sender = try #require(parlor_sender_create(UInt32(Self.messages), UInt32(Self.segments)))
        storage = .allocate(byteCount: 4 << 20, alignment: 16)
    }

    deinit {
        parlor_sender_destroy(sender)
        storage.deallocate()
    }

    /// One sendmmsg of the given messages, each with its datagrams; the result of the call.
    func send(_ messages: [[[UInt8]]], to destination: parlor_address, from socket: Loopback) throws -> Int32 {
        let plan = try #require(parlor_sender_messages(sender))
        let segments = try #require(parlor_sender_segments(sender))
        var used = 0
        var offset = 0
        for (index, datagrams) in messages.enumerated() {
            plan[index] = parlor_outgoing(
                destination: destination, first_segment: UInt32(used), segment_count: UInt32(datagrams.count),
                segment_size: datagrams.count > 1 ? UInt32(datagrams[0].count) : 0)
            for datagram in datagrams {
                let place = UnsafeMutableRawBufferPointer(rebasing: storage[offset..<offset + datagram.count])
                place.copyBytes(from: datagram)
                segments[used] = parlor_segment(bytes: place.baseAddress, length: datagram.count)
                used += 1
                offset += datagram.count
            }
        }
        return parlor_sender_send(sender, socket.descriptor, 0, UInt32(messages.count))
    }
}

/// Receives datagrams, cutting GRO runs apart.
final class TestReceiver {
    private let receiver: OpaquePointer
    private(set) var longestRun = 0
    private(set) var truncated = 0

    init(slots: UInt32 = 64, slotSize: UInt32 = PARLOR_GRO_SLOT) throws {
        receiver = try #require(parlor_receiver_create(slots, slotSize))
    }

    deinit { parlor_receiver_destroy(receiver) }

    func receiveNow(_ socket: Loopback) -> Int32 { parlor_receiver_receive(receiver, socket.descriptor) }

    /// Everything up to `count` datagrams, or what came until the deadline.
    func receive(_ count: Int, on socket: Loopback) throws -> [(bytes: [UInt8], source: parlor_address)] {
        var result: [(bytes: [UInt8], source: parlor_address)] = []
        while result.count < count {
            guard socket.wait(for: PARLOR_READABLE) != 0 else { break }
            let received = parlor_receiver_receive(receiver, socket.descriptor)
            guard received > 0 else {
                #expect(received == PARLOR_WOULD_BLOCK || received == PARLOR_CONNECTION_REFUSED)
                continue
            }
            let messages = try #require(parlor_receiver_messages(receiver))
            for index in 0..<Int(received) {
                let message = messages[index]
                truncated += Int(message.truncated)
                let length = Int(message.length)
                let step = message.segment_size == 0 ? max(length, 1) : Int(message.segment_size)
                var run = 0
                for offset in stride(from: 0, to: max(length, 1), by: step) {
                    let bytes = UnsafeRawBufferPointer(start: message.bytes + offset, count: min(step, length - offset))
                    result.append((Array(bytes), message.source))
                    run += 1
                }
                longestRun = max(longestRun, run)
            }
        }
        return result
    }
}
