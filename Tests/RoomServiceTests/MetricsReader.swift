/// A strict reader of Prometheus' text format 0.0.4: what it lets pass, Prometheus takes.
struct MetricsReader {
    struct Sample: Hashable {
        var name: String
        var labels: [String: String]
    }

    private(set) var values: [Sample: Double] = [:]
    private(set) var types: [String: String] = [:]
    /// What is wrong, with the line.
    private(set) var complaints: [String] = []

    init(_ text: String) {
        guard text.hasSuffix("\n") else {
            complaints.append("the last line does not end")
            return
        }
        var helps: Set<String> = []
        var current = ""
        var finished: Set<String> = []
        for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            func complain(_ what: String) { complaints.append("\(what): \(line)") }
            let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
            if line.hasPrefix("# HELP ") {
                guard words.count == 4, Self.isName(words[2]), !words[3].isEmpty else {
                    complain("no help")
                    continue
                }
                if !helps.insert(words[2]).inserted { complain("a second help") }
                if current != words[2] { finished.insert(current) }
                current = words[2]
            } else if line.hasPrefix("# TYPE ") {
                guard words.count == 4, ["counter", "gauge"].contains(words[3]) else {
                    complain("no type")
                    continue
                }
                if words[2] != current { complain("a type without its help before it") }
                if types.updateValue(words[3], forKey: words[2]) != nil { complain("a second type") }
                if words[2].hasSuffix("_total") != (words[3] == "counter") { complain("a counter is a _total") }
            } else {
                guard let (sample, value) = Self.sample(line) else {
                    complain("no sample")
                    continue
                }
                if sample.name != current || types[sample.name] == nil || finished.contains(sample.name) {
                    complain("not below its type")
                }
                if values.updateValue(value, forKey: sample) != nil { complain("a sample twice") }
                if types[sample.name] == "counter", value < 0 || value.rounded() != value { complain("no count") }
            }
        }
    }

    subscript(_ name: String, _ labels: [String: String] = [:]) -> Double? {
        values[Sample(name: name, labels: labels)]
    }

    /// `name{label="value",…} number`
    private static func sample(_ line: String) -> (Sample, Double)? {
        var rest = line[...]
        let name = String(rest.prefix { $0 != "{" && $0 != " " })
        guard isName(name) else { return nil }
        rest = rest.dropFirst(name.count)
        var labels: [String: String] = [:]
        if rest.first == "{" {
            rest.removeFirst()
            while true {
                let label = String(rest.prefix { $0 != "=" })
                guard isName(label), !label.hasPrefix("__"), !label.contains(":") else { return nil }
                rest = rest.dropFirst(label.count)
                guard rest.hasPrefix("=\"") else { return nil }
                rest = rest.dropFirst(2)
                var value = ""
                while let character = rest.popFirst(), character != "\"" {
                    guard character == "\\" else {
                        value.append(character)
                        continue
                    }
                    switch rest.popFirst() {
                    case "\\": value.append("\\")
                    case "\"": value.append("\"")
                    case "n": value.append("\n")
                    default: return nil
                    }
                }
                guard labels.updateValue(value, forKey: label) == nil else { return nil }
                guard let next = rest.popFirst() else { return nil }
                if next == "}" { break }
                guard next == "," else { return nil }
            }
        }
        guard rest.first == " ", let value = Double(rest.dropFirst()), value.isFinite else { return nil }
        return (Sample(name: name, labels: labels), value)
    }

    private static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, !(48...57).contains(first) else { return false }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case 48...57, 65...90, 97...122, 95, 58: true
            default: false
            }
        }
    }
}
