import CNet
import MediaContract
import MediaEngine
import MediaWire
import Testing

/// ICE-TCP's connections with real sockets on loopback: framing, queues, limits.
@Suite(.serialized) struct StreamSetTests {
    private func packet(_ number: Int, size: Int) -> [UInt8] {
        (0..<size).map { UInt8(truncatingIfNeeded: $0 < 4 ? number >> (8 * $0) : number &+ $0) }
    }

    // MARK: Framing

    /// Three datagrams and a null packet, the stream cut at every byte into two reads.
    @Test func datagramsAreWholeWhereverTheStreamIsCut() throws {
        let scene = try StreamScene()
        let (client, id) = try scene.connect()
        let packets = [packet(1, size: 20), packet(2, size: 1), packet(3, size: 90)]
        let stream = TestStream.frame(packets[0]) + [0, 0] + packets[1...].flatMap(TestStream.frame)
        for cut in 1..<stream.count {
            try client.send(Array(stream[..<cut]))
            try scene.wait(id)
            let first = try #require(try scene.read(id))
            try client.send(Array(stream[cut...]))
            let rest = try scene.read(id, until: packets.count - first.count)
            #expect(first + rest == packets, "cut at \(cut)")
        }
    }

    @Test func byteByByte() throws {
        let scene = try StreamScene()
        let (client, id) = try scene.connect()
        let packets = [packet(1, size: 3), packet(2, size: 40)]
        var found: [[UInt8]] = []
        for byte in packets.flatMap(TestStream.frame) {
            try client.send([byte])
            try scene.wait(id)
            found += try #require(try scene.read(id))
        }
        #expect(found == packets)
    }

    /// More than is handed out at once, and more than one read takes.
    @Test func manyDatagramsInOneRead() throws {
        let scene = try StreamScene(capacity: 7)
        let (client, id) = try scene.connect()
        let packets = (0..<2000).map { packet($0, size: 4 + $0 % 90) }
        try client.send(packets.flatMap { TestStream.frame($0) + [0, 0] })
        #expect(try scene.read(id, until: packets.count) == packets)
        let large = (0..<100).map { packet($0, size: 1500) }
        try client.send(large.flatMap(TestStream.frame))
        #expect(try scene.read(id, until: large.count) == large)
    }

    /// The source of each datagram is the peer, and connections do not mix.
    @Test func eachConnectionHasItsOwnRest() throws {
        let scene = try StreamScene()
        let (one, first) = try scene.connect()
        let (two, second) = try scene.connect()
        #expect(first != second && first.isStream && second.isStream)
        let a = TestStream.frame(packet(1, size: 30))
        let b = TestStream.frame(packet(2, size: 30))
        try one.send(Array(a[..<10]))
        try two.send(Array(b[..<20]))
        try scene.wait(first)
        #expect(try scene.read(first) == [])
        try scene.wait(second)
        #expect(try scene.read(second) == [])
        try one.send(Array(a[10...]))
        try two.send(Array(b[20...]))
        #expect(try scene.read(second, until: 1) == [packet(2, size: 30)])
        #expect(try scene.read(first, until: 1) == [packet(1, size: 30)])
    }

    @Test(arguments: [[0x05, 0xDD], Array("GET / HTTP/1.1\r\n\r\n".utf8)])
    func whatIsNoFrameEndsTheConnection(bytes: [UInt8]) throws {
        let scene = try StreamScene()
        let (client, id) = try scene.connect()
        try client.send(TestStream.frame(packet(1, size: 9)) + bytes)
        // What came before it counts.
        #expect(try scene.read(id, until: 1) == [packet(1, size: 9)])
        #expect(scene.set.takeEnded() == [id] && scene.set.count == 0)
        #expect(client.waitForEnd())
        #expect(scene.set.takeEnded().isEmpty)
        #expect(try scene.read(id) == nil && scene.send(id, [[1]]) == nil)
    }

    // MARK: The end

