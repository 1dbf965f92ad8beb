import MediaWire
import RoomService
import Testing
import WebTransport

@Suite struct PublicAddressTests {
    private func base(
        _ headers: HTTPFields, configured: String? = nil, from peer: String = "192.0.2.1", tls: Bool = false
    ) -> String? {
        PublicAddress(configured: configured, clientAddress: ClientAddress(isTrustedProxy: { $0.host == "10.0.0.1" }))
            .webSocketBase(
                for: HTTPRequest(method: "GET", target: "/", headers: headers, peerHost: peer, isTLS: tls))
    }

    @Test func theConfigurationWins() {
        #expect(base(["Host": "x:1"], configured: "https://media.example.com") == "wss://media.example.com")
        #expect(base([:], configured: "http://192.0.2.7:7880", tls: true) == "ws://192.0.2.7:7880")
    }

    @Test func elseAsTheClientCame() {
        #expect(base(["Host": "node.example.com"]) == "ws://node.example.com")
        #expect(base(["Host": "node.example.com:7843"], tls: true) == "wss://node.example.com:7843")
        #expect(base(["Host": "[::1]:7880"]) == "ws://[::1]:7880")
        #expect(base(["Host": "127.0.0.1:7880"]) == "ws://127.0.0.1:7880")
    }

    @Test func aProxyIsBelievedOnlyIfItIsTrusted() {
        let forwarded: HTTPFields = [
            "Host": "inner:7880", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "a.example, media.example.com",
        ]
        #expect(base(forwarded) == "ws://inner:7880")
        #expect(base(forwarded, from: "10.0.0.1") == "wss://media.example.com")
        #expect(base(["Host": "h", "X-Forwarded-Proto": "HTTPS"], from: "10.0.0.1") == "wss://h")
        #expect(base(["Host": "h", "X-Forwarded-Proto": "http"], from: "10.0.0.1", tls: true) == "ws://h")
    }

    @Test(arguments: [
        "", " ", "a/b", "a?b", "a#b", "user@host", "a b", "h:0", "h:70000", "h:x", "::1", "[::1", "[", "]", "a:1:2",
        "\"", "h\u{e9}", "h\r\nX: y", "[a", "a]", "[host]",
    ])
    func aHostThatCannotStandInAURL(host: String) { #expect(base(["Host": host]) == nil) }

    @Test func noHost() {
        #expect(base([:]) == nil)
        #expect(base(["Host": String(repeating: "a", count: 256)]) == nil)
    }
}
