import MediaContract
import MediaSwitch
import MediaTestKit
import MediaWire
import Testing

/// A subscriber's sequence numbers and times: in step, without gaps of our making, none used twice.
@Suite struct NumberingTests {
    @Test(arguments: [SRTPProfile.aesCM128HmacSHA1_80, .aeadAES128GCM])
    func aSubscriberThatComes70000PacketsLateOpensEverything(profile: SRTPProfile) {
        let scene = RoomScene(seed: 3)
        var alice = scene.publisher(room: 1, codec: .opus, payloadType: 111, firstIndex: 65_000, profile: profile)
        let early = scene.subscriber(room: 1, to: alice.track, profile: profile)
        early.peer.keepsPackets = false
        for n in 0..<70_000 {
            scene.publish(&alice, codec: .opus, step: 960)
            if n % 20 == 0 { scene.network.run(for: .milliseconds(1)) }
        }
        scene.network.run(for: .milliseconds(50))
        #expect(early.peer.receivedCount == 70_000)
        let late = scene.subscriber(room: 1, to: alice.track, profile: profile)
        for _ in 0..<100 { scene.publish(&alice, codec: .opus, step: 960) }
        scene.network.run(for: .milliseconds(50))
        #expect(late.peer.received.count == 100)
        #expect(late.peer.failures.isEmpty)
        #expect(late.peer.received.first?.sequence == late.firstSequence)
        #expect(early.peer.failures.isEmpty)
        #expect(early.peer.receivedCount == 70_100)
    }

