import Foundation
import Testing
import WebTransport

/// Every way in which a WebSocket ends, and what does not end it.
@Suite(.timeLimit(.minutes(1)))
struct WebSocketEndTests {
    @Test func `a peer that reads late gets 1013 behind the message that was on its way`() async throws {
        var configuration = WebSocketConfiguration()
        configuration.outboxBytes = 100_000
        configuration.closeDeadline = .seconds(10)
        let (results, finished) = AsyncStream.makeStream(of: WebSocketClose?.self)
        let serve: @Sendable (WebSocket) async -> Void = { socket in
            guard await socket.first() == .text("flood") else { return }
            while socket.send(binary: [UInt8](repeating: 0, count: 50_000)) == .queued {
                await Task.yield()
            }
            #expect(socket.send(text: "late") == .closed)
            finished.yield(nil)
            _ = await socket.received()
            finished.yield(socket.closing)
        }
        try await withSockets(configuration, serve: serve) { server, port in
            let silent = try await onThread {
                let socket = try RawSocket(port: port)
                try socket.send(RawFrame.opening)
                _ = try socket.receive(until: "\r\n\r\n")
                try socket.send(RawFrame.masked(opcode: 1, Array("flood".utf8)))
                return SocketBox(socket)
            }
            var closings = results.makeAsyncIterator()
            _ = await closings.next()
            let bytes = try await onThread {
                let reason = Array("the peer takes its messages too slowly".utf8)
                let end = [0x88, UInt8(2 + reason.count), 0x03, 0xF5] + reason
                var bytes: [UInt8] = []
                while !bytes.suffix(end.count).elementsEqual(end) {
                    let some = try silent.socket.receiveSome()
                    guard !some.isEmpty else { throw RawSocket.Failure(step: "no closing frame", code: 0) }
                    bytes += some
                }
                try silent.socket.send(RawFrame.masked(opcode: 8, [0x03, 0xF5]))
                silent.socket.closeSending()
                return bytes.dropLast(end.count)
            }
            #expect(bytes.count % 50_004 == 0 && !bytes.isEmpty, "whole messages, then the closing frame")
            #expect(
                await closings.next() == WebSocketClose(code: 1013, reason: "the peer takes its messages too slowly"))
            #expect(server.counters.slowReaders == 1)
        }
    }

    @Test func `abort resets the connection, whatever waits`() async throws {
        let (closings, closed) = AsyncStream.makeStream(of: WebSocketClose?.self)
        let serve: @Sendable (WebSocket) async -> Void = { socket in
            if await socket.first() == .text("go") {
                socket.send(binary: [UInt8](repeating: 0, count: 4_000_000))
                socket.abort()
                #expect(socket.send(text: "late") == .closed)
                socket.close()
                _ = await socket.received()
            }
            closed.yield(socket.closing)
        }
        try await withSockets(serve: serve) { server, port in
            try await onThread {
                let socket = try RawSocket(port: port, receiveBuffer: 4096)
                try socket.send(RawFrame.opening)
                _ = try socket.receive(until: "\r\n\r\n")
                try socket.send(RawFrame.masked(opcode: 1, Array("go".utf8)))
                #expect(try socket.receiveAllBytes(orReset: true).count < 4_000_000)
            }
            var ends = closings.makeAsyncIterator()
            #expect(await ends.next() == WebSocketClose(code: 1006, reason: "aborted"))
            #expect(server.counters.slowReaders == 0)
            // And the client's side of it.
            let client = try HTTPClient()
            let socket = try await client.webSocket("ws://127.0.0.1:\(port)/")
            socket.abort()
            #expect(await socket.received().isEmpty)
            #expect(socket.closing?.code == 1006)
            #expect(await ends.next()??.code == 1006)
        }
    }

    @Test(
        arguments: [
            (1000, 1000), (1001, 1001), (1011, 1011), (1013, 1013), (3000, 3000), (4999, 4999), (0, 1005), (999, 1011),
            (1005, 1011), (1006, 1011), (1015, 1011), (2999, 1011), (5000, 1011), (65535, 1011),
        ] as [(UInt16, UInt16)])
    func `every legal close code goes out, and no other`(code: UInt16, seen: UInt16) async throws {
        #expect(WebSocketClose.isSendable(code) == (code == seen))
        let reason = String(repeating: "ö", count: 100)
        let serve: @Sendable (WebSocket) async -> Void = { socket in
            socket.close(code: code, reason: reason)
        }
        try await withSockets(serve: serve) { _, port in
            let socket = try await HTTPClient().webSocket("ws://127.0.0.1:\(port)/")
            #expect(await socket.received().isEmpty)
            let expected = seen == 1005 ? "" : String(repeating: "ö", count: 61)
            #expect(socket.closing == WebSocketClose(code: seen, reason: expected))
        }
    }

    @Test(arguments: [false, true])
    func `the largest message goes through, one byte more is 1009`(isTLS: Bool) async throws {
        let tls = try isTLS ? TestCertificate.configuration() : nil
        try await withSockets(tls: tls, serve: echoing) { _, port in
            let client = try HTTPClient(trust: .insecure)
            for size in [1024 * 1024, 1024 * 1024 + 1] {
                let socket = try await client.webSocket("\(isTLS ? "wss" : "ws")://127.0.0.1:\(port)/")
                let text = [UInt8](repeating: UInt8(ascii: "x"), count: size)
                socket.send(utf8: text)
                var messages = socket.messages.makeAsyncIterator()
                let answer = await messages.next()
                if size == 1024 * 1024 {
                    #expect(answer == .text(String(decoding: text, as: UTF8.self)))
                } else {
                    #expect(answer == nil)
                    #expect(socket.closing?.code == 1009, "\(String(describing: socket.closing))")
                }
            }
        }
    }

    @Test func `pings keep an idle socket open on both sides`() async throws {
        var configuration = WebSocketConfiguration()
        // A machine that is short of processor may answer a ping late, but not by 250 ms.
        configuration.idleDeadline = .milliseconds(500)
        try await withSockets(configuration, serve: echoing) { _, port in
            let socket = try await HTTPClient().webSocket("ws://127.0.0.1:\(port)/", configuration: configuration)
            // Six deadlines long nothing but pings; the raw socket ends the wait, and the server has nothing to say to it.
            #expect(try await onThread { try RawSocket(port: port).isSilent(forMilliseconds: 3000) })
            socket.send(text: "still here")
            #expect(await socket.first() == .text("still here"))
        }
    }
}
