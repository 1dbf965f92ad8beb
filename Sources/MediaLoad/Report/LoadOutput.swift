import FoundationEssentials

/// Shows progress while a run goes on, and the report at its end.
package struct LoadOutput: Sendable {
    package let console: LoadConsole
    let isJSON: Bool
    let isQuiet: Bool
    let isLive: Bool

    package init(console: LoadConsole, isJSON: Bool, isQuiet: Bool, isLive: Bool) {
        self.console = console
        self.isJSON = isJSON
        self.isQuiet = isQuiet
        self.isLive = isLive
    }

    /// A line about what is being done.
    func note(_ text: String) {
        guard !isQuiet else { return }
        console.note(console.isTerminal ? "\r\u{1B}[K\(text)\n" : text + "\n")
    }

    /// The state of things, each second: over the last one on a terminal.
    func progress(_ line: String, _ report: () -> LoadReport) {
        guard !isQuiet else { return }
        if isLive, console.isTerminal {
            // Home, clear, the tables anew.
            console.note("\u{1B}[H\u{1B}[2J" + report().text + "\n" + line + "\nCtrl-C ends.\n")
        } else {
            console.note(console.isTerminal ? "\r\u{1B}[K" + line : line + "\n")
        }
    }

    func finish(_ report: LoadReport) {
        if !isQuiet, console.isTerminal { console.note("\r\u{1B}[K") }
        guard isJSON else {
            console.write(report.text)
            return
        }
        console.write(report.json + "\n")
        for fault in report.faults {
            console.note("parlor-load: \(fault.kind.rawValue): \(fault.count) \(fault.kind.text)\n")
        }
    }
}

extension LoadReport {
    /// Keys sorted, indented.
    package var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }
}
