import Foundation

/// The programs under test: those beside the test bundle, which the same build made.
enum Programs {
    static let folder: String = {
        let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: bundle).deletingLastPathComponent().path
    }()

    static let parlor = folder + "/parlor"
    static let load = folder + "/parlor-load"

    /// For every child: nothing of the surroundings may change what it does, and `parlor` is the one under test.
    static let environment: [String: String] = {
        let own = ProcessInfo.processInfo.environment
        return [
            "PATH": "\(folder):\(own["PATH"] ?? "/usr/bin:/bin")", "HOME": own["HOME"] ?? "/", "LC_ALL": "C.UTF-8",
            // A backtrace takes a minute and is read by nobody here.
            "SWIFT_BACKTRACE": "enable=no",
        ]
    }()
}
