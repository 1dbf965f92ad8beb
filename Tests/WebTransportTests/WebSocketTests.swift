import Foundation
import Testing
import WebTransport

@Suite(.timeLimit(.minutes(1)))
struct WebSocketTests {
    @Test func `messages come back whole and in order, beyond the inbox's bound`() async throws {
        var configuration = WebSocketConfiguration()
        configuration.inboxMessages = 4
        configuration.outboxMessages = 10_000
        let client = try HTTPClient()
        try await withSockets(configuration, serve: echoing) { _, port in
            let socket = try await client.webSocket(
                "ws://127.0.0.1:\(port)/chat?x=1", subprotocols: ["a", "parlor"], headers: ["X-Extra": "1"],
                configuration: configuration)
            for number in 0..<500 {
                #expect(socket.send(text: "message \(number)") == .queued)
                #expect(
                    socket.send(binary: [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: number)) == .queued
                )
            }
            var iterator = socket.messages.makeAsyncIterator()
            for number in 0..<500 {
                #expect(await iterator.next() == .text("message \(number)"))
                let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: number)
                #expect(await iterator.next() == .binary(bytes))
            }
            socket.close(code: 4002, reason: "enough")
            #expect(await iterator.next() == nil)
            #expect(socket.closing == WebSocketClose(code: 4002), "the peer echoes the code")
            #expect(socket.send(text: "late") == .closed)
        }
    }

    @Test func `the server's close code and reason reach the client, and the client's the server`() async throws {
        let (closings, closed) = AsyncStream.makeStream(of: WebSocketClose?.self)
        let client = try HTTPClient()
        let serve: @Sendable (WebSocket) async -> Void = { socket in
            for await message in socket.messages where message == .text("bye") {
                socket.send(text: "last words")
                socket.close(code: 4001, reason: "kicked out")
            }
            closed.yield(socket.closing)
        }
        try await withSockets(serve: serve) { server, port in
            let first = try await client.webSocket("ws://127.0.0.1:\(port)/")
            first.send(text: "bye")
            #expect(await first.received() == [.text("last words")])
            #expect(first.closing == WebSocketClose(code: 4001, reason: "kicked out"))
            var ends = closings.makeAsyncIterator()
            _ = await ends.next()

            let second = try await client.webSocket("ws://127.0.0.1:\(port)/")
            second.close(code: 4003, reason: "own wish")
            #expect(await ends.next() == WebSocketClose(code: 4003, reason: "own wish"))
            #expect(await second.received().isEmpty)

            let third = try await client.webSocket("ws://127.0.0.1:\(port)/")
            third.close(code: 0)
            #expect(await ends.next() == WebSocketClose(code: 1005))

            var fourth: WebSocket? = try await client.webSocket("ws://127.0.0.1:\(port)/")
            #expect(fourth?.send(text: "x") == .queued)
            fourth = nil
            #expect(await ends.next() == WebSocketClose(code: 1001))
            #expect(server.counters.upgrades == 4)
        }
    }

    @Test func `a server may refuse with any response`() async throws {
        let client = try HTTPClient()
        let response = HTTPResponse(status: 401, headers: ["X-Why": "token"], text: "{\"code\":10002}")
        try await withServer(handler: answer(response)) { _, port in
            let error = await #expect(throws: WebSocketOpenError.self) {
                try await client.webSocket("ws://127.0.0.1:\(port)/")
            }
            #expect(error?.error.kind == .refused)
            #expect(error?.response?.status == 401)
            #expect(error?.response?.headers["x-why"] == "token")
            #expect(error?.response?.text == "{\"code\":10002}")
        }
        let nobody = await #expect(throws: WebSocketOpenError.self) {
            try await client.webSocket("ws://127.0.0.1:1/")
        }
        #expect(nobody?.error.kind == .connect)
        // Listens, but never answers.
        let server = HTTPServer()
        let port = try server.listen(host: "127.0.0.1", port: 0)
        let late = await #expect(throws: WebSocketOpenError.self) {
            try await client.webSocket("ws://127.0.0.1:\(port)/", timeout: .milliseconds(50))
        }
        #expect(late?.error.kind == .timeout)
        let task = Task { try await client.webSocket("ws://127.0.0.1:\(port)/") }
        task.cancel()
        await #expect(throws: WebSocketOpenError.self) { _ = try await task.value }
        await server.stop()
    }

    @Test func `a message over the limit closes with 1009 on both sides`() async throws {
        var configuration = WebSocketConfiguration()
        configuration.maximumMessage = 1000
        let client = try HTTPClient()
        try await withSockets(configuration, serve: echoing) { _, port in
            let socket = try await client.webSocket("ws://127.0.0.1:\(port)/")
            socket.send(binary: [UInt8](repeating: 1, count: 1000))
            socket.send(binary: [UInt8](repeating: 1, count: 1001))
            #expect(await socket.received().count <= 1)
            #expect(socket.closing?.code == 1009, "\(String(describing: socket.closing))")
            let limited = try await client.webSocket("ws://127.0.0.1:\(port)/big", configuration: configuration)
            #expect(await limited.received().isEmpty)
            #expect(limited.closing?.code == 1009)
        }
    }

    @Test func `a peer is allowed little until it is told otherwise`() async throws {
        var configuration = WebSocketConfiguration()
        configuration.maximumMessage = 5000
        configuration.maximumFirstMessage = 1000
        let serve: @Sendable (WebSocket) async -> Void = { socket in
            var isWide = false
            for await message in socket.messages {
                guard case .binary(let bytes) = message else { continue }
                if !isWide { socket.widen() }
                isWide = true
                socket.send(text: "\(bytes.count)")
            }
        }
        let client = try HTTPClient()
        try await withSockets(configuration, serve: serve) { _, port in
            let early = try await client.webSocket("ws://127.0.0.1:\(port)/")
            early.send(binary: [UInt8](repeating: 1, count: 1001))
            #expect(await early.received().isEmpty)
            #expect(early.closing?.code == 1009, "\(String(describing: early.closing))")
            let socket = try await client.webSocket("ws://127.0.0.1:\(port)/")
            var messages = socket.messages.makeAsyncIterator()
            for size in [1000, 1001, 5000] {
                socket.send(binary: [UInt8](repeating: 1, count: size))
                #expect(await messages.next() == .text("\(size)"))
            }
            socket.send(binary: [UInt8](repeating: 1, count: 5001))
            #expect(await messages.next() == nil)
            #expect(socket.closing?.code == 1009, "\(String(describing: socket.closing))")
        }
    }

    @Test func `a peer that does not read is closed, and others are not disturbed`() async throws {
        var configuration = WebSocketConfiguration()
        configuration.outboxBytes = 100_000
        configuration.closeDeadline = .milliseconds(200)
        let (results, finished) = AsyncStream.makeStream(of: (Int, WebSocketClose?).self)
        let serve: @Sendable (WebSocket) async -> Void = { socket in
            guard await socket.first() == .text("flood") else { return }
            var count = 0
            while socket.send(binary: [UInt8](repeating: 0, count: 50_000)) == .queued, count < 10_000 {
                count += 1
                await Task.yield()
            }
            _ = await socket.received()
            finished.yield((count, socket.closing))
        }
        try await withSockets(configuration, serve: serve) { server, port in
            let silent = try await onThread {
                let socket = try RawSocket(port: port, receiveBuffer: 4096)
                try socket.send(RawFrame.opening)
                _ = try socket.receive(until: "\r\n\r\n")
                try socket.send(RawFrame.masked(opcode: 1, Array("flood".utf8)))
                return SocketBox(socket)
            }
            for await (count, closing) in results {
                #expect(count < 10_000)
                #expect(closing?.code == 1013)
                break
            }
            #expect(server.counters.slowReaders == 1)
            let other = try await HTTPClient().webSocket("ws://127.0.0.1:\(port)/")
            other.send(text: "other")
            #expect(await other.received().isEmpty)
            #expect(other.closing?.code == 1000)
            withExtendedLifetime(silent) {}
        }
    }

    @Test func `a server that does not take messages stops the client's sending`() async throws {
        var configuration = WebSocketConfiguration()
        configuration.inboxMessages = 2
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let (counts, counted) = AsyncStream.makeStream(of: Int.self)
        let serve: @Sendable (WebSocket) async -> Void = { socket in
            for await _ in gate { break }
            counted.yield(await socket.received().count)
        }
        let client = try HTTPClient()
        try await withSockets(configuration, serve: serve) { _, port in
            let socket = try await client.webSocket("ws://127.0.0.1:\(port)/")
            var sent = 0
            while socket.send(binary: [UInt8](repeating: 7, count: 500_000)) == .queued, sent < 10_000 {
                sent += 1
                await Task.yield()
            }
            #expect(sent < 10_000, "the kernel's buffers, two queues, and no more")
            opener.finish()
            for await count in counts {
                #expect(count <= sent)
                break
            }
        }
    }

    @Test func `stop closes with 1001`() async throws {
        let client = try HTTPClient()
        let server = HTTPServer()
        let port = try server.listen(host: "127.0.0.1", port: 0)
        server.start(answering: { _ in .upgrade(WebSocketUpgrade(serve: echoing)) })
        let socket = try await client.webSocket("ws://127.0.0.1:\(port)/")
        async let stopped: Void = server.stop(grace: .seconds(10))
        #expect(await socket.received().isEmpty)
        #expect(socket.closing?.code == 1001)
        await stopped
        #expect(server.counters.connections == 0)
    }

    @Test func `a silent peer that answers no ping is closed with 1006`() async throws {
        var configuration = WebSocketConfiguration()
        configuration.idleDeadline = .milliseconds(200)
        let (closings, closed) = AsyncStream.makeStream(of: WebSocketClose?.self)
        let serve: @Sendable (WebSocket) async -> Void = { socket in
            _ = await socket.received()
            closed.yield(socket.closing)
        }
        try await withSockets(configuration, serve: serve) { _, port in
            let bytes = try await onThread {
                let socket = try RawSocket(port: port)
                try socket.send(RawFrame.opening)
                _ = try socket.receive(until: "\r\n\r\n")
                return try socket.receiveAllBytes(orReset: true)
            }
            #expect(bytes == [0x89, 0], "one ping")
            for await closing in closings {
                #expect(closing?.code == 1006)
                break
            }
        }
    }

    @Test func `a WebSocket over TLS`() async throws {
        let tls = try TestCertificate.configuration()
        let client = try HTTPClient(trust: .authorities(.text(TestCertificate.chain)))
        try await withSockets(tls: tls, serve: echoing) { _, port in
            let socket = try await client.webSocket("wss://localhost:\(port)/")
            let message = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            socket.send(binary: message)
            socket.send(text: "end")
            var iterator = socket.messages.makeAsyncIterator()
            #expect(await iterator.next() == .binary(message))
            #expect(await iterator.next() == .text("end"))
            socket.close()
            #expect(await iterator.next() == nil)
            #expect(socket.closing?.code == 1000)
        }
    }
}