    @Test func reorderingLossAndDuplicationLeaveNumbersInStep() {
        for seed in UInt64(10)..<20 {
            let scene = RoomScene(seed: seed)
            var alice = scene.publisher(room: 1, codec: .opus, payloadType: 111, firstIndex: 65_400, feedback: [])
            let bob = scene.subscriber(room: 1, to: alice.track)
            scene.network.run(for: .milliseconds(1))
            scene.publish(&alice, codec: .opus)
            scene.network.run(for: .milliseconds(20))
            scene.network.uplink.loss = 0.1
            scene.network.uplink.jitter = .milliseconds(15)
            scene.network.uplink.duplication = 0.1
            for _ in 0..<500 {
                scene.publish(&alice, codec: .opus, step: 960)
                scene.network.run(for: .milliseconds(5))
            }
            scene.network.run(for: .milliseconds(100))
            #expect(bob.peer.failures.isEmpty, "seed \(seed)")
            #expect(Set(bob.peer.received.map(\.sequence)).count == bob.peer.received.count, "seed \(seed)")
            #expect(bob.peer.received.count > 400, "seed \(seed)")
            for packet in bob.peer.received {
                let index = RoomScene.index(of: packet.payload, codec: .opus) ?? 0
                #expect(
                    packet.sequence == bob.firstSequence &+ UInt16(truncatingIfNeeded: index &- 65_400), "seed \(seed)")
            }
        }
    }

    @Test func paddingOnlyPacketsLeaveNoGap() {
        let scene = RoomScene(seed: 50)
        var alice = scene.publisher(room: 1)
        let bob = scene.subscriber(room: 1, to: alice.track)
        scene.publish(&alice, keyFrame: true)
        for n in 0..<60 { scene.publish(&alice, padding: n % 3 == 0 ? 20 : 0, paddingOnly: n % 3 == 0) }
        for _ in 0..<10 { scene.publish(&alice, padding: 7) }
        scene.network.run(for: .milliseconds(50))
        #expect(bob.peer.received.map(\.sequence) == (0..<51).map { bob.firstSequence &+ UInt16($0) })
        // Padding is taken off, and its bit with it (A004).
        #expect(bob.peer.received.suffix(10).allSatisfy { $0.payload.count == 40 })
        #expect(scene.network.snapshot().drops(.paddingOnly) == 20)
    }

    @Test func aPublisherThatStartsAgainUnderAnotherSSRCGoesOnInTheSameNumbers() {
        let scene = RoomScene(seed: 100)
        var alice = scene.publisher(room: 1)
        let bob = scene.subscriber(room: 1, to: alice.track)
        scene.publish(&alice, keyFrame: true)
        for _ in 0..<10 {
            scene.publish(&alice)
            scene.network.run(for: .milliseconds(33))
        }
        var again = RoomScene.Publisher(
            peer: alice.peer, peerID: alice.peerID, track: alice.track, ssrc: 0x2222_2222, payloadType: 96, index: 7,
            timestamp: 4_000_000_000)
        scene.network.run(for: .milliseconds(967))
        scene.publish(&again)
        scene.publish(&again, keyFrame: true)
        for _ in 0..<5 { scene.publish(&again) }
        scene.network.run(for: .milliseconds(50))
        #expect(bob.peer.failures.isEmpty)
        #expect(bob.peer.received.map(\.sequence) == (0..<17).map { bob.firstSequence &+ UInt16($0) })
        let before = bob.peer.received[10].timestamp
        let after = bob.peer.received[11].timestamp
        // One second passed, and one frame was left out while waiting for the key frame.
        #expect(abs(Int(after &- before) - 93_000) < 1000)
    }

    /// Every datagram ever sent under a key: one packet index, one ciphertext.
    @Test(arguments: [Codec.opus, .vp8])
    func aSubscriptionThatComesAgainNeverReusesANumber(codec: Codec) {
        let scene = RoomScene(seed: 110)
        var alice = scene.publisher(room: 1, codec: codec, payloadType: 111)
        let bob = scene.subscriber(room: 1, to: alice.track)
        var sealed: [UInt16: [UInt8]] = [:]
        var reused = 0
        scene.network.tap = { _, _, destination, bytes in
            guard destination == bob.peer.address, bytes[1] & 0x7F == 100 else { return }
            let sequence = UInt16(bytes[2]) << 8 | UInt16(bytes[3])
            if let earlier = sealed.updateValue(Array(bytes), forKey: sequence), earlier != Array(bytes) { reused += 1 }
        }
        var current = bob.subscription
        var sent = 0
        for round in 0..<30 {
            // In some rounds nothing is sent at all, or nothing that a video subscriber may start with.
            for n in 0..<[5, 0, 3][round % 3] {
                scene.publish(&alice, codec: codec, keyFrame: round % 3 == 0 && n == 0, step: 960)
                scene.network.run(for: .milliseconds(20))
                if codec == .opus || round % 3 == 0 { sent += 1 }
            }
            scene.network.run(for: .milliseconds(20))
            scene.network.apply(.unsubscribe(current))
            current = SubscriptionID(UInt64(9000 + round))
            scene.network.apply(
                .subscribe(
                    SubscriptionSpec(
                        id: current, track: alice.track, transport: bob.peer.spec.id, ssrc: bob.ssrc,
                        payloadType: 100, firstSequence: bob.firstSequence, timestampOffset: bob.timestampOffset)))
        }
        #expect(reused == 0)
        #expect(bob.peer.failures.isEmpty)
        #expect(bob.peer.received.map(\.sequence) == (0..<sent).map { bob.firstSequence &+ UInt16($0) })
        let times = bob.peer.received.map(\.timestamp)
        for (a, b) in zip(times, times.dropFirst()) { #expect(Int32(bitPattern: b &- a) > 0) }
    }

    /// Comfort noise, and anything else of a payload type that was not negotiated, leaves no gap and no request behind.
    @Test func packetsOfOtherPayloadTypesLeaveNoGap() {
        let scene = RoomScene(seed: 150)
        var alice = scene.publisher(room: 1, codec: .opus, payloadType: 111)
        let bob = scene.subscriber(room: 1, to: alice.track)
        for n in 0..<45_000 {
            let isNoise = n > 100 && n < 40_100 || n % 10 == 9
            if isNoise {
                alice.peer.publish(
                    scene.network, ssrc: alice.ssrc, index: alice.index, timestamp: alice.timestamp, payloadType: 13,
                    payload: [1])
                alice.index += 1
            } else {
                scene.publish(&alice, codec: .opus, step: 960)
            }
            if n % 20 == 0 { scene.network.run(for: .milliseconds(5)) }
        }
        scene.network.run(for: .milliseconds(50))
        #expect(alice.peer.nackedSequences.isEmpty)
        #expect(
            bob.peer.received.map(\.sequence) == (0..<bob.peer.received.count).map { bob.firstSequence &+ UInt16($0) })
        #expect(bob.peer.received.count > 4000)
        #expect(scene.network.snapshot().drops(.implausibleSequence) == 0)
    }

    /// A publisher whose numbers jump, with media or with padding only, harms nobody's rollover counter, and is heard again at once.
    @Test(arguments: [SRTPProfile.aesCM128HmacSHA1_80, .aeadAES128GCM])
    func jumpsInThePublishersNumbersReachNoSubscriber(profile: SRTPProfile) {
        for (seed, jump) in [3001, 20_000, 30_000, 32_700].enumerated() {
            let scene = RoomScene(seed: UInt64(180 + seed))
            var alice = scene.publisher(room: 1, codec: .opus, payloadType: 111, firstIndex: 60_000, profile: profile)
            let bob = scene.subscriber(room: 1, to: alice.track, profile: profile, firstSequence: 30_000)
            var sent = 0
            for round in 0..<12 {
                for _ in 0..<400 {
                    scene.publish(&alice, codec: .opus, step: 960)
                    sent += 1
                    scene.network.run(for: .milliseconds(5))
                }
                alice.index += UInt64(jump)
                // Sometimes it is padding that jumps, twice.
                if round % 2 == 0 {
                    scene.publish(&alice, codec: .opus, padding: 10, paddingOnly: true)
                    alice.index += UInt64(jump)
                    scene.publish(&alice, codec: .opus, padding: 10, paddingOnly: true)
                }
                scene.network.run(for: .milliseconds(50))
            }
            #expect(bob.peer.failures.isEmpty, "jump \(jump)")
            let isContinuous =
                bob.peer.received.map(\.sequence)
                == (0..<sent).map { bob.firstSequence &+ UInt16(truncatingIfNeeded: $0) }
            #expect(isContinuous, "jump \(jump)")
        }
    }

    /// What comes from before a jump has no place any more: it must not get a number that something else had.
    @Test func latePacketsFromBeforeAJumpAreDropped() {
        let scene = RoomScene(seed: 190)
        var alice = scene.publisher(room: 1, codec: .opus, payloadType: 111)
        let bob = scene.subscriber(room: 1, to: alice.track)
        func datagram(_ index: UInt64) -> (socket: SocketID, source: TransportAddress, bytes: [UInt8]) {
            (
                alice.peer.socket, alice.peer.address,
                alice.peer.seal(
                    ssrc: alice.ssrc, index: index, timestamp: 0, payloadType: 111,
                    payload: RoomScene.payload(codec: .opus, index: index, keyFrame: true))
            )
        }
        for index in UInt64(1000)..<1010 { scene.network.inject([datagram(index)]) }
        scene.network.inject([datagram(1011)])
        scene.network.inject([datagram(1011 + 3500)])
        scene.network.inject([datagram(1010)])
        scene.network.inject([datagram(1012 + 3500)])
        scene.network.run(for: .milliseconds(50))
        #expect(bob.peer.failures.isEmpty)
        let indices = bob.peer.received.compactMap { RoomScene.index(of: $0.payload, codec: .opus) }
        #expect(indices == Array(1000..<1010) + [1011, 4511, 4512])
        #expect(Set(bob.peer.received.map(\.sequence)).count == 13)
        alice.index = 0
    }
}
