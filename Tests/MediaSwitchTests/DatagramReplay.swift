import CAllocationCounter
import MediaContract
import MediaSwitch
import MediaTestKit
import MediaWire

/// Datagrams made beforehand, handed to a switchboard in batches as a worker does it, so that what allocates is the switchboard's.
final class DatagramReplay {
    private let network: VirtualNetwork
    private var datagrams: [InboundDatagram] = []
    private var position = 0
    private var now: MediaTime
    private(set) var copies = 0

    init(_ network: VirtualNetwork) {
        self.network = network
        now = network.now
    }

    deinit { for datagram in datagrams { datagram.bytes.deallocate() } }

    func append(_ bytes: [UInt8], from source: TransportAddress, to socket: SocketID) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
        buffer.copyBytes(from: bytes)
        datagrams.append(InboundDatagram(socket: socket, source: source, bytes: buffer))
    }

    /// Hands in the next ones, 32 at a time, with `step` between the batches. Each once: they are opened in place.
    func run(_ count: Int, every step: MediaDuration) {
        let end = min(position + count, datagrams.count)
        datagrams.withUnsafeBufferPointer { all in
            while position < end {
                let batch = UnsafeBufferPointer(rebasing: all[position..<min(position + 32, end)])
                position += batch.count
                now = now + step
                var cursor = 0
                while !network.switchboard.receive(batch, cursor: &cursor, flushed: false, now: now) { flush() }
                network.switchboard.advance(to: now)
                flush()
            }
        }
    }

    /// The same with a count of the copies and of the allocations: none, for a packet path as it should be.
    func countAllocations(_ count: Int, every step: MediaDuration) -> (number: Int, bytes: Int, copies: Int) {
        copies = 0
        parlor_allocations_start()
        run(count, every: step)
        let number = Int(parlor_allocations_stop())
        return (number, Int(parlor_allocations_bytes()), copies)
    }

    private func flush() {
        network.switchboard.prepareFlush()
        for index in 0..<network.switchboard.outbox.messageCount {
            copies += network.switchboard.outbox.messages[index].segmentCount
            network.switchboard.complete(message: index, .sent)
        }
        network.switchboard.finishFlush()
    }
}
