import Foundation
import Synchronization

/// A child process, alone in its process group. Whatever happens to the test, nothing of the group is left: not after
/// `end`, not after this value is gone, not after the test run has crashed (`Reaper`).
final class RunningProcess: Sendable {
    let name: String
    let pid: pid_t
    private let outputPath: String
    private let errorPath: String
    /// The exit code once it was collected; 128 and the signal's number for one that a signal ended.
    private let ended = Mutex<Int32?>(nil)

    /// - Parameter arguments: the program first, by path or name, as a shell would find it.
    init(
        _ arguments: [String], name: String? = nil, environment: [String: String] = Programs.environment,
        in scratch: Scratch
    ) throws {
        let program = arguments.first ?? ""
        self.name = name ?? URL(fileURLWithPath: program).lastPathComponent
        outputPath = scratch.newFile("\(self.name).out")
        errorPath = scratch.newFile("\(self.name).err")
        let files = SpawnFiles(output: outputPath, error: errorPath, folder: scratch.path)
        pid = try files.spawn(program, arguments, environment: environment)
        Reaper.shared.add(pid)
    }

    deinit { kill() }

    /// What it wrote to standard output so far.
    var output: String { Self.text(outputPath) }
    /// What it wrote to standard error so far.
    var error: String { Self.text(errorPath) }
    /// For a message about a failure.
    var lastWords: String { "\(name) said: \(output.suffix(2000))\(error.suffix(4000))" }

    /// The exit code, or `nil` while it runs.
    var exitCode: Int32? {
        ended.withLock { ended in
            if let ended { return ended }
            var info = siginfo_t()
            // The leader stays a zombie for the moment: so nobody else can get its number, which is the group's too.
            guard waitid(P_PID, id_t(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0, info.si_signo == SIGCHLD else {
                return nil
            }
            collect(&ended)
            return ended
        }
    }

    /// As a terminal does for Ctrl-C: to the whole group.
    func interrupt() { signal(SIGINT, to: -pid) }
    func terminate() { signal(SIGTERM, to: pid) }

    /// Ends it at once, with all of its group.
    func kill() {
        ended.withLock { ended in
            if ended == nil { collect(&ended) }
        }
    }

    /// Waits for the exit code.
    func exit(within limit: Duration = .seconds(60)) async throws -> Int32 {
        var code: Int32?
        try await until("\(name) ends", within: limit, standing: lastWords) {
            code = exitCode
            return code != nil
        }
        return code ?? -1
    }

    private func signal(_ number: Int32, to target: pid_t) {
        ended.withLock { ended in
            if ended == nil { _ = Glibc.kill(target, number) }
        }
    }

    private func collect(_ ended: inout Int32?) {
        _ = Glibc.kill(-pid, SIGKILL)
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        Reaper.shared.remove(pid)
        let signal = status & 0x7F
        ended = signal == 0 ? status >> 8 & 0xFF : 128 + signal
    }

    private static func text(_ path: String) -> String {
        String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    }
}

/// What came of a program that ran to its end.
struct Ended {
    var code: Int32
    var output: String
    var error: String
}

extension RunningProcess {
    /// Runs a program to its end.
    static func run(
        _ arguments: [String], environment: [String: String] = Programs.environment, in scratch: Scratch,
        within limit: Duration = .seconds(60)
    ) async throws -> Ended {
        let process = try RunningProcess(arguments, environment: environment, in: scratch)
        let code = try await process.exit(within: limit)
        return Ended(code: code, output: process.output, error: process.error)
    }
}
