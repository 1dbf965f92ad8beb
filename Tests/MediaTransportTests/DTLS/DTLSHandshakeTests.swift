import MediaContract
import MediaTransport
import MediaWire
import Testing

struct DTLSHandshakeTests {
    @Test func plain() throws {
        var pair = try DTLSPair()
        pair.run()
        try #require(pair.states == [.connected, .connected])
        // Two round trips of 40 ms.
        #expect(pair.elapsed == .milliseconds(80))
        let deadlines = (pair.client.nextDeadline, pair.server.nextDeadline)
        #expect(deadlines.0 == nil && deadlines.1 == nil)
        #expect(pair.sent.count == 4 && pair.sent.allSatisfy { $0.bytes.count <= 1200 })
        try pair.expectKeys(profile: .aeadAES128GCM)
    }

    @Test func keysOnlyWhenConnected() throws {
        var pair = try DTLSPair()
        let before = (pair.client.takeKeys(), pair.server.takeKeys())
        #expect(before.0 == nil && before.1 == nil)
        pair.run { $0.isFromClient && $0.number == 1 ? [] : [.milliseconds(20)] }
        try #require(pair.states == [.connected, .connected])
        pair.client.close()
        let after = pair.client.takeKeys()
        #expect(after == nil)
        #expect(DTLSAssociation.handshakeLimit == .seconds(30))
    }

    /// RFC 5764, section 4.1.1, in the order of the issue: GCM-128, GCM-256, CM-80.
    @Test func profiles() throws {
        let (cm, gcm, gcm256) = (SRTPProfile.aesCM128HmacSHA1_80, SRTPProfile.aeadAES128GCM, SRTPProfile.aeadAES256GCM)
        let all = [gcm, gcm256, cm]
        let cases: [([SRTPProfile], [SRTPProfile], SRTPProfile)] = [
            (all, all, gcm), ([cm, gcm256, gcm], all, gcm), ([cm, gcm256], all, gcm256), ([cm], all, cm),
            ([gcm], all, gcm), ([gcm256], all, gcm256), (all, [cm], cm), (all, [gcm256], gcm256), (all, [gcm], gcm),
        ]
        for (ofClient, ofServer, agreed) in cases {
            var pair = try DTLSPair(clientProfiles: ofClient, serverProfiles: ofServer)
            pair.run()
            #expect(pair.states == [.connected, .connected])
            try pair.expectKeys(profile: agreed)
        }
    }

    @Test func noCommonProfile() throws {
        var pair = try DTLSPair(clientProfiles: [.aesCM128HmacSHA1_80], serverProfiles: [.aeadAES128GCM])
        pair.run()
        #expect(pair.states.allSatisfy { $0 != .connected && $0 != .handshaking }, "\(pair.states)")
        let keys = (pair.client.takeKeys(), pair.server.takeKeys())
        #expect(keys.0 == nil && keys.1 == nil)
    }

    @Test func contextsThatCannotBe() throws {
        let certificate = try #require(TestCertificates.client)
        #expect(DTLSContext(certificate: certificate, profiles: []) == nil)
        let context = try #require(DTLSContext(certificate: certificate))
        let digest = try #require(certificate.digest)
        let tooMany = [DTLSFingerprint](repeating: digest, count: 17)
        let none = isNil(DTLSAssociation(context: context, role: .server, fingerprints: tooMany, now: .zero))
        #expect(none)
    }

    // Fingerprints

    @Test(arguments: [true, false]) func wrongFingerprint(atServer: Bool) throws {
        let stranger = try #require(TestCertificates.stranger?.digest)
        var pair =
            atServer ? try DTLSPair(serverExpects: [stranger]) : try DTLSPair(clientExpects: [stranger])
        pair.run()
        let (refusing, refused) = atServer ? (1, 0) : (0, 1)
        #expect(pair.states[refusing] == .failed(.fingerprintMismatch))
        // It hears of that by an alert, at once.
        #expect(pair.states[refused] == .failed(.handshakeFailed))
        #expect(pair.elapsed < .milliseconds(200))
        let keys = (pair.client.takeKeys(), pair.server.takeKeys())
        #expect(keys.0 == nil && keys.1 == nil)
    }

    /// Of several the right one counts, and without any a certificate is enough.
    @Test func severalFingerprintsAndNone() throws {
        let (stranger, client) = (
            try #require(TestCertificates.stranger?.digest), try #require(TestCertificates.client?.digest)
        )
        for expected in [[stranger, client], [client, stranger, stranger], []] {
            var pair = try DTLSPair(serverExpects: expected)
            pair.run()
            #expect(pair.states == [.connected, .connected])
            try pair.expectKeys()
        }
    }

    /// A digest whose bytes were changed after it was made fits nothing, whatever its length is now.
    @Test(arguments: [0, 31, 64, 100]) func fingerprintsOfAWrongLength(count: Int) throws {
        var digest = try #require(TestCertificates.client?.digest)
        digest.bytes = [UInt8](repeating: digest.bytes[0], count: count)
        var pair = try DTLSPair(serverExpects: [digest])
        pair.run()
        #expect(pair.states[1] == .failed(.fingerprintMismatch))
    }

    // Loss, repetition, order

