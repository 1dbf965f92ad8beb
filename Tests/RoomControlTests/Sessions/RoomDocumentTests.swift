import Foundation
import Testing

/// The tables of docs/rooms.md name tests that exist.
@Suite struct RoomDocumentTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// The rows of the tables below a heading, without the head.
    private func rows(_ heading: String) throws -> [[Substring]] {
        let text = try String(contentsOf: Self.root.appending(path: "docs/rooms.md"), encoding: .utf8)
        let after = text.components(separatedBy: "\n## \(heading)\n")
        #expect(after.count == 2, "\(heading)")
        let section = after.last?.components(separatedBy: "\n## ").first ?? ""
        return section.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst().map { line in
            line.split(separator: "|").map { Substring($0.trimmingCharacters(in: .whitespaces)) }
        }
    }

    private func sources() throws -> [String] {
        let tests = Self.root.appending(path: "Tests").resolvingSymlinksInPath().path
        return try FileManager.default.subpathsOfDirectory(atPath: tests).filter { $0.hasSuffix("Tests.swift") }.map {
            try String(contentsOfFile: "\(tests)/\($0)", encoding: .utf8)
        }
    }

    @Test(arguments: ["Races", "The document's sentences"])
    func `every row names tests that exist`(heading: String) throws {
        let rows = try rows(heading)
        #expect(rows.count >= 15)
        let sources = try sources()
        for row in rows {
            let named = (row.last ?? "").matches(of: #/(\w+Tests): "([^"]+)"/#).map { ($0.1, $0.2) }
            #expect(!named.isEmpty, "\(row)")
            for (suite, test) in named {
                let isThere = sources.contains { source in
                    source.contains("struct \(suite)")
                        && (source.contains("`\(test)`(") || source.contains("func \(test)("))
                }
                #expect(isThere, "\(suite) has no test \"\(test)\"")
            }
        }
    }
}
