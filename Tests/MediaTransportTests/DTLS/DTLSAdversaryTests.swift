import MediaContract
import MediaTransport
import MediaWire
import Testing

struct DTLSAdversaryTests {
    /// A handshake of which the client's first datagram is not sent yet, but was taken.
    private func begun(_ pair: inout DTLSPair) throws -> [UInt8] {
        pair.client.start(now: pair.now)
        let all = pair.client.takeAll()
        try #require(all.count == 1)
        return all[0]
    }

    // Fragments

    @Test func clientHelloInFragments() throws {
        for order in [[0, 1, 2], [2, 1, 0], [1, 1, 0, 0, 2, 2], [2, 0, 1], [1, 2, 0]] {
            var pair = try DTLSPair()
            let hello = try begun(&pair)
            let size = hello.count - 25
            let parts = DTLSBytes.fragments(of: hello, [0..<50, 50..<100, 100..<size])
            for number in order { pair.server.receive(parts[number], now: pair.now) }
            pair.run()
            #expect(pair.states == [.connected, .connected], "\(order)")
            #expect(pair.elapsed <= .milliseconds(60), "nothing was sent twice: \(order)")
            try pair.expectKeys()
        }
    }

    @Test func overlappingFragmentsAndALostOne() throws {
        var pair = try DTLSPair()
        let hello = try begun(&pair)
        let size = hello.count - 25
        for part in DTLSBytes.fragments(of: hello, [0..<60, 30..<90, 80..<size]) {
            pair.server.receive(part, now: pair.now)
        }
        pair.run()
        #expect(pair.states == [.connected, .connected])
        #expect(pair.elapsed <= .milliseconds(60))

        // The first part is lost, and comes again with the whole message.
        var lossy = try DTLSPair()
        let again = try begun(&lossy)
        for part in DTLSBytes.fragments(of: again, [0..<50, 50..<size]).dropFirst() {
            lossy.server.receive(part, now: lossy.now)
        }
        lossy.run()
        #expect(lossy.states == [.connected, .connected])
        try lossy.expectKeys()
    }

    /// A post-quantum ClientHello, whole and in fragments: groups, suites, versions and extensions that are not known are passed over.
    @Test func modernClientHello() throws {
        var random = SeededRandom(seed: 0x11EC)
        let hello = DTLSBytes.modernClientHello(using: &random)
        #expect(hello.count > 1500)
        let size = hello.count - 25
        for parts in [
            [hello], DTLSBytes.fragments(of: hello, [0..<600, 600..<1200, 1200..<size]),
            DTLSBytes.fragments(of: hello, [1200..<size, 0..<600, 300..<1250, 600..<1200]),
        ] {
            var pair = try DTLSPair()
            for part in parts { pair.server.receive(part, now: pair.now) }
            let flight = pair.server.takeAll()
            // ServerHello, Certificate, ServerKeyExchange, CertificateRequest, ServerHelloDone.
            #expect(flight.flatMap(DTLSBytes.handshakeTypes) == [2, 11, 12, 13, 14])
            #expect(pair.states[1] == .handshaking)
        }
        // With no group that we know there is nothing to agree on.
        var pair = try DTLSPair()
        pair.server.receive(DTLSBytes.modernClientHello(groups: [0x11EC], using: &random), now: pair.now)
        #expect(pair.states[1] == .failed(.handshakeFailed))
    }

    /// None of these does anything, not even to the handshake that follows.
    @Test func impossibleFragments() throws {
        let bytes = [UInt8](repeating: 1, count: 100)
        let impossible = [
            DTLSBytes.fragment(1, length: 0xFFFFFF, bytes),
            DTLSBytes.fragment(1, length: 16 * 1024 + 1, bytes),
            DTLSBytes.fragment(1, length: 50, bytes),
            DTLSBytes.fragment(1, length: 150, offset: 51, bytes),
            DTLSBytes.fragment(1, length: 200, offset: 0xFFFFFF, bytes),
            DTLSBytes.fragment(1, length: 200, []),
            DTLSBytes.fragment(1, length: 200, offset: 200, []),
            DTLSBytes.fragment(1, length: 200, sequence: 16, bytes),
            DTLSBytes.fragment(1, length: 200, sequence: 0xFFFF, bytes),
            Array(DTLSBytes.fragment(1, length: 200, bytes).dropLast()),
            Array(DTLSBytes.fragment(1, length: 200, bytes).prefix(11)),
        ]
        var pair = try DTLSPair()
        for body in impossible {
            pair.server.receive(DTLSBytes.record(22, body), now: pair.now)
            #expect(pair.states[1] == .handshaking, "\(body.prefix(12))")
        }
        let answers = pair.server.takeAll()
        #expect(answers.isEmpty)
        pair.run()
        #expect(pair.states == [.connected, .connected])
    }

