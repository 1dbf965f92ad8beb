import Foundation
import Glibc
import ParlorNode
import Testing

/// `parlor serve` as a process: what it prints, and how it ends. Serialized: each test starts a process and waits for it.
@Suite(.serialized) struct ServeProcessTests {
    /// The program that was built beside these tests.
    private static func builtProgram() throws -> URL {
        // The test runner may be the toolchain's own; then the build folder is where SwiftPM puts it.
        #if DEBUG
            let build = "\(Package.root)/.build/debug"
        #else
            let build = "\(Package.root)/.build/release"
        #endif
        let beside = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path
        let path = ["\(beside)/parlor", "\(build)/parlor"].first { FileManager.default.isExecutableFile(atPath: $0) }
        return URL(fileURLWithPath: try #require(path, "parlor is not built beside the tests"))
    }

    /// A running process and its output, up to a line or to its end; never for longer than 20 s.
    private final class Running {
        let process = Process()
        private let output = Pipe()

        /// - Parameter console: where standard output goes, if not to where the errors go.
        init(_ arguments: [String], console: FileHandle? = nil) throws {
            process.executableURL = try ServeProcessTests.builtProgram()
            process.arguments = arguments
            process.environment = ["SWIFT_BACKTRACE": "enable=no"]
            // Of a pipe, unlike of a handle, this side is closed here once the process has it.
            process.standardOutput = output
            if let console { process.standardOutput = console }
            process.standardError = output
            try process.run()
        }

        /// Reads until the line, or the end of the output, or the deadline.
        func read(until line: String?, from console: Pipe? = nil) -> String {
            let descriptor = (console ?? output).fileHandleForReading.fileDescriptor
            let deadline = ContinuousClock.now + .seconds(20)
            var bytes: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 4096)
            while ContinuousClock.now < deadline {
                var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                guard poll(&ready, 1, 100) > 0 else { continue }
                let count = Glibc.read(descriptor, &chunk, chunk.count)
                if count <= 0 { break }
                bytes += chunk[..<count]
                if let line, ("\n" + String(decoding: bytes, as: UTF8.self)).contains("\n\(line)\n") { break }
            }
            return String(decoding: bytes, as: UTF8.self)
        }

        deinit {
            if process.isRunning { kill(process.processIdentifier, SIGKILL) }
            process.waitUntilExit()
        }
    }

    /// The first of a hundred ports for this process, so that several test runs on a machine do not meet.
    private static let base = 28_000 + Int(getpid() % 20) * 100

