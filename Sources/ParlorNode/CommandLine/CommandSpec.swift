/// One option of a command: `--name VALUE`, or a bare `--name`.
package struct OptionSpec: Sendable {
    /// Without the dashes.
    package var name: String
    /// What stands for the value in help; `nil`: the option takes none.
    package var value: String?
    package var help: String
    /// May be given more than once.
    package var repeats: Bool
    /// Listed in help under this title; `nil`: among the command's own.
    package var group: String?

    package init(_ name: String, _ value: String?, _ help: String, repeats: Bool = false, group: String? = nil) {
        self.name = name
        self.value = value
        self.help = help
        self.repeats = repeats
        self.group = group
    }
}

/// What a command understands, as the parser and the help text need it.
package struct CommandSpec: Sendable {
    /// Words that call it: `["sdp", "publish"]`.
    package var path: [String]
    /// One line.
    package var summary: String
    /// Names of the values it takes, in order; all are needed.
    package var operands: [String]
    package var options: [OptionSpec]
    /// Further lines of help: examples, hints.
    package var notes: [String]

    package init(
        _ path: [String], _ summary: String, operands: [String] = [], options: [OptionSpec] = [], notes: [String] = []
    ) {
        self.path = path
        self.summary = summary
        self.operands = operands
        self.options = options
        self.notes = notes
    }

    package var name: String { path.joined(separator: " ") }

    /// The text of `--help`.
    package func help(program: String) -> String {
        var lines = [summary, "", usage(program: program)]
        var groups: [String?] = []
        for option in options where !groups.contains(option.group) { groups.append(option.group) }
        for group in groups {
            lines += ["", group.map { "\($0):" } ?? "Options:"]
            let rows = options.filter { $0.group == group }.map { (left: Self.left($0), right: $0.help) }
            lines += HelpTable.lines(rows)
        }
        if !notes.isEmpty { lines += [""] + notes }
        return lines.joined(separator: "\n") + "\n"
    }

    package func usage(program: String) -> String {
        var words = ["Usage:", program] + path + operands
        if !options.isEmpty { words.append("[OPTIONS]") }
        return words.joined(separator: " ")
    }

    private static func left(_ option: OptionSpec) -> String {
        "--\(option.name)" + (option.value.map { " \($0)" } ?? "") + (option.repeats ? " ..." : "")
    }
}

/// Two columns, the right one wrapped at 100 characters.
enum HelpTable {
    static func lines(_ rows: [(left: String, right: String)]) -> [String] {
        let width = min(34, rows.map(\.left.count).max() ?? 0)
        var lines: [String] = []
        for row in rows {
            let indent = String(repeating: " ", count: width + 4)
            var line = "  " + row.left + String(repeating: " ", count: max(0, width - row.left.count)) + "  "
            if row.left.count > width {
                lines.append("  " + row.left)
                line = indent
            }
            for word in row.right.split(separator: " ") {
                if line.count + word.count > 100 {
                    lines.append(String(line.trimmingEnd()))
                    line = indent
                }
                line += word + " "
            }
            lines.append(String(line.trimmingEnd()))
        }
        return lines
    }
}

extension StringProtocol {
    func trimmingEnd() -> SubSequence {
        var slice = self[startIndex..<endIndex]
        while slice.last == " " { slice = slice.dropLast() }
        return slice
    }
}
