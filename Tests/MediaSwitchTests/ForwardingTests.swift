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
}
