import Glibc

/// Where the load test writes: the report to standard output, progress and faults to standard error.
package struct LoadConsole: Sendable {
    private let output: Int32
    private let errors: Int32
    /// A terminal takes a line that is written over, and tables that are drawn anew.
    package let isTerminal: Bool

    /// - Parameters: file descriptors.
    package init(output: Int32 = STDOUT_FILENO, errors: Int32 = STDERR_FILENO) {
        self.output = output
        self.errors = errors
        isTerminal = isatty(errors) == 1
    }

    package func write(_ text: String) { Self.write(text, to: output) }
    package func note(_ text: String) { Self.write(text, to: errors) }

    private static func write(_ text: String, to descriptor: Int32) {
        var text = text
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while let start = rest.baseAddress, !rest.isEmpty {
                let written = Glibc.write(descriptor, start, rest.count)
                if written < 0 {
                    if errno == EINTR { continue }
                    return
                }
                rest = UnsafeRawBufferPointer(rebasing: rest[written...])
            }
        }
    }
}

/// The clocks of the machine.
enum LoadClock {
    /// CLOCK_MONOTONIC in nanoseconds: the engine's time.
    static var monotonic: Int64 { read(CLOCK_MONOTONIC) }
    /// Seconds since 1970.
    static var unixTime: Int64 { read(CLOCK_REALTIME) / 1_000_000_000 }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

enum LoadMachine {
    /// Processors that are online.
    static var processors: Int { max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }
}
