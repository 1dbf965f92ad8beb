import Glibc

/// Where a command writes: text to standard output, notes and errors to standard error. Unbuffered, so that what was said is
/// said also when the process ends.
package struct Console: Sendable {
    private let output: Int32
    private let errors: Int32

    /// - Parameters: file descriptors.
    package init(output: Int32 = STDOUT_FILENO, errors: Int32 = STDERR_FILENO) {
        self.output = output
        self.errors = errors
    }

    /// Whether standard output is a terminal, where a line can be drawn anew.
    package var isTerminal: Bool { isatty(output) == 1 }

    /// A text of others, such as a user's or a server's: nothing in it steers the terminal. U+FFFD stands for what would move the
    /// cursor, begin a line or turn the direction of writing.
    package static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .format, .lineSeparator, .paragraphSeparator: "\u{FFFD}"
                    default: scalar
                    }
                }))
    }

    package func print(_ line: String) { Self.write(line + "\n", to: output) }
    package func write(_ text: String) { Self.write(text, to: output) }
    package func note(_ line: String) { Self.write(line + "\n", to: errors) }

    private static func write(_ text: String, to descriptor: Int32) {
        var text = text
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while let start = rest.baseAddress, !rest.isEmpty {
                let written = Glibc.write(descriptor, start, rest.count)
                if written < 0 {
                    if errno == EINTR { continue }
                    return  // Nobody reads; there is no one to tell.
                }
                rest = UnsafeRawBufferPointer(rebasing: rest[written...])
            }
        }
    }
}
