import CAllocationCounter
import MediaContract
import MediaSwitch
import MediaTestKit
import MediaWire
import Testing

/// What browsers add to the packet path (layers, repair, arrivals, checks of strangers) allocates nothing, either.
@Suite(.enabled(if: parlor_allocations_available(), "a sanitizer brings its own allocator"))
struct BrowserAllocationTests {
    @Test("layers, transport-wide feedback, loss and a flood of wrong checks")
    func browsersAllocateNothing() throws {
        let scene = BrowserScene(seed: 31)
        let network = scene.network
        let alice = scene.publisher(room: 1)
        let track = scene.track(
            of: alice, encodings: [EncodingSpec(ssrcs: [31], rtxSSRC: 41), EncodingSpec(ssrcs: [32], rtxSSRC: 42)])
        let layers = [
            VirtualEncoding(ssrc: 31, content: 1, seed: 3), VirtualEncoding(ssrc: 32, content: 2, seed: 17),
        ]
        let listeners = (0..<10).map { _ in scene.subscriber(room: 1) }
        for (place, listener) in listeners.enumerated() {
            _ = scene.subscribe(listener, to: track, layer: place % 2 == 0 ? .high : .low)
        }
        for frame in 0..<30 {
            for layer in layers { layer.send(alice, network, isKey: frame % 10 == 0) }
            network.run(for: .milliseconds(33))
        }
        for listener in listeners { network.detach(listener.address) }
        network.detach(alice.address)

        let media = try #require(alice.media)
        var wrong = alice.credentials
        wrong.password = String(repeating: "0", count: 32)
        let check = alice.makeCheck(nominates: true, credentials: wrong)
        var buffers: [(TransportAddress, UnsafeMutableRawBufferPointer)] = []
        var wide: UInt16 = 0
        for n in 0..<3000 {
            let layer = layers[n % 2]
            layer.index += 1
            if n % 50 == 0 { layer.index += 1 }  // losses, so that requests leave too
            layer.timestamp &+= 3000
            wide &+= 1
            let packet = media.seal(
                ssrc: layer.ssrc, index: layer.index, timestamp: layer.timestamp, payloadType: 96, marker: true,
                payload: BrowserScene.frame(
                    picture: UInt16(n), level: UInt8(n & 255), isKey: false, content: layer.content),
                extensions: [(3, [UInt8(wide >> 8), UInt8(wide & 0xFF)]), (1, [UInt8(n & 0x7F)])])
            for (source, bytes) in [(alice.address, packet), (scene.address(), check)] {
                let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
                buffer.copyBytes(from: bytes)
                buffers.append((source, buffer))
            }
        }
        let datagrams = buffers.map { InboundDatagram(socket: .sharedIPv4, source: $0.0, bytes: $0.1) }
        var copies = 0
        var now = network.now

        func run(_ range: Range<Int>) {
            datagrams.withUnsafeBufferPointer { all in
                var position = range.lowerBound
                while position < range.upperBound {
                    let batch = UnsafeBufferPointer(rebasing: all[position..<min(position + 32, range.upperBound)])
                    position += 32
                    now = now + .milliseconds(1)
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
                copies += network.switchboard.outbox.messages[index].segmentCount
                network.switchboard.complete(message: index, .sent)
            }
            network.switchboard.finishFlush()
        }
        run(0..<2000)
        copies = 0
        parlor_allocations_start()
        run(2000..<6000)
        let count = parlor_allocations_stop()
        for (_, buffer) in buffers { buffer.deallocate() }
        #expect(copies >= 2000 * 5)
        #expect(network.switchboard.dropCount(.unauthenticCheck) == 3000)
        #expect(count == 0, "\(parlor_allocations_bytes()) bytes in \(count) allocations for \(copies) copies")
    }
}
