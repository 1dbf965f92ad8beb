import FoundationEssentials
import WebTransport

/// Problem documents (RFC 9457), as WHIP clients expect them (RFC 9725, section 4.5).
enum Problem {
    static let contentType = "application/problem+json"

    private struct Refused: Decodable {
        var error: String
        var code: Int?
        var line: Int?
    }

    /// The fields of the RFC, and those that all other refusals of the node have.
    private struct Document: Encodable {
        /// No page describes these: title and status say what they are.
        var type = "about:blank"
        var title: String
        var status: Int
        var detail: String
        var error: String
        var code: Int?
        var line: Int?
    }

    /// A refusal as a problem document; any other answer as it is.
    static func document(_ response: HTTPResponse) -> HTTPResponse {
        guard response.status >= 400,
            let refused = try? JSONDecoder().decode(Refused.self, from: Data(response.body))
        else { return response }
        let document = Document(
            title: title(response.status), status: response.status, detail: refused.error, error: refused.error,
            code: refused.code, line: refused.line)
        var answer = Answer.json(document, status: response.status)
        var headers = response.headers
        headers["Content-Type"] = contentType
        answer.headers = headers
        return answer
    }

    /// The registered phrases of the statuses that legs have (RFC 9110, section 15; RFC 6585).
    private static func title(_ status: Int) -> String {
        switch status {
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 409: "Conflict"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 415: "Unsupported Media Type"
        case 428: "Precondition Required"
        case 429: "Too Many Requests"
        case 503: "Service Unavailable"
        default: status < 500 ? "Client Error" : "Server Error"
        }
    }
}