    /// OpenSSL ends an association over a part that does not fit what came before; the filter does not let it see one.
    @Test func fragmentsOfAnotherLength() throws {
        var pair = try DTLSPair()
        let hello = try begun(&pair)
        let size = hello.count - 25
        let parts = DTLSBytes.fragments(of: hello, [0..<60, 60..<size])
        pair.server.receive(parts[0], now: pair.now)
        for length in [size - 1, size + 1, 61, 16000] {
            let wrong = DTLSBytes.fragment(1, length: length, offset: 60, [9])
            pair.server.receive(DTLSBytes.record(22, sequence: 9, wrong), now: pair.now)
        }
        pair.server.receive(parts[1], now: pair.now)
        pair.run()
        #expect(pair.states == [.connected, .connected])
    }

    @Test func aMessageWithoutAnEnd() throws {
        var pair = try DTLSPair()
        var sent = 0
        while pair.states[1] == .handshaking, sent < 100_000 {
            let part = DTLSBytes.fragment(1, length: 16000, offset: sent % 15000, [UInt8(sent & 0xFF)])
            pair.server.receive(DTLSBytes.record(22, sequence: UInt32(sent), part), now: pair.now)
            sent += 1
        }
        #expect(pair.states[1] == .failed(.handshakeLimit))
        #expect(sent == DTLSAssociation.handshakeByteLimit / 26 + 1)
        let (waiting, deadline) = (pair.server.takeAll(), pair.server.nextDeadline)
        #expect(waiting.isEmpty && deadline == nil)
    }

    /// OpenSSL would keep 100 of these, at 16 KiB each.
    @Test func recordsOfTheNextEpoch() throws {
        var pair = try DTLSPair()
        let hello = try begun(&pair)
        pair.server.receive(hello, now: pair.now)
        _ = pair.server.takeAll()
        for sequence in 0..<500 {
            let record = DTLSBytes.record(22, epoch: 1, sequence: UInt32(sequence), [UInt8](repeating: 3, count: 40))
            pair.server.receive(record, now: pair.now)
        }
        #expect(pair.states[1] == .handshaking)
    }

    // Versions

    /// DTLS 1.0, and what came before it.
    @Test(arguments: [[0xFE, 0xFF], [1, 0]] as [[UInt8]]) func oldVersions(version: [UInt8]) throws {
        var pair = try DTLSPair()
        var hello = try begun(&pair)
        hello.replaceSubrange(25..<27, with: version)
        pair.server.receive(hello, now: pair.now)
        #expect(pair.states[1] == .failed(.handshakeFailed))
        // alert(21), fatal(2), protocol_version(70)
        let answer = pair.server.takeAll()
        #expect(answer.count == 1 && answer[0][0] == 21 && answer[0].suffix(2) == [2, 70], "\(answer)")
    }

    /// A server that answers with DTLS 1.0.
    @Test func anOldServer() throws {
        var pair = try DTLSPair()
        pair.server.receive(try begun(&pair), now: pair.now)
        var flight = pair.server.takeAll()
        flight[0].replaceSubrange(25..<27, with: [0xFE, 0xFF])
        for datagram in flight { pair.client.receive(datagram, now: pair.now) }
        #expect(pair.states[0] == .failed(.handshakeFailed))
    }

    // Sizes

    /// RSA-4096 in a chain of three at both ends: no datagram is larger than the path takes, whatever is sent again.
    @Test(arguments: 1...20 as ClosedRange<UInt64>) func longCertificates(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var pair = try DTLSPair(client: OpenSSLCommand.longChain, server: OpenSSLCommand.longChain)
        pair.run { _ in seed > 1 && Double.random(in: 0..<1, using: &random) < 0.2 ? [] : [.milliseconds(20)] }
        #expect(pair.states == [.connected, .connected], "seed \(seed)")
        let sizes = pair.sent.map(\.bytes.count)
        #expect((sizes.max() ?? 0) <= 1200, "seed \(seed)")
        #expect((sizes.max() ?? 0) > 1100, "the room is used")
        #expect(sizes.reduce(0, +) > 8000)
        try pair.expectKeys()
    }

    @Test func aSmallBufferTakesNothing() throws {
        var pair = try DTLSPair()
        pair.client.start(now: pair.now)
        var small = [UInt8](repeating: 0, count: 100)
        let none = small.withUnsafeMutableBytes { pair.client.takeDatagram(into: $0) }
        let empty = pair.client.takeDatagram(into: UnsafeMutableRawBufferPointer(start: nil, count: 0))
        #expect(none == nil && empty == nil)
        let all = pair.client.takeAll()
        #expect(all.count == 1, "it still waits")
    }

