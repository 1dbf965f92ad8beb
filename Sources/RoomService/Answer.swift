import FoundationEssentials
import WebTransport

/// Makes responses with JSON bodies.
enum Answer {
    /// `{"error":"…"}`, with the service's code and the line of the offer where there is one.
    static func error(_ status: Int, _ message: String, code: Int? = nil, line: Int? = nil) -> HTTPResponse {
        json(ErrorBody(error: message, code: code, line: line), status: status)
    }

    static func json(_ body: some Encodable, status: Int = 200) -> HTTPResponse {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Our own bodies hold nothing that cannot be encoded, except a number that is not finite.
        guard let bytes = try? encoder.encode(body) else {
            return HTTPResponse(status: 500, text: "{\"error\":\"the answer has no JSON form\"}", contentType: type)
        }
        return HTTPResponse(status: status, headers: ["Content-Type": type], body: Array(bytes))
    }

    private static let type = "application/json"

    private struct ErrorBody: Encodable {
        var error: String
        var code: Int?
        var line: Int?
    }
}
