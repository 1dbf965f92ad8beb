/// `parlor token`: signs a RoomToken and prints it.
enum TokenCommand {
    static let command = Command(
        spec: CommandSpec(
            ["token"], "Print a token that lets a user into a room.",
            options: [
                OptionSpec("room", "NAME", "The room."),
                OptionSpec("user", "NAME", "The user."),
                OptionSpec("admin", nil, "With the right to remove others."),
                OptionSpec("ttl", "TIME", "How long it opens the door: seconds, or 30m, 8h (default: 3600)."),
            ] + SigningIdentity.options,
            notes: [
                "Example:",
                "  curl -H \"Authorization: Bearer $(parlor token --room r --user alice)\" ...",
            ])
    ) { context in
        let arguments = context.arguments
        let room = try NameArgument.room(NameArgument.required("room", arguments, of: "token"))
        let user = try NameArgument.user(NameArgument.required("user", arguments, of: "token"))
        let lifetime = try lifetime(arguments["ttl"] ?? "3600")
        let identity = try SigningIdentity(context)
        context.console.print(
            identity.token(
                room: room, user: user, admin: arguments.has("admin"), lifetime: lifetime,
                unixTime: SigningIdentity.now()))
    }

    /// Seconds, or a number with a unit; up to ten years.
    static func lifetime(_ text: String) throws(UsageError) -> Duration {
        let longest = Duration.seconds(10 * 366 * 86_400)
        let withUnit = Numbers.whole(text) == nil ? text : text + "s"
        do throws(ValueComplaint) {
            return try ValueReader<Duration>.time(.seconds(1)...longest).read(.text(withUnit, quoted: false))
        } catch {
            throw UsageError("--ttl: \(error.message)")
        }
    }
}
