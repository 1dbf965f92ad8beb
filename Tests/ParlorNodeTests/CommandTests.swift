import Foundation
import ParlorNode
import Testing

struct CommandTests {
    @Test(arguments: [
        ["--help"], ["serve", "--help"], ["token", "--help"], ["rooms", "--help"], ["users", "--help"],
        ["kick", "--help"], ["drain", "--help"],
        ["sdp", "--help"], ["sdp", "publish", "--help"], ["sdp", "play", "--help"], ["version", "--help"],
    ])
    func helpIsEverywhere(arguments: [String]) async throws {
        let outcome = try await CommandRunner.run(arguments)
        #expect(outcome.code == 0)
        #expect(outcome.output.contains("Usage: parlor"))
        #expect(outcome.errors.isEmpty)
    }

    @Test(arguments: [
        ([], "parlor: a command is missing"),
        (["serve"], "parlor: serve needs --config FILE, or --dev"),
        (["serve", "--dve"], "parlor: serve has no option --dve; did you mean --dev?"),
        (["serve", "--dev", "--media-port", "0"], "parlor: --media-port: media.port: \"0\" is not a port"),
        (["serve", "--config", "/nonexistent.yaml"], "parlor: --config: /nonexistent.yaml: No such file or directory"),
        (["token"], "parlor: token needs --room (see token --help)"),
        (["token", "--room", "a b", "--user", "u"], "parlor: \"a b\" is not a room's name"),
        (["token", "--room", "r", "--user", "u", "--ttl", "0"], "parlor: --ttl: 0s is out of range"),
        (["token", "--room", "r", "--user", "u", "--key", "k"], "parlor: --key needs --secret too"),
        (["token", "--room", "r", "--user", "u", "--app", "x"], "parlor: no keys for app \"x\" (known: demo)"),
        (["kick", "r"], "parlor: kick needs USER"),
        (["drain", "--deadline", "10"], "parlor: --deadline: \"10\" is not a time"),
        (["drain", "--deadline", "8h", "--undo"], "parlor: --undo takes no --deadline"),
        (["drain", "--deadline", "200h"], "parlor: --deadline: 200h is out of range"),
        (["users", "r", "--url", "nonsense"], "parlor: --url: no scheme"),
        (["sdp", "publish", "--room", "r", "--user", "u", "--codec", "mp3"], "parlor: --codec: \"mp3\" is none of"),
        (
            ["sdp", "publish", "--room", "r", "--user", "u", "--codec", "vp8", "--codec", "vp9"],
            "parlor: --codec: one of each"
        ),
        (
            ["sdp", "publish", "--room", "r", "--user", "u", "--profile", "gcm128"],
            "parlor: FFmpeg knows no AEAD_AES_128_GCM"
        ),
        (["sdp", "play", "--room", "r", "--user", "u", "--port", "65535"], "parlor: --port: \"65535\" is not a port"),
    ])
    func badUsageIsOneLineAndCodeTwo(arguments: [String], message: String) async throws {
        let outcome = try await CommandRunner.run(arguments)
        #expect(outcome.code == 2)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.hasPrefix(message), "got \(outcome.errors)")
        #expect(outcome.errors.split(separator: "\n").count == 1)
    }

    /// Accepted by the rules of the format: three parts, base64url with padding, the fields of the payload.
    @Test func aTokenIsPrinted() async throws {
        let before = Int64(Date().timeIntervalSince1970)
        let outcome = try await CommandRunner.run(
            "token", "--room", "r", "--user", "alice", "--admin", "--ttl", "2h", "--app", "other", "--key", "k",
            "--secret", "s")
        #expect(outcome.code == 0)
        let parts = outcome.output.split(separator: "\n")[0].split(separator: ":")
        #expect(parts.count == 3 && parts[0] == "k" && parts[1].count == 28)
        let base64 = parts[2].replacing("-", with: "+").replacing("_", with: "/")
        let payload = try #require(Data(base64Encoded: String(base64)))
        let claims = try #require(try JSONSerialization.jsonObject(with: payload) as? [String: Any])
        #expect(claims["appId"] as? String == "other")
        #expect(claims["roomName"] as? String == "r")
        #expect(claims["userId"] as? String == "alice")
        #expect(claims["permission"] as? String == "admin")
        let expiry = try #require(claims["expireAt"] as? Int64)
        #expect((before + 7200...before + 7260).contains(expiry))
    }

    @Test func keysComeFromFlagsThenVariablesThenTheFile() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(
            "apps: [{id: a, accessKey: file-key, secret: file-secret}, {id: b, accessKey: b-key, secret: file-secret}]\n",
            to: "parlor.yaml")
        func key(_ arguments: [String], _ environment: [String: String]) async throws -> String {
            let outcome = try await CommandRunner.run(
                ["token", "--room", "r", "--user", "u"] + arguments, environment: environment)
            #expect(outcome.code == 0, "\(outcome.errors)")
            return String(outcome.output.prefix { $0 != ":" })
        }
        #expect(try await key([], [:]) == "devkey")
        #expect(try await key(["--config", file, "--app", "b"], [:]) == "b-key")
        #expect(try await key(["--app", "a"], ["PARLOR_CONFIG": file]) == "file-key")
        #expect(try await key([], ["PARLOR_KEY": "env-key", "PARLOR_SECRET": "s"]) == "env-key")
        #expect(
            try await key(["--key", "flag-key", "--secret", "s"], ["PARLOR_KEY": "env-key", "PARLOR_SECRET": "t"])
                == "flag-key")
        let several = try await CommandRunner.run("token", "--room", "r", "--user", "u", "--config", file)
        #expect(several.code == 2)
        #expect(several.errors.contains("choose with --app: a, b"))
    }

    @Test func nobodyThereIsAFailure() async throws {
        let port = try FreePorts.tcp()
        for command in [["rooms"], ["users", "r"], ["drain"], ["sdp", "play", "--room", "r", "--user", "u"]] {
            let outcome = try await CommandRunner.run(command + ["--url", "http://127.0.0.1:\(port)"])
            #expect(outcome.code == 1)
            #expect(outcome.errors.contains("is the node running?"))
        }
    }

    @Test func tablesAlign() {
        var table = TextTable("A", "LONG")
        table.add("wide", "x")
        #expect(table.text == "A     LONG\nwide  x\n")
    }
}
