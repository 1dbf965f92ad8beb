import Foundation
import Testing
import WebTransport

@Suite(.timeLimit(.minutes(1)))
struct HTTPServerTests {
    @Test func `a request reaches the handler as it was sent`() async throws {
        let answer = try await withServer(handler: echo) { _, port in
            try await exchange(
                port,
                "PATCH /a%2Fb/../c?x=%41&y=+ HTTP/1.1\r\nHost: h\r\nx-Qiniu-B: 2\r\nX-Qiniu-A:  1 \r\n"
                    + "Connection: close\r\nContent-Length: 3\r\nx-qiniu-b: 3\r\n\r\nabc")
        }
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(
            answer.hasSuffix(
                "\r\n\r\nPATCH /a%2Fb/../c?x=%41&y=+\nHost=h\nx-Qiniu-B=2\nX-Qiniu-A=1\nConnection=close\n"
                    + "Content-Length=3\nx-qiniu-b=3\nabc"))
    }

    @Test(arguments: [200, 201, 204, 406, 428, 599, 612, 615, 999])
    func `any status goes out`(status: Int) async throws {
        let answering = answer(HTTPResponse(status: status, text: "x"))
        let answer = try await withServer(handler: answering) { _, port in
            try await exchange(port, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        }
        #expect(answer.hasPrefix("HTTP/1.1 \(status) "))
        #expect(answer.hasSuffix("\r\n\r\n") == (status == 204))
    }

    @Test func `a status that is none becomes 500, and a header cannot smuggle another`() async throws {
        let response = HTTPResponse(
            status: 42, headers: ["X-A": "1\r\nX-Evil: 2", "X-B\r\nX-Evil": "3", "Content-Length": "99"])
        let answer = try await withServer(handler: answer(response)) { _, port in
            try await exchange(port, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        }
        #expect(answer.hasPrefix("HTTP/1.1 500 Internal Server Error\r\nX-A: 1  X-Evil: 2\r\nDate: "))
        #expect(answer.hasSuffix("GMT\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"))
    }

    @Test func `a request may come byte by byte`() async throws {
        let answer = try await withServer(handler: echo) { _, port in
            try await onThread {
                let socket = try RawSocket(port: port)
                let request =
                    "\r\nPOST /slow HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "3;a=b\r\nabc\r\nA\r\n0123456789\r\n0\r\nX-Trailer: t\r\n\r\n"
                for byte in request.utf8 {
                    try socket.send([byte])
                }
                return try socket.receiveAll()
            }
        }
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(answer.hasSuffix("Transfer-Encoding=chunked\nabc0123456789"), "the trailer is no header field")
    }

    @Test func `a last chunk without trailer may come byte by byte`() async throws {
        let answer = try await withServer(handler: echo) { _, port in
            try await onThread {
                let socket = try RawSocket(port: port)
                try socket.send("POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n")
                for byte in "1\r\nx\r\n0\r\n\r\n".utf8 {
                    try socket.send([byte])
                }
                return try socket.receiveAll()
            }
        }
        #expect(answer.hasSuffix("\nx"))
    }

    @Test func `pipelined requests are answered in order`() async throws {
        let answer = try await withServer(handler: echo) { server, port in
            let requests = (0..<100).map { number in
                "POST /\(number) HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n"
                    + (number == 99 ? "Connection: close\r\n" : "") + "\r\nbody"
            }
            let answer = try await exchange(port, requests.joined())
            #expect(server.counters.accepted == 1)
            return answer
        }
        let targets = answer.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("POST /") }
        #expect(targets == (0..<100).map { "POST /\($0)" })
        #expect(answer.components(separatedBy: "HTTP/1.1 200 OK").count == 101)
    }

    @Test func `a client may close its sending half after the request`() async throws {
        let answer = try await withServer(handler: echo) { _, port in
            try await exchange(port, "GET /half HTTP/1.1\r\nHost: h\r\n\r\n", closeSending: true)
        }
        #expect(answer.hasSuffix("GET /half\nHost=h\n"))
    }

    @Test func `HEAD has the length and no body; OPTIONS and unknown methods reach the handler`() async throws {
        let answer = try await withServer(handler: echo) { _, port in
            try await exchange(
                port,
                "HEAD / HTTP/1.1\r\nHost: h\r\n\r\nOPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"
                    + "BREW /pot HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        }
        #expect(answer.contains("Content-Length: 14\r\n\r\nHTTP/1.1 200 OK"))
        #expect(answer.contains("OPTIONS *\n"))
        #expect(answer.contains("BREW /pot\n"))
    }

    @Test func `HTTP 1.0 closes unless asked to stay`() async throws {
        let answer = try await withServer(handler: echo) { _, port in
            try await exchange(port, "GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /2 HTTP/1.0\r\n\r\n")
        }
        #expect(answer.contains("Connection: keep-alive\r\n\r\nGET /1\n"))
        #expect(answer.contains("Connection: close\r\n\r\nGET /2\n"))
    }

    @Test func `an expected 100 Continue comes before the body`() async throws {
        let answer = try await withServer(handler: echo) { _, port in
            try await onThread {
                let socket = try RawSocket(port: port)
                try socket.send(
                    "PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"
                )
                let interim = try socket.receive(until: "\r\n\r\n")
                #expect(interim == "HTTP/1.1 100 Continue\r\n\r\n")
                try socket.send("hello")
                return try socket.receiveAll()
            }
        }
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(answer.hasSuffix("\nhello"))
    }

    @Test func `the peer's address is the socket's`() async throws {
        let handler: @Sendable (HTTPRequest) async -> HTTPResponse = { request in
            HTTPResponse(status: 200, text: "\(request.peerHost) \(request.peerPort > 0) \(request.isTLS)")
        }
        let server = HTTPServer()
        let port = try server.listen(host: "::", port: 0)
        server.start(handler: handler)
        let client = try HTTPClient()
        let four = try await client.request("GET", "http://127.0.0.1:\(port)/")
        #expect(four.text == "127.0.0.1 true false")
        let six = try await client.request("GET", "http://[::1]:\(port)/")
        #expect(six.text == "::1 true false")
        await server.stop(grace: .zero)
    }

    @Test func `a port in use is an error with a sentence`() async throws {
        let first = HTTPServer()
        let port = try first.listen(host: "127.0.0.1", port: 0)
        let second = HTTPServer()
        let error = #expect(throws: WebTransportError.self) {
            try second.listen(host: "127.0.0.1", port: port)
        }
        #expect(error?.kind == .listen)
        #expect(error?.code == EADDRINUSE)
        #expect(error?.message == "cannot listen on 127.0.0.1:\(port): Address already in use")
        #expect(throws: WebTransportError.self) { try second.listen(host: "not an address", port: 0) }
        await first.stop()
        await second.stop()
        // A port is free again after the stop, unless another test is quicker.
        var isFree = false
        for _ in 0..<10 where !isFree {
            let third = HTTPServer()
            let again = try third.listen(host: "127.0.0.1", port: 0)
            await third.stop()
            isFree = (try? HTTPServer().listen(host: "127.0.0.1", port: again)) != nil
        }
        #expect(isFree)
    }
}
