import CNet
import MediaWire

/// Places that packets go to and nobody reads from: the smallest receive buffers there are, so that the kernel drops what comes
/// as cheaply as it can, always the same way.
final class Sinks {
    private(set) var addresses: [TransportAddress] = []
    private var descriptors: [Int32] = []

    func reserve(_ count: Int) throws(BenchError) {
        while addresses.count < count {
            let (descriptor, address) = try Sinks.open(receiveBuffer: 1, sendBuffer: 0, gro: false)
            descriptors.append(descriptor)
            addresses.append(address)
        }
    }

    deinit { for descriptor in descriptors { parlor_close(descriptor) } }

    /// A socket on loopback with a port of the kernel's choice.
    static func open(
        receiveBuffer: Int32, sendBuffer: Int32, gro: Bool
    ) throws(BenchError) -> (Int32, TransportAddress) {
        var local = parlor_address(high: 0, low: 0x7F00_0001, port: 0, is_ipv4: 1)
        var options = parlor_udp_options(
            receive_buffer: receiveBuffer, send_buffer: sendBuffer, gro: gro ? 1 : 0, error_queue: 0)
        var socket = parlor_udp_socket()
        let result = parlor_udp_open(&local, &options, &socket)
        guard result == 0, parlor_udp_local_address(socket.descriptor, &local) == 0 else {
            throw BenchError("no UDP socket on loopback: error \(-result)")
        }
        return (socket.descriptor, TransportAddress(ipv4: UInt32(truncatingIfNeeded: local.low), port: local.port))
    }
}

/// Sends a publisher's batches to one address.
final class Feeder {
    let descriptor: Int32
    let address: TransportAddress
    private let sender: OpaquePointer
    private let segmentation: Bool

    init(segmentation: Bool) throws(BenchError) {
        let (descriptor, address) = try Sinks.open(receiveBuffer: 0, sendBuffer: 1 << 20, gro: false)
        self.descriptor = descriptor
        self.address = address
        guard let sender = parlor_sender_create(UInt32(Cell.batch), UInt32(Cell.batch)) else {
            throw BenchError("no memory for message headers")
        }
        self.sender = sender
        self.segmentation = segmentation
    }

    deinit {
        parlor_sender_destroy(sender)
        parlor_close(descriptor)
    }

    /// All that `publisher` holds; with segmentation in runs of 16, which the receiver gets as one.
    func send(_ publisher: borrowing Publisher, to target: TransportAddress) throws(BenchError) {
        guard let messages = parlor_sender_messages(sender), let segments = parlor_sender_segments(sender) else {
            return
        }
        let run = segmentation ? 16 : 1
        let count = Cell.batch / run
        for message in 0..<count {
            messages[message] = parlor_outgoing(
                destination: parlor_address(high: 0, low: target.low, port: target.port, is_ipv4: 1),
                first_segment: UInt32(message * run), segment_count: UInt32(run),
                segment_size: run > 1 ? UInt32(publisher.sealedLength) : 0)
        }
        for place in 0..<Cell.batch {
            let packet = publisher.packet(place)
            segments[place] = parlor_segment(bytes: packet.baseAddress, length: packet.count)
        }
        var done = 0
        while done < count {
            let result = parlor_sender_send(sender, descriptor, UInt32(done), UInt32(count - done))
            guard result > 0 else { throw BenchError("the feeder could not send: error \(-result)") }
            done += Int(result)
        }
    }
}

struct BenchError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
