package import WebTransport

/// A request on its way to its route, with what the route's pattern took from the path.
package struct RoutedRequest: Sendable {
    package var http: HTTPRequest
    /// By the names in the pattern, percent-decoded.
    package var parameters: [String: String]

    package func parameter(_ name: String) -> String { parameters[name] ?? "" }
}

/// Which method and path leads to which handler; the one place where paths are matched.
///
/// A pattern is a path whose components are literal or, with a colon before them, take any component:
/// `/v3/apps/:app/rooms`. The first pattern that fits wins. Every path that has routes answers OPTIONS, for CORS, and
/// other methods with 405 and Allow. HEAD goes where GET goes (RFC 9110, section 9.3.2); the answer's body stays here, or
/// rather at the HTTP server, which counts its length.
package struct Router: Sendable {
    package typealias Handler = @Sendable (RoutedRequest) async -> HTTPResponse

    private struct Route: Sendable {
        let method: String
        let pattern: String
        let components: [String]
        let handler: Handler
    }

    private var routes: [Route] = []
    private let counters: NodeCounters

    package init(counters: NodeCounters = NodeCounters()) { self.counters = counters }

    package mutating func on(_ method: String, _ pattern: String, _ handler: @escaping Handler) {
        routes.append(
            Route(
                method: method, pattern: pattern, components: pattern.split(separator: "/").map(String.init),
                handler: handler))
    }

    /// Every method and pattern, such as `GET /v3/apps/:app`, in the order of matching.
    package var patterns: [(method: String, pattern: String)] { routes.map { ($0.method, $0.pattern) } }

    package func handle(_ request: HTTPRequest) async -> HTTPResponse {
        // An empty component is most often an empty variable of a back end: it must not hit another resource.
        if request.path.contains("//") {
            counters.requested(route: nil, method: request.method, status: 404)
            return Answer.error(404, "there is nothing at this path: a component of it is empty")
        }
        let components = request.pathComponents
        var allowed: [String] = []
        var pattern: String?
        for route in routes {
            guard let parameters = match(route.components, components) else { continue }
            pattern = pattern ?? route.pattern
            if route.method == (request.method == "HEAD" ? "GET" : request.method) {
                let response = await route.handler(RoutedRequest(http: request, parameters: parameters))
                counters.requested(route: route.pattern, method: request.method, status: response.status)
                return response
            }
            allowed.append(route.method)
        }
        let response = withoutHandler(request, allowed: allowed)
        counters.requested(route: pattern, method: request.method, status: response.status)
        return response
    }

    private func withoutHandler(_ request: HTTPRequest, allowed: [String]) -> HTTPResponse {
        if allowed.isEmpty { return Answer.error(404, "there is nothing at this path") }
        let allow = (allowed.flatMap { $0 == "GET" ? ["GET", "HEAD"] : [$0] } + ["OPTIONS"]).joined(separator: ", ")
        if request.method == "OPTIONS" {
            return HTTPResponse(
                status: 204,
                headers: [
                    "Allow": allow, "Access-Control-Allow-Methods": allow,
                    "Access-Control-Allow-Headers": "Authorization, Content-Type, If-Match, X-Qiniu-Date",
                    // A day, in seconds.
                    "Access-Control-Max-Age": "86400",
                ])
        }
        var answer = Answer.error(405, "the method is not allowed here; allowed: \(allow)")
        answer.headers["Allow"] = allow
        return answer
    }

    private func match(_ pattern: [String], _ path: [String]) -> [String: String]? {
        guard pattern.count == path.count else { return nil }
        var parameters: [String: String] = [:]
        for (expected, actual) in zip(pattern, path) {
            if expected.hasPrefix(":") {
                parameters[String(expected.dropFirst())] = actual
            } else if expected != actual {
                return nil
            }
        }
        return parameters
    }
}
