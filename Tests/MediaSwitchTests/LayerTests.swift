import MediaContract
import MediaSwitch
import MediaTestKit
import MediaWire
import Testing

@Suite("Layers, repair and feedback of WebRTC tracks")
struct LayerTests {
    /// Two layers, by SSRC: 1 is the small picture.
    private func layered(_ seed: UInt64, rids: Bool = false) -> (
        BrowserScene, VirtualBrowser, TrackID, [VirtualEncoding]
    ) {
        let scene = BrowserScene(seed: seed)
        let alice = scene.publisher(room: 1)
        let encodings =
            rids
            ? [EncodingSpec(rid: "lo"), EncodingSpec(rid: "hi")]
            : [EncodingSpec(ssrcs: [31], rtxSSRC: 41), EncodingSpec(ssrcs: [32], rtxSSRC: 42)]
        let track = scene.track(of: alice, encodings: encodings)
        return (
            scene, alice, track,
            [
                VirtualEncoding(ssrc: 31, rid: rids ? "lo" : nil, content: 1, seed: 3),
                VirtualEncoding(ssrc: 32, rid: rids ? "hi" : nil, content: 2, seed: 17),
            ]
        )
    }

    private func changes(_ events: [MediaEvent]) -> [LayerPreference] {
        events.compactMap { if case .layerChanged(_, let layer) = $0 { layer } else { nil } }
    }

    /// What a decoder would stumble over: numbers, times and picture ids must go on.
    private func expectContinuous(_ received: [VirtualPeer.Received], _ seed: UInt64) {
        for (before, after) in zip(received, received.dropFirst()) {
            #expect(after.sequence == before.sequence &+ 1, "seed \(seed)")
            #expect(Int32(bitPattern: after.timestamp &- before.timestamp) > 0, "seed \(seed)")
            let ids = [before, after].map { UInt16($0.payload[2]) << 8 | UInt16($0.payload[3]) }
            #expect((ids[1] &- ids[0]) & 0x7FFF == 1, "seed \(seed)")
            #expect(after.payload[4] &- before.payload[4] == 1, "seed \(seed)")
        }
    }

    @Test("one SSRC, one layer at a time, switched on key frames without a seam", arguments: [false, true])
    func switching(_ rids: Bool) throws {
        let (scene, alice, track, layers) = layered(21, rids: rids)
        let bob = scene.subscriber(room: 1)
        let subscription = scene.subscribe(bob, to: track, layer: .high)
        func run(_ frames: Int) {
            for _ in 0..<frames {
                for (place, layer) in layers.enumerated() {
                    let asked = alice.media?.keyFrameRequests.last == layer.ssrc
                    layer.send(
                        alice, scene.network, isKey: asked && layer.index % 5 == UInt64(place), named: rids)
                }
                scene.network.run(for: .milliseconds(33))
            }
        }
        for layer in layers { layer.send(alice, scene.network, isKey: true, named: rids) }
        run(10)
        let first = try #require(bob.media).received
        #expect(Set(first.suffix(5).map { $0.payload[6] }) == [2])
        scene.network.apply(.setLayer(subscription, .low))
        // A layer is asked for a key frame once a second at most.
        run(40)
        let second = try #require(bob.media).received
        #expect(second.last?.payload[6] == 1)
        scene.network.apply(.setLayer(subscription, .high))
        run(40)
        let received = try #require(bob.media).received
        #expect(received.last?.payload[6] == 2)
        #expect(received.allSatisfy { $0.ssrc == 0xAAAA })
        expectContinuous(received, 21)
        // Never one packet of a layer before its key frame.
        var layer: UInt8 = 0
        for packet in received where packet.payload[6] != layer {
            #expect(packet.payload[5] & 1 == 0, "a layer begins with a key frame")
            layer = packet.payload[6]
        }
        let told = changes(scene.network.takeEvents())
        #expect(told.suffix(2) == [.low, .high])
    }