    @Test(arguments: [false, true]) func aClientThatGoesIsNoticed(abort: Bool) throws {
        let scene = try StreamScene()
        let (client, id) = try scene.connect()
        try client.send(TestStream.frame(packet(1, size: 9)) + [0])
        #expect(try scene.read(id, until: 1) == [packet(1, size: 9)])
        client.close(abort: abort)
        try scene.wait(id)
        #expect(try scene.read(id) == nil)
        #expect(scene.set.takeEnded() == [id] && scene.set.count == 0 && scene.openDescriptors == 1)
    }

    /// The worker closes it because its peer is gone: in order, and what was sent last arrives.
    @Test func aClosedConnectionEndsInOrder() throws {
        let scene = try StreamScene()
        let (client, id) = try scene.connect()
        #expect(scene.send(id, [packet(1, size: 50)]) == [true])
        scene.set.close(id)
        scene.set.close(id)
        #expect(client.receive(2) == [packet(1, size: 50)] && client.hasEnded && client.end == 0)
        #expect(scene.set.takeEnded().isEmpty && scene.openDescriptors == 1)
    }

    @Test func thousandsComeAndGo() throws {
        let scene = try StreamScene()
        var names: Set<SocketID> = []
        for round in 0..<1000 {
            let (client, id) = try scene.connect()
            names.insert(id)
            switch round % 3 {
            case 0: scene.set.close(id)
            case 1:
                client.close()
                try scene.wait(id)
                #expect(try scene.read(id) == nil)
            default:
                try client.send([0xFF, 0xFF])
                try scene.wait(id)
                _ = try scene.read(id)
            }
        }
        #expect(names.count == 1000, "no name comes twice")
        #expect(scene.set.count == 0 && scene.openDescriptors == 1)
    }

    // MARK: Queues

    @Test func aSlowReaderLosesOnlyItsOwnAndOnlyTheNewest() throws {
        var limits = StreamLimits()
        limits.queueBytes = 64 << 10
        let scene = try StreamScene(limits)
        let (slow, slowID) = try scene.connect()
        let (quick, quickID) = try scene.connect()
        var accepted: [[UInt8]] = []
        var lost = 0
        var number = 0
        // Nobody reads: the kernel's buffers fill, then the queue, then packets are lost.
        while lost < 200 {
            let batch = (0..<50).map { packet(number + $0, size: 1100 + ($0 * 7) % 90) }
            number += batch.count
            let taken = try #require(scene.send(slowID, batch))
            for (index, packet) in batch.enumerated() where taken[index] { accepted.append(packet) }
            lost += taken.count { !$0 }
            #expect(scene.set.waiting(slowID) <= limits.queueBytes)
            try #require(number < 100_000, "the queue never fills")
        }
        // Small ones still have room where large ones have not.
        #expect(scene.send(slowID, [packet(number, size: 1100)]) == [false])
        let small = (0..<20).map { packet(number + $0, size: 80) }
        #expect(scene.send(slowID, small) == small.map { _ in true })
        accepted += small
        // The other one gets everything at once.
        let others = (0..<100).map { packet($0, size: 1000) }
        var sent = 0
        while sent < others.count {
            let batch = Array(others[sent..<min(sent + 20, others.count)])
            #expect(scene.send(quickID, batch) == batch.map { _ in true })
            sent += batch.count
            #expect(quick.receive(batch.count) == batch)
        }
        #expect(scene.set.waiting(quickID) == 0)
        // Once it reads, everything that was taken comes, whole and in order.
        var found: [[UInt8]] = []
        let deadline = ContinuousClock.now + .seconds(20)
        while found.count < accepted.count, ContinuousClock.now < deadline {
            slow.read()
            found += slow.takeFrames()
            if let place = scene.set.place(of: slowID) { scene.set.drain(place) }
        }
        #expect(found.count == accepted.count && found == accepted)
        #expect(slow.buffer.isEmpty && scene.set.waiting(slowID) == 0)
        // And it goes on as before.
        #expect(scene.send(slowID, [packet(1, size: 700)]) == [true])
        #expect(slow.receive(1) == [packet(1, size: 700)])
    }

