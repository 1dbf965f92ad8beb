enum VersionCommand {
    static let command = Command(spec: CommandSpec(["version"], "Print the version.")) { context in
        context.console.print("\(Program.name) \(Program.version)")
    }
}
