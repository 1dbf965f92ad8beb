import Foundation

/// `parlor serve`: runs a node until a signal ends it.
enum ServeCommand {
    static let command = Command(
        spec: CommandSpec(
            ["serve"], "Run a node.",
            options: [
                OptionSpec(
                    "dev", nil,
                    "Nothing to configure: loopback, app demo, key devkey, secret devsecret, plain legs allowed."),
                OptionSpec("config", "FILE", "The configuration, YAML (also PARLOR_CONFIG)."),
            ] + keyOptions,
            notes: [
                "Flags win over variables (PARLOR_MEDIA_PORT for --media-port and so on), those over the file, and the",
                "file over the defaults. docs/operating.md has a complete file.",
            ])
    ) { context in
        let loaded = try load(context)
        let console = context.console
        // From here on a signal means: end in order.
        context.stop.listen()
        let node = try Node(loaded, machine: MachineAddresses.all(), log: { console.note("\(Program.name): \($0)") })
        console.print("\(Program.name) \(Program.version)")
        for line in node.summary { console.print("  \(line)") }
        for warning in node.warnings { console.note("\(Program.name): warning: \(warning)") }
        console.print("ready")
        await context.stop.wait()
        console.print("stopping")
        await node.stop()
    }

    private static var keyOptions: [OptionSpec] {
        let defaults = NodeConfiguration()
        return ConfigurationKey<NodeConfiguration>.all.map { key in
            OptionSpec(
                key.flagName, key.placeholder, "\(key.meaning) [\(key.show(defaults))]",
                group: "Configuration [default]")
        }
    }

    private static func load(_ context: Command.Context) throws -> ConfigurationLoader.Loaded {
        let arguments = context.arguments
        let dev = arguments.has("dev")
        let path = arguments["config"] ?? context.environment["PARLOR_CONFIG"]
        if path == nil, !dev, context.environment[ConfigurationLoader.appsVariable] == nil {
            throw UsageError("serve needs --config FILE, or --dev to try it out (see serve --help)")
        }
        var flags: [String: String] = [:]
        for (name, values) in arguments.values { flags[name] = values.last }
        return try ConfigurationLoader.load(
            base: dev ? .development : NodeConfiguration(), file: path.map(ConfigurationFile.read),
            environment: context.environment, flags: flags,
            machine: .init(
                cores: ProcessInfo.processInfo.activeProcessorCount, addresses: MachineAddresses.all()))
    }
}
