import Foundation
import Testing
import WebTransport

/// Frames by hand (RFC 6455, section 5).
@Suite(.timeLimit(.minutes(1)))
struct WebSocketFrameTests {
    @Test func `the opening handshake is the one of RFC 6455, section 1_3, and a ping is answered`() async throws {
        try await withSockets(serve: echoing) { _, port in
            let (opening, pong, close) = try await onThread {
                let socket = try RawSocket(port: port)
                try socket.send(RawFrame.opening)
                let opening = try socket.receive(until: "\r\n\r\n")
                try socket.send(RawFrame.masked(opcode: 9, Array("are you there".utf8)))
                let pong = try socket.receiveExactly(2 + 13)
                try socket.send(RawFrame.masked(opcode: 8, [0x0F, 0xA1]))
                return (opening, pong, try socket.receiveAllBytes())
            }
            #expect(opening.hasPrefix("HTTP/1.1 101 Switching Protocols\r\n"))
            #expect(opening.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"))
            #expect(opening.contains("Sec-WebSocket-Protocol: parlor\r\n"))
            #expect(opening.contains("X-Target: /chat\r\n"))
            #expect(pong == [0x8A, 13] + Array("are you there".utf8))
            #expect(close == [0x88, 2, 0x0F, 0xA1])
        }
    }

    @Test func `fragments and byte-wise frames make one message`() async throws {
        try await withSockets(serve: echoing) { _, port in
            let message = try await onThread {
                let socket = try RawSocket(port: port)
                try socket.send(RawFrame.opening)
                _ = try socket.receive(until: "\r\n\r\n")
                var frames = RawFrame.masked(opcode: 1, Array("he".utf8), final: false)
                frames += RawFrame.masked(opcode: 0, [], final: false)
                frames += RawFrame.masked(opcode: 0, Array("llo".utf8))
                for byte in frames {
                    try socket.send([byte])
                }
                return try socket.receiveExactly(7)
            }
            #expect(message == [0x81, 5] + Array("hello".utf8))
        }
    }

    @Test(
        arguments: [
            ("unmasked", [0x81, 0x01, 0x61], 1002),
            ("reserved bit", [0xC1, 0x80, 0, 0, 0, 0], 1002),
            ("unknown opcode", [0x83, 0x80, 0, 0, 0, 0], 1002),
            ("continuation of nothing", [0x80, 0x80, 0, 0, 0, 0], 1002),
            ("long ping", [0x89, 0xFE, 0x00, 0x7E, 0, 0, 0, 0], 1002),
            ("fragmented ping", [0x09, 0x80, 0, 0, 0, 0], 1002),
            ("length not minimal", [0x82, 0xFE, 0x00, 0x01, 0, 0, 0, 0, 0], 1002),
            ("64-bit length", [0x82, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0], 1009),
            (
                "length with the highest bit",
                [0x82, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0], 1009
            ),
            ("text that is not UTF-8", [0x81, 0x82, 0, 0, 0, 0, 0xC3, 0x28], 1007),
            ("close code 1005", [0x88, 0x82, 0, 0, 0, 0, 0x03, 0xED], 1002),
            ("close with one byte", [0x88, 0x81, 0, 0, 0, 0, 0x03], 1002),
        ] as [(String, [UInt8], UInt16)])
    func `bad frames are closed with their code`(name: String, frame: [UInt8], code: UInt16) async throws {
        let (closings, closed) = AsyncStream.makeStream(of: WebSocketClose?.self)
        let serve: @Sendable (WebSocket) async -> Void = { socket in
            _ = await socket.received()
            closed.yield(socket.closing)
        }
        try await withSockets(serve: serve) { _, port in
            let answer = try await onThread {
                let socket = try RawSocket(port: port)
                try socket.send(RawFrame.opening)
                _ = try socket.receive(until: "\r\n\r\n")
                try socket.send(frame)
                return try socket.receiveExactly(4)
            }
            #expect(answer == [0x88, 2, UInt8(code >> 8), UInt8(truncatingIfNeeded: code)], "\(name)")
            for await closing in closings {
                #expect(closing?.code == code, "\(name)")
                break
            }
        }
    }

    @Test func `a connection that breaks is 1006`() async throws {
        let (closings, closed) = AsyncStream.makeStream(of: WebSocketClose?.self)
        let serve: @Sendable (WebSocket) async -> Void = { socket in
            _ = await socket.received()
            closed.yield(socket.closing)
        }
        try await withSockets(serve: serve) { _, port in
            try await onThread {
                let socket = try RawSocket(port: port)
                try socket.send(RawFrame.opening)
                _ = try socket.receive(until: "\r\n\r\n")
                try socket.send([0x81])
            }
            for await closing in closings {
                #expect(closing?.code == 1006)
                break
            }
        }
    }

    @Test(arguments: [
        "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
        RawFrame.opening.replacingOccurrences(of: "13", with: "12"),
        RawFrame.opening.replacingOccurrences(of: "dGhlIHNhbXBsZSBub25jZQ==", with: "short"),
        RawFrame.opening.replacingOccurrences(of: "GET", with: "POST"),
        RawFrame.opening + "frames before the answer",
    ])
    func `what is no WebSocket request cannot become one`(request: String) async throws {
        let text = try await withSockets(serve: echoing) { _, port in
            try await exchange(port, request)
        }
        #expect(text.hasPrefix("HTTP/1.1 400 "))
    }
}

enum RawFrame {
    /// The example of RFC 6455, section 1.3.
    static let opening =
        "GET /chat HTTP/1.1\r\nHost: server.example.com\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: chat, parlor\r\n"
        + "Sec-WebSocket-Version: 13\r\n\r\n"

    /// Up to 125 bytes.
    static func masked(opcode: UInt8, _ payload: [UInt8], final: Bool = true) -> [UInt8] {
        let mask: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]
        return [opcode | (final ? 0x80 : 0), 0x80 | UInt8(payload.count)] + mask
            + payload.enumerated().map { $0.element ^ mask[$0.offset % 4] }
    }
}
