import Foundation
import Glibc
import Synchronization

/// The whole of `parlor`: picks the command, runs it, and turns what comes of it into an exit code.
package enum Program {
    package static let name = "parlor"
    package static let version = "0.1.0"

    package enum ExitCode {
        package static let success: Int32 = 0
        /// Something failed while running.
        package static let failure: Int32 = 1
        /// Bad usage or configuration: nothing was begun.
        package static let usage: Int32 = 2
    }

    /// An orderly stop takes at most 2 s; what is not done by then is cut off. In milliseconds.
    private static let stopLimit = 1900

    /// Called once, on the main thread, before any other thread exists. Returns the exit code.
    package static func run(_ arguments: [String]) -> Int32 {
        ProcessSignals.block()
        let stop = StopRequest(onRequest: ProcessSignals.wakeMain)
        let result = SharedResult()
        let environment = ProcessInfo.processInfo.environment
        Task.detached {
            let words = Array(arguments.dropFirst())
            result.set(await execute(words, environment: environment, console: Console(), stop: stop))
            ProcessSignals.wakeMain()
        }
        return waitForEnd(of: result, stop: stop)
    }

    private static func waitForEnd(of result: SharedResult, stop: StopRequest) -> Int32 {
        while true {
            let wakeup = ProcessSignals.wait()
            if let code = result.value { return code }
            switch wakeup {
            case .stop(let signal):
                // A command that does not stop by itself ends as the signal would have ended it.
                guard stop.request() else { return 128 + signal }
                return waitForOrderlyEnd(of: result)
            case .hangup:
                guard stop.isListening else { return 128 + SIGHUP }
                Console().note("\(name): SIGHUP: a running node does not read its configuration again; restart it")
            case .woken where stop.isRequested:
                // By the command itself, such as at the deadline of a drain: it has no more time than after a signal.
                return waitForOrderlyEnd(of: result)
            case .woken, .timedOut: continue
            }
        }
    }

    private static func waitForOrderlyEnd(of result: SharedResult) -> Int32 {
        let deadline = ContinuousClock.now + .milliseconds(stopLimit)
        while true {
            let left = max(.zero, deadline - .now).components
            switch ProcessSignals.wait(
                milliseconds: Int(left.seconds) * 1000 + Int(left.attoseconds / 1_000_000_000_000_000))
            {
            case .woken:
                // By its end, or still by the request.
                if let code = result.value { return code }
            case .stop(let again): return 128 + again
            case .hangup: continue
            case .timedOut:
                Console().note("\(name): not stopped in order within 2 s; cut off")
                return result.value ?? ExitCode.failure
            }
        }
    }

    /// Runs one command line.
    package static func execute(
        _ arguments: [String], environment: [String: String], console: Console, stop: StopRequest
    ) async -> Int32 {
        let commands = Command.all
        do {
            switch try ArgumentParser.choose(arguments, among: commands.map(\.spec)) {
            case .overview(let path):
                console.write(overview(of: commands.map(\.spec), under: path))
                return ExitCode.success
            case .command(let spec, let parsed):
                if parsed.wantsHelp {
                    console.write(spec.help(program: name))
                    return ExitCode.success
                }
                guard let command = commands.first(where: { $0.spec.path == spec.path }) else { return ExitCode.usage }
                try await command.run(
                    Command.Context(arguments: parsed, environment: environment, console: console, stop: stop))
                return ExitCode.success
            }
        } catch let error as UsageError {
            console.note("\(name): \(error)")
            return ExitCode.usage
        } catch let error as ConfigurationError {
            for problem in error.problems { console.note("\(name): \(problem)") }
            return ExitCode.usage
        } catch {
            console.note("\(name): \(error)")
            return ExitCode.failure
        }
    }

    private static func overview(of commands: [CommandSpec], under path: [String]) -> String {
        let shown = commands.filter { $0.path.starts(with: path) }
        let rows = shown.map { (left: ($0.path + $0.operands).joined(separator: " "), right: $0.summary) }
        let words = ([name] + path).joined(separator: " ")
        var lines = ["Usage: \(words) COMMAND [OPTIONS]", ""]
        lines += HelpTable.lines(rows)
        lines += ["", "\(name) COMMAND --help tells the options of each."]
        return lines.joined(separator: "\n") + "\n"
    }
}

/// One exit code, handed from the command's task to the main thread.
private final class SharedResult: Sendable {
    /// No exit code is negative.
    private static let none: Int32 = -1
    private let code = Atomic<Int32>(none)

    var value: Int32? {
        let code = code.load(ordering: .acquiring)
        return code == Self.none ? nil : code
    }

    func set(_ value: Int32) { code.store(value, ordering: .releasing) }
}
