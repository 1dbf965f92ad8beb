import ParlorNode
import Testing
import WebTransport

/// What `parlor room` and its like make of a node's answers.
@Suite(.timeLimit(.minutes(1))) struct RoomCommandTests {
    @Test(arguments: [
        ("plain, é, 你好, 😀", "plain, é, 你好, 😀"), ("\u{1B}[2J", "\u{FFFD}[2J"), ("a\u{202E}b", "a\u{FFFD}b"),
        ("\u{9B}2J", "\u{FFFD}2J"), ("a\r\nb\tc", "a\u{FFFD}\u{FFFD}b\u{FFFD}c"),
        ("\u{2066}\u{2069}", "\u{FFFD}\u{FFFD}"),
        ("\u{2028}\u{2029}", "\u{FFFD}\u{FFFD}"), ("\u{7F}", "\u{FFFD}"), ("", ""),
    ])
    func nothingSteersTheTerminal(text: String, shown: String) {
        #expect(Console.printable(text) == shown)
    }

    /// Runs a command against a server that says the same to everything.
    private func run(_ words: String..., answer: String) async throws -> CommandRunner.Outcome {
        let server = HTTPServer()
        let port = try server.listen(host: "127.0.0.1", port: try FreePorts.tcp())
        server.start { _ in HTTPResponse(status: 200, text: answer, contentType: "application/json") }
        let outcome = try await CommandRunner.run(words + ["--url", "http://127.0.0.1:\(port)"])
        await server.stop(grace: .zero)
        return outcome
    }

    /// Whoever publishes chooses the tag, whoever bans the reason, and whoever answers all of it.
    @Test func whatOthersWroteSteersNoTerminal() async throws {
        let room = #"""
            {"appId":"demo","name":"r","session":"\u001b[2J","createdBy":"join","since":"s","sinceMs":1,
            "settings":{"maxUsers":0,"noAutoKickUser":false,"noAutoCreateRoom":false,"noAutoCloseRoom":false,
            "autoCloseTtl":10,"noEnterTtl":30,"userTimeout":30,"videoCodec":"VP8"},
            "users":[{"userId":"eve\u202e","userData":"","since":"s","sinceMs":1,"permission":"user",
            "privileges":["publish"],"signalling":"connected","legs":[],"subscriptions":[],"tracks":[
            {"trackId":"t1","kind":"audio","codec":"opus","tag":"\u202egat\u001b[2J","master":false,"muted":false,
            "mutedByServer":true,"mid":"0","source":"signalling"}]}]}
            """#
        let shown = try await run("room", "r", answer: room)
        #expect(shown.code == 0, "\(shown.errors)")
        #expect(shown.output.hasPrefix("r: 1 user, since s, session \u{FFFD}[2J, made by join\n"), "\(shown.output)")
        #expect(shown.output.contains("\neve\u{FFFD}  s"), "\(shown.output)")
        #expect(shown.output.hasSuffix("  by server  \u{FFFD}gat\u{FFFD}[2J\n"), "\(shown.output)")

        let ban = #"{"userId":"eve","until":"u\u202e","untilMs":1,"reason":"\u001b[2J\u202e","removed":true}"#
        let bans = try await run("bans", "r", answer: #"{"bans":[\#(ban)]}"#)
        #expect(bans.output == "USER  UNTIL  REASON\neve   u\u{FFFD}     \u{FFFD}[2J\u{FFFD}\n", "\(bans.errors)")
        let made = try await run("ban", "r", "eve", "--for", "1h", answer: ban)
        #expect(made.output == "eve is kept out of r until u\u{FFFD}, and is out\n", "\(made.errors)")
    }

    /// The bounds are the server API's.
    @Test(arguments: ["0s", "500ms", "87601h"]) func aBanHasBounds(time: String) async throws {
        let outcome = try await CommandRunner.run("ban", "r", "eve", "--for", time)
        #expect(outcome.code == 2)
        #expect(outcome.errors.contains("--for: \(time) is out of range; give from 1s to 87600h"), "\(outcome.errors)")
    }

    @Test(arguments: ["", "a.b", "a/b", String(repeating: "a", count: 65)])
    func aTrackHasAnID(track: String) async throws {
        for words in [
            ["mute", "r", track], ["sdp", "play", "--gst", "--room", "r", "--user", "u", "--track=\(track)"],
        ] {
            let outcome = try await CommandRunner.run(words)
            #expect(outcome.code == 2)
            #expect(outcome.errors.contains("\"\(track)\" is not a track's id"), "\(outcome.errors)")
        }
    }
}
