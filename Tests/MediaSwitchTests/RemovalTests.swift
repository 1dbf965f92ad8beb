import MediaContract
import MediaSwitch
import MediaTestKit
import MediaWire
import Testing

/// Removal with a ticket: when it is answered, not one packet more.
@Suite struct RemovalTests {
    @Test func afterTheTicketNothingOfOrToThePeerLeaves() {
        for seed in UInt64(0)..<20 {
            let scene = RoomScene(seed: seed)
            let network = scene.network
            var alice = scene.publisher(room: 1, codec: .opus, payloadType: 111)
            var bob = scene.publisher(room: 1, codec: .opus, payloadType: 111)
            let listener = scene.subscriber(room: 1, to: alice.track)
            let victim = scene.subscriber(room: 1, to: bob.track)
            for _ in 0..<20 {
                scene.publish(&alice, codec: .opus)
                scene.publish(&bob, codec: .opus)
                network.run(for: .milliseconds(5))
            }
            var log: [(socket: SocketID, destination: TransportAddress, isRTCP: Bool)] = []
            network.tap = { _, socket, destination, bytes in
                log.append((socket, destination, bytes.count > 1 && (200...206).contains(bytes[1])))
            }
            // Packets of alice are taken in and wait in the outbox when both are removed.
            let packet = alice.peer.seal(
                ssrc: alice.ssrc, index: alice.index, timestamp: alice.timestamp, payloadType: 111,
                payload: [0xFC, 1, 2])
            network.sendOutcome = { _ in .blocked }
            network.inject([(alice.peer.socket, alice.peer.address, packet)])
            #expect(network.switchboard.outbox.count > 0)
            network.sendOutcome = nil
            network.apply(.removePeer(alice.peerID, ticket: RemovalTicket(1)))
            network.apply(.removePeer(victim.peerID, ticket: RemovalTicket(2)))
            #expect(network.takeEvents().allSatisfy { if case .removed = $0 { false } else { true } })
            network.flush()
            let tickets = network.takeEvents().compactMap {
                if case .removed(let ticket) = $0 { ticket.rawValue } else { nil }
            }
            #expect(tickets == [1, 2], "seed \(seed)")
            // What left with the removal: one goodbye each, and nothing of alice's to the listener.
            #expect(log.count == 2 && log.allSatisfy(\.isRTCP), "seed \(seed)")
            #expect(Set(log.map(\.destination)) == [alice.peer.address, victim.peer.address], "seed \(seed)")
            log = []
            for _ in 0..<50 {
                scene.publish(&alice, codec: .opus)
                scene.publish(&bob, codec: .opus)
                network.run(for: .milliseconds(5))
            }
            #expect(log.allSatisfy { $0.destination != alice.peer.address && $0.destination != victim.peer.address })
            #expect(log.allSatisfy { $0.destination != listener.peer.address || $0.isRTCP })
            #expect(!alice.peer.goodbyes.isEmpty && !victim.peer.goodbyes.isEmpty, "seed \(seed)")
            #expect(victim.peer.goodbyes.contains(victim.ssrc), "seed \(seed)")
            #expect(Set(network.closedSockets) == [alice.peer.socket, victim.peer.socket], "seed \(seed)")
            #expect(network.snapshot().drops(.unknownSocket) > 0)
        }
    }

    @Test func aTicketForAnUnknownPeerIsAnsweredToo() {
        let scene = RoomScene(seed: 1)
        scene.network.applyAndFlush(.removePeer(PeerID(404), ticket: RemovalTicket(9)))
        let answered = scene.network.takeEvents().contains {
            if case .removed(let ticket) = $0 { ticket.rawValue == 9 } else { false }
        }
        #expect(answered)
    }

    @Test func aGoodbyeThatCannotLeaveHoldsNothingUp() {
        let scene = RoomScene(seed: 2)
        var alice = scene.publisher(room: 1, codec: .opus, payloadType: 111)
        let bob = scene.subscriber(room: 1, to: alice.track)
        scene.publish(&alice, codec: .opus)
        scene.network.run(for: .milliseconds(20))
        scene.network.sendOutcome = { _ in .blocked }
        scene.network.applyAndFlush(.removePeer(bob.peerID, ticket: RemovalTicket(3)))
        let answered = scene.network.takeEvents().contains {
            if case .removed(let ticket) = $0 { ticket.rawValue == 3 } else { false }
        }
        #expect(answered)
        #expect(scene.network.closedSockets == [bob.peer.socket])
        #expect(scene.network.switchboard.outbox.count == 0)
    }

