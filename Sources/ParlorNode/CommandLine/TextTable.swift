/// Columns under their titles, for terminals: no cell steers them.
package struct TextTable {
    private var rows: [[String]]

    package init(_ titles: String...) { rows = [titles] }

    package mutating func add(_ cells: String...) { rows.append(cells.map(Console.printable)) }

    package var text: String {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            rows.map { $0.indices.contains(column) ? $0[column].count : 0 }.max() ?? 0
        }
        return rows.map { row in
            let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            return String(cells.joined(separator: "  ").trimmingEnd()) + "\n"
        }.joined()
    }
}
