import Foundation
import Testing

extension EndToEnd {
    /// The page in headless Chromium, and in Firefox, against a real node: what people do there, with frames and tones verified on the
    /// receiving side. The scenarios are in Python/browser, each with its steps; screenshots stay in `.build/artifacts/browser`.
    @Suite struct BrowserTests {
        private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        private static let artifacts = folder.appending(path: "../../.build/artifacts/browser").standardized

        /// All of them in the same browsers, some at a time: most of what they do is waiting for somebody.
        @Test func people() async throws {
            // The longest first.
            try await Self.play([
                "firefox", "calls", "losses", "layers", "moderation", "failures", "tcp", "client", "looks",
            ])
        }

        /// There the scenarios' own relay is between the browsers and the node.
        @Test func path() async throws {
            try await Self.play(["path"], "--media-listen", "127.0.0.1", "--media-announce", "127.0.0.2")
        }

        private static func play(_ groups: [String], _ more: String...) async throws {
            let python = try await PythonPackage.aiohttp.interpreter()
            let secure = try FreePorts.row(of: 1)
            // For a second node.
            let spare = try FreePorts.row(of: 8)
            try await NodeProcess.run(["--dev", "--http-tls-listen", "127.0.0.1:\(secure)"] + more) { node in
                for group in groups { try? FileManager.default.removeItem(at: artifacts.appending(path: group)) }
                let ended = try await RunningProcess.run(
                    [
                        python, folder.appending(path: "Python/browser/run.py").path, "--url", node.url, "--https",
                        "https://127.0.0.1:\(secure)", "--parlor", Programs.parlor, "--out", artifacts.path, "--media",
                        "\(node.mediaPort)", "--spare", "\(spare)",
                    ] + groups, environment: Programs.environment.merging(["PYTHONDONTWRITEBYTECODE": "1"]) { $1 },
                    in: node.scratch, within: .seconds(300))
                print(ended.output, terminator: "")
                print("screenshots: \(artifacts.path)")
                let failed = ended.output.split(separator: "\n").filter { $0.hasPrefix("FAIL ") }
                for line in failed { Issue.record("\(line)") }
                #expect(ended.code == 0 || !failed.isEmpty, "\(ended.output.suffix(2000))\(ended.error.suffix(4000))")
                #expect(ended.output.contains("PASS ") || !failed.isEmpty, "something was tried")
            }
        }
    }
}
