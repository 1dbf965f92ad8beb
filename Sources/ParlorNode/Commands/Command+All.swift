extension Command {
    /// In the order of `parlor --help`.
    static let all: [Command] = [
        ServeCommand.command, TokenCommand.command, ServerAPICommands.rooms, ServerAPICommands.users,
        ServerAPICommands.kick, DrainCommand.command,
        SDPCommands.publish, SDPCommands.play,
        WebhookCommands.listen,
        VersionCommand.command,
    ]
}