    /// A backlog never leaves after the close: the client sees the connection broken off.
    @Test func aClosedBacklogIsNotSent() throws {
        let scene = try StreamScene()
        let (client, id) = try scene.connect()
        var taken = 0
        while scene.set.waiting(id) == 0 {
            taken += try #require(scene.send(id, (0..<50).map { packet($0, size: 1200) })).count { $0 }
            try #require(taken < 100_000)
        }
        scene.set.close(id)
        #expect(client.waitForEnd() && client.end < 0)
        #expect(client.takeFrames().count < taken)
    }

    /// The client goes while much waits for it.
    @Test func aBrokenConnectionWithABacklogEnds() throws {
        let scene = try StreamScene()
        let (client, id) = try scene.connect()
        while scene.set.waiting(id) == 0 { _ = scene.send(id, (0..<50).map { packet($0, size: 1200) }) }
        client.close(abort: true)
        try scene.wait(id, PARLOR_WRITABLE | PARLOR_ERROR)
        if let place = scene.set.place(of: id) { scene.set.drain(place) }
        #expect(scene.set.takeEnded() == [id])
        #expect(scene.send(id, [[1, 2, 3]]) == nil && scene.openDescriptors == 1)
    }

    // MARK: Limits

    @Test func strangersOfOneHostAreFew() throws {
        var limits = StreamLimits()
        limits.strangersPerHost = 3
        let scene = try StreamScene(limits)
        var kept = try (0..<3).map { _ in try scene.connect() }
        let refused = try TestStream(to: scene.address)
        #expect(try scene.accept() == .refused)
        #expect(refused.waitForEnd())
        scene.set.close(kept[1].id)
        kept.append(try scene.connect())
        #expect(scene.set.count == 3 && scene.openDescriptors == 4)
        // Users do not count, however many there are.
        for _ in 0..<10 {
            scene.bound = Set(kept.map(\.id))
            for _ in 0..<3 { kept.append(try scene.connect()) }
        }
        _ = try TestStream(to: scene.address)
        #expect(try scene.accept() == .refused)
        #expect(scene.set.count == 33)
        // Nor do those who are gone, whatever they were.
        for (_, id) in kept { scene.set.close(id) }
        for _ in 0..<3 { _ = try scene.connect() }
        #expect(scene.set.count == 3)
    }

    @Test func whoCarriesNobodyMakesRoom() throws {
        var limits = StreamLimits()
        limits.connections = 3
        let scene = try StreamScene(limits)
        let kept = try (0..<3).map { _ in try scene.connect() }
        scene.bound = [kept[0].id, kept[2].id]
        let (_, fourth) = try scene.connect()
        #expect(scene.set.takeEnded() == [kept[1].id])
        #expect(kept[1].client.waitForEnd())
        scene.bound.insert(fourth)
        let refused = try TestStream(to: scene.address)
        #expect(try scene.accept() == .refused)
        #expect(refused.waitForEnd() && scene.set.count == 3)
    }

    @Test func whoCarriesNobodyIsClosedInTime() throws {
        let scene = try StreamScene()
        let (idle, idleID) = try scene.connect()
        let (_, boundID) = try scene.connect()
        scene.bound = [boundID]
        scene.now = MediaTime.zero + .seconds(4)
        let (late, lateID) = try scene.connect()
        func expire(_ seconds: Int64) {
            scene.now = MediaTime.zero + .seconds(seconds)
            scene.set.expire(now: scene.now) { scene.bound.contains($0) }
        }
        expire(9)
        #expect(scene.set.count == 3)
        expire(10)
        #expect(scene.set.takeEnded() == [idleID] && idle.waitForEnd())
        expire(14)
        #expect(scene.set.takeEnded() == [lateID] && late.waitForEnd())
        // One that was somebody's and is not any more goes at its next turn.
        expire(19)
        scene.bound = []
        #expect(scene.set.count == 1)
        expire(20)
        #expect(scene.set.takeEnded() == [boundID] && scene.set.count == 0)
    }
}
