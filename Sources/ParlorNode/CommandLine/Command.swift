/// One command of `parlor`: what it understands and what it does.
struct Command: Sendable {
    struct Context: Sendable {
        var arguments: ParsedArguments
        var environment: [String: String]
        var console: Console
        var stop: StopRequest
    }

    var spec: CommandSpec
    /// Throws `UsageError` or `ConfigurationError` for what the caller must put right, `CommandFailure` for the rest.
    var run: @Sendable (Context) async throws -> Void
}

/// A command could not do what it was asked: one line.
struct CommandFailure: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
