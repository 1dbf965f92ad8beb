/// The command line of another program: its arguments, in groups that are printed as a line each.
package struct ToolCommand: Hashable, Sendable {
    package var groups: [[String]]

    package init(_ groups: [[String]]) { self.groups = groups }

    /// The program and its arguments.
    package var arguments: [String] { Array(groups.joined()) }

    /// For a shell: a line for each group, joined by backslashes.
    package var text: String {
        groups.map { $0.map(Self.quoted).joined(separator: " ") }.joined(separator: " \\\n  ")
    }

    /// In single quotes unless nothing in it is special to a shell.
    package static func quoted(_ argument: String) -> String {
        // A lone exclamation mark, as gst-launch has many, is special only to `if` and `while`.
        if argument == "!" { return argument }
        let plain = argument.utf8.allSatisfy { byte in
            switch byte {
            case 48...57, 65...90, 97...122: true
            default: "-_./:=,@%+".utf8.contains(byte)
            }
        }
        if plain, !argument.isEmpty { return argument }
        return "'" + argument.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}
