import Foundation
import Testing

/// The blocks of docs/plain-srtp.md, all of which tests run: what a reader copies is what was tried.
///
/// A block begins with ```` ```sh test=NAME ````.
enum Manual {
    static let blocks = parse(page)

    static let page: String = {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        return (try? String(contentsOf: root.appending(path: "docs/plain-srtp.md"), encoding: .utf8)) ?? ""
    }()

    /// The block, with what a reader would replace replaced: every text must be there.
    static func block(_ name: String, replacing: [(String, String)] = []) throws -> String {
        var text = try #require(blocks[name], "docs/plain-srtp.md has a block \(name)")
        for (old, new) in replacing {
            try #require(text.contains(old), "the block \(name) says \(old)")
            text = text.replacingOccurrences(of: old, with: new)
        }
        return text
    }

    /// The lines of a page that begin something to copy which no test runs: a fence without a name, or lines set in by four
    /// spaces. Each with its number, from 1.
    static func untried(_ text: String) -> [String] {
        var found: [String] = []
        var isInside = false
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let isFence = line.drop { $0 == " " }.hasPrefix("```") || line.hasPrefix("~~~")
            let isUntried = isFence ? !line.hasPrefix("```sh test=") : line.hasPrefix("    ") || line.hasPrefix("\t")
            if !isInside, isUntried { found.append("\(number + 1): \(line)") }
            if isFence { isInside.toggle() }
        }
        return found
    }

    static func parse(_ text: String) -> [String: String] {
        var blocks: [String: String] = [:]
        var name: String?
        var lines: [Substring] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if let open = name {
                if line == "```" {
                    blocks[open] = lines.joined(separator: "\n") + "\n"
                    name = nil
                } else {
                    lines.append(line)
                }
            } else if line.hasPrefix("```sh test=") {
                name = String(line.dropFirst("```sh test=".count))
                lines = []
            }
        }
        return blocks
    }
}
