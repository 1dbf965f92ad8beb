import Foundation
import Testing

extension EndToEnd {
    /// The page in headless Chromium, and in Firefox, against a real node: what people do there, with frames and tones verified on the
    /// receiving side. The scenarios are in Python/browser, each with its steps; screenshots stay in `.build/artifacts/browser`.
    @Suite struct BrowserTests {
        private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        private static let artifacts = folder.appending(path: "../../.build/artifacts/browser").standardized

        /// Groups of scenarios.
        @Test(arguments: ["calls", "layers", "moderation", "failures", "losses", "tcp", "path", "firefox", "client", "looks"])
        func people(_ group: String) async throws {
            let python = try await PythonPackage.aiohttp.interpreter()
            let secure = try FreePorts.row(of: 1)
            // For a second node.
            let spare = try FreePorts.row(of: 8)
            var flags = ["--dev", "--http-tls-listen", "127.0.0.1:\(secure)"]
            // There the scenario's own relay is, between the browsers and the node.
            if group == "path" { flags += ["--media-listen", "127.0.0.1", "--media-announce", "127.0.0.2"] }
            try await NodeProcess.run(flags) { node in
                let pictures = Self.artifacts.appending(path: group)
                try? FileManager.default.removeItem(at: pictures)
                let ended = try await RunningProcess.run(
                    [
                        python, Self.folder.appending(path: "Python/browser/run.py").path, "--url", node.url, "--https",
                        "https://127.0.0.1:\(secure)", "--parlor", Programs.parlor, "--out", pictures.path, "--media",
                        "\(node.mediaPort)", "--spare", "\(spare)", group,
                    ], environment: Programs.environment.merging(["PYTHONDONTWRITEBYTECODE": "1"]) { $1 },
                    in: node.scratch, within: .seconds(160))
                print(ended.output, terminator: "")
                print("screenshots: \(pictures.path)")
                let failed = ended.output.split(separator: "\n").filter { $0.hasPrefix("FAIL ") }
                for line in failed { Issue.record("\(line)") }
                #expect(ended.code == 0 || !failed.isEmpty, "\(ended.output.suffix(2000))\(ended.error.suffix(4000))")
                #expect(ended.output.contains("PASS ") || !failed.isEmpty, "something was tried")
            }
        }
    }
}
