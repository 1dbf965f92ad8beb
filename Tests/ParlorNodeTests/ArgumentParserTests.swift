import ParlorNode
import Testing

struct ArgumentParserTests {
    private let commands = [
        CommandSpec(
            ["serve"], "Run.",
            options: [OptionSpec("dev", nil, "Loopback."), OptionSpec("config", "FILE", "The file.")]),
        CommandSpec(["kick"], "Kick.", operands: ["ROOM", "USER"], options: [OptionSpec("url", "URL", "Where.")]),
        CommandSpec(["sdp", "publish"], "Offer.", options: [OptionSpec("codec", "NAME", "What.", repeats: true)]),
        CommandSpec(["sdp", "play"], "Offer."),
        CommandSpec(["version"], "Version."),
    ]

    private func parsed(_ line: String) throws -> (name: String, arguments: ParsedArguments) {
        let words = line.split(separator: " ").map(String.init)
        guard case .command(let spec, let arguments) = try ArgumentParser.choose(words, among: commands) else {
            throw UsageError("an overview")
        }
        return (spec.name, arguments)
    }

    private func complaint(_ line: String) -> String {
        let words = line.split(separator: " ").map(String.init)
        do throws(UsageError) {
            _ = try ArgumentParser.choose(words, among: commands)
            return "accepted"
        } catch { return error.message }
    }

    @Test func commandsAndOptionsAreFound() throws {
        var (name, arguments) = try parsed("serve --dev --config=a=b.yaml")
        #expect(name == "serve")
        #expect(arguments.has("dev") && !arguments.has("url"))
        #expect(arguments["config"] == "a=b.yaml")
        (name, arguments) = try parsed("kick r --url http://x -- --odd")
        #expect(name == "kick")
        #expect(arguments.operands == ["r", "--odd"])
        #expect(arguments["url"] == "http://x")
        (name, arguments) = try parsed("sdp publish --codec vp8 --codec opus")
        #expect(name == "sdp publish")
        #expect(arguments.all("codec") == ["vp8", "opus"])
        #expect(try parsed("--version").name == "version")
        // A negative number or a lone dash can be a value.
        #expect(try parsed("serve --config -").arguments["config"] == "-")
    }

    @Test(arguments: ["serve --help", "serve --dev -h", "kick --help", "help serve", "sdp play --help"])
    func helpNeedsNothingElse(line: String) throws {
        #expect(try parsed(line).arguments.wantsHelp)
    }

    @Test(arguments: [("--help", []), ("-h", []), ("help", []), ("sdp --help", ["sdp"])])
    func overviews(line: String, path: [String]) throws {
        let words = line.split(separator: " ").map(String.init)
        guard case .overview(let found) = try ArgumentParser.choose(words, among: commands) else {
            Issue.record("a command was chosen")
            return
        }
        #expect(found == path)
    }

    @Test(arguments: [
        ("", "a command is missing: serve, kick, sdp, version (see --help)"),
        ("serv", "no command \"serv\"; did you mean \"serve\"?"),
        ("dance", "no command \"dance\"; there are serve, kick, sdp, version"),
        ("sdp", "\"sdp\" needs another word: publish, play (see --help)"),
        ("sdp pulbish", "no command \"sdp pulbish\"; did you mean \"sdp publish\"?"),
        ("serve --confg x", "serve has no option --confg; did you mean --config?"),
        ("serve --zzzzzz", "serve has no option --zzzzzz; see serve --help"),
        ("serve -config x", "serve has no option -config; did you mean --config?"),
        ("serve --config", "--config needs a value: --config FILE"),
        ("serve --config --dev", "--config needs a value: --config FILE"),
        ("serve --dev=yes", "--dev takes no value"),
        ("serve --dev --dev", "--dev is given twice"),
        ("serve x", "serve does not take \"x\" (see serve --help)"),
        ("kick", "kick needs ROOM and USER (see kick --help)"),
        ("kick r", "kick needs USER (see kick --help)"),
        ("kick r u v", "kick does not take \"v\" (see kick --help)"),
    ])
    func badUsageIsOneClearLine(line: String, message: String) {
        #expect(complaint(line) == message)
    }

    @Test func helpListsEverything() {
        let help = commands[0].help(program: "parlor")
        #expect(help.contains("Usage: parlor serve [OPTIONS]"))
        #expect(help.contains("  --config FILE  The file."))
        #expect(help.split(separator: "\n").allSatisfy { $0.count <= 100 })
    }
}
