import Foundation
import Testing

/// The blocks of docs/plain-srtp.md that tests run: what a reader copies is what was tried.
///
/// A block begins with ```` ```sh test=NAME ````.
enum Manual {
    static let blocks: [String: String] = {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let text = (try? String(contentsOf: root.appending(path: "docs/plain-srtp.md"), encoding: .utf8)) ?? ""
        return parse(text)
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
