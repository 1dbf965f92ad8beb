enum ServeCommand {
    static let command = Command(spec: CommandSpec(["serve"], "Run.")) { _ in }
}
