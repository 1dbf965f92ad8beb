import MediaContract
import MediaSwitch
import MediaTestKit
import MediaWire
import Testing

/// Whatever comes in is dropped under a name, changes nothing, and traps nothing.
@Suite struct HostileInputTests {
    @Test func everyFirstByteAndLengthIsSurvivedAndCounted() {
        let scene = RoomScene(seed: 1)
        let alice = scene.publisher(room: 1)
        var count: UInt64 = 0
        for first in 0...255 {
            for length in [0, 1, 2, 7, 8, 11, 12, 13, 20, 24, 28, 40, 1499, 1500, 1501, 4096, 65507] {
                var bytes = [UInt8](repeating: 0, count: length)
                if length > 0 { bytes[0] = UInt8(first) }
                if length > 1 { bytes[1] = UInt8(truncatingIfNeeded: first &* 7) }
                scene.network.inject([(alice.peer.socket, alice.peer.address, bytes)])
                count += 1
            }
        }
        let figures = scene.network.snapshot()
        #expect(figures.drops.reduce(0, +) == count)
        #expect(figures.packetsIn == 0)
        #expect(figures.drops(.tooLong) == 256 * 3)
        #expect(figures.transports.first?.remote == nil)
    }

    @Test func nothingUnauthenticatedMovesALegOrCountsAsLife() {
        let scene = RoomScene(seed: 2)
        var alice = scene.publisher(room: 1, codec: .opus, payloadType: 111)
        let bob = scene.subscriber(room: 1, to: alice.track)
        let stranger = TransportAddress(ipv4: 0xC000_0201, port: 5000)
        let mallory = scene.publisher(room: 1, codec: .opus, payloadType: 111)
        // Right shape, right SSRC, wrong key: before the first real packet, and after.
        func attack() {
            let forged = mallory.peer.seal(
                ssrc: alice.ssrc, index: alice.index, timestamp: alice.timestamp, payloadType: 111,
                payload: [0xFC, 9, 9])
            scene.network.inject([(alice.peer.socket, stranger, forged), (bob.peer.socket, stranger, forged)])
            let report = mallory.peer.sealRTCP { $0.pictureLossIndication(senderSSRC: 1, mediaSSRC: bob.ssrc) }
            scene.network.inject([(alice.peer.socket, stranger, report), (bob.peer.socket, stranger, report)])
        }
        attack()
        #expect(scene.network.snapshot().packetsIn == 0)
        for _ in 0..<10 {
            scene.publish(&alice, codec: .opus)
            attack()
            scene.network.run(for: .milliseconds(20))
        }
        #expect(bob.peer.received.count == 10)
        let figures = scene.network.snapshot()
        #expect(figures.drops(.authenticationFailed) > 0)
        // Once latched, another address is not even opened.
        #expect(figures.drops(.wrongSource) > 0)
        #expect(figures.transports.first { $0.id == alice.peer.spec.id }?.remote == alice.peer.address)
        #expect(figures.transports.first { $0.id == bob.peer.spec.id }?.remote == bob.peer.address)
    }

    @Test func replaysAreForwardedOnce() {
        let scene = RoomScene(seed: 3)
        var alice = scene.publisher(room: 1, codec: .opus, payloadType: 111, firstIndex: 65_300)
        let bob = scene.subscriber(room: 1, to: alice.track)
        var recorded: [[UInt8]] = []
        for _ in 0..<500 {
            recorded.append(
                alice.peer.seal(
                    ssrc: alice.ssrc, index: alice.index, timestamp: alice.timestamp, payloadType: 111,
                    payload: RoomScene.payload(codec: .opus, index: alice.index, keyFrame: true)))
            alice.index += 1
            alice.timestamp &+= 960
        }
        var random = SeededRandom(seed: 3)
        for round in 0..<4 {
            let order = round < 2 ? recorded : recorded.shuffled(using: &random)
            for packet in order { scene.network.inject([(alice.peer.socket, alice.peer.address, packet)]) }
        }
        scene.network.run(for: .milliseconds(50))
        #expect(bob.peer.received.count == 500)
        let figures = scene.network.snapshot()
        #expect(figures.drops(.replayed) + figures.drops(.tooOld) == 1500)
    }

