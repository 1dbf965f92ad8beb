import MediaContract
import MediaSwitch
import MediaTestKit
import MediaWire
import Testing

/// What is lost is asked for and sent again, and the loss is reported to its publisher.
@Suite struct RepairTests {
    @Test func lossIsRepairedOnBothSides() {
        for seed in UInt64(30)..<36 {
            let scene = RoomScene(seed: seed)
            var alice = scene.publisher(room: 1, codec: .opus, payloadType: 111)
            let bob = scene.subscriber(room: 1, to: alice.track)
            bob.peer.requestsMissing = true
            scene.publish(&alice, codec: .opus)
            scene.network.run(for: .milliseconds(20))
            scene.network.uplink.loss = 0.05
            scene.network.downlink.loss = 0.05
            for _ in 0..<600 {
                scene.publish(&alice, codec: .opus, step: 960)
                scene.network.run(for: .milliseconds(10))
            }
            scene.network.uplink.loss = 0
            scene.network.downlink.loss = 0
            for _ in 0..<80 {
                scene.publish(&alice, codec: .opus, step: 960)
                scene.network.run(for: .milliseconds(10))
            }
            let indices = Set(bob.peer.received.compactMap { RoomScene.index(of: $0.payload, codec: .opus) })
            // The last packets need not have been asked for yet.
            let wanted = Set(UInt64(1000)..<(alice.index - 20))
            let lost = wanted.subtracting(indices).count
            #expect(lost == 0, "seed \(seed)")
            #expect(!alice.peer.nackedSequences.isEmpty, "seed \(seed)")
            #expect(bob.peer.failures.isEmpty, "seed \(seed)")
            let figures = scene.network.snapshot()
            #expect((figures.subscriptions.first?.retransmitted ?? 0) > 0, "seed \(seed)")
        }
    }

    @Test func reorderingAloneAsksForNothing() {
        let scene = RoomScene(seed: 40)
        var alice = scene.publisher(room: 1, codec: .opus, payloadType: 111)
        _ = scene.subscriber(room: 1, to: alice.track)
        scene.network.uplink.jitter = .milliseconds(8)
        for _ in 0..<1000 {
            scene.publish(&alice, codec: .opus, step: 960)
            scene.network.run(for: .milliseconds(3))
        }
        #expect(alice.peer.nackedSequences.isEmpty)
    }

    @Test func whatNeverComesIsAskedForTenTimesAtMost() {
        let scene = RoomScene(seed: 41)
        var alice = scene.publisher(room: 1, codec: .opus, payloadType: 111)
        alice.peer.answersNacks = false
        scene.publish(&alice, codec: .opus)
        alice.index += 1
        for _ in 0..<300 {
            scene.publish(&alice, codec: .opus, step: 960)
            scene.network.run(for: .milliseconds(20))
        }
        #expect(alice.peer.nackedSequences.count == 10)
        #expect(Set(alice.peer.nackedSequences) == [1001])
    }

    @Test func thePublisherHearsOfItsLoss() {
        let scene = RoomScene(seed: 90)
        var alice = scene.publisher(room: 1, codec: .opus, payloadType: 111, firstIndex: 65_500, feedback: [])
        scene.publish(&alice, codec: .opus)
        for n in 0..<400 {
            if n % 10 == 9 { alice.index += 1 }
            scene.publish(&alice, codec: .opus, step: 960)
            scene.network.run(for: .milliseconds(20))
        }
        guard let last = alice.peer.receiverReports.last else {
            Issue.record("no receiver report came")
            return
        }
        #expect(last.ssrc == alice.ssrc)
        #expect(last.highestSequence >> 16 == 1)
        #expect((30...41).contains(last.cumulativeLost))
        #expect((15...35).contains(last.fractionLost))
    }

    @Test func feedbackThatWasNotNegotiatedIsNotHonoured() {
        let scene = RoomScene(seed: 170)
        var alice = scene.publisher(room: 1)
        let bob = scene.subscriber(room: 1, to: alice.track)
        scene.network.apply(.unsubscribe(bob.subscription))
        scene.network.apply(
            .subscribe(
                SubscriptionSpec(
                    id: SubscriptionID(1), track: alice.track, transport: bob.peer.spec.id, ssrc: bob.ssrc,
                    payloadType: 100, firstSequence: 7, timestampOffset: 0)))
        for n in 0..<5 { scene.publish(&alice, keyFrame: n == 0) }
        scene.network.run(for: .seconds(2))
        bob.peer.sendRTCP(scene.network) { writer in
            [9].withUnsafeBufferPointer { writer.nack(senderSSRC: 1, mediaSSRC: bob.ssrc, sequences: $0) }
                && writer.pictureLossIndication(senderSSRC: 1, mediaSSRC: bob.ssrc)
                && writer.pictureLossIndication(senderSSRC: 1, mediaSSRC: 4)
        }
        scene.network.run(for: .milliseconds(50))
        let figures = scene.network.snapshot()
        #expect(figures.drops(.unnegotiatedFeedback) == 2)
        #expect(figures.drops(.unknownSSRC) == 1)
        #expect(alice.peer.pictureLossIndications.isEmpty)
        #expect(bob.peer.received.count == 5)
    }
}
