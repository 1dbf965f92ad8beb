import MediaContract
import MediaSwitch
import MediaTestKit
import MediaWire
import Testing

@Suite struct ForwardingTests {
    @Test(arguments: SRTPProfile.allCases)
    func aPacketReachesEverySubscriberUnderItsOwnNumbers(profile: SRTPProfile) {
        let scene = RoomScene(seed: 1)
        var alice = scene.publisher(room: 1, profile: profile)
        let listeners = (0..<5).map {
            scene.subscriber(room: 1, to: alice.track, payloadType: UInt8(100 + $0), profile: profile)
        }
        for n in 0..<50 {
            scene.publish(&alice, keyFrame: n == 0)
            scene.network.run(for: .milliseconds(20))
        }
        scene.network.run(for: .milliseconds(50))
        for (position, listener) in listeners.enumerated() {
            let got = listener.peer.received
            #expect(got.count == 50)
            for (n, packet) in got.enumerated() {
                #expect(packet.ssrc == listener.ssrc)
                #expect(packet.sequence == listener.firstSequence &+ UInt16(n))
                #expect(packet.timestamp == 1000 &+ UInt32(n) * 3000 &+ listener.timestampOffset)
                #expect(packet.payloadType == UInt8(100 + position))
                #expect(packet.marker)
                #expect(packet.payload == RoomScene.payload(index: 1000 + UInt64(n), keyFrame: n == 0))
            }
            #expect(listener.peer.failures.isEmpty)
        }
    }

    @Test func aVideoSubscriberStartsAtAKeyFrameAndOneIsAskedForAtOnce() {
        let scene = RoomScene(seed: 2)
        var alice = scene.publisher(room: 1)
        scene.publish(&alice, keyFrame: true)
        for _ in 0..<20 { scene.publish(&alice) }
        scene.network.run(for: .milliseconds(20))
        let late = scene.subscriber(room: 1, to: alice.track)
        scene.network.inject([])
        scene.network.run(for: .milliseconds(30))
        #expect(alice.peer.pictureLossIndications.count == 1)
        for _ in 0..<5 { scene.publish(&alice) }
        scene.network.run(for: .milliseconds(20))
        #expect(late.peer.received.isEmpty)
        scene.publish(&alice, keyFrame: true)
        scene.publish(&alice)
        scene.network.run(for: .milliseconds(20))
        #expect(late.peer.received.map(\.sequence) == [late.firstSequence, late.firstSequence &+ 1])
        #expect(scene.network.snapshot().drops(.awaitingKeyFrame) == 5)
    }

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

    @Test func extensionsArePassedUnderTheSubscribersIdsAndOthersAreNot() {
        let scene = RoomScene(seed: 70)
        var alice = scene.publisher(
            room: 1, codec: .opus, payloadType: 111,
            extensions: [
                .init(id: 1, kind: .audioLevel), .init(id: 3, kind: .transportWideCC), .init(id: 4, kind: .mid),
            ])
        let bob = scene.subscriber(
            room: 1, to: alice.track, extensions: [.init(id: 7, kind: .audioLevel), .init(id: 2, kind: .mid)], mid: "a0"
        )
        let carol = scene.subscriber(room: 1, to: alice.track)
        let dave = scene.subscriber(room: 1, to: alice.track, extensions: [.init(id: 20, kind: .audioLevel)])
        scene.publish(
            &alice, codec: .opus,
            extensions: [(1, [0x85]), (3, [0, 9]), (4, Array("0".utf8)), (9, [1, 2, 3])])
        scene.network.run(for: .milliseconds(20))
        #expect(bob.peer.received.first?.extensions == [7: [0x85], 2: Array("a0".utf8)])
        #expect(carol.peer.received.first?.extensions == [:])
        #expect(dave.peer.received.first?.extensions == [20: [0x85]])
    }

