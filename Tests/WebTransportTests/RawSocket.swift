import Foundation
import WebTransport

/// A blocking TCP socket that knows nothing of HTTP: every byte is the test's own. Each read has a deadline.
struct RawSocket: ~Copyable, Sendable {
    private let descriptor: CInt

    struct Failure: Error {
        var step: String
        var code: CInt
    }

    init(port: UInt16, receiveBuffer: CInt? = nil, deadline: Int = 10) throws {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(step: "socket", code: errno) }
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<CInt>.size))
        }
        var limit = timeval(tv_sec: deadline, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var on: CInt = 1
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<CInt>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        // The deinit runs, too, and closes: twice would close what another thread has just opened.
        guard result == 0 else { throw Failure(step: "connect", code: errno) }
    }

    init(adopting descriptor: CInt) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    func send(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Failure(step: "send", code: errno) }
            rest = rest.dropFirst(count)
        }
    }

    func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    func closeSending() {
        shutdown(descriptor, CInt(SHUT_WR))
    }

    /// At least one byte; empty at the end of the stream.
    func receiveSome() throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 65536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count >= 0 else { throw Failure(step: "recv", code: errno) }
        return Array(buffer.prefix(count))
    }

    /// Everything until the peer closes. A reset counts as a close if `orReset`.
    func receiveAll(orReset: Bool = false) throws -> String {
        String(decoding: try receiveAllBytes(orReset: orReset), as: UTF8.self)
    }

    func receiveAllBytes(orReset: Bool = false) throws -> [UInt8] {
        var all: [UInt8] = []
        while true {
            do {
                let some = try receiveSome()
                if some.isEmpty { break }
                all += some
            } catch let failure as Failure where orReset && failure.code == ECONNRESET {
                break
            }
        }
        return all
    }

    func receiveExactly(_ count: Int) throws -> [UInt8] {
        var all = [UInt8](repeating: 0, count: count)
        let received = recv(descriptor, &all, count, CInt(MSG_WAITALL))
        guard received == count else { throw Failure(step: "recv \(count), got \(received)", code: errno) }
        return all
    }

    /// Until the text so far ends in `end`.
    func receive(until end: String) throws -> String {
        var all: [UInt8] = []
        while !all.suffix(end.utf8.count).elementsEqual(end.utf8) {
            let some = try receiveSome()
            guard !some.isEmpty else {
                throw Failure(step: "end of stream after \(String(decoding: all, as: UTF8.self))", code: 0)
            }
            all += some
        }
        return String(decoding: all, as: UTF8.self)
    }

    /// Whether nothing comes within that time.
    func isSilent(forMilliseconds milliseconds: CInt) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, milliseconds) == 0
    }

    /// Whether nothing can be read at this moment.
    var isSilent: Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, CInt(MSG_PEEK | MSG_DONTWAIT)) < 0
    }
}

/// Keeps a socket open.
final class SocketBox: Sendable {
    let socket: RawSocket

    init(_ socket: consuming RawSocket) {
        self.socket = socket
    }
}

/// Runs blocking work on a thread of its own, away from the pool that runs the server's handlers.
func onThread<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread {
            continuation.resume(with: Swift.Result { try work() })
        }
    }
}

/// Sends the bytes on one connection and returns everything that comes back until the server closes.
func exchange(_ port: UInt16, _ bytes: [UInt8], closeSending: Bool = false) async throws -> String {
    try await onThread {
        let socket = try RawSocket(port: port)
        try socket.send(bytes)
        if closeSending {
            socket.closeSending()
        }
        return try socket.receiveAll()
    }
}

func exchange(_ port: UInt16, _ text: String, closeSending: Bool = false) async throws -> String {
    try await exchange(port, Array(text.utf8), closeSending: closeSending)
}

/// A server on a free port for the time of `body`.
func withServer<Result>(
    _ configuration: HTTPServerConfiguration = HTTPServerConfiguration(), tls: TLSConfiguration? = nil,
    handler: @escaping @Sendable (HTTPRequest) async -> HTTPResponse,
    _ body: (HTTPServer, UInt16) async throws -> Result
) async throws -> Result {
    let server = HTTPServer(configuration: configuration)
    let port = try server.listen(host: "127.0.0.1", port: 0, tls: tls)
    server.start(handler: handler)
    do {
        let result = try await body(server, port)
        await server.stop(grace: .zero)
        return result
    } catch {
        await server.stop(grace: .zero)
        throw error
    }
}

/// Answers with what it understood: method, target, fields and body, a line each.
@Sendable func echo(_ request: HTTPRequest) async -> HTTPResponse {
    var lines = ["\(request.method) \(request.target)"]
    lines += request.headers.map { "\($0.name)=\($0.value)" }
    lines.append(String(decoding: request.body, as: UTF8.self))
    return HTTPResponse(status: 200, text: lines.joined(separator: "\n"))
}

/// A handler with one answer.
func answer(_ response: HTTPResponse) -> @Sendable (HTTPRequest) async -> HTTPResponse {
    { _ in response }
}

/// A listening socket that knows nothing of HTTP.
final class RawListener: Sendable {
    let port: UInt16
    private let descriptor: CInt

    init() throws {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw RawSocket.Failure(step: "socket", code: errno) }
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = self.descriptor
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && listen(descriptor, 8) == 0 && getsockname(descriptor, $0, &size) == 0
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        guard result else { throw RawSocket.Failure(step: "listen", code: errno) }
    }

    deinit {
        close(descriptor)
    }

    /// Accepts one connection, reads a request's header, sends the bytes and closes.
    func serveOnce(_ bytes: String) throws {
        let connection = accept(descriptor, nil, nil)
        guard connection >= 0 else { throw RawSocket.Failure(step: "accept", code: errno) }
        let socket = RawSocket(adopting: connection)
        _ = try socket.receive(until: "\r\n\r\n")
        try socket.send(bytes)
    }
}
