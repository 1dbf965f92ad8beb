/// Writes metrics as Prometheus reads them: text format 0.0.4, each family once with its help and type before its samples.
struct MetricsText {
    private(set) var text = ""

    enum Kind: String {
        case counter, gauge
    }

    typealias Label = (name: String, value: String)

    mutating func family(_ name: String, _ kind: Kind, _ help: String, _ samples: [(labels: [Label], value: UInt64)]) {
        head(name, kind, help)
        for sample in samples { line(name, sample.labels, "\(sample.value)") }
    }

    mutating func family(_ name: String, _ kind: Kind, _ help: String, _ value: UInt64) {
        family(name, kind, help, [([], value)])
    }

    /// For values that are no whole numbers.
    mutating func family(_ name: String, _ kind: Kind, _ help: String, _ samples: [(labels: [Label], value: Double)]) {
        head(name, kind, help)
        for sample in samples { line(name, sample.labels, "\(sample.value)") }
    }

    private mutating func head(_ name: String, _ kind: Kind, _ help: String) {
        text += "# HELP \(name) \(escaped(help, quotes: false))\n# TYPE \(name) \(kind.rawValue)\n"
    }

    private mutating func line(_ name: String, _ labels: [Label], _ value: String) {
        text += name
        if !labels.isEmpty {
            text += "{"
            text += labels.map { "\($0.name)=\"\(escaped($0.value, quotes: true))\"" }.joined(separator: ",")
            text += "}"
        }
        text += " \(value)\n"
    }

    private func escaped(_ text: String, quotes: Bool) -> String {
        guard text.utf8.contains(where: { "\\\"\n".utf8.contains($0) }) else { return text }
        var result = ""
        for character in text {
            switch character {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quotes: result += "\\\""
            default: result.append(character)
            }
        }
        return result
    }
}