    @Test("a layer nobody watches is not asked for key frames")
    func quietLayers() throws {
        let (scene, alice, track, layers) = layered(22)
        let bob = scene.subscriber(room: 1)
        _ = scene.subscribe(bob, to: track, layer: .low)
        for frame in 0..<60 {
            for layer in layers { layer.send(alice, scene.network, isKey: frame == 0) }
            scene.network.run(for: .milliseconds(33))
        }
        #expect(!(try #require(alice.media).keyFrameRequests.contains(32)))
        #expect(Set(try #require(bob.media).received.map { $0.payload[6] }) == [1])
    }

    @Test("a layer that is switched off by its publisher gives way to the next lower, and comes back")
    func switchedOff() throws {
        let (scene, alice, track, layers) = layered(23)
        let bob = scene.subscriber(room: 1)
        _ = scene.subscribe(bob, to: track)
        func run(_ frames: Int, _ active: [Int]) {
            for frame in 0..<frames {
                for place in active { layers[place].send(alice, scene.network, isKey: frame % 15 == 0) }
                scene.network.run(for: .milliseconds(33))
            }
        }
        run(30, [0, 1])
        #expect(try #require(bob.media).received.last?.payload[6] == 2)
        run(60, [0])
        #expect(try #require(bob.media).received.last?.payload[6] == 1)
        run(60, [0, 1])
        #expect(try #require(bob.media).received.last?.payload[6] == 2)
        expectContinuous(try #require(bob.media).received, 23)
    }

    @Test("layers at random, with loss on the way to us, never break the numbering", arguments: UInt64(1)...20)
    func random(_ seed: UInt64) throws {
        let (scene, alice, track, layers) = layered(seed)
        scene.network.uplink.jitter = .milliseconds(3)
        let bob = scene.subscriber(room: 1)
        let subscription = scene.subscribe(bob, to: track)
        var random = SeededRandom(seed: seed)
        for _ in 0..<600 {
            if random.chance(0.03), let wish = LayerPreference.allCases.randomElement(using: &random) {
                scene.network.apply(.setLayer(subscription, wish))
            }
            for layer in layers where !random.chance(0.05) {
                layer.send(alice, scene.network, isKey: random.chance(0.1))
            }
            scene.network.run(for: .milliseconds(33))
        }
        let received = try #require(bob.media).received
        #expect(received.count > 100, "seed \(seed)")
        #expect(try #require(bob.media).failures.isEmpty, "seed \(seed)")
        var seen: Set<UInt16> = []
        var pictures: Set<UInt16> = []
        for packet in received {
            #expect(seen.insert(packet.sequence).inserted, "seed \(seed)")
            let id = UInt16(packet.payload[2]) << 8 | UInt16(packet.payload[3])
            #expect(pictures.insert(id).inserted, "seed \(seed): picture id \(id) twice")
        }
    }

    @Test("a subscriber's loss is repaired on its RTX stream, each time under a new number")
    func repairDown() throws {
        let scene = BrowserScene(seed: 24)
        let (alice, bob, camera) = scene.call(content: 9)
        for frame in 0..<10 {
            camera.send(alice, scene.network, isKey: frame == 0)
            scene.network.run(for: .milliseconds(10))
        }
        let media = try #require(bob.media)
        let wanted = media.received[4]
        for _ in 0..<2 {
            media.sendRTCP(scene.network) { writer in
                [wanted.sequence].withUnsafeBufferPointer {
                    writer.nack(senderSSRC: 1, mediaSSRC: 0xAAAA, sequences: $0)
                }
            }
            scene.network.run(for: .milliseconds(100))
        }
        let repairs = media.received.filter { $0.ssrc == 0xBBBB }
        #expect(repairs.map(\.sequence) == [500, 501])
        for repair in repairs {
            #expect(repair.payloadType == 124)
            #expect(repair.timestamp == wanted.timestamp)
            #expect(repair.payload == [UInt8(wanted.sequence >> 8), UInt8(wanted.sequence & 0xFF)] + wanted.payload)
        }
    }

    @Test("a publisher's RTX fills the gap, and its probes are no media")
    func repairUp() throws {
        let scene = BrowserScene(seed: 25)
        let (alice, bob, camera) = scene.call(content: 9)
        camera.send(alice, scene.network, isKey: true)
        camera.send(alice, scene.network, isLost: true)
        let (index, timestamp) = (camera.index, camera.timestamp)
        let lost = BrowserScene.frame(picture: camera.picture, level: camera.level, isKey: false, content: 9)
        camera.send(alice, scene.network)
        scene.network.run(for: .milliseconds(40))
        let media = try #require(alice.media)
        #expect(media.nackedSequences.first == UInt16(truncatingIfNeeded: index))
        let number = UInt16(truncatingIfNeeded: index)
        let repair = [UInt8(number >> 8), UInt8(number & 0xFF)] + lost
        media.publish(scene.network, ssrc: 12, index: 300, timestamp: timestamp, payloadType: 97, payload: repair)
        // Probes: padding alone, a repetition, and one that is cut off.
        media.publish(scene.network, ssrc: 12, index: 301, timestamp: 1, payloadType: 97, payload: [], padding: 200)
        media.publish(scene.network, ssrc: 12, index: 302, timestamp: timestamp, payloadType: 97, payload: repair)
        media.publish(scene.network, ssrc: 12, index: 303, timestamp: timestamp, payloadType: 97, payload: [1])
        scene.network.run(for: .milliseconds(20))
        let received = try #require(bob.media).received
        #expect(received.map(\.sequence).sorted() == [500, 501, 502])
        #expect(received.first { $0.sequence == 501 }?.payload == lost)
        #expect(scene.network.switchboard.dropCount(.paddingOnly) == 1)
        #expect(scene.network.switchboard.dropCount(.malformedRetransmission) == 1)
        #expect(scene.network.switchboard.dropCount(.duplicate) == 1)
    }

    @Test("streams are known by MID and RID once, and stay known without")
    func sticky() throws {
        let (scene, alice, track, layers) = layered(26, rids: true)
        let bob = scene.subscriber(room: 1)
        _ = scene.subscribe(bob, to: track)
        for frame in 0..<10 {
            for layer in layers { layer.send(alice, scene.network, isKey: frame == 0, named: frame < 2) }
            scene.network.run(for: .milliseconds(33))
        }
        #expect(try #require(bob.media).received.last?.payload[6] == 2)
        // Another m-section's stream, which was not announced yet, is none of this track.
        let stranger = VirtualEncoding(ssrc: 99, content: 7, seed: 9)
        stranger.send(alice, scene.network, isKey: true, named: true, mid: "3")
        VirtualEncoding(ssrc: 98, content: 7, seed: 9).send(alice, scene.network, isKey: true)
        scene.network.run(for: .milliseconds(20))
        #expect(scene.network.switchboard.dropCount(.unknownSSRC) == 2)
        #expect(!(try #require(bob.media).received.contains { $0.payload[6] == 7 }))
    }

    @Test("transport-wide feedback reports each packet once, also of repair and over the wrap")
    func transportFeedback() throws {
        let scene = BrowserScene(seed: 27)
        let alice = scene.publisher(room: 1)
        scene.track(of: alice, encodings: [EncodingSpec(ssrcs: [11], rtxSSRC: 12)])
        let media = try #require(alice.media)
        var sent: [UInt16] = []
        var wide: UInt16 = 65_500
        for index in 0..<200 {
            wide &+= 1
            if index % 17 == 3 { continue }
            sent.append(wide)
            let isRepair = index % 20 == 19
            media.publish(
                scene.network, ssrc: isRepair ? 12 : 11, index: UInt64(1000 + index), timestamp: UInt32(index * 3000),
                payloadType: isRepair ? 97 : 96,
                payload: isRepair ? [] : BrowserScene.frame(picture: 1, level: 1, isKey: false, content: 1),
                extensions: [(3, [UInt8(wide >> 8), UInt8(wide & 0xFF)])], padding: isRepair ? 100 : 0)
            scene.network.run(for: .milliseconds(5))
        }
        scene.network.run(for: .milliseconds(200))
        #expect(media.reportedArrivals == sent)
        #expect(media.estimates.isEmpty)
    }

    @Test("without it an estimate lets the publisher leave its start rate")
    func estimate() throws {
        let scene = BrowserScene(seed: 28)
        let alice = scene.publisher(room: 1)
        scene.track(of: alice, encodings: [EncodingSpec(ssrcs: [11])], feedback: [.nack, .pli, .remb])
        let camera = VirtualEncoding(ssrc: 11, content: 9, seed: 5)
        for frame in 0..<200 {
            camera.send(alice, scene.network, isKey: frame == 0)
            scene.network.run(for: .milliseconds(20))
        }
        let estimates = try #require(alice.media).estimates
        #expect(estimates.count >= 3)
        #expect(estimates.allSatisfy { $0 >= 300_000 && $0 <= 20_000_000 })
    }

    @Test("padding of a layer before its key frame moves no numbers")
    func paddingBeforeTheSwitch() throws {
        let (scene, alice, track, layers) = layered(29)
        let bob = scene.subscriber(room: 1)
        let subscription = scene.subscribe(bob, to: track, layer: .low)
        let media = try #require(alice.media)
        // The layers' lines lie far apart.
        for frame in 0..<600 {
            layers[1].send(alice, scene.network, isKey: frame == 0)
            scene.network.run(for: .milliseconds(1))
        }
        for frame in 0..<10 {
            for layer in layers { layer.send(alice, scene.network, isKey: frame == 0) }
            scene.network.run(for: .milliseconds(33))
        }
        scene.network.apply(.setLayer(subscription, .high))
        for frame in 0..<12 {
            layers[1].index += 1
            media.publish(
                scene.network, ssrc: 32, index: layers[1].index, timestamp: layers[1].timestamp, payloadType: 96,
                payload: [], padding: 50)
            for layer in layers { layer.send(alice, scene.network, isKey: frame == 10) }
            scene.network.run(for: .milliseconds(33))
        }
        let received = try #require(bob.media).received
        #expect(received.last?.payload[6] == 2)
        for (before, after) in zip(received, received.dropFirst()) {
            #expect(after.sequence &- before.sequence == 1)
        }
    }

    @Test("a number that was given away stands for one packet for good, also when its bytes are overwritten")
    func noSecondPlaintext() throws {
        let scene = BrowserScene(seed: 30)
        let (alice, bob, _) = scene.call(rtx: nil)
        let media = try #require(alice.media)
        let big = BrowserScene.frame(picture: 1, level: 1, isKey: true, content: 1) + [UInt8](repeating: 7, count: 1100)
        for index in 0..<400 {
            media.publish(
                scene.network, ssrc: 11, index: UInt64(1000 + index), timestamp: UInt32(3000 * index), payloadType: 96,
                payload: big)
            scene.network.run(for: .milliseconds(1))
        }
        scene.network.run(for: .milliseconds(20))
        let count = try #require(bob.media).receivedCount
        media.publish(
            scene.network, ssrc: 12, index: 50, timestamp: 3000 * 5, payloadType: 97,
            payload: [UInt8(1005 >> 8), UInt8(1005 & 0xFF)] + big.reversed())
        scene.network.run(for: .milliseconds(20))
        #expect(try #require(bob.media).receivedCount == count)
        #expect(scene.network.switchboard.dropCount(.duplicate) == 1)
    }
}
