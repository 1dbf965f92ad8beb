import Foundation
import Testing

/// A real `parlor serve` on ports of its own, and the client commands against it.
final class NodeProcess: Sendable {
    let scratch: Scratch
    let httpPort: UInt16
    let mediaPort: UInt16
    private let process: RunningProcess

    /// A worker each; more than one, because that is how a node runs.
    private static let workers = 2
    /// Plain legs of a test: a handful, each with four ports at most.
    private static let plainPorts = 64

    /// For what the system knows of it, such as the time that its threads took.
    var pid: pid_t { process.pid }
    var url: String { "http://127.0.0.1:\(httpPort)" }

    /// Runs the body with a node, then ends the node as an operator would: in order, with code 0, within 2 s.
    static func run(_ flags: [String] = ["--dev"], _ body: (NodeProcess) async throws -> Void) async throws {
        let node = try await start(flags)
        var failure: (any Error)?
        do { try await body(node) } catch let error as TimedOut {
            Issue.record(error, "the node said: \(node.process.lastWords)")
        } catch { failure = error }
        try await node.stop()
        if let failure { throw failure }
    }

    private init(_ process: RunningProcess, _ scratch: Scratch, httpPort: UInt16, mediaPort: UInt16) {
        self.process = process
        self.scratch = scratch
        self.httpPort = httpPort
        self.mediaPort = mediaPort
    }

    private static func start(_ flags: [String]) async throws -> NodeProcess {
        let scratch = try Scratch()
        var last = ""
        // Between looking for free ports and taking them, somebody else may.
        for _ in 0..<3 {
            let first = try FreePorts.row(of: 2 + workers + plainPorts)
            let media = first + 2
            let plain = media + UInt16(workers)
            let ports = [
                "--http-listen", "127.0.0.1:\(first)", "--media-port", "\(media)", "--media-workers", "\(workers)",
                "--media-plain-port-range", "\(plain)-\(plain + UInt16(plainPorts) - 1)",
            ]
            let process = try RunningProcess([Programs.parlor, "serve"] + flags + ports, name: "node", in: scratch)
            try await until("the node is ready", standing: process.lastWords) {
                process.output.split(separator: "\n").last == "ready" || process.exitCode != nil
            }
            if process.exitCode == nil { return NodeProcess(process, scratch, httpPort: first, mediaPort: media) }
            last = process.lastWords
        }
        throw TimedOut(description: "the node did not start: \(last)")
    }

    private func stop() async throws {
        let clock = ContinuousClock()
        let begin = clock.now
        process.terminate()
        let code = try await process.exit(within: .seconds(20))
        let took = clock.now - begin
        #expect(code == 0, "SIGTERM ends the node in order: \(process.lastWords)")
        #expect(took < .seconds(2), "within 2 s of SIGTERM")
    }

    /// Everything that it has written.
    var said: String { process.output + process.error }

    // MARK: Client commands

    /// What a client's shell has: `parlor` finds this node without an option.
    var environment: [String: String] { Programs.environment.merging(["PARLOR_URL": url]) { $1 } }

    /// Runs a client command to its end.
    @discardableResult
    func parlor(_ words: String..., code: Int32 = 0) async throws -> Ended {
        let ended = try await RunningProcess.run([Programs.parlor] + words, environment: environment, in: scratch)
        #expect(ended.code == code, "parlor \(words.joined(separator: " ")): \(ended.error)")
        return ended
    }

    func token(room: String, user: String) async throws -> String {
        try await parlor("token", "--room", room, "--user", user).output.trimmingCharacters(in: .newlines)
    }

    func users(in room: String) async throws -> [String] {
        try await parlor("users", room).output.split(separator: "\n").dropFirst().map(String.init)
    }

    /// Starts a program of the client's.
    func start(_ arguments: [String], name: String? = nil) throws -> RunningProcess {
        try RunningProcess(arguments, name: name, environment: environment, in: scratch)
    }

    /// Starts lines of a shell.
    func shell(_ script: String, name: String) throws -> RunningProcess { try start(["sh", "-c", script], name: name) }

    func request(
        _ method: String, _ target: String, headers: [(String, String)] = [], body: String = ""
    ) async throws -> RawHTTP.Answer {
        try await RawHTTP.request(method, target, port: httpPort, headers: headers, body: body)
    }
}
