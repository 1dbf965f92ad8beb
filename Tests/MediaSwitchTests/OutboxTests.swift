import MediaContract
import MediaSwitch
import MediaTestKit
import MediaWire
import Testing

@Suite struct OutboxTests {
    @Test func aRunToOneDestinationLeavesAsOneMessageAndAShorterOneEndsIt() {
        let scene = RoomScene(seed: 1)
        var alice = scene.publisher(room: 1)
        let listeners = (0..<3).map { _ in scene.subscriber(room: 1, to: alice.track) }
        scene.publish(&alice, keyFrame: true)
        scene.network.run(for: .milliseconds(20))
        var batch: [(socket: SocketID, source: TransportAddress, bytes: [UInt8])] = []
        for size in [500, 500, 500, 200, 500, 500] {
            batch.append(
                (
                    alice.peer.socket, alice.peer.address,
                    alice.peer.seal(
                        ssrc: alice.ssrc, index: alice.index, timestamp: 0, payloadType: 96,
                        payload: RoomScene.payload(index: alice.index, keyFrame: false, size: size))
                ))
            alice.index += 1
        }
        var messages: [(address: TransportAddress, count: Int, size: Int)] = []
        scene.network.sendOutcome = {
            messages.append(($0.destination, $0.segmentCount, $0.segmentSize))
            return .sent
        }
        scene.network.inject(batch)
        let media = messages.filter { $0.size > 150 }
        for listener in listeners {
            #expect(media.filter { $0.address == listener.peer.address }.map(\.count) == [4, 2])
        }
        scene.network.sendOutcome = nil
        scene.network.switchboard.outbox.segmentation = false
        scene.network.sendOutcome = {
            #expect($0.segmentCount == 1)
            return .sent
        }
        scene.publish(&alice)
        scene.network.run(for: .milliseconds(20))
        #expect(listeners.allSatisfy { $0.peer.received.count == 8 })
    }

    @Test func aMessageStaysBelowItsBytes() {
        var configuration = Switchboard.Configuration()
        configuration.messageBytes = 3000
        let scene = RoomScene(seed: 2, configuration: configuration)
        var alice = scene.publisher(room: 1)
        _ = scene.subscriber(room: 1, to: alice.track)
        scene.network.sendOutcome = {
            #expect($0.segmentCount * $0.segmentSize <= 3000)
            return .sent
        }
        for n in 0..<40 { scene.publish(&alice, keyFrame: n == 0, size: 900) }
        scene.network.run(for: .milliseconds(20))
    }

    /// A fan-out larger than the outbox flushes in between, and every subscriber gets everything in order.
    @Test(arguments: [8, 16, 33, 64])
    func aSmallOutboxLosesNothing(slots: Int) {
        var configuration = Switchboard.Configuration()
        configuration.outboxSlots = slots
        let scene = RoomScene(seed: 3, configuration: configuration)
        var alice = scene.publisher(room: 1)
        let listeners = (0..<50).map { _ in scene.subscriber(room: 1, to: alice.track) }
        for n in 0..<100 {
            scene.publish(&alice, keyFrame: n == 0)
            if n % 10 == 9 { scene.network.run(for: .milliseconds(20)) }
        }
        scene.network.run(for: .milliseconds(20))
        for listener in listeners {
            #expect(listener.peer.received.map(\.sequence) == (0..<100).map { listener.firstSequence &+ UInt16($0) })
        }
        #expect(scene.network.snapshot().drops(.outboxFull) == 0)
    }

    /// One subscriber's socket takes nothing: its copies are dropped and counted, and nobody else notices.
    @Test func aBlockedDestinationHoldsUpNobodyElse() {
        var configuration = Switchboard.Configuration()
        configuration.outboxSlots = 64
        let scene = RoomScene(seed: 4, configuration: configuration)
        var alice = scene.publisher(room: 1)
        let stuck = scene.subscriber(room: 1, to: alice.track)
        let free = (0..<5).map { _ in scene.subscriber(room: 1, to: alice.track) }
        scene.network.sendOutcome = { $0.destination == stuck.peer.address ? .blocked : .sent }
        for n in 0..<200 {
            scene.publish(&alice, keyFrame: n == 0)
            scene.network.run(for: .milliseconds(5))
        }
        scene.network.run(for: .milliseconds(20))
        #expect(free.allSatisfy { $0.peer.received.count == 200 })
        #expect(stuck.peer.received.isEmpty)
        #expect(scene.network.snapshot().drops(.outboxFull) > 100)
        scene.network.sendOutcome = nil
        for _ in 0..<10 {
            scene.publish(&alice)
            scene.network.run(for: .milliseconds(5))
        }
        scene.network.run(for: .milliseconds(20))
        #expect(stuck.peer.failures.isEmpty)
        #expect(stuck.peer.received.count >= 10)
    }

