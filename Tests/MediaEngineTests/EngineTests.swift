import CNet
import Glibc
import MediaContract
import MediaEngine
import MediaWire
import Testing

/// The engine with real sockets on loopback.
@Suite struct EngineTests {
    /// The first of a hundred ports for the tests of this process, so that several runs on a machine do not meet. Below
    /// the ports that the kernel hands out (32768 and up).
    private static let base = UInt16(24_000 + Int(getpid() % 40) * 100)

    private func port(_ offset: UInt16) -> UInt16 { Self.base + offset }

    /// An engine with plain ports at the given offsets; no two tests share any.
    private func configuration(plain offsets: ClosedRange<UInt16>, workers: Int = 2) -> Engine.Configuration {
        let plain = port(offsets.lowerBound)...port(offsets.upperBound)
        var configuration = Engine.Configuration()
        configuration.mediaPort = 0
        configuration.workers = workers
        configuration.plainPorts = plain
        return configuration
    }

    private func local(_ port: UInt16) -> parlor_address {
        parlor_address(high: 0, low: 0x7F00_0001, port: port, is_ipv4: 1)
    }

    private func isBound(_ port: UInt16) -> Bool {
        do {
            _ = try Loopback(local(port))
            return false
        } catch {
            return (error as? Loopback.Failed)?.result == PARLOR_ADDRESS_IN_USE
        }
    }

