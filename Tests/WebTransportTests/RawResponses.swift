import Foundation
import WebTransport

/// The responses in what a server sent on one connection, cut by their own framing.
struct RawResponses {
    struct Response {
        var status: Int
        var headers: HTTPFields
        var body: String

        /// The sentence of a problem document (RFC 9457) that fits the status line.
        var error: String? {
            struct Problem: Decodable {
                var type: String
                var title: String
                var status: Int
                var detail: String
                var error: String
            }
            guard let problem = try? JSONDecoder().decode(Problem.self, from: Data(body.utf8)),
                problem.type == "about:blank", !problem.title.isEmpty, problem.status == status,
                problem.detail == problem.error
            else { return nil }
            return problem.error
        }

        /// What the server's own answers lack of what they must have.
        var missing: [String] {
            var missing: [String] = []
            if headers["Content-Type"] != "application/problem+json" { missing.append("Content-Type") }
            if headers["Access-Control-Allow-Origin"] != "*" { missing.append("Access-Control-Allow-Origin") }
            if headers["Connection"] != "close" { missing.append("Connection: close") }
            if (error ?? "").count < 20 { missing.append("a sentence") }
            let id = headers["X-Reqid"] ?? ""
            let isURLSafe = id.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
            if id.count != 16 || !isURLSafe { missing.append("X-Reqid") }
            if status == 503, headers["Retry-After"].flatMap({ Int($0) }) == nil { missing.append("Retry-After") }
            return missing
        }
    }

    private(set) var responses: [Response] = []
    /// What follows the last whole response.
    private(set) var rest: [UInt8]

    init(_ bytes: [UInt8]) {
        rest = bytes
        while let end = rest.firstRange(of: Array("\r\n\r\n".utf8)) {
            let lines = String(decoding: rest[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
            let fields = lines.dropFirst().map { line in
                let parts = line.split(separator: ":", maxSplits: 1)
                return HTTPField(
                    String(parts.first ?? ""), parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : "")
            }
            let headers = HTTPFields(fields)
            let start = lines.first?.split(separator: " ") ?? []
            let length = headers["Content-Length"].flatMap { Int($0) } ?? 0
            guard start.first == "HTTP/1.1", start.count > 1, let status = Int(start[1]),
                rest.count - end.upperBound >= length
            else { return }
            let body = rest[end.upperBound..<(end.upperBound + length)]
            responses.append(Response(status: status, headers: headers, body: String(decoding: body, as: UTF8.self)))
            rest = Array(rest[(end.upperBound + length)...])
        }
    }
}
