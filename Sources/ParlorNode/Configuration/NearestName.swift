/// "Did you mean": the name of a list that a mistyped one is closest to.
package enum NearestName {
    /// `nil` when nothing is close: more than a third of the letters would have to change.
    package static func of(_ text: String, among names: some Sequence<String>) -> String? {
        var best: (name: String, distance: Int)?
        for name in names {
            let distance = distance(text.lowercased(), name.lowercased())
            if distance <= max(1, max(text.count, name.count) / 3), distance < best?.distance ?? .max {
                best = (name, distance)
            }
        }
        return best?.name
    }

    /// Insertions, removals, replacements and swaps of neighbours from one to the other (optimal string alignment).
    package static func distance(_ a: String, _ b: String) -> Int {
        let a = Array(a.prefix(64))
        let b = Array(b.prefix(64))
        var twoBack = [Int](repeating: 0, count: b.count + 1)
        var previous = Array(0...b.count)
        for i in a.indices {
            var row = [i + 1]
            for j in b.indices {
                var best = min(previous[j] + (a[i] == b[j] ? 0 : 1), row[j] + 1, previous[j + 1] + 1)
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, twoBack[j - 1] + 1) }
                row.append(best)
            }
            twoBack = previous
            previous = row
        }
        return previous[b.count]
    }
}
