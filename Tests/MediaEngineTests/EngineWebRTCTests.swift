import CNet
import Glibc
import MediaContract
import MediaEngine
import MediaWire
import Testing

/// WebRTC clients of the engine: UDP on the shared sockets and ICE-TCP beside it, IPv4 and IPv6.
@Suite(.serialized) struct EngineWebRTCTests {
    private static let base = UInt16(24_000 + Int(getpid() % 40) * 100) + 93
    private static let ssrc: UInt32 = 0x1234_5678

    private func engine() throws -> Engine {
        var configuration = Engine.Configuration()
        configuration.ipv6 = TransportAddress(high: 0, low: 1, port: 0, isIPv4: false)
        configuration.mediaPort = 0
        configuration.workers = 1
        configuration.plainPorts = Self.base...Self.base + 1
        configuration.dtls = try WebRTCLoopbackPeer.dtls()
        return try Engine(configuration)
    }

    private func link(_ engine: Engine, tcp: Bool, ipv6: Bool) throws -> LoopbackLink {
        let listeners = engine.listeners(worker: 0)
        let address = try #require(ipv6 ? listeners.ipv6 : listeners.ipv4)
        return tcp ? .tcp(try TestStream(to: address)) : try LoopbackLink(udp: address)
    }

    private func track(_ publisher: WebRTCLoopbackPeer, _ engine: Engine) {
        engine.post(
            .addTrack(
                TrackSpec(
                    id: TrackID(1), transport: publisher.transport, codec: .vp8, payloadType: 96,
                    encodings: [EncodingSpec(ssrcs: [Self.ssrc])], feedback: .all)), to: 0)
    }

    private func subscribe(_ subscriber: WebRTCLoopbackPeer, _ engine: Engine) {
        engine.post(
            .subscribe(
                SubscriptionSpec(
                    id: SubscriptionID(subscriber.peer.rawValue), track: TrackID(1), transport: subscriber.transport,
                    ssrc: UInt32(truncatingIfNeeded: subscriber.peer.rawValue), payloadType: 100, firstSequence: 7,
                    timestampOffset: 5, feedback: .all)), to: 0)
    }

