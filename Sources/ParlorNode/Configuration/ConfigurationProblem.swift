/// Where a value of the configuration came from.
package enum ConfigurationOrigin: Hashable, Sendable, CustomStringConvertible {
    case builtIn
    case file(path: String, line: Int)
    case variable(String)
    case flag(String)

    package var description: String {
        switch self {
        case .builtIn: "built-in"
        case .file(let path, let line): "\(path):\(line)"
        case .variable(let name): name
        case .flag(let name): name
        }
    }
}

/// One thing wrong with the configuration: where, which key, and what would be right.
package struct ConfigurationProblem: Hashable, Sendable, CustomStringConvertible {
    package var origin: ConfigurationOrigin
    /// The key's path, such as `media.port`; empty when the problem is the file itself.
    package var key: String
    package var message: String

    package init(_ origin: ConfigurationOrigin, key: String, _ message: String) {
        self.origin = origin
        self.key = key
        self.message = message
    }

    package var description: String { key.isEmpty ? "\(origin): \(message)" : "\(origin): \(key): \(message)" }
}

/// All that is wrong with a configuration; never empty.
package struct ConfigurationError: Error, CustomStringConvertible {
    package var problems: [ConfigurationProblem]

    package var description: String { problems.map(\.description).joined(separator: "\n") }
}

/// Why one text is not a value of a key. The loader adds where it stood.
struct ValueComplaint: Error {
    var message: String
    init(_ message: String) { self.message = message }
}
