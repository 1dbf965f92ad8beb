import CNet
import Glibc
import MediaContract
import MediaEngine
import MediaWire
import Testing

/// Media through the engine, from socket to socket.
@Suite(.serialized) struct EngineForwardingTests {
    private static let base = UInt16(10_000 + Int(getpid() % 200) * 100) + 95
    private static let track = TrackID(1)
    private static let ssrc: UInt32 = 0x1234_5678

    private func configuration() -> Engine.Configuration {
        var configuration = Engine.Configuration()
        configuration.mediaPort = 0
        configuration.workers = 1
        configuration.plainPorts = Self.base...Self.base + 4
        return configuration
    }

    /// A publisher of one VP8 track on worker 0.
    private func publisher(_ engine: Engine) throws -> LoopbackPeer {
        let ports = try #require(engine.openPlainPorts(worker: 0, rtcp: false, ipv6: false))
        let publisher = try LoopbackPeer(number: 1, ports: ports)
        engine.post(.addPeer(publisher.peer, isolation: IsolationKey(1)), to: 0)
        engine.post(.addTransport(publisher.spec(remote: nil)), to: 0)
        let track = TrackSpec(
            id: Self.track, transport: publisher.transport, codec: .vp8, payloadType: 96, feedback: .all)
        engine.post(.addTrack(track), to: 0)
        return publisher
    }

    private func subscriber(
        _ engine: Engine, number: UInt64, remote: TransportAddress? = nil
    ) throws -> LoopbackPeer {
        let ports = try #require(engine.openPlainPorts(worker: 0, rtcp: false, ipv6: false))
        let subscriber = try LoopbackPeer(number: number, ports: ports)
        engine.post(.addPeer(subscriber.peer, isolation: IsolationKey(1)), to: 0)
        engine.post(.addTransport(subscriber.spec(remote: remote ?? subscriber.address)), to: 0)
        let subscription = SubscriptionSpec(
            id: SubscriptionID(number), track: Self.track, transport: subscriber.transport,
            ssrc: UInt32(truncatingIfNeeded: number), payloadType: 100, firstSequence: UInt16(number * 100),
            timestampOffset: 5, feedback: .all)
        engine.post(.subscribe(subscription), to: 0)
        return subscriber
    }

    private func publish(_ count: Int, from index: UInt64, _ publisher: LoopbackPeer, size: Int = 1100) throws {
        try publisher.publish(
            (0..<UInt64(count)).map {
                try publisher.packet(index: index + $0, ssrc: Self.ssrc, payloadType: 96, size: size)
            })
    }

    /// The indices that the payloads carry.
    private func indices(_ peer: LoopbackPeer) -> [Int] {
        peer.payloads.map { payload in (0..<4).reduce(0) { $0 | Int(payload[7 + $1]) << (8 * $1) } }
    }

    /// Asks for snapshots until one fits.
    private func snapshot(
        _ engine: Engine, where fits: (MediaSnapshot) -> Bool
    ) async throws -> MediaSnapshot {
        let deadline = ContinuousClock.now + .seconds(10)
        while true {
            let snapshot = try #require(await engine.snapshot(worker: 0))
            if fits(snapshot) || ContinuousClock.now > deadline { return snapshot }
        }
    }