    @Test func aQueueThatNobodyEmpties() throws {
        var pair = try DTLSPair()
        var time = pair.now
        pair.client.start(now: time)
        while let deadline = pair.client.nextDeadline, deadline < pair.start + .seconds(29) {
            time = deadline
            pair.client.advance(to: time)
        }
        let all = pair.client.takeAll()
        #expect(all.count == 13 && pair.states[0] == .handshaking)

        var server = try DTLSPair(server: OpenSSLCommand.longChain)
        let hello = try begun(&server)
        server.server.receive(hello, now: server.now)
        while let deadline = server.server.nextDeadline, deadline < server.start + .seconds(29) {
            server.server.advance(to: deadline)
        }
        let kept = server.server.takeAll()
        #expect(kept.count == 16 && server.states[1] == .handshaking)
    }

    // Garbage

    @Test func garbageChangesNothing() throws {
        var random = SeededRandom(seed: 20)
        var pair = try DTLSPair()
        let rounds: [() -> [UInt8]] = [
            { random.bytes(Int.random(in: 0...100, using: &random)) },
            { [UInt8.random(in: 20...63, using: &random)] + random.bytes(Int.random(in: 0...1199, using: &random)) },
            { DTLSBytes.record(UInt8.random(in: 24...63, using: &random), random.bytes(40)) },
            { DTLSBytes.record(22, epoch: UInt16.random(in: 2...0xFFFF, using: &random), random.bytes(40)) },
            { DTLSBytes.record(22, version: 0x0303, random.bytes(40)) },
            { DTLSBytes.record(23, random.bytes(40)) },
            { DTLSBytes.record(20, [UInt8.random(in: 2...255, using: &random)]) },
            { DTLSBytes.record(20, [1, 1]) },
            { DTLSBytes.record(20, [0]) },
            { DTLSBytes.record(21, [2]) },
            { DTLSBytes.record(21, [UInt8.random(in: 3...255, using: &random), 40]) },
            { DTLSBytes.record(21, [2, 40, 0]) },
            { DTLSBytes.record(22, []) },
            { Array(DTLSBytes.record(22, random.bytes(40)).dropLast()) },
            { [UInt8](repeating: 22, count: 17_000) },
            { (0..<65).flatMap { _ in DTLSBytes.record(20, [1]) } },
        ]
        for round in rounds {
            // Less than the limit of a handshake's bytes together.
            let bytes = round()
            pair.server.receive(bytes, now: pair.now)
            #expect(pair.states[1] == .handshaking)
            pair.client.receive(bytes, now: pair.now)
            #expect(pair.states[0] == .handshaking)
        }
        pair.run()
        #expect(pair.states == [.connected, .connected])
        for _ in 0..<2000 {
            let bytes = rounds[Int.random(in: 0..<rounds.count, using: &random)]()
            pair.server.receive(bytes, now: pair.now)
            pair.client.receive(bytes, now: pair.now)
        }
        #expect(pair.states == [.connected, .connected])
        let answers = pair.server.takeAll() + pair.client.takeAll()
        #expect(answers.isEmpty)
        try pair.expectKeys()
    }

    /// After the handshake, what is not encrypted is nobody's: ClientHellos, alerts, all that was sent before.
    @Test func afterTheHandshake() throws {
        var random = SeededRandom(seed: 4)
        var pair = try DTLSPair()
        pair.run()
        try #require(pair.states == [.connected, .connected])
        let conversation = pair.sent
        for sequence in 0..<200 as Range<UInt32> {
            let alerts = [[2, 40], [1, 0], [2, 0], [2, 80]] as [[UInt8]]
            for alert in alerts {
                pair.server.receive(DTLSBytes.record(21, sequence: sequence, alert), now: pair.now)
                pair.client.receive(DTLSBytes.record(21, sequence: sequence, alert), now: pair.now)
                pair.server.receive(DTLSBytes.record(21, epoch: 1, sequence: sequence, alert), now: pair.now)
                let sealed = DTLSBytes.record(21, epoch: 1, sequence: sequence, random.bytes(26))
                pair.client.receive(sealed, now: pair.now)
            }
            pair.server.receive(DTLSBytes.modernClientHello(using: &random), now: pair.now)
        }
        for datagram in conversation + conversation.reversed() {
            if datagram.isFromClient {
                pair.server.receive(datagram.bytes, now: pair.now)
            } else {
                pair.client.receive(datagram.bytes, now: pair.now)
            }
        }
        #expect(pair.states == [.connected, .connected])
        let answers = pair.server.takeAll() + pair.client.takeAll()
        #expect(answers.isEmpty)
        try pair.expectKeys()
        pair.client.close()
        pair.run()
        #expect(pair.states == [.closed, .failed(.closedByPeer)])
    }
}
