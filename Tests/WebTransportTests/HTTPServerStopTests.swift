import Foundation
import Testing
import WebTransport

@Suite(.timeLimit(.minutes(1)))
struct HTTPServerStopTests {
    @Test func `stop lets a running request finish, and takes no new one`() async throws {
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let server = HTTPServer()
        let port = try server.listen(host: "127.0.0.1", port: 0)
        server.start { _ in
            arrived.yield()
            for await _ in gate { break }
            return HTTPResponse(status: 200, text: "done")
        }
        async let idle = exchange(port, "")
        async let answer = exchange(port, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        for await _ in arrivals { break }
        // The idle one may come later than the other, but must not come too late.
        while server.counters.accepted < 2 { await Task.yield() }
        async let stopped: Void = server.stop(grace: .seconds(20))
        #expect(try await idle.isEmpty, "an idle connection is closed at once")
        await #expect(throws: RawSocket.Failure.self) { try await exchange(port, "") }
        opener.yield()
        let text = try await answer
        #expect(text.contains("Connection: close\r\n\r\ndone"))
        await stopped
        #expect(server.counters.connections == 0)
    }

    @Test func `after the grace everything is closed, and the handlers are cancelled`() async throws {
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
        let (cancellations, cancelled) = AsyncStream.makeStream(of: Void.self)
        let server = HTTPServer()
        let port = try server.listen(host: "127.0.0.1", port: 0)
        server.start { _ in
            await withTaskCancellationHandler {
                let (never, _) = AsyncStream.makeStream(of: Void.self)
                arrived.yield()
                for await _ in never {}
            } onCancel: {
                cancelled.yield()
            }
            return HTTPResponse(status: 200)
        }
        async let answer = exchange(port, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        for await _ in arrivals { break }
        await server.stop(grace: .milliseconds(50))
        #expect(try await answer.isEmpty)
        for await _ in cancellations { break }
        await server.stop()
    }

    @Test func `a handler that takes too long is 503, and its answer is dropped`() async throws {
        var configuration = HTTPServerConfiguration()
        configuration.handlerDeadline = .milliseconds(50)
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let handler: @Sendable (HTTPRequest) async -> HTTPResponse = { request in
            if request.target == "/slow" {
                for await _ in gate { break }
            }
            return HTTPResponse(status: 200)
        }
        try await withServer(configuration, handler: handler) { server, port in
            let answer = try await exchange(port, "GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 503 "))
            #expect(server.counters.handlerLate == 1)
            opener.finish()
            // On a busy machine another one may be late, too.
            var next = ""
            while !next.hasPrefix("HTTP/1.1 200 ") {
                next = try await exchange(port, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            }
        }
    }

    @Test func `a client that goes while its request runs does no harm`() async throws {
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let handler: @Sendable (HTTPRequest) async -> HTTPResponse = { request in
            if request.target == "/gone" {
                arrived.yield()
                for await _ in gate { break }
            }
            return HTTPResponse(status: 200, body: [UInt8](repeating: 1, count: 1_000_000))
        }
        try await withServer(handler: handler) { _, port in
            try await onThread { try RawSocket(port: port).send("GET /gone HTTP/1.1\r\nHost: h\r\n\r\n") }
            for await _ in arrivals { break }
            opener.finish()
            let next = try await exchange(port, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            #expect(next.hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test func `a server that is dropped closes its port and its connections`() async throws {
        var server: HTTPServer? = HTTPServer()
        let port = try #require(try server?.listen(host: "127.0.0.1", port: 0))
        server?.start(handler: echo)
        let client = try HTTPClient()
        #expect(try await client.request("GET", "http://127.0.0.1:\(port)/").status == 200)
        server = nil
        await #expect(throws: RawSocket.Failure.self) { try await exchange(port, "") }
    }
}