    /// The descriptor of the engine's socket on a port, found among this process's own.
    private func descriptor(ofPort port: UInt16) throws -> Int32 {
        try #require(
            (3..<Int32(4096)).first { descriptor in
                var address = parlor_address()
                return parlor_udp_local_address(descriptor, &address) == 0 && address.port == port
                    && address.is_ipv4 == 1
            })
    }

    @Test(arguments: [true, false])
    func packetsReachEverySubscriberInOrder(segmentation: Bool) async throws {
        var configuration = configuration()
        configuration.segmentation = segmentation
        let engine = try Engine(configuration)
        defer { engine.stop() }
        let publisher = try publisher(engine)
        let subscribers = try (2...4).map { try subscriber(engine, number: $0) }
        // At once: whatever comes after the commands finds them applied.
        try publish(200, from: 1000, publisher)
        for subscriber in subscribers {
            try subscriber.receive(until: 200)
            #expect(indices(subscriber) == Array(1000..<1200))
            let first = subscriber.sequences.first ?? 0
            #expect(subscriber.sequences == (0..<200).map { first &+ $0 })
            #expect(subscriber.refused == 0)
            // With segmentation, runs stay runs all the way.
            #expect((subscriber.receiver.longestRun > 1) == (segmentation && engine.segmentation))
        }
        let snapshot = try await snapshot(engine) { $0.packetsOut >= 600 }
        #expect(snapshot.packetsIn == 200)
        #expect(snapshot.drops.reduce(0, +) == 0)
    }

    /// Loopback takes all at once; behind a shaper (`tc qdisc add dev lo root tbf rate 10mbit burst 3kb latency 4s`, in a
    /// network namespace) the small buffer fills, and the same must hold.
    @Test func aSmallSendBufferLosesNothing() async throws {
        var configuration = configuration()
        configuration.plainSendBufferSize = 4096
        configuration.segmentation = false
        let engine = try Engine(configuration)
        defer { engine.stop() }
        let publisher = try publisher(engine)
        let subscriber = try subscriber(engine, number: 2)
        // Fewer than the outbox keeps for one blocked destination.
        try publish(100, from: 1000, publisher)
        try subscriber.receive(until: 100)
        #expect(indices(subscriber) == Array(1000..<1100))
        let snapshot = try await snapshot(engine) { $0.packetsOut >= 100 }
        #expect(snapshot.drops.reduce(0, +) == 0)
    }

    @Test func afterAKickNotOnePacketMore() async throws {
        let engine = try Engine(configuration())
        defer { engine.stop() }
        let publisher = try publisher(engine)
        let kicked = try subscriber(engine, number: 2)
        let other = try subscriber(engine, number: 3)
        try publish(100, from: 1000, publisher)
        try kicked.receive(until: 1)
        // More is under way while the kick is asked for.
        try publish(300, from: 1100, publisher)
        #expect(await engine.removePeer(kicked.peer, worker: 0))
        try kicked.drain()
        #expect(kicked.rtcpTypes.last == 203, "goodbye (RFC 3550, section 6.6) is the last that comes")
        let before = (kicked.sequences.count, kicked.rtcpTypes.count)
        try publish(300, from: 1400, publisher)
        try other.receive(until: 700)
        #expect(indices(other) == Array(1000..<1700))
        _ = try await snapshot(engine) { $0.packetsIn == 700 }
        try kicked.drain()
        #expect((kicked.sequences.count, kicked.rtcpTypes.count) == before)
        // Its port closed with its transport, and can be leased again: five ports, two of them in use.
        let again = (0..<3).compactMap { _ in engine.openPlainPorts(worker: 0, rtcp: false, ipv6: false)?.port }
        #expect(again.count == 3 && again.contains(kicked.ports.port))
        #expect(engine.openPlainPorts(worker: 0, rtcp: false, ipv6: false) == nil)
    }

    @Test func aKernelThatRefusesSegmentsGetsSingleDatagrams() async throws {
        let engine = try Engine(configuration())
        defer { engine.stop() }
        let publisher = try publisher(engine)
        let subscriber = try subscriber(engine, number: 2)
        // Without checksums the kernel answers EINVAL to UDP_SEGMENT.
        var one: Int32 = 1
        let socket = try descriptor(ofPort: subscriber.ports.port)
        #expect(setsockopt(socket, SOL_SOCKET, SO_NO_CHECK, &one, socklen_t(MemoryLayout<Int32>.size)) == 0)
        try publish(320, from: 1000, publisher)
        try subscriber.receive(until: 320)
        #expect(indices(subscriber) == Array(1000..<1320))
        #expect(subscriber.receiver.longestRun == 1)
        let snapshot = try await snapshot(engine) { $0.packetsOut >= 320 }
        #expect(snapshot.drops.reduce(0, +) == 0)
        // Said once, and for good: the socket may segment again, and does not.
        one = 0
        #expect(setsockopt(socket, SOL_SOCKET, SO_NO_CHECK, &one, socklen_t(MemoryLayout<Int32>.size)) == 0)
        try publish(64, from: 1320, publisher)
        try subscriber.receive(until: 384)
        #expect(subscriber.receiver.longestRun == 1)
        engine.stop()
        var notices: [Engine.Notice] = []
        for await notice in engine.notices { notices.append(notice) }
        #expect(notices == [.segmentationRefused(worker: 0, SystemError(result: PARLOR_INVALID))])
    }

    @Test func anUnreachableSubscriberIsNoticedAndOthersGetAll() async throws {
        let engine = try Engine(configuration())
        defer { engine.stop() }
        let publisher = try publisher(engine)
        // A port that was just open and is not any more.
        let closed = try Loopback(Loopback.ipv4).address.port
        _ = try subscriber(engine, number: 2, remote: TransportAddress(ipv4: 0x7F00_0001, port: closed))
        let other = try subscriber(engine, number: 3)
        try publish(100, from: 1000, publisher)
        try other.receive(until: 100)
        #expect(indices(other) == Array(1000..<1100))
        let snapshot = try await snapshot(engine) { $0.drops(.unreachable) > 0 }
        #expect(snapshot.drops(.unreachable) > 0)
        // The refusals came back on its socket alone, and cost nobody a packet.
        #expect(snapshot.drops(.sendFailed) == 0)
    }
}