    @Test func aSilentSendingLegIsReportedOnceAndExactly() {
        let scene = RoomScene(seed: 3)
        var alice = scene.publisher(room: 1, codec: .opus, payloadType: 111, silenceLimit: .seconds(30))
        var silentAt: [MediaTime] = []
        for second in 0..<100 {
            if second < 20 { scene.publish(&alice, codec: .opus) }
            scene.network.run(for: .seconds(1))
            for event in scene.network.takeEvents() {
                if case .transportSilent = event { silentAt.append(scene.network.now) }
            }
        }
        #expect(silentAt.count == 1)
        // The last packet left at second 19; the check is each whole second.
        #expect(silentAt.first.map { abs(($0 - MediaTime(nanoseconds: 1_000_000_000)).seconds - 50) < 1.1 } == true)
    }

    @Test func aReceivingLegIsGoneAfterTenSecondsOfRefusalsAndNotBefore() {
        let scene = RoomScene(seed: 5)
        var alice = scene.publisher(room: 1, codec: .opus, payloadType: 111)
        let bob = scene.subscriber(room: 1, to: alice.track)
        func unreachable() -> Int {
            scene.network.flush()
            return scene.network.takeEvents().filter { if case .transportUnreachable = $0 { true } else { false } }
                .count
        }
        func refuse(seconds: Int, at destination: TransportAddress) {
            for _ in 0..<seconds * 10 {
                scene.publish(&alice, codec: .opus, step: 4800)
                scene.network.run(for: .milliseconds(100))
                scene.network.switchboard.socketUnreachable(
                    bob.peer.socket, destination: destination, now: scene.network.now)
            }
        }
        // A player that takes eight seconds to start.
        refuse(seconds: 8, at: bob.peer.address)
        #expect(unreachable() == 0)
        // It stops much later.
        scene.network.run(for: .seconds(60))
        refuse(seconds: 9, at: bob.peer.address)
        #expect(unreachable() == 0)
        // A forged refusal names another destination, or comes where nothing was sent.
        refuse(seconds: 20, at: alice.peer.address)
        for _ in 0..<300 {
            scene.network.switchboard.socketUnreachable(
                bob.peer.socket, destination: bob.peer.address, now: scene.network.now)
            scene.network.run(for: .milliseconds(100))
        }
        #expect(unreachable() == 0)
        refuse(seconds: 15, at: bob.peer.address)
        #expect(unreachable() == 1)
        // A publisher that refuses our reports is not judged by it.
        for _ in 0..<300 {
            scene.network.switchboard.socketUnreachable(
                alice.peer.socket, destination: alice.peer.address, now: scene.network.now)
            scene.network.run(for: .milliseconds(100))
        }
        #expect(unreachable() == 0)
    }

    @Test func joiningAndLeavingTenThousandTimesLeavesNothing() {
        let scene = RoomScene(seed: 4)
        var alice = scene.publisher(room: 1, codec: .opus, payloadType: 111)
        for n in 0..<10_000 {
            let bob = scene.subscriber(room: 1, to: alice.track)
            if n % 3 == 0 { scene.publish(&alice, codec: .opus, step: 960) }
            if n % 5 == 0 { scene.network.run(for: .milliseconds(5)) }
            scene.network.detach(bob.peer)
            scene.network.apply(
                n % 2 == 0
                    ? .removePeer(bob.peerID, ticket: RemovalTicket(UInt64(n))) : .removeTransport(bob.peer.spec.id))
            if n % 2 == 1 { scene.network.apply(.removePeer(bob.peerID, ticket: RemovalTicket(UInt64(n)))) }
            if n % 7 == 0 { scene.network.flush() }
        }
        scene.network.run(for: .seconds(2))
        #expect(scene.network.switchboard.peerCount == 1)
        #expect(scene.network.switchboard.subscriptionCount == 0)
        #expect(scene.network.closedSockets.count == 10_000)
        #expect(Set(scene.network.closedSockets).count == 10_000)
    }
}
