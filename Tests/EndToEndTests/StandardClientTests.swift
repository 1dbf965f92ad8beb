import Foundation
import Testing

extension EndToEnd {
    /// WHIP and WHEP with clients that nobody here wrote: aiortc and GStreamer's webrtcbin publish and play, and what they
    /// decode is verified. The scenarios are in Python/standards, each with its steps.
    @Suite struct StandardClientTests {
        @Test(arguments: ["codecs", "changes", "rooms"])
        func aiortc(_ group: String) async throws {
            try await StandardScript.run("aiortc_clients.py", [group], python: PythonPackage.aiortc.interpreter())
        }

        @Test(arguments: ["publish", "play"])
        func webrtcbin(_ group: String) async throws {
            // GStreamer's bindings are Debian's, and so belong to Debian's Python.
            try await StandardScript.run("gstreamer_clients.py", [group], python: "/usr/bin/python3")
        }
    }

    /// Somebody who knows where a node is, and somebody who has read a call's packets on their way, do their worst
    /// while calls come up and go on. See Python/standards/adversary.py.
    @Suite struct AdversaryTests {
        @Test(arguments: ["outsider", "reader", "replays", "streams", "storm"])
        func adversary(_ group: String) async throws {
            try await StandardScript.run("adversary.py", [group], python: PythonPackage.aiortc.interpreter())
        }
    }
}

/// A script of Python/standards against a node of its own. It prints a line `PASS name …` or `FAIL name: why` for each
/// scenario, and ends with 0 if none failed.
private enum StandardScript {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Python/standards")

    static func run(_ name: String, _ words: [String], python: String) async throws {
        try await NodeProcess.run { node in
            let ended = try await RunningProcess.run(
                [
                    python, folder.appending(path: name).path, "--url", node.url, "--media-port", "\(node.mediaPort)",
                    "--pid", "\(node.pid)",
                ] + words, environment: Programs.environment.merging(["PYTHONDONTWRITEBYTECODE": "1"]) { $1 },
                in: node.scratch, within: .seconds(150))
            print(ended.output, terminator: "")
            let lines = ended.output.split(separator: "\n")
            let failed = lines.filter { $0.hasPrefix("FAIL ") }
            for line in failed { Issue.record("\(line)") }
            #expect(
                ended.code == 0 || !failed.isEmpty, "\(ended.output.suffix(2000))\(ended.error.suffix(4000))")
            #expect(lines.contains { $0.hasPrefix("PASS ") } || !failed.isEmpty, "something was tried")
        }
    }
}
