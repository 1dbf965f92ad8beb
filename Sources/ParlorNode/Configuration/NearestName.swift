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

    /// Insertions, removals and replacements from one to the other (Levenshtein).
    package static func distance(_ a: String, _ b: String) -> Int {
        let a = Array(a.prefix(64))
        let b = Array(b.prefix(64))
        var row = Array(0...b.count)
        for i in a.indices {
            var diagonal = row[0]
            row[0] = i + 1
            for j in b.indices {
                let replaced = diagonal + (a[i] == b[j] ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(replaced, row[j] + 1, row[j + 1] + 1)
            }
        }
        return row[b.count]
    }
}