    private func until(_ condition: () async throws -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(10)
        while try await !condition() { try #require(ContinuousClock.now < deadline, "it never came true") }
    }

    /// Subscribers of every kind get all of a publisher of each kind, in order.
    @Test(arguments: [false, true], [false, true]) func everybodyGetsEverything(tcp: Bool, ipv6: Bool) async throws {
        let engine = try engine()
        defer { engine.stop() }
        let publisher = try WebRTCLoopbackPeer(
            number: 1, link: try link(engine, tcp: tcp, ipv6: ipv6), engine: engine)
        try publisher.connect()
        track(publisher, engine)
        var subscribers: [WebRTCLoopbackPeer] = []
        for (number, kind) in [(false, false), (false, true), (true, false), (true, true)].enumerated() {
            let subscriber = try WebRTCLoopbackPeer(
                number: UInt64(number + 2), link: try link(engine, tcp: kind.0, ipv6: kind.1), engine: engine)
            try subscriber.connect()
            subscribe(subscriber, engine)
            subscribers.append(subscriber)
        }
        // Fewer than a connection's queue holds: the subscribers read one after the other.
        try publisher.publish(1000..<1200, ssrc: Self.ssrc)
        for subscriber in subscribers {
            try subscriber.receive(until: 200)
            #expect(subscriber.has(1000..<1200))
        }
        #expect(engine.streamCount(worker: 0) == (tcp ? 3 : 2))
        // Who is removed is disconnected, and the others are not.
        for subscriber in subscribers {
            #expect(await engine.removePeer(subscriber.peer, worker: 0))
            if case .tcp(let stream) = subscriber.link { #expect(stream.waitForEnd()) }
        }
        try await until { engine.streamCount(worker: 0) == (tcp ? 1 : 0) }
    }

    /// A subscriber whose UDP stops getting through comes back by TCP, and the other way round.
    @Test func aSubscriberChangesBetweenUDPAndTCP() async throws {
        let engine = try engine()
        defer { engine.stop() }
        let publisher = try WebRTCLoopbackPeer(
            number: 1, link: try link(engine, tcp: false, ipv6: false), engine: engine)
        try publisher.connect()
        track(publisher, engine)
        let subscriber = try WebRTCLoopbackPeer(
            number: 2, link: try link(engine, tcp: false, ipv6: true), engine: engine)
        try subscriber.connect()
        subscribe(subscriber, engine)
        try publisher.publish(1000..<1100, ssrc: Self.ssrc)
        try subscriber.receive(until: 100)
        try subscriber.move(to: try link(engine, tcp: true, ipv6: false))
        try publisher.publish(1100..<1200, ssrc: Self.ssrc)
        try subscriber.receive(until: 200)
        #expect(engine.streamCount(worker: 0) == 1)
        // The connection breaks; what is sent until the next check may be lost, and nothing else.
        if case .tcp(let stream) = subscriber.link { stream.close(abort: true) }
        try await until { engine.streamCount(worker: 0) == 0 }
        try subscriber.move(to: try link(engine, tcp: true, ipv6: true))
        try publisher.publish(1200..<1300, ssrc: Self.ssrc)
        try subscriber.receive(until: 300)
        try subscriber.move(to: try link(engine, tcp: false, ipv6: false))
        try publisher.publish(1300..<1400, ssrc: Self.ssrc)
        try subscriber.receive(until: 400)
        #expect(subscriber.has(1000..<1400))
    }

    /// A node that listens on all addresses of a machine with several answers and sends from the one that each client has asked.
    @Test func whatLeavesHasTheAddressThatWasAsked() async throws {
        var configuration = Engine.Configuration()
        configuration.ipv4 = TransportAddress(ipv4: 0, port: 0)
        configuration.localAddresses = [2, 3, 3].map { TransportAddress(ipv4: 0x7F00_0000 + $0, port: 9) }
        configuration.mediaPort = 0
        configuration.workers = 1
        configuration.plainPorts = Self.base...Self.base + 1
        configuration.dtls = try WebRTCLoopbackPeer.dtls()
        let engine = try Engine(configuration)
        defer { engine.stop() }
        let port = try #require(engine.listeners(worker: 0).ipv4).port
        func link(_ host: UInt32) throws -> LoopbackLink {
            try LoopbackLink(udp: TransportAddress(ipv4: 0x7F00_0000 + host, port: port))
        }
        let publisher = try WebRTCLoopbackPeer(number: 1, link: try link(3), engine: engine)
        try publisher.connect()
        track(publisher, engine)
        // Host 1 is none of the node's own here, and the socket for all serves it.
        var subscribers: [WebRTCLoopbackPeer] = []
        for host in UInt32(1)...3 {
            let subscriber = try WebRTCLoopbackPeer(number: UInt64(host + 1), link: try link(host), engine: engine)
            try subscriber.connect()
            subscribe(subscriber, engine)
            subscribers.append(subscriber)
        }
        try publisher.publish(1000..<1100, ssrc: Self.ssrc)
        for subscriber in subscribers { try subscriber.receive(until: 100) }
        try subscribers[1].move(to: try link(3))
        try subscribers[2].move(to: try link(2))
        try publisher.publish(1100..<1200, ssrc: Self.ssrc)
        for subscriber in subscribers {
            try subscriber.receive(until: 200)
            #expect(subscriber.has(1000..<1200))
        }
        // Nobody else gets the port, at any address.
        for host in UInt64(1)...4 {
            var taken = Loopback.ipv4
            taken.low = 0x7F00_0000 + host
            taken.port = port
            #expect(throws: Loopback.Failed(result: PARLOR_ADDRESS_IN_USE)) { try Loopback(taken) }
        }
        var second = configuration
        second.mediaPort = port
        #expect(throws: Engine.StartError.self) { try Engine(second) }
    }

    /// A subscriber that reads nothing costs itself packets, by name, and the others none.
    @Test func aSubscriberThatReadsNothingLosesOnlyItsOwn() async throws {
        let engine = try engine()
        defer { engine.stop() }
        let publisher = try WebRTCLoopbackPeer(
            number: 1, link: try link(engine, tcp: true, ipv6: false), engine: engine)
        try publisher.connect()
        track(publisher, engine)
        let stalled = try WebRTCLoopbackPeer(
            number: 2, link: try link(engine, tcp: true, ipv6: false), engine: engine)
        try stalled.connect()
        subscribe(stalled, engine)
        let other = try WebRTCLoopbackPeer(
            number: 3, link: try link(engine, tcp: true, ipv6: false), engine: engine)
        try other.connect()
        subscribe(other, engine)
        var next: UInt64 = 1000
        try await until {
            try publisher.publish(next..<next + 200, ssrc: Self.ssrc)
            next += 200
            try other.receive(until: Int(next) - 1000)
            #expect(other.indices.count == Int(next) - 1000)
            return try #require(await engine.snapshot(worker: 0)).drops(.streamFull) > 100
        }
        #expect(other.has(1000..<Int(next)))
        // When it reads again, it gets what waited, in order and whole, and then all that comes.
        try stalled.receive(until: 200)
        try await until {
            try publisher.publish(next..<next + 1, ssrc: Self.ssrc)
            next += 1
            try other.receive(until: Int(next) - 1000)
            try stalled.receive(until: stalled.indices.count + 1)
            return stalled.indices.last == Int(next) - 1
        }
        #expect(stalled.indices.count < other.indices.count)
        #expect(zip(stalled.indices, stalled.indices.dropFirst()).allSatisfy { $0 < $1 })
    }
}