    /// Every datagram is lost, alone and with any other one: of the first flights, and of those that are sent again.
    @Test(arguments: 0..<24) func anyTwoLost(first: Int) throws {
        func place(_ number: Int) -> (Bool, Int) { (number % 2 == 0, number / 2) }
        for second in first..<24 {
            let lost = [place(first), place(second)]
            var pair = try DTLSPair()
            pair.run { datagram in
                lost.contains { $0 == (datagram.isFromClient, datagram.number) } ? [] : [.milliseconds(20)]
            }
            #expect(pair.states == [.connected, .connected], "\(lost)")
            #expect(pair.elapsed <= .milliseconds(1500), "\(lost): \(pair.elapsed.seconds) s")
            try pair.expectKeys()
        }
    }

    @Test(arguments: 1...100 as ClosedRange<UInt64>) func randomLoss(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var pair = try DTLSPair()
        pair.run { _ in
            Double.random(in: 0..<1, using: &random) < 0.3
                ? [] : [.milliseconds(Int64.random(in: 5...60, using: &random))]
        }
        #expect(pair.states == [.connected, .connected], "seed \(seed)")
        try pair.expectKeys()
    }

    /// Each datagram comes one to three times, early or late, and some not at all.
    @Test(arguments: 1...100 as ClosedRange<UInt64>) func disorder(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var pair = try DTLSPair(server: OpenSSLCommand.longChain)
        pair.run { _ in
            if Double.random(in: 0..<1, using: &random) < 0.1 { return [] }
            return (0..<Int.random(in: 1...3, using: &random)).map { _ in
                .milliseconds(Int64.random(in: 1...150, using: &random))
            }
        }
        #expect(pair.states == [.connected, .connected], "seed \(seed)")
        try pair.expectKeys()
    }

    @Test func flightsBackwards() throws {
        var pair = try DTLSPair(client: OpenSSLCommand.longChain, server: OpenSSLCommand.longChain)
        pair.run { [.milliseconds(100 - 5 * Int64($0.number))] }
        #expect(pair.states == [.connected, .connected])
        try pair.expectKeys()
    }

    // Time

    /// RFC 6347, section 4.2.4.1, from 200 ms to 3 s.
    @Test(arguments: [true, false]) func nobodyAnswers(isClient: Bool) throws {
        var pair = try DTLSPair()
        // The server hears the client's first flight, and nothing after that.
        var times: [MediaDuration] = []
        var last = MediaDuration.zero
        pair.run(limit: .seconds(29)) { datagram in
            datagram.isFromClient && !isClient && datagram.number == 0 ? [.zero] : []
        }
        for datagram in pair.sent where datagram.isFromClient == isClient {
            if times.isEmpty || datagram.time != last { times.append(datagram.time) }
            last = datagram.time
        }
        #expect(
            times
                == [0, 200, 600, 1400, 3000, 6000, 9000, 12000, 15000, 18000, 21000, 24000, 27000].map {
                    .milliseconds($0)
                })
        #expect(pair.states == [.handshaking, .handshaking])
        pair.run(limit: .seconds(40)) { _ in [] }
        #expect(pair.states == [.failed(.handshakeLimit), .failed(.handshakeLimit)])
        #expect(pair.elapsed == .seconds(30))
        let deadlines = (pair.client.nextDeadline, pair.server.nextDeadline)
        #expect(deadlines.0 == nil && deadlines.1 == nil)
    }

    /// A step back of the clock, and one far ahead, end in no trap.
    @Test func strangeTimes() throws {
        var pair = try DTLSPair()
        pair.client.start(now: MediaTime(nanoseconds: .max))
        pair.client.advance(to: MediaTime(nanoseconds: .min))
        pair.server.advance(to: .zero)
        #expect(pair.states == [.handshaking, .handshaking])
        pair.client.advance(to: .distantFuture)
        #expect(pair.states[0] == .failed(.handshakeLimit))
    }

    // The end

    @Test(arguments: [true, false]) func closing(byClient: Bool) throws {
        var pair = try DTLSPair()
        pair.run()
        if byClient { pair.client.close() } else { pair.server.close() }
        #expect(pair.states[byClient ? 0 : 1] == .closed)
        pair.run()
        #expect(pair.states[byClient ? 1 : 0] == .failed(.closedByPeer))
        // For good.
        pair.client.close()
        pair.server.close()
        #expect(pair.states[byClient ? 1 : 0] == .failed(.closedByPeer))
        pair.run()
        #expect(pair.states[byClient ? 0 : 1] == .closed)
    }

    @Test func closingBeforeTheEnd() throws {
        var pair = try DTLSPair()
        pair.client.start(now: pair.now)
        pair.client.close()
        pair.server.close()
        #expect(pair.states == [.closed, .closed])
        pair.run()
        #expect(pair.states == [.closed, .closed])
        let deadlines = (pair.client.nextDeadline, pair.server.nextDeadline)
        #expect(deadlines.0 == nil && deadlines.1 == nil)
    }

    /// Associations on one thread share OpenSSL's queue of errors: what one leaves there is not the other's.
    @Test func failuresOfOthers() throws {
        var good = try DTLSPair()
        var bad = try DTLSPair(serverExpects: [try #require(TestCertificates.stranger?.digest)])
        good.run { _ in
            bad.run(limit: MediaDuration(nanoseconds: bad.elapsed.nanoseconds + 25_000_000))
            return [.milliseconds(20)]
        }
        bad.run()
        #expect(bad.states == [.failed(.handshakeFailed), .failed(.fingerprintMismatch)])
        #expect(good.states == [.connected, .connected])
        try good.expectKeys()
    }
}
