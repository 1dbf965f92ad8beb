/// What a handler answers, or what a client receives.
package struct HTTPResponse: Sendable, Equatable {
    /// Any number from 200 to 999, also those that no RFC names.
    package var status: Int
    /// The phrase behind the status; `nil` takes the usual one, if there is any.
    package var reason: String?
    /// Content-Length, Connection and Date are the server's own business. `Connection: close` here closes after this
    /// response.
    package var headers: HTTPFields
    package var body: [UInt8]

    package init(status: Int, reason: String? = nil, headers: HTTPFields = [:], body: [UInt8] = []) {
        self.status = status
        self.reason = reason
        self.headers = headers
        self.body = body
    }

    /// A body of text, UTF-8.
    package init(
        status: Int, headers: HTTPFields = [:], text: String, contentType: String = "text/plain; charset=utf-8"
    ) {
        self.init(status: status, headers: headers, body: Array(text.utf8))
        self.headers["Content-Type"] = contentType
    }

    /// The body as text; what is not UTF-8 becomes U+FFFD.
    package var text: String { String(decoding: body, as: UTF8.self) }
}
