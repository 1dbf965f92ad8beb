import Glibc
import Synchronization

/// The whole of `parlor-load`.
package enum LoadProgram {
    package enum ExitCode {
        package static let success: Int32 = 0
        /// Something was wrong, or the run could not be done.
        package static let failure: Int32 = 1
        package static let usage: Int32 = 2
    }

    /// Called once, on the main thread, before any other thread exists. Returns the exit code.
    package static func run(_ arguments: [String]) -> Int32 {
        let console = LoadConsole()
        let work: Work
        let output: LoadOutput
        do throws(LoadUsageError) {
            guard let options = try LoadOptions.parse(Array(arguments.dropFirst())) else {
                console.write(LoadOptions.help)
                return ExitCode.success
            }
            work =
                options["signalling"] == nil
                ? .media(try LoadScenario(options: options))
                : .signalling(
                    // Short enough to be typed again.
                    try SignallingScenario(options: options, newSeed: UInt64.random(in: 1...999_999)))
            output = LoadOutput(
                console: console, isJSON: options["json"] != nil, isQuiet: options["quiet"] != nil,
                isLive: options["live"] != nil)
        } catch {
            console.note("parlor-load: \(error)\n")
            return ExitCode.usage
        }

        var signals = sigset_t()
        sigemptyset(&signals)
        for number in [SIGTERM, SIGINT, SIGUSR1] { sigaddset(&signals, number) }
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        signal(SIGPIPE, SIG_IGN)

        let stop = StopFlag()
        let result = Atomic<Int32>(-1)
        return withExtendedLifetime(ResultBox(result)) { box in
            Task.detached {
                box.code.store(await execute(work, output, stop), ordering: .releasing)
                kill(getpid(), SIGUSR1)
            }
            while true {
                var number: Int32 = 0
                guard sigwait(&signals, &number) == 0 else { continue }
                let code = box.code.load(ordering: .acquiring)
                if code >= 0 { return code }
                guard number != SIGUSR1 else { continue }
                // The first is a request to leave in order; the second ends at once.
                if !stop.request() { return 128 + number }
            }
        }
    }

    private enum Work: Sendable {
        case media(LoadScenario)
        case signalling(SignallingScenario)
    }

    private static func execute(_ work: Work, _ output: LoadOutput, _ stop: StopFlag) async -> Int32 {
        do {
            let passed: Bool
            switch work {
            case .media(let scenario):
                let report = try await LoadRun(scenario, stop: stop, output: output).run()
                output.finish(report)
                passed = report.passed
            case .signalling(let scenario):
                let report = try await SignallingRun(scenario, stop: stop, output: output).run()
                output.finish(report)
                passed = report.passed
            }
            return passed ? ExitCode.success : ExitCode.failure
        } catch let error as LoadUsageError {
            output.console.note("parlor-load: \(error)\n")
            return ExitCode.usage
        } catch {
            output.console.note("parlor-load: \(error)\n")
            return ExitCode.failure
        }
    }
}

private final class ResultBox: Sendable {
    let code: Atomic<Int32>
    init(_ code: consuming Atomic<Int32>) { self.code = code }
}

/// Whether the run is to end early, in order.
package final class StopFlag: Sendable {
    private let isSet = Atomic<Bool>(false)

    package init() {}

    package var isRequested: Bool { isSet.load(ordering: .acquiring) }

    /// False when it was requested before.
    @discardableResult
    package func request() -> Bool { !isSet.exchange(true, ordering: .acquiringAndReleasing) }
}
