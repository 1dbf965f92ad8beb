import CNet
import Glibc
import MediaContract
import MediaEngine
import MediaWire
import Testing

/// ICE-TCP through the engine.
@Suite(.serialized) struct EngineStreamTests {
    private static let base = UInt16(24_000 + Int(getpid() % 40) * 100) + 98

    private func configuration(workers: Int = 1) -> Engine.Configuration {
        var configuration = Engine.Configuration()
        configuration.mediaPort = 0
        configuration.workers = workers
        configuration.plainPorts = Self.base...Self.base + 1
        return configuration
    }

    private func until(_ condition: () async throws -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(10)
        while try await !condition() { try #require(ContinuousClock.now < deadline, "it never came true") }
    }

    @Test func tcpListensBesideUDP() throws {
        var configuration = configuration(workers: 2)
        configuration.ipv6 = TransportAddress(high: 0, low: 1, port: 0, isIPv4: false)
        let engine = try Engine(configuration)
        for worker in 0..<2 {
            let udp = engine.listeners(worker: worker)
            #expect(engine.streamListeners(worker: worker) == [try #require(udp.ipv4), try #require(udp.ipv6)])
            for address in engine.streamListeners(worker: worker) { _ = try TestStream(to: address) }
        }
        engine.stop()
        configuration.tcp = false
        let without = try Engine(configuration)
        defer { without.stop() }
        #expect(without.streamListeners(worker: 0).isEmpty)
        var remote = Loopback.ipv4
        remote.port = try #require(without.listeners(worker: 0).ipv4).port
        var options = parlor_stream_options()
        let refused = parlor_tcp_connect(&remote, &options)
        defer { parlor_close(refused) }
        #expect(refused == PARLOR_CONNECTION_REFUSED || parlor_tcp_connected(refused) == PARLOR_CONNECTION_REFUSED)
    }

    @Test func aNumberTakenForTCPStopsTheStartAndIsNamed() throws {
        var local = Loopback.ipv4
        let other = parlor_tcp_listen(&local, 1)
        try #require(other >= 0)
        defer { parlor_close(other) }
        _ = parlor_udp_local_address(other, &local)
        var configuration = configuration()
        configuration.mediaPort = local.port
        let address = TransportAddress(ipv4: 0x7F00_0001, port: local.port)
        let error = Engine.StartError.listenTCP(address, SystemError(result: PARLOR_ADDRESS_IN_USE))
        #expect(throws: error) { try Engine(configuration) }
        #expect(error.description == "cannot listen on TCP \(address): Address already in use")
        configuration.tcp = false
        let engine = try Engine(configuration)
        #expect(engine.listeners(worker: 0).ipv4 == address)
        engine.stop()
    }

    /// What comes over TCP reaches the switchboard, which has nobody for it.
    @Test func datagramsArriveAndAreCounted() async throws {
        let engine = try Engine(configuration())
        defer { engine.stop() }
        let client = try TestStream(to: try #require(engine.streamListeners(worker: 0).first))
        try await until { engine.streamCount(worker: 0) == 1 }
        let packets = (0..<500).map { [0x80, UInt8($0 & 0x7F)] + [UInt8](repeating: 1, count: 40 + $0) }
        try client.send(packets.flatMap(TestStream.frame))
        try await until {
            let snapshot = try #require(await engine.snapshot(worker: 0))
            return snapshot.drops.reduce(0, +) == 500
        }
        client.close()
        try await until { engine.streamCount(worker: 0) == 0 }
    }

    @Test func aConnectionThatCarriesNobodyIsClosed() async throws {
        var configuration = configuration()
        configuration.streams.bindingTime = .milliseconds(20)
        let engine = try Engine(configuration)
        defer { engine.stop() }
        let address = try #require(engine.streamListeners(worker: 0).first)
        let silent = try TestStream(to: address)
        let talking = try TestStream(to: address)
        try talking.send(TestStream.frame([0x80, 96, 0, 1]))
        #expect(silent.waitForEnd() && talking.waitForEnd())
        try await until { engine.streamCount(worker: 0) == 0 }
    }

    @Test func theStopClosesConnections() throws {
        let engine = try Engine(configuration())
        let address = try #require(engine.streamListeners(worker: 0).first)
        let client = try TestStream(to: address)
        #expect(engine.stop())
        #expect(client.waitForEnd())
        // The same number at once, though the kernel still winds up its connections.
        var again = configuration()
        again.mediaPort = address.port
        let next = try Engine(again)
        #expect(next.streamListeners(worker: 0) == [address])
        next.stop()
    }
}