    @Test func senderReportsComeInTheSubscribersNumbersAndRoundTripIsMeasured() {
        let scene = RoomScene(seed: 80)
        var alice = scene.publisher(room: 1, codec: .opus, payloadType: 111)
        let bob = scene.subscriber(room: 1, to: alice.track)
        scene.network.uplink.delay = .milliseconds(10)
        scene.network.downlink.delay = .milliseconds(30)
        let ntp = NTPTime(unixNanoseconds: 1_700_000_000_000_000_000)
        var reportTime = scene.network.now
        for _ in 0..<200 {
            if alice.index == 1005 {
                let timestamp = alice.timestamp
                reportTime = scene.network.now
                alice.peer.sendRTCP(scene.network) {
                    $0.senderReport(
                        RTCPSenderReport(
                            ssrc: alice.ssrc, ntp: ntp, rtpTimestamp: timestamp, packetCount: 0, octetCount: 0))
                }
            }
            scene.publish(&alice, codec: .opus, step: 960)
            scene.network.run(for: .milliseconds(20))
        }
        guard let (report, time) = bob.peer.senderReports.last else {
            Issue.record("no sender report came")
            return
        }
        #expect(report.ssrc == bob.ssrc)
        #expect(report.packetCount > 100)
        // The wall clock and the timestamp moved on by the same time, which is the time that passed, less the way down and up.
        let ticks = report.rtpTimestamp &- 5800 &- bob.timestampOffset
        let wall = Double(report.ntp.bits &- ntp.bits) / 4_294_967_296
        #expect(abs(wall - Double(ticks) / 48_000) < 0.001)
        #expect(abs(wall - ((time - reportTime).seconds - 0.040)) < 0.002)

        bob.peer.sendRTCP(scene.network) {
            let block = RTCPReportBlock(
                ssrc: bob.ssrc, fractionLost: 64, cumulativeLost: 5, highestSequence: 7, jitter: 0,
                lastSenderReport: report.ntp.compact,
                delaySinceLastSenderReport: UInt32((scene.network.now - time).seconds * 65536))
            return Self.write(block, &$0)
        }
        scene.network.run(for: .milliseconds(20))
        let figures = scene.network.snapshot().subscriptions.first
        #expect(figures?.fractionLost == 0.25)
        #expect(abs((figures?.roundTrip?.seconds ?? 0) - 0.040) < 0.002)
    }

