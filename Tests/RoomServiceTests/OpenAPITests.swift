import Foundation
import RoomService
import Testing

/// docs/openapi.yaml has every route of the node, and no other.
@Suite struct OpenAPITests {
    private static let methods: Set = ["get", "post", "put", "patch", "delete", "head", "options", "trace"]

    /// What stands under `paths`, read by its lines: a path has two spaces before it, a method four. Anchors and references
    /// to them, which repeat one path's methods under another, are followed.
    static func routes(in text: String) -> (routes: [String], problems: [String]) {
        var anchors: [String: [String]] = [:]
        var routes: [String] = []
        var problems: [String] = []
        var (path, anchor) = ("", "")
        var isInside = false
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if let first = line.first, first != " ", first != "#" { isInside = line == "paths:" }
            guard isInside else { continue }
            if let match = line.wholeMatch(of: #/  (\/[^:]*):(?: ([&*])(\w+))?/#) {
                path = String(match.1)
                anchor = ""
                guard let mark = match.2, let name = match.3 else { continue }
                if mark == "&" {
                    anchor = String(name)
                } else if let methods = anchors[String(name)] {
                    routes += methods.map { "\($0) \(path)" }
                } else {
                    problems.append("line \(number + 1): there is no anchor \(name)")
                }
            } else if let match = line.wholeMatch(of: #/    (\w+):.*/#), methods.contains(String(match.1)) {
                let method = match.1.uppercased()
                routes.append("\(method) \(path)")
                if !anchor.isEmpty { anchors[anchor, default: []].append(method) }
            } else if line.wholeMatch(of: #/  [^ #].*/#) != nil {
                problems.append("line \(number + 1) begins like a path: \(line)")
            }
        }
        return (routes, problems)
    }

    private static func file() throws -> String {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/openapi.yaml")
        return try String(contentsOf: file.standardized, encoding: .utf8)
    }

    @Test func theFileHasEveryRouteAndNoOther() throws {
        let (routes, problems) = Self.routes(in: try Self.file())
        #expect(problems.isEmpty, "\(problems)")
        let written = Set(routes)
        #expect(written.count == routes.count, "a route stands twice")
        let real = Set(
            ServiceFixture().services.patterns.map { route in
                "\(route.method) " + route.pattern.replacing(/:(\w+)/) { "{\($0.1)}" }
            })
        #expect(real.count > 40)
        #expect(written.subtracting(real).sorted() == [], "not in the node")
        #expect(real.subtracting(written).sorted() == [], "not in docs/openapi.yaml")
    }

    /// The reader sees what is missing, or the test above says nothing.
    @Test func theReader() {
        let text = """
            paths:
              /a: &x
                parameters: []
                get:
                  post: no method here
                post: *y

              # A remark.
              /b/{c}: *x
              /d: *z
              odd
            components:
              /e:
                get:
            """
        let (routes, problems) = Self.routes(in: text)
        #expect(routes == ["GET /a", "POST /a", "GET /b/{c}", "POST /b/{c}"])
        #expect(problems.count == 2 && problems[0].contains("no anchor z") && problems[1].contains("odd"))
    }
}
