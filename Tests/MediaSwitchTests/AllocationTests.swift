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

        let replay = DatagramReplay(network)
        for n in 0..<3000 {
            let payload = RoomScene.payload(index: alice.index, keyFrame: n % 100 == 0, size: 100 + n % 1000)
            let packet = alice.peer.seal(
                ssrc: alice.ssrc, index: alice.index, timestamp: alice.timestamp, payloadType: alice.payloadType,
                payload: payload, extensions: withExtensions ? [(id: UInt8(1), bytes: [UInt8(n & 0x7F)])] : [])
            alice.index += 1
            if n % 50 == 0 { alice.index += 1 }  // losses, so that requests leave too
            replay.append(packet, from: alice.peer.address, to: alice.peer.socket)
        }
        replay.run(1000, every: .microseconds(100))
        let counted = replay.countAllocations(2000, every: .microseconds(100))
        #expect(counted.copies >= 2000 * 20)
        #expect(
            counted.number == 0,
            "\(counted.bytes) bytes in \(counted.number) allocations for \(counted.copies) copies")
    }
}