    @Test func whileAllIsBlockedSpeechOutlivesVideo() {
        var configuration = Switchboard.Configuration()
        configuration.outboxSlots = 64
        let scene = RoomScene(seed: 5, configuration: configuration)
        var camera = scene.publisher(room: 1)
        var microphone = scene.publisher(room: 1, codec: .opus, payloadType: 111)
        let viewers = (0..<20).map { _ in scene.subscriber(room: 1, to: camera.track) }
        let listeners = (0..<4).map { _ in scene.subscriber(room: 1, to: microphone.track) }
        scene.publish(&camera, keyFrame: true)
        scene.publish(&microphone, codec: .opus)
        scene.network.run(for: .milliseconds(20))
        scene.network.sendOutcome = { _ in .blocked }
        for _ in 0..<20 { scene.publish(&camera) }
        scene.network.run(for: .milliseconds(20))
        for _ in 0..<3 { scene.publish(&microphone, codec: .opus) }
        scene.network.run(for: .milliseconds(20))
        scene.network.sendOutcome = nil
        scene.network.flush()
        scene.network.run(for: .milliseconds(20))
        #expect(listeners.allSatisfy { $0.peer.received.count == 4 })
        #expect(viewers.map { $0.peer.received.count }.reduce(0, +) < 20 * 21)
    }
}

@Suite struct PacketCacheTests {
    /// Against a dictionary: what is found is right, and the newest are found.
    @Test func findsWhatItKeptAndNothingElse() {
        for seed in UInt64(0)..<50 {
            var random = SeededRandom(seed: seed)
            var cache = PacketCache(byteCapacity: 4096, entryCapacity: 64)
            var reference: [Int64: [UInt8]] = [:]
            var next: Int64 = 0
            for step in 0..<3000 {
                next += random.chance(0.02) ? Int64.random(in: 1...40_000, using: &random) : 1
                let sequence = random.chance(0.1) ? max(0, next - Int64.random(in: 0..<30, using: &random)) : next
                let bytes = (0..<Int.random(in: 0...200, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
                var packet = CachedPacket()
                packet.sequence = sequence
                packet.payloadLength = UInt16(bytes.count)
                let place = cache.store(packet)
                for (offset, byte) in bytes.enumerated() {
                    place.storeBytes(of: byte, toByteOffset: offset, as: UInt8.self)
                }
                reference[sequence] = bytes
                if step % 700 == 699, cache.byteCapacity < 32_768 { cache.grow() }
                for back in 0..<Int64(80) {
                    guard let found = cache.find(sequence - back) else { continue }
                    let content = UnsafeRawBufferPointer(start: cache.content(of: found), count: found.pointee.length)
                    #expect(
                        reference[sequence - back].map { Array(content) == $0 } == true, "seed \(seed) step \(step)")
                }
                #expect(cache.find(sequence) != nil)
            }
        }
    }

    @Test func growingKeepsWhatWasThere() {
        var cache = PacketCache(byteCapacity: 1024, entryCapacity: 64)
        for sequence in Int64(0)..<40 {
            var packet = CachedPacket()
            packet.sequence = sequence
            packet.payloadLength = 50
            let place = cache.store(packet)
            for offset in 0..<50 { place.storeBytes(of: UInt8(sequence), toByteOffset: offset, as: UInt8.self) }
        }
        let before = (Int64(0)..<40).filter { cache.find($0) != nil }
        #expect(before.count >= 18)
        cache.grow()
        let after = (Int64(0)..<40).filter { cache.find($0) != nil }
        #expect(after == before)
        for sequence in after {
            guard let found = cache.find(sequence) else { continue }
            let content = UnsafeRawBufferPointer(start: cache.content(of: found), count: 50)
            #expect(content.allSatisfy { $0 == UInt8(sequence) })
        }
    }

    /// A datagram is sent or dropped, never both, also where a connection's queue takes a message in part.
    @Test(arguments: UInt64(1)...5)
    func aMessageTakenInPartIsCountedOnce(seed: UInt64) {
        let scene = RoomScene(seed: seed)
        var alice = scene.publisher(room: 1)
        let bob = scene.subscriber(room: 1, to: alice.track)
        scene.publish(&alice, keyFrame: true)
        scene.network.run(for: .milliseconds(20))
        let before = scene.network.snapshot()
        var random = SeededRandom(seed: seed)
        var (taken, refused, bytes) = (UInt64(0), UInt64(0), UInt64(0))
        scene.network.takes = { datagram in
            guard random.chance(0.5) else {
                refused += 1
                return false
            }
            taken += 1
            bytes += UInt64(datagram.count)
            return true
        }
        for _ in 0..<20 {
            for size in [700, 700, 700, 700, 200] { scene.publish(&alice, size: size) }
            scene.network.run(for: .milliseconds(10))
        }
        let after = scene.network.snapshot()
        #expect(refused > 20 && taken > 20, "seed \(seed)")
        #expect(after.packetsOut - before.packetsOut == taken, "seed \(seed)")
        #expect(after.bytesOut - before.bytesOut == bytes, "seed \(seed)")
        #expect(after.drops(.streamFull) == refused, "seed \(seed)")
        let figures = { (snapshot: MediaSnapshot) in snapshot.transports.map(\.packetsOut).reduce(0, +) }
        #expect(figures(after) - figures(before) == taken, "seed \(seed)")
        _ = bob
    }
}
