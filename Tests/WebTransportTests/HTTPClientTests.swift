import Foundation
import Testing
import WebTransport

@Suite(.timeLimit(.minutes(1)))
struct HTTPClientTests {
    @Test func `two hundred requests at once`() async throws {
        let client = try HTTPClient()
        let handler: @Sendable (HTTPRequest) async -> HTTPResponse = { request in
            HTTPResponse(status: 612, headers: ["X-Target": request.target], body: request.body)
        }
        try await withServer(handler: handler) { server, port in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<200 {
                    group.addTask {
                        let body = Array(repeating: UInt8(truncatingIfNeeded: number), count: number * 100)
                        let response = try await client.request(
                            "POST", "http://127.0.0.1:\(port)/n/\(number)?q", body: body, timeout: .seconds(30))
                        #expect(response.status == 612)
                        #expect(response.headers["x-target"] == "/n/\(number)?q")
                        #expect(response.body == body)
                    }
                }
                try await group.waitForAll()
            }
            #expect(server.counters.requests == 200)
            #expect(server.counters.responses == 200)
        }
    }

    @Test func `methods, fields and HEAD`() async throws {
        let client = try HTTPClient()
        try await withServer(handler: echo) { _, port in
            let response = try await client.request(
                "DELETE", "http://localhost:\(port)?a=%20#part", headers: ["Authorization": "Bearer a:b="])
            #expect(
                response.text
                    == "DELETE /?a=%20\nHost=localhost:\(port)\nAuthorization=Bearer a:b=\nConnection=close\n")
            let head = try await client.request("HEAD", "http://127.0.0.1:\(port)/")
            #expect(head.status == 200)
            #expect(head.body.isEmpty)
            #expect(head.headers["content-length"] != "0")
        }
    }

    @Test func `a refused connection is an error`() async throws {
        // Nobody listens there; a port that was just free could be another test's by now.
        let client = try HTTPClient()
        let error = await #expect(throws: WebTransportError.self) {
            try await client.request("GET", "http://127.0.0.1:1/")
        }
        #expect(error?.kind == .connect)
        #expect(error?.code == ECONNREFUSED)
    }

    @Test func `a server that does not answer is a timeout, and a cancelled task ends its request`() async throws {
        // Listens, but never accepts.
        let server = HTTPServer()
        let port = try server.listen(host: "127.0.0.1", port: 0)
        let client = try HTTPClient()
        let error = await #expect(throws: WebTransportError.self) {
            try await client.request("GET", "http://127.0.0.1:\(port)/", timeout: .milliseconds(50))
        }
        #expect(error?.kind == .timeout)
        let task = Task { try await client.request("GET", "http://127.0.0.1:\(port)/", timeout: .seconds(50)) }
        task.cancel()
        let cancelled = await task.result
        #expect(throws: WebTransportError.self) { try cancelled.get() }
        await server.stop()
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", WebTransportError.Kind.closed),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", .closed),
        ("", .closed), ("HTTP/1.1 2", .closed), ("SSH-2.0-OpenSSH\r\n", .protocolViolation),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", .tooLarge),
        ("HTTP/1.1 200 OK\r\nA: " + String(repeating: "a", count: 100_000), .tooLarge),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", .protocolViolation),
    ])
    func `broken responses are errors`(response: String, kind: WebTransportError.Kind) async throws {
        let error = await #expect(throws: WebTransportError.self) { try await request(answeredBy: response) }
        #expect(error?.kind == kind)
    }

    @Test func `responses in every framing`() async throws {
        #expect(try await request(answeredBy: "HTTP/1.1 615 \r\n\r\nto the end").text == "to the end")
        #expect(try await request(answeredBy: "HTTP/1.0 200 Fine\r\n\r\nold").reason == "Fine")
        #expect(
            try await request(answeredBy: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
                .text == "abc")
        #expect(
            try await request(
                answeredBy: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
                    + "HTTP/1.1 204 No Content\r\n\r\n"
            ).status == 204)
    }

    @Test(arguments: [
        "", "http://", "http:/host", "ftp://host/", "http://user@host/", "http://host:0/", "http://host:65536/",
        "http://host:x/", "http://[::1/", "http://host/a b", "http://host/\r\nX: y", "http://[::1]x/", "http://höst/",
    ])
    func `bad URLs`(url: String) async throws {
        let client = try HTTPClient()
        let error = await #expect(throws: WebTransportError.self) { try await client.request("GET", url) }
        #expect(error?.kind == .badURL)
    }

    /// The client's request to a socket that sends these bytes and closes.
    private func request(answeredBy bytes: String) async throws -> HTTPResponse {
        let listener = try RawListener()
        let port = listener.port
        async let served: Void = onThread { try listener.serveOnce(bytes) }
        let client = try HTTPClient()
        let result: Result<HTTPResponse, any Error>
        do {
            result = .success(try await client.request("GET", "http://127.0.0.1:\(port)/", bodyLimit: 1000))
        } catch {
            result = .failure(error)
        }
        try await served
        return try result.get()
    }
}
