import Foundation
import Testing
import WebTransport

/// What no honest client does.
@Suite(.timeLimit(.minutes(1)))
struct HTTPServerLimitTests {
    @Test(arguments: [
        "GARBAGE\r\n\r\n", "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\r\n\r\n", "GET / HTTP/9.9\r\nHost: h\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\nHost: h\n\n", "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nNo colon\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nName : v\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcdef\r\n0\r\n\r\n",
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ])
    func `malformed requests are 400`(request: String) async throws {
        let answer = try await withServer(handler: echo) { server, port in
            let answer = try await exchange(port, request)
            #expect(server.counters.malformed == 1)
            #expect(server.counters.requests == 0)
            return answer
        }
        #expect(answer.hasPrefix("HTTP/1.1 400 Bad Request\r\nContent-Type: application/problem+json\r\n"))
        let body = try #require(answer.components(separatedBy: "\r\n\r\n").last)
        let json = try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any]
        #expect((json?["detail"] as? String)?.isEmpty == false)
    }

    @Test func `codings and expectations that are not known here`() async throws {
        try await withServer(handler: echo) { _, port in
            let coding = try await exchange(
                port, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n")
            #expect(coding.hasPrefix("HTTP/1.1 501 "))
            let expectation = try await exchange(port, "GET / HTTP/1.1\r\nHost: h\r\nExpect: miracle\r\n\r\n")
            #expect(expectation.hasPrefix("HTTP/1.1 417 "))
        }
    }

    @Test func `an incomplete request whose client still reads is 400`() async throws {
        let answer = try await withServer(handler: echo) { server, port in
            let answer = try await exchange(port, "GET / HTTP/1.1\r\nHo", closeSending: true)
            #expect(server.counters.broken == 1)
            return answer
        }
        #expect(answer.hasPrefix("HTTP/1.1 400 "))
    }

    @Test func `a header over the limit is 431, in one piece, line by line, or without end`() async throws {
        var configuration = HTTPServerConfiguration()
        configuration.headerLimit = 4096
        try await withServer(configuration, handler: echo) { server, port in
            let start = "GET / HTTP/1.1\r\nHost: h\r\n"
            let whole = try await exchange(
                port, start + "A: " + String(repeating: "a", count: 5000) + "\r\n\r\n")
            #expect(whole.hasPrefix("HTTP/1.1 431 "))
            let target = try await exchange(port, "GET /" + String(repeating: "a", count: 1_000_000))
            #expect(target.hasPrefix("HTTP/1.1 431 "))
            // Each line in a packet of its own: the parser never holds more than one.
            let lines = try await onThread {
                let socket = try RawSocket(port: port)
                try socket.send(start)
                for _ in 0..<100 where socket.isSilent {
                    try socket.send("Name: " + String(repeating: "v", count: 90) + "\r\n")
                }
                return try socket.receiveAll(orReset: true)
            }
            #expect(lines.hasPrefix("HTTP/1.1 431 "))
            let chunk = try await exchange(
                port, start + "Transfer-Encoding: chunked\r\n\r\n1;" + String(repeating: "x", count: 100_000))
            #expect(chunk.hasPrefix("HTTP/1.1 431 "))
            #expect(server.counters.headerTooLarge == 4)
            // The largest that fits.
            let largest = try await exchange(
                port, start + "Connection: close\r\nA: " + String(repeating: "a", count: 4000) + "\r\n\r\n")
            #expect(largest.hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test func `a body over the limit is 413, announced or in chunks, and 413 arrives`() async throws {
        var configuration = HTTPServerConfiguration()
        configuration.bodyLimit = 100_000
        try await withServer(configuration, handler: echo) { server, port in
            let start = "POST / HTTP/1.1\r\nHost: h\r\n"
            // The client sends everything before it reads.
            let announced = try await exchange(
                port, start + "Content-Length: 3000000\r\n\r\n" + String(repeating: "a", count: 3_000_000))
            #expect(announced.hasPrefix("HTTP/1.1 413 "))
            let expecting = try await exchange(
                port, start + "Expect: 100-continue\r\nContent-Length: 100001\r\n\r\n")
            #expect(expecting.hasPrefix("HTTP/1.1 413 "))
            let chunk = "10000\r\n" + String(repeating: "a", count: 65536) + "\r\n"
            let chunked = try await exchange(
                port, start + "Transfer-Encoding: chunked\r\n\r\n" + chunk + chunk + chunk)
            #expect(chunked.hasPrefix("HTTP/1.1 413 "))
            #expect(server.counters.bodyTooLarge == 3)
            let largest = try await exchange(
                port,
                start + "Connection: close\r\nContent-Length: 100000\r\n\r\n" + String(repeating: "b", count: 100_000))
            #expect(largest.hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test func `a slow header or body is 408, an idle connection is closed`() async throws {
        var configuration = HTTPServerConfiguration()
        configuration.headerDeadline = .milliseconds(200)
        configuration.requestDeadline = .milliseconds(400)
        configuration.idleDeadline = .milliseconds(200)
        try await withServer(configuration, handler: echo) { server, port in
            async let header = exchange(port, "GET / HTTP/1.1\r\nHost:")
            async let body = exchange(port, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc")
            async let silent = exchange(port, "")
            async let idle = exchange(port, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            let answers = try await [header, body, silent, idle]
            #expect(answers[0].hasPrefix("HTTP/1.1 408 "))
            #expect(answers[1].hasPrefix("HTTP/1.1 408 "))
            #expect(answers[2].isEmpty)
            #expect(answers[3].hasSuffix("GET /\nHost=h\n"))
            #expect(server.counters.timedOut == 2)
        }
    }

    @Test func `bytes that trickle do not move the deadline`() async throws {
        var configuration = HTTPServerConfiguration()
        configuration.headerDeadline = .milliseconds(300)
        let answer = try await withServer(configuration, handler: echo) { _, port in
            try await onThread {
                let socket = try RawSocket(port: port)
                try socket.send("GET / HTTP/1.1\r\nHost: h\r\nA: ")
                // As fast as the loop goes, one byte for each answer that has not come; the header stays below its limit.
                var sent = 0
                while socket.isSilent(forMilliseconds: 10), sent < 1000 {
                    try socket.send("a")
                    sent += 1
                }
                return try socket.receiveAll(orReset: true)
            }
        }
        #expect(answer.hasPrefix("HTTP/1.1 408 "))
    }

    @Test func `connections over the limit are 503`() async throws {
        var configuration = HTTPServerConfiguration()
        configuration.maximumConnections = 2
        try await withServer(configuration, handler: echo) { server, port in
            try await onThread {
                let request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
                let first = try RawSocket(port: port)
                let second = try RawSocket(port: port)
                try first.send(request)
                _ = try first.receive(until: "GET /\nHost=h\n")
                try second.send(request)
                _ = try second.receive(until: "GET /\nHost=h\n")
                let third = try RawSocket(port: port)
                #expect(try third.receiveAll().hasPrefix("HTTP/1.1 503 "))
                try first.send(request)
                _ = try first.receive(until: "GET /\nHost=h\n")
            }
            #expect(server.counters.refused == 1)
            #expect(server.counters.accepted == 2)
        }
    }

    @Test func `no more requests run than allowed, and all are answered`() async throws {
        var configuration = HTTPServerConfiguration()
        configuration.maximumRunningRequests = 3
        let gauge = Gauge()
        let handler: @Sendable (HTTPRequest) async -> HTTPResponse = { _ in
            await gauge.enter()
            await Task.yield()
            await gauge.leave()
            return HTTPResponse(status: 200)
        }
        let client = try HTTPClient()
        try await withServer(configuration, handler: handler) { server, port in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<50 {
                    group.addTask { try await client.request("GET", "http://127.0.0.1:\(port)/").status }
                }
                for try await status in group {
                    #expect(status == 200)
                }
            }
            #expect(server.counters.responses == 50)
        }
        #expect(await gauge.highest <= 3)
    }
}

private actor Gauge {
    private var present = 0
    private(set) var highest = 0

    func enter() {
        present += 1
        highest = max(highest, present)
    }

    func leave() {
        present -= 1
    }
}
