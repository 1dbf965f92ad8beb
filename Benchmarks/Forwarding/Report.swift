import Foundation
import MediaWire

/// Tables and progress, for people.
struct Report {
    private let showsProgress = isatty(STDERR_FILENO) == 1
    private var group = ""

    /// A line that the next one replaces; only on a terminal.
    func progress(_ done: Int, of total: Int, _ what: String) {
        guard showsProgress else { return }
        let width = 24
        let filled = total == 0 ? width : done * width / total
        let bar = String(repeating: "█", count: filled) + String(repeating: "·", count: width - filled)
        FileHandle.standardError.write(Data("\r\u{1B}[K\(bar) \(done)/\(total)  \(what)".utf8))
    }

    func endProgress() {
        if showsProgress { FileHandle.standardError.write(Data("\r\u{1B}[K".utf8)) }
    }

    func line(_ text: String = "") {
        endProgress()
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }

    mutating func row(_ cell: Cell, _ result: Results.Forwarding, earlier: Results?) {
        let title =
            "\(cell.size) bytes, \(cell.profile.name), \(cell.segmentation ? "UDP_SEGMENT" : "a datagram a message")"
        if title != group {
            group = title
            line()
            line(title)
            line("  fan-out      ours     floor   ratio   ±")
        }
        // The widest bar is 36 floors of 1/24 each: the floor, and what we need above it.
        let unit = 24.0
        let above = max(0, min(20, Int(((result.ratio - 1) * unit).rounded())))
        var row = "  " + text(Double(cell.fanOut), 0, width: 7) + text(result.ours, 0, width: 10)
        row +=
            text(result.floor, 0, width: 10) + text(result.ratio, 3, width: 8) + text(result.spread, 3, width: 7) + "  "
        row += String(repeating: "█", count: Int(unit)) + String(repeating: "▒", count: above)
        if let before = earlier?.forwarding.first(where: { $0.cell == result.cell }) {
            let change = (result.ratio / before.ratio - 1) * 100
            row += "  was \(text(before.ratio, 3)) (\(change >= 0 ? "+" : "")\(text(change, 1)) %)"
        }
        line(row)
    }

    func ownCodeTitle() {
        line()
        line(
            "Our own code alone: the switchboard in memory, less the opening and sealing of the same packets (ns per copy)"
        )
        line("  cell                      own   receive    plan  complete    crypto")
    }

    func row(_ result: Results.OwnCode, earlier: Results?) {
        let name = result.cell + String(repeating: " ", count: max(0, 20 - result.cell.count))
        var row = "  \(name)" + text(result.own, 1, width: 9) + text(result.receive, 1, width: 10)
        row += text(result.plan, 1, width: 8) + text(result.complete, 1, width: 10) + text(result.crypto, 1, width: 10)
        if let before = earlier?.ownCode.first(where: { $0.cell == result.cell }) {
            row += "  was \(text(before.own, 1))"
        }
        line(row)
    }
}
