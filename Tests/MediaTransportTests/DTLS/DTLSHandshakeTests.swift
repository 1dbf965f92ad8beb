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
        #expect(pair.elapsed <= .milliseconds(81), "\(pair.elapsed.seconds) s")
        let deadlines = (pair.client.nextDeadline, pair.server.nextDeadline)
        #expect(deadlines.0 == nil && deadlines.1 == nil)
        for datagram in pair.sent { print(datagram.isFromClient, datagram.bytes.count) }
        try pair.expectKeys(profile: .aeadAES128GCM)
    }

    @Test(arguments: [false, true], 0..<6) func oneLost(isFromClient: Bool, number: Int) throws {
        var pair = try DTLSPair()
        pair.run { $0.isFromClient == isFromClient && $0.number == number ? [] : [.milliseconds(20)] }
        try #require(pair.states == [.connected, .connected])
        print(isFromClient, number, pair.elapsed.seconds)
        try pair.expectKeys()
    }
}