    private func flags() throws -> [String] {
        [
            "--http-listen", "127.0.0.1:\(try FreePorts.tcp())", "--media-workers", "2",
            "--media-port", "\(Self.base)", "--media-plain-port-range", "\(Self.base + 10)-\(Self.base + 99)",
        ]
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func aSignalEndsItInOrder(signal: Int32) throws {
        let running = try Running(["serve", "--dev"] + flags())
        let text = running.read(until: "ready")
        #expect(text.contains("UDP and TCP \(Self.base)-\(Self.base + 1) on 0.0.0.0"), "got \(text)")
        #expect(text.contains(", 2 workers"))
        for worker in 0..<2 {
            let row = text.split(separator: "\n").first { $0.contains(" 127.0.0.1:\(Self.base + worker) ") }
            #expect(row?.hasPrefix("    \(worker) ") == true && row?.hasSuffix("udp, tcp") == true)
        }
        #expect(text.contains("warning: plain SRTP legs carry their keys in the SDP"))
        #expect(text.hasSuffix("\nready\n"))
        let start = ContinuousClock.now
        kill(running.process.processIdentifier, signal)
        running.process.waitUntilExit()
        #expect(ContinuousClock.now - start < .seconds(2))
        #expect(running.process.terminationReason == .exit)
        #expect(running.process.terminationStatus == 0)
        #expect(running.read(until: nil) == "stopping\n")
    }

    /// SIGHUP is said to be of no use, and is no end.
    @Test func aHangupIsNoEnd() throws {
        let running = try Running(["serve", "--dev"] + flags())
        _ = running.read(until: "ready")
        kill(running.process.processIdentifier, SIGHUP)
        let text = running.read(
            until: "parlor: SIGHUP: a running node does not read its configuration again; restart it")
        #expect(text.hasSuffix("restart it\n"), "got \(text)")
        #expect(running.process.isRunning)
        kill(running.process.processIdentifier, SIGTERM)
        running.process.waitUntilExit()
        #expect(running.process.terminationStatus == 0)
    }

    /// A drain's deadline ends the process as a signal would.
    @Test func theDeadlineOfADrainEndsTheProcess() async throws {
        let flags = try flags()
        let running = try Running(["serve", "--dev"] + flags)
        _ = running.read(until: "ready")
        let drain = try await CommandRunner.run(
            "drain", "--deadline", "100ms", "--no-wait", "--url", "http://\(flags[1])")
        #expect(drain.code == 0, "\(drain.errors)")
        try #require(running.read(until: nil) == "parlor: the drain's deadline has come\nstopping\n")
        running.process.waitUntilExit()
        #expect(running.process.terminationReason == .exit && running.process.terminationStatus == 0)
    }

    /// Also when the stop hangs, here at a full pipe that nobody reads, it is cut off after 2 s.
    @Test func theDeadlineOfADrainEndsAProcessThatHangs() async throws {
        let console = Pipe()
        let flags = try flags()
        let running = try Running(["serve", "--dev"] + flags, console: console.fileHandleForWriting)
        let said = running.read(until: "ready", from: console)
        try #require(said.hasSuffix("\nready\n"), "got \(said)")
        let writing = console.fileHandleForWriting.fileDescriptor
        let usual = fcntl(writing, F_GETFL)
        _ = fcntl(writing, F_SETFL, usual | O_NONBLOCK)
        let block = [UInt8](repeating: UInt8(ascii: "."), count: 4096)
        while Glibc.write(writing, block, block.count) > 0 {}
        // The flag is the process's, too.
        _ = fcntl(writing, F_SETFL, usual)
        let drain = try await CommandRunner.run(
            "drain", "--deadline", "100ms", "--no-wait", "--url", "http://\(flags[1])")
        #expect(drain.code == 0, "\(drain.errors)")
        let text = running.read(until: nil)
        try #require(
            text.hasSuffix("parlor: the drain's deadline has come\nparlor: not stopped in order within 2 s; cut off\n"),
            "got \(text)")
        running.process.waitUntilExit()
        #expect(running.process.terminationReason == .exit && running.process.terminationStatus == 1)
    }

    @Test func aBadFileStopsTheStart() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("media:\n  port: 1\n  prot: 2\napps: []\n", to: "p.yaml")
        let running = try Running(["serve", "--config", file])
        let text = running.read(until: nil)
        running.process.waitUntilExit()
        #expect(running.process.terminationStatus == 2)
        #expect(text == "parlor: \(file):3: media.prot: unknown key; did you mean media.port?\n")
    }

    @Test func aTakenPortIsAFailure() throws {
        let taken = try flags()
        let first = try Running(["serve", "--dev"] + taken)
        #expect(first.read(until: "ready").hasSuffix("ready\n"))
        let second = try Running(["serve", "--dev"] + flags())
        let text = second.read(until: nil)
        second.process.waitUntilExit()
        #expect(second.process.terminationStatus == 1)
        #expect(text.contains("cannot listen on UDP 0.0.0.0:\(Self.base)"), "got \(text)")
        #expect(text.contains("(media.port, --media-port)"))
    }

    @Test func anAddressOfAnotherMachineIsRefused() throws {
        let running = try Running(["serve", "--dev", "--media-listen", "192.0.2.1"])
        let text = running.read(until: nil)
        running.process.waitUntilExit()
        #expect(running.process.terminationStatus == 2)
        #expect(
            text.contains(
                "--media-listen: media.listen: 192.0.2.1 is not an address of this machine, which has 127.0.0.1"))
    }
}
