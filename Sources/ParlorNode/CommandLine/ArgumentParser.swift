/// Bad usage: one line that says what would be right.
package struct UsageError: Error, Hashable, CustomStringConvertible {
    package var message: String
    package init(_ message: String) { self.message = message }
    package var description: String { message }
}

/// The arguments of one command, checked against its `CommandSpec`.
package struct ParsedArguments: Sendable, Hashable {
    package var operands: [String] = []
    /// By option name; each with its values in order. An option that takes no value has an empty one.
    package var values: [String: [String]] = [:]
    package var wantsHelp = false

    package init() {}

    package func has(_ option: String) -> Bool { values[option] != nil }
    /// The value of an option that is given at most once.
    package subscript(_ option: String) -> String? { values[option]?.last }
    package func all(_ option: String) -> [String] { values[option] ?? [] }
}

package enum ArgumentParser {
    /// What the first words of a command line chose.
    package enum Choice: Sendable {
        case command(CommandSpec, ParsedArguments)
        /// `--help` without a command, or after words that begin several: those commands.
        case overview([String])
    }

    /// Finds the command and parses the rest.
    package static func choose(_ arguments: [String], among commands: [CommandSpec]) throws(UsageError) -> Choice {
        var path: [String] = []
        var rest = arguments[...]
        while true {
            if let command = commands.first(where: { $0.path == path }) {
                return .command(command, try parse(Array(rest), for: command))
            }
            let candidates = commands.filter { $0.path.starts(with: path) }
            let words = uniqued(candidates.compactMap { $0.path.count > path.count ? $0.path[path.count] : nil })
            guard let word = rest.popFirst() else {
                let before =
                    path.isEmpty ? "a command is missing" : "\"\(path.joined(separator: " "))\" needs another word"
                throw UsageError("\(before): \(words.joined(separator: ", ")) (see --help)")
            }
            if word == "--help" || word == "-h" || (path.isEmpty && word == "help" && rest.isEmpty) {
                return .overview(path)
            }
            // `parlor help token` is `parlor token --help`.
            if path.isEmpty, word == "help" {
                rest = rest + ["--help"]
                continue
            }
            if path.isEmpty, word == "--version" { return try choose(["version"] + rest, among: commands) }
            guard words.contains(word) else {
                let called = (path + [word]).joined(separator: " ")
                let hint =
                    NearestName.of(word, among: words).map {
                        "did you mean \"\((path + [$0]).joined(separator: " "))\"?"
                    }
                    ?? "there are \(words.joined(separator: ", "))"
                throw UsageError("no command \"\(called)\"; \(hint)")
            }
            path.append(word)
        }
    }

    package static func parse(_ arguments: [String], for command: CommandSpec) throws(UsageError) -> ParsedArguments {
        var parsed = ParsedArguments()
        var rest = arguments[...]
        var onlyOperands = false
        while let argument = rest.popFirst() {
            if onlyOperands || !argument.hasPrefix("-") || argument == "-" {
                parsed.operands.append(argument)
            } else if argument == "--" {
                onlyOperands = true
            } else if argument == "--help" || argument == "-h" {
                parsed.wantsHelp = true
                return parsed
            } else {
                try option(argument, rest: &rest, of: command, into: &parsed)
            }
        }
        guard parsed.operands.count >= command.operands.count else {
            let missing = command.operands[parsed.operands.count...].joined(separator: " and ")
            throw UsageError("\(command.name) needs \(missing) (see \(command.name) --help)")
        }
        if parsed.operands.count > command.operands.count {
            let extra = parsed.operands[command.operands.count]
            throw UsageError("\(command.name) does not take \"\(extra)\" (see \(command.name) --help)")
        }
        return parsed
    }

    private static func option(
        _ argument: String, rest: inout ArraySlice<String>, of command: CommandSpec, into parsed: inout ParsedArguments
    ) throws(UsageError) {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let written = parts.first.map(String.init) ?? argument
        let name = String(written.drop { $0 == "-" })
        guard written.hasPrefix("--"), let option = command.options.first(where: { $0.name == name }) else {
            let names = command.options.map(\.name) + ["help"]
            let hint =
                NearestName.of(name, among: names).map { "did you mean --\($0)?" } ?? "see \(command.name) --help"
            throw UsageError("\(command.name) has no option \(written); \(hint)")
        }
        var value = ""
        if let wanted = option.value {
            if parts.count == 2 {
                value = String(parts[1])
            } else if let next = rest.first, !next.hasPrefix("--") {
                value = next
                rest.removeFirst()
            } else {
                throw UsageError("--\(name) needs a value: --\(name) \(wanted)")
            }
        } else if parts.count == 2 {
            throw UsageError("--\(name) takes no value")
        }
        guard option.repeats || parsed.values[name] == nil else { throw UsageError("--\(name) is given twice") }
        parsed.values[name, default: []].append(value)
    }

    private static func uniqued(_ words: [String]) -> [String] {
        var seen: Set<String> = []
        return words.filter { seen.insert($0).inserted }
    }
}