/// Sends everything back; at /big a large message of its own.
@Sendable func echoing(_ socket: WebSocket) async {
    for await message in socket.messages {
        switch message {
        case .text(let text): socket.send(text: text)
        case .binary(let bytes): socket.send(binary: bytes)
        }
    }
}

/// A server that opens a WebSocket for every request that wants one.
func withSockets<Result>(
    _ configuration: WebSocketConfiguration = WebSocketConfiguration(), tls: TLSConfiguration? = nil,
    serve: @escaping @Sendable (WebSocket) async -> Void,
    _ body: (HTTPServer, UInt16) async throws -> Result
) async throws -> Result {
    let server = HTTPServer()
    let port = try server.listen(host: "127.0.0.1", port: 0, tls: tls)
    server.start(answering: { request in
        let subprotocol = request.headers["Sec-WebSocket-Protocol"]?.contains("parlor") == true ? "parlor" : nil
        return .upgrade(
            WebSocketUpgrade(
                subprotocol: subprotocol, headers: ["X-Target": request.target], configuration: configuration
            ) { socket in
                if request.target == "/big" {
                    socket.send(binary: [UInt8](repeating: 2, count: 100_000))
                }
                await serve(socket)
            })
    })
    do {
        let result = try await body(server, port)
        await server.stop(grace: .zero)
        return result
    } catch {
        await server.stop(grace: .zero)
        throw error
    }
}

extension WebSocket {
    /// All messages until it is closed.
    func received() async -> [WebSocketMessage] {
        var all: [WebSocketMessage] = []
        for await message in messages {
            all.append(message)
        }
        return all
    }

    func first() async -> WebSocketMessage? {
        for await message in messages {
            return message
        }
        return nil
    }
}