    private static func write(_ block: RTCPReportBlock, _ writer: inout RTCPWriter) -> Bool {
        [block].withUnsafeBufferPointer { writer.receiverReport(ssrc: 1, blocks: $0) }
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

    @Test func unknownSSRCsAreBoundByMidElsePayloadTypeAndTooManyAreRefused() {
        let scene = RoomScene(seed: 120)
        let alice = scene.publisher(
            room: 1, codec: .opus, payloadType: 111, mid: "0", extensions: [.init(id: 4, kind: .mid)])
        let second = TrackID(scene.number())
        scene.network.apply(
            .addTrack(
                TrackSpec(
                    id: second, transport: alice.peer.spec.id, codec: .opus, payloadType: 111, mid: "1",
                    extensions: [.init(id: 4, kind: .mid)])))
        let bob = scene.subscriber(room: 1, to: alice.track)
        let carol = scene.subscriber(room: 1, to: second)
        func send(ssrc: UInt32, index: UInt64, mid: String?) {
            alice.peer.publish(
                scene.network, ssrc: ssrc, index: index, timestamp: 0, payloadType: 111,
                payload: RoomScene.payload(codec: .opus, index: index, keyFrame: true),
                extensions: mid.map { [(id: UInt8(4), bytes: Array($0.utf8))] } ?? [])
        }
        send(ssrc: 1, index: 1, mid: "0")
        send(ssrc: 2, index: 1, mid: "1")
        send(ssrc: 3, index: 1, mid: nil)
        send(ssrc: 1, index: 2, mid: nil)
        send(ssrc: 2, index: 2, mid: nil)
        scene.network.run(for: .milliseconds(20))
        #expect(bob.peer.received.count == 2)
        #expect(carol.peer.received.count == 2)
        #expect(scene.network.snapshot().drops(.ambiguousPayloadType) == 1)
        for ssrc in UInt32(10)..<60 { send(ssrc: ssrc, index: 1, mid: "0") }
        scene.network.run(for: .milliseconds(20))
        #expect(scene.network.snapshot().drops(.tooManySSRCs) > 30)
    }

    /// Whoever waits for a key frame makes the node ask for one: also if the first packet was lost, came late, or a publisher started
    /// again in the middle of a picture.
    @Test func whoWaitsMakesTheNodeAsk() {
        for scenario in 0..<3 {
            let scene = RoomScene(seed: 130)
            var alice = scene.publisher(room: 1)
            let bob = scene.subscriber(room: 1, to: alice.track)
            switch scenario {
            case 0:
                // The key frame is lost.
                alice.index += 1
            case 1:
                // Reordered: the second packet of the key frame before the first.
                alice.index += 1
                scene.publish(&alice)
                scene.network.run(for: .milliseconds(10))
                alice.index -= 2
                scene.publish(&alice, keyFrame: true)
                alice.index += 1
            default:
                scene.publish(&alice, keyFrame: true)
                scene.network.run(for: .seconds(3))
                #expect(bob.peer.received.count == 1)
                alice = RoomScene.Publisher(
                    peer: alice.peer, peerID: alice.peerID, track: alice.track, ssrc: 0x3333_3333, payloadType: 96,
                    index: 5)
            }
            for _ in 0..<3 { scene.publish(&alice) }
            scene.network.run(for: .milliseconds(50))
            if scenario != 1 { #expect(alice.peer.pictureLossIndications.count == 1, "scenario \(scenario)") }
            let before = bob.peer.received.count
            scene.publish(&alice, keyFrame: true)
            scene.network.run(for: .milliseconds(50))
            #expect(bob.peer.received.count == before + 1, "scenario \(scenario)")
            #expect(bob.peer.failures.isEmpty, "scenario \(scenario)")
        }
    }

    @Test func declaredSSRCsNeedNeitherMidNorAPayloadTypeOfTheirOwn() {
        let scene = RoomScene(seed: 140)
        let alice = scene.publisher(room: 1, codec: .opus, payloadType: 111)
        scene.network.apply(.removeTrack(alice.track))
        let tracks = [TrackID(scene.number()), TrackID(scene.number())]
        for (place, track) in tracks.enumerated() {
            scene.network.apply(
                .addTrack(
                    TrackSpec(
                        id: track, transport: alice.peer.spec.id, codec: .opus, payloadType: 111,
                        ssrcs: [UInt32(500 + place)])))
        }
        let listeners = tracks.map { scene.subscriber(room: 1, to: $0) }
        for n in 0..<20 {
            alice.peer.publish(
                scene.network, ssrc: UInt32(500 + n % 2), index: UInt64(100 + n), timestamp: 0, payloadType: 111,
                payload: RoomScene.payload(codec: .opus, index: UInt64(n), keyFrame: true))
        }
        scene.network.run(for: .milliseconds(50))
        #expect(listeners.map { $0.peer.received.count } == [10, 10])
        #expect(scene.network.snapshot().drops(.ambiguousPayloadType) == 0)
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

    @Test func anAuthenticPacketMovesAReceivingLegToAnotherPortOfItsHostOnly() {
        let scene = RoomScene(seed: 160)
        var alice = scene.publisher(room: 1, codec: .opus, payloadType: 111)
        let bob = scene.subscriber(room: 1, to: alice.track)
        func destination() -> TransportAddress? {
            scene.network.snapshot().transports.first { $0.id == bob.peer.spec.id }?.remote
        }
        scene.publish(&alice, codec: .opus)
        scene.network.run(for: .milliseconds(20))
        func report(from source: TransportAddress) {
            let report = bob.peer.sealRTCP { $0.receiverReport(ssrc: 1) }
            scene.network.inject([(bob.peer.socket, source, report)])
        }
        report(from: TransportAddress(ipv4: 0xCB00_7109, port: 4000))
        #expect(destination() == bob.peer.address)
        report(from: bob.peer.address.with(port: 0))
        #expect(destination() == bob.peer.address)
        report(from: bob.peer.address.with(port: 4001))
        #expect(destination() == bob.peer.address.with(port: 4001))
        // A sending leg stays where it was first heard.
        let moved = alice.peer.seal(
            ssrc: alice.ssrc, index: alice.index, timestamp: 0, payloadType: 111, payload: [0xFC, 1])
        scene.network.inject([(alice.peer.socket, alice.peer.address.with(port: 9), moved)])
        #expect(scene.network.snapshot().drops(.wrongSource) == 2)
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