    @Test func startsListensAndStops() throws {
        var configuration = configuration(plain: 0...9)
        configuration.ipv6 = TransportAddress(high: 0, low: 1, port: 0, isIPv4: false)
        let engine = try Engine(configuration)
        #expect(engine.workerCount == 2)
        let ports = try (0..<2).map { worker in
            let listeners = engine.listeners(worker: worker)
            #expect(listeners.ipv6?.port != 0)
            return try #require(listeners.ipv4).port
        }
        #expect(Set(ports).count == 2)
        for port in ports { #expect(isBound(port)) }
        let start = ContinuousClock.now
        #expect(engine.stop())
        #expect(ContinuousClock.now - start < .seconds(1))
        for port in ports { #expect(!isBound(port)) }
        #expect(engine.stop())
    }

    @Test func anEngineThatGoesStopsItsThreads() throws {
        var engine: Engine? = try Engine(configuration(plain: 10...19))
        let port = try #require(engine?.listeners(worker: 0).ipv4).port
        #expect(isBound(port))
        engine = nil
        #expect(!isBound(port))
    }

    @Test func aTakenPortStopsTheStartAndIsNamed() throws {
        let taken = try Loopback(Loopback.ipv4)
        var configuration = configuration(plain: 20...29, workers: 1)
        configuration.mediaPort = taken.address.port
        let address = TransportAddress(ipv4: 0x7F00_0001, port: taken.address.port)
        let error = Engine.StartError.listen(address, SystemError(result: PARLOR_ADDRESS_IN_USE))
        #expect(throws: error) { try Engine(configuration) }
        #expect(error.description == "cannot listen on UDP \(address): Address already in use")

        configuration.mediaPort = 65535
        configuration.workers = 2
        #expect(throws: Engine.StartError.portOutOfRange(first: 65535, workers: 2)) { try Engine(configuration) }
        configuration.ipv4 = nil
        #expect(throws: Engine.StartError.noAddress) { try Engine(configuration) }
    }

    @Test func plainPortsAreOpenDistinctAndUsedUp() throws {
        let engine = try Engine(configuration(plain: 30...37))
        defer { engine.stop() }
        let outsider = try Loopback(local(port(31)))
        // The first port has no free partner, so pairs begin at the third.
        let pair = try #require(engine.openPlainPorts(worker: 0, rtcp: true, ipv6: false))
        #expect(pair.port == port(32) && pair.rtcpPort == port(33) && pair.socket != pair.rtcpSocket)
        var singles: [PlainPorts] = []
        while let ports = engine.openPlainPorts(worker: 1, rtcp: false, ipv6: false) {
            #expect(ports.port == ports.rtcpPort && ports.socket == ports.rtcpSocket)
            singles.append(ports)
        }
        #expect(singles.map(\.port).sorted() == [30, 34, 35, 36, 37].map(port))
        #expect(Set(singles.map(\.socket) + [pair.socket, pair.rtcpSocket]).count == 7)
        for offset in 30...37 { #expect(isBound(port(UInt16(offset)))) }
        #expect(engine.openPlainPorts(worker: 0, rtcp: false, ipv6: true) == nil, "no IPv6 address is configured")
        withExtendedLifetime(outsider) {}
    }

    @Test func closedPortsComeBackExactlyOnce() async throws {
        let engine = try Engine(configuration(plain: 40...43, workers: 1))
        defer { engine.stop() }
        for round in 0..<20 {
            let first = try #require(engine.openPlainPorts(worker: 0, rtcp: true, ipv6: false), "round \(round)")
            let second = try #require(engine.openPlainPorts(worker: 0, rtcp: true, ipv6: false), "round \(round)")
            #expect(first.port != second.port)
            #expect(engine.openPlainPorts(worker: 0, rtcp: false, ipv6: false) == nil)
            // Twice: the second finds the sockets closed, and must not give their ports back again.
            for ports in [first, first, second] { engine.close(ports, worker: 0) }
            // The ports close at the end of a round; an answer to a later question comes after it.
            #expect(await engine.snapshot(worker: 0) != nil)
            #expect(await engine.snapshot(worker: 0) != nil)
            #expect(!isBound(first.port) && !isBound(second.rtcpPort))
        }
    }

    @Test func afterTheStopThereIsNothingToAsk() async throws {
        let engine = try Engine(configuration(plain: 50...53, workers: 1))
        let open = try #require(engine.openPlainPorts(worker: 0, rtcp: true, ipv6: false))
        #expect(engine.stop())
        #expect(!isBound(open.port) && !isBound(open.rtcpPort))
        #expect(engine.openPlainPorts(worker: 0, rtcp: true, ipv6: false) == nil)
        #expect(!isBound(port(52)))
        #expect(await engine.removePeer(PeerID(1), worker: 0) == false)
        #expect(await engine.snapshot(worker: 0) == nil)
        for await batch in engine.events { Issue.record("an event after the end: \(batch)") }
    }

    @Test func aRemovalIsAnsweredAndSoIsOneOfAnUnknownPeer() async throws {
        let engine = try Engine(configuration(plain: 60...63, workers: 1))
        defer { engine.stop() }
        engine.post(.addPeer(PeerID(1), isolation: IsolationKey(1)), to: 0)
        async let first = engine.removePeer(PeerID(1), worker: 0)
        async let second = engine.removePeer(PeerID(1), worker: 0)
        let done = await [first, second]
        #expect(done == [true, true])
        #expect(await engine.removePeer(PeerID(2), worker: 0))
    }

    @Test func questionsOfOthersAreAnsweredByEvents() async throws {
        let engine = try Engine(configuration(plain: 70...73, workers: 1))
        engine.post(.removePeer(PeerID(7), ticket: RemovalTicket(77)), to: 0)
        engine.post(.snapshot(5), to: 0)
        #expect(await engine.removePeer(PeerID(8), worker: 0))
        let snapshot = try #require(await engine.snapshot(worker: 0))
        #expect(snapshot.drops.count == DropReason.allCases.count)
        engine.stop()
        var seen: [String] = []
        for await batch in engine.events {
            #expect(batch.worker == 0 && !batch.events.isEmpty)
            for event in batch.events {
                switch event {
                case .removed(let ticket): seen.append("removed \(ticket.rawValue)")
                case .snapshot(let number, _): seen.append("snapshot \(number)")
                default: seen.append("\(event)")
                }
            }
        }
        // The engine's own questions were answered by calls, and are not among the events.
        #expect(seen.sorted() == ["removed 77", "snapshot 5"])
    }

    @Test func newPeersGoWhereTheFewestAre() throws {
        let engine = try Engine(configuration(plain: 80...83, workers: 3))
        defer { engine.stop() }
        // Nobody anywhere: in turn.
        #expect(Set((0..<3).map { _ in engine.leastLoadedWorker() }) == [0, 1, 2])
        for peer in 0..<2 { engine.post(.addPeer(PeerID(UInt64(peer)), isolation: IsolationKey(0)), to: 0) }
        engine.post(.addPeer(PeerID(2), isolation: IsolationKey(1)), to: 1)
        for _ in 0..<4 { #expect(engine.leastLoadedWorker() == 2) }
        engine.post(.removePeer(PeerID(0), ticket: RemovalTicket(1)), to: 0)
        engine.post(.removePeer(PeerID(1), ticket: RemovalTicket(2)), to: 0)
        engine.post(.addPeer(PeerID(3), isolation: IsolationKey(2)), to: 2)
        for _ in 0..<4 { #expect(engine.leastLoadedWorker() == 0) }
    }

    @Test func clampedBuffersAreWarnedOf() throws {
        var configuration = configuration(plain: 90...93, workers: 1)
        let modest = try Engine(configuration)
        #expect(modest.warnings.isEmpty)
        modest.stop()
        // More than any system grants: the kernel's limit of a buffer is below 2 GiB.
        configuration.receiveBufferSize = Int(Int32.max)
        let greedy = try Engine(configuration)
        #expect(greedy.warnings.count == 1)
        #expect(greedy.warnings.first?.contains("net.core.rmem_max=\(Int32.max)") == true)
        greedy.stop()
    }
}
