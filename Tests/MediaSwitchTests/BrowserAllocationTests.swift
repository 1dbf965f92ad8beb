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
        let replay = DatagramReplay(network)
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
            replay.append(packet, from: alice.address, to: .sharedIPv4)
            replay.append(check, from: scene.address(), to: .sharedIPv4)
        }
        replay.run(2000, every: .milliseconds(1))
        let counted = replay.countAllocations(4000, every: .milliseconds(1))
        #expect(counted.copies >= 2000 * 5)
        #expect(network.switchboard.dropCount(.unauthenticCheck) == 3000)
        #expect(
            counted.number == 0,
            "\(counted.bytes) bytes in \(counted.number) allocations for \(counted.copies) copies")
    }
}
