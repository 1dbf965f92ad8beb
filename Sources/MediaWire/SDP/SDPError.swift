/// Why a session description cannot be used, and where.
///
/// The reason is a sentence for the one who wrote the description. It quotes words of the line, but never a key.
package struct SDPError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Counted from 1; 0 means the description as a whole.
    package var line: Int
    package var reason: String

    package init(line: Int, reason: String) {
        self.line = line
        self.reason = reason
    }

    package var description: String { line > 0 ? "line \(line): \(reason)" : reason }
}
