extension Command {
    /// In the order of `parlor --help`.
    static let all: [Command] = [
        ServeCommand.command, TokenCommand.command, ServerAPICommands.rooms, ServerAPICommands.users,
        ServerAPICommands.kick,
        RoomCommands.room, RoomCommands.close, RoomCommands.mute, RoomCommands.message, RoomCommands.ban,
        RoomCommands.bans, RoomCommands.unban,
        DrainCommand.command,
        SDPCommands.publish, SDPCommands.play,
        WebhookCommands.listen,
        VersionCommand.command,
    ]
}