    @Test func bitFlipsAndTruncationsOfRealPacketsNeverPass() {
        for profile in SRTPProfile.allCases {
            let scene = RoomScene(seed: 4)
            var alice = scene.publisher(room: 1, codec: .opus, payloadType: 111, profile: profile)
            let bob = scene.subscriber(room: 1, to: alice.track, profile: profile)
            scene.publish(&alice, codec: .opus)
            scene.network.run(for: .milliseconds(20))
            let packet = alice.peer.seal(
                ssrc: alice.ssrc, index: alice.index, timestamp: 0, payloadType: 111, payload: [0xFC, 1, 2, 3, 4, 5])
            let report = alice.peer.sealRTCP { $0.pictureLossIndication(senderSSRC: 1, mediaSSRC: 2) }
            for original in [packet, report] {
                for length in 0..<original.count {
                    scene.network.inject([(alice.peer.socket, alice.peer.address, Array(original[..<length]))])
                }
                for bit in 0..<original.count * 8 {
                    var flipped = original
                    flipped[bit / 8] ^= 1 << UInt8(bit % 8)
                    scene.network.inject([(alice.peer.socket, alice.peer.address, flipped)])
                }
            }
            #expect(bob.peer.received.count == 1)
            #expect(scene.network.snapshot().packetsIn == 1)
            scene.network.inject([(alice.peer.socket, alice.peer.address, packet)])
            scene.network.run(for: .milliseconds(20))
            #expect(bob.peer.received.count == 2)
        }
    }

    /// A peer with the right key that sends nonsense hurts nobody else.
    @Test func authenticNonsenseEndsNoOtherRoom() {
        for seed in UInt64(0)..<10 {
            var random = SeededRandom(seed: seed)
            let scene = RoomScene(seed: seed)
            let mallory = scene.publisher(
                room: 1, mid: "0", extensions: [.init(id: 1, kind: .audioLevel), .init(id: 4, kind: .mid)])
            let listener = scene.subscriber(room: 1, to: mallory.track)
            var alice = scene.publisher(room: 2, codec: .opus, payloadType: 111)
            let bob = scene.subscriber(room: 2, to: alice.track)
            var index: UInt64 = 0
            for _ in 0..<3000 {
                index += UInt64.random(in: 1...(random.chance(0.05) ? 40_000 : 3), using: &random)
                let payload = (0..<Int.random(in: 0...60, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
                var extensions: [(id: UInt8, bytes: [UInt8])] = [
                    (id: UInt8(1), bytes: [UInt8.random(in: 0...255, using: &random)]),
                    (id: UInt8(4), bytes: Array("0".utf8)),
                ]
                if random.chance(0.5) {
                    let length = Int.random(in: 0...255, using: &random)
                    extensions = [(id: UInt8(200), bytes: [UInt8](repeating: 7, count: length))]
                }
                let packet = mallory.peer.seal(
                    ssrc: UInt32.random(in: 0...20, using: &random), index: index,
                    timestamp: UInt32.random(in: 0...UInt32.max, using: &random),
                    payloadType: random.chance(0.8) ? 96 : UInt8.random(in: 0...63, using: &random), payload: payload,
                    extensions: extensions, padding: random.chance(0.2) ? UInt8.random(in: 1...255, using: &random) : 0)
                scene.network.inject([(mallory.peer.socket, mallory.peer.address, packet)])
                let noise = (0..<Int.random(in: 8...120, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
                for peer in [mallory.peer, listener.peer] {
                    scene.network.inject([(peer.socket, peer.address, Self.sealed(peer, noise: noise, &random))])
                }
            }
            for _ in 0..<50 {
                scene.publish(&alice, codec: .opus)
                scene.network.run(for: .milliseconds(20))
            }
            #expect(bob.peer.received.count == 50, "seed \(seed)")
            #expect(bob.peer.failures.isEmpty && listener.peer.failures.isEmpty, "seed \(seed)")
        }
    }

    /// RTCP that authenticates and means nothing: a believable first block, then noise.
    private static func sealed(_ peer: VirtualPeer, noise: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
        peer.sealRaw(
            [UInt8(0x80 | UInt8.random(in: 0...31, using: &random)), UInt8.random(in: 200...207, using: &random)]
                + noise.dropFirst(2))
    }

    @Test func aRequestFloodIsAnsweredWithinItsBudget() {
        let scene = RoomScene(seed: 5)
        var alice = scene.publisher(room: 1, codec: .opus, payloadType: 111)
        let bob = scene.subscriber(room: 1, to: alice.track)
        for _ in 0..<60 {
            scene.publish(&alice, codec: .opus, size: 1000)
            scene.network.run(for: .milliseconds(20))
        }
        let before = scene.network.snapshot()
        let last = bob.firstSequence &+ 59
        for _ in 0..<1000 {
            let sequences = (0..<10).map { last &- UInt16($0) }.reversed()
            bob.peer.sendRTCP(scene.network) { writer in
                Array(sequences).withUnsafeBufferPointer {
                    writer.nack(senderSSRC: 1, mediaSSRC: bob.ssrc, sequences: $0)
                }
            }
            scene.network.run(for: .milliseconds(1))
        }
        let after = scene.network.snapshot()
        let resent = (after.subscriptions.first?.retransmitted ?? 0) - (before.subscriptions.first?.retransmitted ?? 0)
        #expect(resent > 10)
        // No packet twice in 20 ms, and no more than the bytes of the budget.
        #expect(resent <= 510)
        #expect(after.drops(.retransmissionLimited) > 5000)
        #expect(bob.peer.failures[.replayed] ?? 0 == Int(resent))
    }
}
