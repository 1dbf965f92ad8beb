import Foundation
import Testing

extension EndToEnd {
    /// docs/openapi.yaml is right, and the node does what it says: schemathesis makes requests of it, valid ones and others,
    /// and holds the answers against it.
    @Suite struct SchemathesisTests {
        /// What is drawn depends on it alone. A failure prints the request as a command line.
        private static let seed = 20_261_130
        /// Requests of one operation in the fuzzing phase, beside those of the two other phases.
        private static let examples = 6

        private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        private static let file = folder.appending(path: "../../docs/openapi.yaml").standardized.path

        /// First, for it also makes the environment, which takes a while.
        @Test func theFileIsOpenAPI() async throws {
            let python = try await PythonPackage.schemathesis.interpreter()
            let scratch = try Scratch()
            let ended = try await RunningProcess.run(
                [python, "-m", "openapi_spec_validator", Self.file], environment: Self.environment([:]), in: scratch)
            #expect(ended.code == 0, "\(ended.output)\(ended.error)")
            // The validator sees what is wrong, or this says nothing.
            let broken = try String(contentsOfFile: Self.file, encoding: .utf8).replacing("'200':", with: "'612':")
            _ = try scratch.write(broken, to: "broken.yaml")
            let refused = try await RunningProcess.run(
                [python, "-m", "openapi_spec_validator", scratch.file("broken.yaml")],
                environment: Self.environment([:]), in: scratch)
            #expect(refused.code != 0)
        }

        @Test func theNodeDoesWhatTheFileSays() async throws {
            let python = try await PythonPackage.schemathesis.interpreter()
            try await NodeProcess.run(["--dev", "--media-plain-silence", "10m"]) { node in
                let known = try await Self.scene(on: node)
                try await check(python, node, known, ["--exclude-path", "/v1/node/drain"])
                // Last, for a node that drains takes nobody in.
                try await check(python, node, known, ["--include-path", "/v1/node/drain"])
                #expect(try await node.request("GET", "/healthz").status == 200)
            }
        }

        private func check(
            _ python: String, _ node: NodeProcess, _ known: [String: String], _ options: [String]
        ) async throws {
            let words = [
                python, "-c", "from schemathesis.cli import schemathesis; schemathesis()", "run", Self.file,
                "--url", node.url, "--seed", "\(Self.seed)", "--max-examples", "\(Self.examples)", "--phases",
                "examples,coverage,fuzzing", "--checks", "all", "--exclude-checks", Self.notHere, "--no-color",
                "--no-shrink", "--generation-database", "none", "--request-timeout", "20", "--suppress-health-check",
                "all", "--warnings", "off", "--continue-on-failure",
            ]
            let ended = try await RunningProcess.run(
                words + options, environment: Self.environment(known), in: node.scratch, within: .seconds(100))
            #expect(ended.code == 0, "\(ended.output.suffix(12_000))\(ended.error.suffix(2000))")
            // It has asked, rather than found nothing to ask.
            #expect(ended.output.contains("generated"), "\(ended.output.suffix(2000))")
        }

        /// `documented_status` of the hooks stands for the first, which knows no status above 599.
        private static let notHere = "status_code_conformance"

        private static func environment(_ known: [String: String]) throws -> [String: String] {
            let json = String(decoding: try JSONSerialization.data(withJSONObject: known), as: UTF8.self)
            return Programs.environment.merging([
                "PYTHONPATH": folder.appending(path: "Python").path, "PYTHONDONTWRITEBYTECODE": "1",
                "SCHEMATHESIS_HOOKS": "openapi_hooks", "PARLOR_OPENAPI": json,
            ]) { $1 }
        }

        /// Two rooms with users and tracks; what the hooks have to know of them.
        private static func scene(on node: NodeProcess) async throws -> [String: String] {
            let own = SigningBackEnd(node: node)
            for room in ["lobby", "closing"] {
                let made = try await own.request(
                    "POST", "/v3/apps/demo/createroom", type: "application/json",
                    body: #"{"roomName":"\#(room)","noEntreTtlS":3600,"autoCloseTtlS":3600}"#)
                #expect(made.status == 200, "\(made)")
            }
            _ = try await node.publish("lobby", "alice")
            let (leg, _) = try await node.play("lobby", "bob")
            let room = try await own.request("GET", "/v3/apps/demo/rooms/lobby")
            let users = try #require(room.json["users"] as? [[String: Any]])
            let tracks = users.compactMap { $0["tracks"] as? [[String: Any]] }.joined()
            let track = try #require(tracks.first?["trackId"] as? String)
            let made = try await own.request("POST", "/v3/apps", type: "application/json", body: #"{"title":"own"}"#)
            return [
                "key": "devkey", "secret": "devsecret", "app": "demo", "room": "lobby", "otherRoom": "closing",
                "ownApp": try #require(made.json["appId"] as? String), "user": "alice", "track": track,
                "leg": leg.target.split(separator: "/").last.map(String.init) ?? "",
                "token": try await node.token(room: "lobby", user: "alice"),
                "legToken": try await node.token(room: "legs", user: "fuzz"),
                "publishOffer": offer("sendonly"), "playOffer": offer("recvonly"),
            ]
        }

        private static func offer(_ direction: String) -> String {
            [
                "v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "c=IN IP4 127.0.0.1", "t=0 0", "m=audio 9 RTP/SAVP 111",
                "a=\(direction)", "a=rtcp-mux",
                "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNk",
                "a=rtpmap:111 opus/48000/2", "",
            ].joined(separator: "\r\n")
        }
    }
}
