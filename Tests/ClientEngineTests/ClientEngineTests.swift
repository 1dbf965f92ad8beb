import ClientEngine
import MediaWire
import Synchronization
import Testing

/// The engine with real sockets on loopback: many clients of one thread send to those of another.
@Suite struct ClientEngineTests {
    /// Sends a packet each millisecond, or only listens.
    private struct Counter: ClientSession {
        var toSend: Int
        var sent = 0
        var received = 0
        var outOfOrder = 0
        var last: Int64 = -1
        var nextDeadline: MediaTime

        mutating func receive(
            _ packet: ClientPacket, payload: RawSpan, _ transport: inout ClientTransport, _ scene: inout ClientScene
        ) {
            received += 1
            if packet.sequence != last + 1, last >= 0 { outOfOrder += 1 }
            last = packet.sequence
        }

        mutating func keyFramesWanted(
            _ streams: UInt64, _ transport: inout ClientTransport, _ scene: inout ClientScene
        ) {}

        mutating func advance(_ transport: inout ClientTransport, _ scene: inout ClientScene) {
            transport.send(
                [UInt8](repeating: 7, count: 100), stream: 0, timestamp: UInt32(sent), marker: false, now: scene.now,
                into: &scene.outbox)
            sent += 1
            nextDeadline = sent < toSend ? scene.now + .milliseconds(1) : .distantFuture
        }
    }

    @Test func manyClientsExchangePackets() async throws {
        let sending = try ClientEngine<Counter>(name: "test-send")
        let receiving = try ClientEngine<Counter>(name: "test-recv")
        defer {
            sending.stop()
            receiving.stop()
        }
        var random = SeededRandom(seed: 1)
        let loopback = TransportAddress(ipv4: 0x7F00_0001, port: 0)
        for number in 0..<50 {
            let up = try #require(SRTPMasterKey.random(profile: .aeadAES128GCM, using: &random))
            let down = try #require(SRTPMasterKey.random(profile: .aeadAES128GCM, using: &random))
            let from = try ClientSocket(at: loopback)
            let to = try ClientSocket(at: loopback)
            let receiver = ClientTransport.Configuration(
                remote: from.address, sendKey: down, receiveKey: up,
                receiving: [InboundStreamSettings(ssrc: 5, codec: .opus)], reporterSSRC: 6, cname: "r")
            let sender = ClientTransport.Configuration(
                remote: to.address, sendKey: up, receiveKey: down,
                sending: [OutboundStreamSettings(ssrc: 5, payloadType: 111, codec: .opus, firstSequenceNumber: 1)],
                reporterSSRC: 5, cname: "s")
            let name = ClientName(UInt64(number))
            #expect(
                await receiving.add(
                    to, receiver, name: name, session: Counter(toSend: 0, nextDeadline: .distantFuture)))
            #expect(await sending.add(from, sender, name: name, session: Counter(toSend: 100, nextDeadline: .zero)))
        }
        // Bounded: gives up after 20,000 looks.
        var received: [Int] = []
        for _ in 0..<20_000 {
            received = await receiving.inspect { $0.session.received }
            if received.allSatisfy({ $0 == 100 }) { break }
            await Task.yield()
        }
        #expect(received == [Int](repeating: 100, count: 50))
        #expect(await receiving.inspect { $0.session.outOfOrder }.allSatisfy { $0 == 0 })
        #expect(await receiving.inspect { $0.socketDrops }.allSatisfy { $0 == 0 })
        #expect(await sending.inspect { $0.statistics.packetsSent } == [UInt64](repeating: 100, count: 50))

        sending.remove(ClientName(3))
        #expect(await sending.inspect { $0.name.number }.count == 49)
        #expect(await sending.load().cpuSeconds > 0)
    }

    @Test func anEndedEngineTakesNothing() async throws {
        let engine = try ClientEngine<Counter>(name: "test-ended")
        engine.stop()
        let socket = try ClientSocket(at: TransportAddress(ipv4: 0x7F00_0001, port: 0))
        var random = SeededRandom(seed: 2)
        let key = try #require(SRTPMasterKey.random(profile: .aeadAES128GCM, using: &random))
        let configuration = ClientTransport.Configuration(
            remote: socket.address, sendKey: key, receiveKey: key, reporterSSRC: 1, cname: "x")
        let session = Counter(toSend: 0, nextDeadline: .distantFuture)
        #expect(await !engine.add(socket, configuration, name: ClientName(1), session: session))
        #expect(await engine.inspect { $0.name }.isEmpty)
        #expect(await engine.load() == ClientEngineLoad())
    }
}
