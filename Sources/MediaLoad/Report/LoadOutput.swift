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

    /// The same of a run that draws no tables meanwhile.
    func progress(_ line: String) {
        guard !isQuiet else { return }
        console.note(console.isTerminal ? "\r\u{1B}[K" + line : line + "\n")
    }

    func finish(_ report: LoadReport) {
        finish(report.text, report.json, report.faults.map { "\($0.kind.rawValue): \($0.count) \($0.kind.text)" })
    }

    func finish(_ report: SignallingReport) {
        finish(report.text, report.json, report.faults.map { "\($0.kind.rawValue): \($0.count) \($0.kind.text)" })
    }

    private func finish(_ text: String, _ json: String, _ faults: [String]) {
        if !isQuiet, console.isTerminal { console.note("\r\u{1B}[K") }
        guard isJSON else {
            console.write(text)
            return
        }
        console.write(json + "\n")
        for fault in faults { console.note("parlor-load: \(fault)\n") }
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
