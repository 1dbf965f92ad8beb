import Foundation

/// `parlor serve`: runs a node until a signal ends it.
enum ServeCommand {
    static let command = Command(
        spec: CommandSpec(
            ["serve"], "Run a node.",
            options: [
                OptionSpec(
                    "dev", nil,
                    "Nothing to configure: HTTP on loopback, app demo, key devkey, secret devsecret, plain legs allowed, HTTPS "
                        + "with a self-signed certificate on 127.0.0.1:7843 (not if http.listen is moved)."),
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
        let log: @Sendable (String) -> Void = { console.note("\(Program.name): \($0)") }
        let node = try Node(
            loaded, machine: MachineAddresses.all(), log: log,
            onDrained: { [stop = context.stop] in
                log("the drain's deadline has come")
                _ = stop.request()
            })
        console.print("\(Program.name) \(Program.version)")
        for line in node.summary { console.print("  \(line)") }
        for warning in node.warnings { console.note("\(Program.name): warning: \(warning)") }
        if context.arguments.has("dev") {
            for line in whatToOpen(loaded.configuration) { console.print(line) }
        }
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
        let machine = ConfigurationLoader.Machine(
            cores: ProcessInfo.processInfo.activeProcessorCount, addresses: MachineAddresses.all())
        let path = arguments["config"] ?? context.environment["PARLOR_CONFIG"]
        if path == nil, !dev, context.environment[ConfigurationLoader.appsVariable] == nil {
            throw UsageError("serve needs --config FILE, or --dev to try it out (see serve --help)")
        }
        var flags: [String: String] = [:]
        for (name, values) in arguments.values { flags[name] = values.last }
        let file = try path.map(ConfigurationFile.read)
        func load(_ base: NodeConfiguration) throws -> ConfigurationLoader.Loaded {
            try ConfigurationLoader.load(
                base: base, file: file, environment: context.environment, flags: flags, machine: machine)
        }
        guard dev else { return try load(NodeConfiguration()) }
        let loaded = try load(.development)
        // Whoever moves HTTP runs a second node, and it must not want the first one's port for HTTPS.
        guard loaded.origin(of: "http.listen") == .builtIn else { return loaded }
        var base = NodeConfiguration.development
        base.http.tls.listen = NodeConfiguration.TLS.developmentListen
        return try load(base)
    }

    /// For the first five minutes.
    private static func whatToOpen(_ configuration: NodeConfiguration) -> [String] {
        guard let app = configuration.apps.first else { return [] }
        var lines = ["app \(app.id), access key \(app.accessKey); try, in another terminal:"]
        let url = "http://\(configuration.http.listen)"
        lines.insert("open \(url)/ in a browser, and join a room", at: 0)
        lines.append("  parlor token --room demo --user me")
        lines.append("  parlor rooms --url \(url)")
        lines.append("  curl -s \(url)/metrics")
        if let tls = configuration.http.tls.listen { lines.append("  curl -sk https://\(tls)/readyz") }
        return lines
    }
}
