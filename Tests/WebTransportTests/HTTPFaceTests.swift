import Foundation
import Testing
import WebTransport

/// Bytes on a socket, and the exact statuses that come back; another connection is served all the while.
@Suite(.timeLimit(.minutes(2)))
struct HTTPFaceTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        /// Sent in this order, each in a packet of its own.
        var pieces: [[UInt8]]
        var statuses: [Int]
        /// Text that the last answer's body must contain.
        var contains = ""
        /// Whether the client closes its sending half after the last piece.
        var closesSending = false

        init(_ name: String, _ request: String, _ statuses: Int..., contains: String = "", closes: Bool = false) {
            self.init(name, [Array(request.utf8)], statuses, contains: contains, closes: closes)
        }

        init(_ name: String, _ pieces: [[UInt8]], _ statuses: [Int], contains: String = "", closes: Bool = false) {
            self.name = name
            self.pieces = pieces
            self.statuses = statuses
            self.contains = contains
            closesSending = closes
        }

        var testDescription: String { name }
    }

    /// A request that ends its connection.
    private static func get(_ target: String, _ fields: String = "", method: String = "GET") -> String {
        "\(method) \(target) HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\(fields)\r\n"
    }

    private static func post(_ fields: String, _ body: String = "") -> String {
        get("/", fields, method: "POST") + body
    }

    private static func chunked(_ body: String) -> String {
        post("Transfer-Encoding: chunked\r\n", body)
    }

    private static let targets = [
        Case(
            "raw target", get("/a%2Fb/../c//d?x=%41&y=+&z=%zz?/;"), 200,
            contains: "GET /a%2Fb/../c//d?x=%41&y=+&z=%zz?/;\n"),
        Case("target beyond ASCII", get("/ü?ö"), 200, contains: "GET /ü?ö\n"),
        Case("absolute target", get("http://other:80/p?q"), 200, contains: "GET http://other:80/p?q\n"),
        Case("absolute target without path", get("HTTPS://h"), 200, contains: "GET HTTPS://h\n"),
        Case("absolute target without host", get("http:///p"), 400),
        Case("absolute target of another scheme", get("ftp://h/p"), 400),
        Case("relative target", get("p"), 400),
        Case("asterisk", get("*"), 400),
        Case("asterisk of OPTIONS", get("*", method: "OPTIONS"), 200, contains: "OPTIONS *\n"),
        Case("CONNECT", get("h:443", method: "CONNECT"), 501),
        Case("no target", "GET HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        Case("NUL in the target", get("/a\0b"), 400),
        Case("space in the target", get("/a b"), 400),
        Case("tab before the target", "GET\t/ HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        Case("lower-case method", get("/", method: "get"), 200, contains: "get /\n"),
        Case("method that is no token", get("/", method: "G(T"), 400),
        Case("upper-case version only", "GET / http/1.1\r\nHost: h\r\n\r\n", 400),
    ]

    private static let chunks = [
        Case("chunks", chunked("3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n"), 200, contains: "\nabc0123456789"),
        Case(
            "chunk sizes in both cases, with zeros", chunked("000a\r\n0123456789\r\n0B\r\n0123456789a\r\n00\r\n\r\n"),
            200,
            contains: "\n01234567890123456789a"),
        Case("chunk extensions", chunked("3;a;b=c;d=\"e;\\\"f\"\r\nabc\r\n0;last\r\n\r\n"), 200, contains: "\nabc"),
        Case("trailer", chunked("1\r\nx\r\n0\r\nX-Trailer: t\r\nHost: evil\r\n\r\n"), 200, contains: "Host=h\n"),
        Case("no chunk", chunked("0\r\n\r\n"), 200),
        Case(
            "chunked in capitals", post("Transfer-Encoding: CHUNKED\r\n", "1\r\nx\r\n0\r\n\r\n"), 200, contains: "\nx"),
        Case("chunk shorter than its size", chunked("5\r\nabc\r\n0\r\n\r\n"), 400),
        Case("chunk longer than its size", chunked("2\r\nabc\r\n0\r\n\r\n"), 400),
        Case("size of no digits", chunked("\r\nabc\r\n0\r\n\r\n"), 400),
        Case("negative size", chunked("-1\r\nabc\r\n0\r\n\r\n"), 400),
        Case("size with 0x", chunked("0x3\r\nabc\r\n0\r\n\r\n"), 400),
        Case("size beyond 64 bits", chunked("10000000000000003\r\nabc\r\n0\r\n\r\n"), 400),
        Case("largest size", chunked("ffffffffffffffff\r\nabc\r\n0\r\n\r\n"), 413),
        Case("line feed alone after the size", chunked("3\nabc\r\n0\r\n\r\n"), 400),
        Case("extension without name", chunked("3;=x\r\nabc\r\n0\r\n\r\n"), 400),
        Case("NUL in an extension", chunked("3;a=\0\r\nabc\r\n0\r\n\r\n"), 400),
        Case("trailer that is no field", chunked("0\r\nno colon\r\n\r\n"), 400),
        Case("control character in the trailer", chunked("0\r\nA: \u{1}\r\n\r\n"), 400),
        Case("endless trailer", chunked("0\r\n" + String(repeating: "A: b\r\n", count: 2000)), 431),
        Case("endless extension", chunked("1;" + String(repeating: "x", count: 20_000)), 431),
        Case(
            "chunks over the limit",
            chunked(String(repeating: "1000\r\n" + String(repeating: "a", count: 4096) + "\r\n", count: 20)), 413),
        Case("chunks that end in the middle", chunked("3\r\nab"), 400, closes: true),
    ]

    private static let framing = [
        Case("length", post("Content-Length: 3\r\n", "abc"), 200, contains: "\nabc"),
        Case("length twice", post("Content-Length: 3\r\nContent-Length: 3\r\n", "abc"), 400),
        Case("two lengths", post("Content-Length: 3\r\ncontent-length: 4\r\n", "abcd"), 400),
        Case("list of lengths", post("Content-Length: 3, 3\r\n", "abc"), 400),
        Case("length with sign", post("Content-Length: +3\r\n", "abc"), 400),
        Case("hexadecimal length", post("Content-Length: 0x3\r\n", "abc"), 400),
        Case("length of two numbers", post("Content-Length: 3 3\r\n", "abc"), 400),
        Case("empty length", post("Content-Length:\r\n", "abc"), 400),
        Case("length with a fraction", post("Content-Length: 3.0\r\n", "abc"), 400),
        Case("length beyond 64 bits", post("Content-Length: 18446744073709551619\r\n", "abc"), 400),
        Case("length over the limit", post("Content-Length: 65537\r\n", "abc"), 413),
        Case("largest length", post("Content-Length: 18446744073709551615\r\n", "abc"), 413),
        Case("length and chunks", post("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400),
        Case("chunks and length", post("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "0\r\n\r\n"), 400),
        Case("length and an unknown coding", post("Content-Length: 3\r\nTransfer-Encoding: x\r\n", "abc"), 400),
        Case(
            "chunked in two fields", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
            400),
        Case(
            "two codings in two fields", post("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
            400),
        Case("chunked twice", post("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n"), 400),
        Case("another coding before chunked", post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 501),
        Case("another coding after chunked", post("Transfer-Encoding: chunked, gzip\r\n", "0\r\n\r\n"), 400),
        Case("another coding alone", post("Transfer-Encoding: identity\r\n"), 400),
        Case("coding with vertical tab", post("Transfer-Encoding: \u{B}chunked\r\n", "0\r\n\r\n"), 400),
        Case("no Host", "GET / HTTP/1.1\r\n\r\n", 400),
        Case("Host twice", "GET / HTTP/1.1\r\nHost: h\r\nhost: h\r\n\r\n", 400),
        Case("two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        Case("empty Host", "GET / HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n", 200),
        Case("Host with a path", "GET / HTTP/1.1\r\nHost: h/p\r\n\r\n", 400),
        Case("Host with user information", "GET / HTTP/1.1\r\nHost: u@h\r\n\r\n", 400),
        Case("Host of two words", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
        Case("expectation", get("/", "Expect: miracle\r\n"), 417),
        Case("expectation twice", get("/", "Expect: 100-continue\r\nExpect: miracle\r\n"), 417),
    ]

    private static let heads = [
        Case("NUL in a value", get("/", "A: a\0b\r\n"), 400),
        Case("control character in a value", get("/", "A: a\u{1}b\r\n"), 400),
        Case("DEL in a value", get("/", "A: a\u{7F}b\r\n"), 400),
        Case("carriage return in a value", get("/", "A: a\rB: b\r\n"), 400),
        Case("line feed alone", "GET / HTTP/1.1\nHost: h\n\n", 400),
        Case("tab in a value", get("/", "A: a\tb\r\n"), 200, contains: "A=a\tb\n"),
        Case("bytes beyond ASCII in a value", get("/", "A: ü\r\n"), 200, contains: "A=ü\n"),
        Case("folded value", get("/", "A: a\r\n  b\r\n"), 200, contains: "A=a b\n"),
        Case("NUL in a name", get("/", "A\0: b\r\n"), 400),
        Case("space after a name", get("/", "Content-Length : 3\r\n"), 400),
        Case("name of nothing", get("/", ": b\r\n"), 400),
        Case("no colon", get("/", "no colon\r\n"), 400),
        Case("space before the first field", "GET / HTTP/1.1\r\n Host: h\r\n\r\n", 400),
        Case("long target", get("/" + String(repeating: "a", count: 10_000)), 431),
        Case("long field", get("/", "A: " + String(repeating: "a", count: 10_000) + "\r\n"), 431),
        Case("long name", get("/", String(repeating: "a", count: 10_000) + ": a\r\n"), 431),
        Case("many fields", get("/", String(repeating: "A: b\r\n", count: 2000)), 431),
        Case("HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", 200, contains: "GET /\n"),
        Case("HTTP/1.0 with chunks", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        Case("HTTP/0.9", "GET /\r\n\r\n", 400),
        Case("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        Case("version with more digits", "GET / HTTP/1.10\r\nHost: h\r\n\r\n", 400),
        Case("empty lines before the request", "\r\n\r\n" + get("/"), 200),
        Case(
            "three in one packet", "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n" + get("/3"),
            200, 200, 200, contains: "GET /3\n"),
        Case(
            "the second of three is bad", "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\n\r\n" + get("/3"), 200,
            400),
        Case(
            "body that reads like a request",
            "POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 37\r\n\r\n"
                + "GET /smuggled HTTP/1.1\r\nHost: evil\r\n\r" + get("/2"), 200, 200, contains: "GET /2\n"),
        Case("half a request line", "GET / HT", 400, closes: true),
        Case("half a header", "GET / HTTP/1.1\r\nHost: h\r\nA", 400, closes: true),
        Case("half a body", post("Content-Length: 10\r\n", "abc"), 400, closes: true),
        Case("nothing", [], [], closes: true),
        Case("binary garbage", [(0...255).map { UInt8($0) } + [0x0D, 0x0A, 0x0D, 0x0A]], [400]),
        Case(
            "a TLS greeting", [[0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3] + [UInt8](repeating: 0xAA, count: 500)], [400]),
        Case("byte by byte", get("/slow").utf8.map { [$0] }, [200], contains: "GET /slow\n"),
    ]

    @Test(arguments: targets + chunks + framing + heads)
    func `every request has its status, and others are served meanwhile`(given: Case) async throws {
        var configuration = HTTPServerConfiguration()
        configuration.headerLimit = 4096
        configuration.bodyLimit = 65536
        try await withServer(configuration, handler: echo) { _, port in
            let (answers, other) = try await onThread {
                let socket = try RawSocket(port: port)
                for piece in given.pieces {
                    try socket.send(piece)
                }
                // The first connection stays as it is until the second one has its answer.
                let second = try RawSocket(port: port)
                try second.send(Self.get("/other"))
                let other = RawResponses(try second.receiveAllBytes())
                if given.closesSending {
                    socket.closeSending()
                }
                return (RawResponses(try socket.receiveAllBytes()), other)
            }
            #expect(other.responses.map(\.status) == [200])
            #expect(answers.responses.map(\.status) == given.statuses)
            #expect(answers.rest.isEmpty)
            for answer in answers.responses where answer.status != 200 {
                #expect(answer.missing == [])
            }
            if !given.contains.isEmpty {
                #expect(answers.responses.last?.body.contains(given.contains) == true)
            }
        }
    }

    @Test(arguments: [
        ("header", "GET / HTTP/1.1\r\nHost: h\r\nA: ", 408), ("request line", "GE", 408),
        ("body", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc", 408),
        ("chunk", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", 408),
        ("trailer", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA", 408),
    ])
    func `what does not come in time is 408`(name: String, start: String, status: Int) async throws {
        var configuration = HTTPServerConfiguration()
        configuration.headerDeadline = .milliseconds(150)
        configuration.requestDeadline = .milliseconds(300)
        try await withServer(configuration, handler: echo) { server, port in
            async let slow = onThread {
                let socket = try RawSocket(port: port)
                try socket.send(start)
                return RawResponses(try socket.receiveAllBytes())
            }
            // Served while the other one lasts.
            let client = try HTTPClient()
            #expect(try await client.request("GET", "http://127.0.0.1:\(port)/").status == 200)
            let answers = try await slow
            #expect(answers.responses.map(\.status) == [status])
            #expect(answers.responses.first?.missing == [])
            #expect(server.counters.timedOut == 1)
        }
    }

    @Test(arguments: [false, true])
    func `connections over the limit are told so, and have what every answer has`(isTLS: Bool) async throws {
        var configuration = HTTPServerConfiguration()
        configuration.maximumConnections = 1
        configuration.fixedHeaders = ["X-Fixed": "1", "Access-Control-Allow-Origin": "*"]
        let tls = try TestCertificate.configuration()
        let server = HTTPServer(configuration: configuration)
        let plain = try server.listen(host: "127.0.0.1", port: 0)
        let secure = try server.listen(host: "127.0.0.1", port: 0, tls: tls)
        server.start(handler: echo)
        let first = try await onThread {
            let socket = try RawSocket(port: plain)
            try socket.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            _ = try socket.receive(until: "GET /\nHost=h\n")
            return SocketBox(socket)
        }
        let client = try HTTPClient(trust: .insecure)
        let url = isTLS ? "https://127.0.0.1:\(secure)/" : "http://127.0.0.1:\(plain)/"
        var ids: Set<String> = []
        for _ in 0..<3 {
            let response = try await client.request("POST", url, body: [UInt8](repeating: 1, count: 100_000))
            #expect(response.status == 503)
            #expect(response.headers["Retry-After"] == "5")
            #expect(response.headers["X-Fixed"] == "1")
            #expect(response.headers["Access-Control-Expose-Headers"] == nil)
            let sentence = "too many connections; the limit is 1, try again later"
            #expect(
                response.text
                    == #"{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"\#(sentence)","error":"\#(sentence)"}"#
            )
            ids.insert(response.headers["X-Reqid"] ?? "")
        }
        #expect(ids.count == 3 && !ids.contains(""))
        #expect(server.counters.refused == 3)
        #expect(server.counters.connections == 1)
        try await onThread {
            try first.socket.send("GET /again HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try first.socket.receive(until: "\nHost=h\n").contains("GET /again\n"))
        }
        await server.stop(grace: .zero)
    }

    @Test func `every socket is closed on exec`() async throws {
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let handler: @Sendable (HTTPRequest) async -> HTTPResponse = { _ in
            arrived.yield()
            for await _ in gate { break }
            return HTTPResponse(status: 200)
        }
        try await withServer(handler: handler) { _, port in
            let client = try HTTPClient()
            async let response = client.request("GET", "http://127.0.0.1:\(port)/")
            for await _ in arrivals { break }
            let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
                CInt($0)
            }
            let flags = descriptors.filter { socketPorts($0).contains(port) }.map { fcntl($0, F_GETFD) }
            #expect(flags.count == 3, "the listener, and both ends of a connection")
            #expect(flags.allSatisfy { $0 & FD_CLOEXEC != 0 })
            opener.finish()
            #expect(try await response.status == 200)
        }
    }
}

/// The IPv4 ports of both ends of a socket; empty for what is none.
private func socketPorts(_ descriptor: CInt) -> [UInt16] {
    [getsockname, getpeername].compactMap { name in
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { name(descriptor, $0, &size) }
        }
        return result == 0 && address.sin_family == sa_family_t(AF_INET) ? UInt16(bigEndian: address.sin_port) : nil
    }
}
