import Foundation

/// An HTTP request whose every byte the test chose, and the answer read to the end of the connection: no client library
/// that would mend either.
enum RawHTTP {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    struct Answer: Sendable {
        var status: Int
        /// By lower-case name.
        var headers: [String: String]
        var body: String

        /// The members of a JSON object in the body.
        var json: [String: Any] {
            ((try? JSONSerialization.jsonObject(with: Data(body.utf8))) as? [String: Any]) ?? [:]
        }
        var errorCode: Int? { json["code"] as? Int }
    }

    static func request(
        _ method: String, _ target: String, port: UInt16, headers: [(String, String)] = [], body: String = "",
        seconds: Int = 30
    ) async throws -> Answer {
        var text = "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n"
        for (name, value) in headers { text += "\(name): \(value)\r\n" }
        if !body.isEmpty || method == "POST" { text += "Content-Length: \(body.utf8.count)\r\n" }
        let request = Array((text + "\r\n" + body).utf8)
        // A thread of its own: Swift's pool is no place to wait for a socket.
        return try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try parse(exchange(request, port, seconds)) })
            }
        }
    }

    private static func exchange(_ request: [UInt8], _ port: UInt16, _ seconds: Int) throws -> [UInt8] {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(description: "no socket") }
        defer { close(descriptor) }
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        guard Loopback.connect(descriptor, port) else { throw Failure(description: "nobody listens on \(port)") }
        var rest = request[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw Failure(description: "cannot send: \(errno)") }
            rest = rest.dropFirst(count)
        }
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count == 0 { return answer }
            guard count > 0 else { throw Failure(description: "no answer to its end: \(errno)") }
            answer += buffer[..<count]
        }
    }

    private static func parse(_ bytes: [UInt8]) throws -> Answer {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.range(of: "\r\n\r\n") else { throw Failure(description: "no HTTP: \(text)") }
        let lines = text[..<end.lowerBound].components(separatedBy: "\r\n")
        let status = lines[0].split(separator: " ")
        guard status.count >= 2, status[0] == "HTTP/1.1", let number = Int(status[1]) else {
            throw Failure(description: "no status line: \(lines[0])")
        }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { throw Failure(description: "no header field: \(line)") }
            headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
        }
        let body = String(text[end.upperBound...])
        if let length = headers["content-length"], Int(length) != body.utf8.count {
            throw Failure(description: "Content-Length says \(length), the body has \(body.utf8.count)")
        }
        return Answer(status: number, headers: headers, body: body)
    }
}
