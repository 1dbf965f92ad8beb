import CAllocationCounter
import MediaContract
import MediaSwitch
import MediaTestKit
import MediaWire
import Testing

/// The packet path allocates nothing, per packet and per copy.
@Suite(.enabled(if: parlor_allocations_available(), "a sanitizer brings its own allocator"))
struct AllocationTests {
    @Test func theCounterCounts() {
        parlor_allocations_start()
        let array = [UInt8](repeating: 1, count: 100_000 + Int.random(in: 0...1))
        let count = parlor_allocations_stop()
        #expect(array.count >= 100_000)
        #expect(count >= 1)
    }

    @Test(arguments: SRTPProfile.allCases, [false, true])
    func forwardingAllocatesNothing(profile: SRTPProfile, withExtensions: Bool) {
        let scene = RoomScene(seed: 1)
        let network = scene.network
        let extensions: [HeaderExtensionMapping] = withExtensions ? [.init(id: 1, kind: .audioLevel)] : []
        var alice = scene.publisher(
            room: 1, codec: .vp8, profile: profile, mid: nil, extensions: extensions)
        let listeners = (0..<20).map { _ in
            scene.subscriber(room: 1, to: alice.track, profile: profile, extensions: extensions)
        }
        for _ in 0..<20 {
            scene.publish(&alice, keyFrame: true)
            network.run(for: .milliseconds(100))
        }
        for listener in listeners { network.detach(listener.peer) }

        var buffers: [UnsafeMutableRawBufferPointer] = []
        for n in 0..<3000 {
            let payload = RoomScene.payload(index: alice.index, keyFrame: n % 100 == 0, size: 100 + n % 1000)
            let packet = alice.peer.seal(
                ssrc: alice.ssrc, index: alice.index, timestamp: alice.timestamp, payloadType: alice.payloadType,
                payload: payload, extensions: withExtensions ? [(id: UInt8(1), bytes: [UInt8(n & 0x7F)])] : [])
            alice.index += 1
            if n % 50 == 0 { alice.index += 1 }  // losses, so that requests leave too
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: packet.count, alignment: 16)
            buffer.copyBytes(from: packet)
            buffers.append(buffer)
        }
        let datagrams = buffers.map {
            InboundDatagram(socket: alice.peer.socket, source: alice.peer.address, bytes: $0)
        }
        var copies: UInt64 = 0
        var now = network.now

        func run(_ range: Range<Int>) {
            datagrams.withUnsafeBufferPointer { all in
                var position = range.lowerBound
                while position < range.upperBound {
                    let batch = UnsafeBufferPointer(rebasing: all[position..<min(position + 32, range.upperBound)])
                    position += 32
                    now = now + .microseconds(100)
                    var cursor = 0
                    while !network.switchboard.receive(batch, cursor: &cursor, flushed: false, now: now) { flush() }
                    network.switchboard.advance(to: now)
                    flush()
                }
            }
        }
        func flush() {
            network.switchboard.prepareFlush()
            for index in 0..<network.switchboard.outbox.messageCount {
                copies += UInt64(network.switchboard.outbox.messages[index].segmentCount)
                network.switchboard.complete(message: index, .sent)
            }
            network.switchboard.finishFlush()
        }
        run(0..<1000)
        copies = 0
        parlor_allocations_start()
        run(1000..<3000)
        let count = parlor_allocations_stop()
        #expect(copies >= 2000 * 20)
        #expect(count == 0, "\(parlor_allocations_bytes()) bytes in \(count) allocations for \(copies) copies")
        for buffer in buffers { buffer.deallocate() }
    }
}
