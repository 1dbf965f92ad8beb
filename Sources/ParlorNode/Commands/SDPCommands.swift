import FoundationEssentials
import Glibc
import MediaWire

/// `parlor sdp publish` and `parlor sdp play`: join by WHIP or WHEP for a tool that cannot, and say how to start it.
///
/// Standard output has the command line and nothing else, so that a shell can run it; what else there is to know goes to
/// standard error.
enum SDPCommands {
    private static let common: [OptionSpec] =
        [
            OptionSpec("room", "NAME", "The room."),
            OptionSpec("user", "NAME", "The user to join as."),
            OptionSpec(
                "codec", "NAME", "opus, vp8, vp9 or h264; one of each kind (default: opus and vp8).", repeats: true),
            OptionSpec("profile", "NAME", "SRTP: cm, gcm128 or gcm256 (default: cm; FFmpeg knows no other)."),
            OptionSpec("gst", nil, "A GStreamer pipeline rather than an FFmpeg line."),
            OptionSpec("ttl", "TIME", "Life of the token, which also ends the leg with DELETE (default: 3600)."),
            OptionSpec("json", nil, "Print JSON: command, location, token, sdp."),
        ] + SigningIdentity.nodeOptions

    static let publish = Command(
        spec: CommandSpec(
            ["sdp", "publish"], "Join a room to publish, and print the FFmpeg or GStreamer line that does.",
            options: common + SigningIdentity.options,
            notes: ["Example:", "  sh -c \"$(parlor sdp publish --room r --user cam)\""])
    ) { context in
        let request = try Request(context, command: "sdp publish", purpose: .publish)
        let result = try await request.join.run(lifetime: request.lifetime)
        guard !result.streams.isEmpty else { throw CommandFailure("the node took none of the codecs") }
        let command =
            context.arguments.has("gst")
            ? try GStreamerCommand.publish(result.streams) : try FFmpegCommand.publish(result.streams)
        try report(result, command, file: nil, context)
    }

    static let play = Command(
        spec: CommandSpec(
            ["sdp", "play"], "Join a room to receive, and print the FFmpeg or GStreamer line that plays.",
            options: [
                OptionSpec("from", "USER", "Whose media (default: whoever publishes).", repeats: true),
                OptionSpec("track", "ID", "Which track.", repeats: true),
                OptionSpec(
                    "port", "N", "The first local UDP port; each m-line takes two (default: free ones from 5004)."),
                OptionSpec("out", "FILE", "The SDP file for FFmpeg (default: ROOM-USER.sdp). It holds keys."),
                OptionSpec("record", "FILE", "Into a file rather than on the screen, such as room.mkv."),
            ] + common + SigningIdentity.options,
            notes: ["Example:", "  sh -c \"$(parlor sdp play --room r --user me --from cam)\""])
    ) { context in
        let request = try Request(context, command: "sdp play", purpose: .play)
        let path = context.arguments["out"] ?? "\(request.join.room)-\(request.join.user).sdp"
        // Before anything is asked of the node: a file that cannot be written must not leave a leg behind.
        let file = context.arguments.has("gst") ? nil : try KeyFile(path)
        let result = try await request.join.run(lifetime: request.lifetime)
        guard !result.streams.isEmpty else { throw CommandFailure("the node took none of the codecs") }
        let record = context.arguments["record"]
        guard let file else {
            try report(result, try GStreamerCommand.play(result.streams, record: record), file: nil, context)
            return
        }
        try file.write(result.playerSDP)
        try report(result, FFmpegCommand.play(file: path, record: record), file: path, context)
    }

    // MARK: What was asked

    private struct Request {
        var join: PlainJoin
        var lifetime: Duration

        init(_ context: Command.Context, command: String, purpose: PlainOfferBuilder.Purpose) throws {
            let arguments = context.arguments
            let room = try NameArgument.room(NameArgument.required("room", arguments, of: command))
            let user = try NameArgument.user(NameArgument.required("user", arguments, of: command))
            let profile = try Self.profile(arguments["profile"] ?? "cm")
            if profile != .aesCM128HmacSHA1_80, !arguments.has("gst") {
                throw UsageError("FFmpeg knows no \(profile.name); use --profile cm, or --gst")
            }
            var picks: [(name: String, value: String)] = []
            for name in arguments.all("from") { picks.append(("user", try NameArgument.user(name))) }
            for track in arguments.all("track") { picks.append(("track", try NameArgument.track(track))) }
            var port: UInt16?
            if let text = arguments["port"] {
                guard let number = Numbers.whole(text), (1...65534).contains(number) else {
                    throw UsageError("--port: \"\(text)\" is not a port; give a number from 1 to 65534")
                }
                port = UInt16(number)
            }
            lifetime = try TokenCommand.lifetime(arguments["ttl"] ?? "3600")
            join = PlainJoin(
                purpose: purpose, identity: try SigningIdentity(context), room: room, user: user,
                lines: try Self.lines(arguments.all("codec"), purpose: purpose), profile: profile, picks: picks,
                port: port)
        }

        /// Sound first, then picture. Without a word about a kind, a player takes what the room has, and a publisher sends both.
        private static func lines(_ names: [String], purpose: PlainOfferBuilder.Purpose) throws -> [[Codec]] {
            if names.isEmpty { return purpose == .play ? [[.opus], [.vp8, .vp9, .h264]] : [[.opus], [.vp8]] }
            var chosen: [Codec] = []
            for name in names {
                guard let codec = Codec(name: name), codec != .av1 else {
                    throw UsageError("--codec: \"\(name)\" is none of opus, vp8, vp9, h264")
                }
                guard !chosen.contains(codec) else { throw UsageError("--codec: \(name) is given twice") }
                chosen.append(codec)
            }
            let lines = MediaKind.allCases.map { kind in chosen.filter { $0.kind == kind } }.filter { !$0.isEmpty }
            if purpose == .publish, lines.contains(where: { $0.count > 1 }) {
                throw UsageError("--codec: one of each kind; a publisher sends one at a time")
            }
            return lines
        }

        private static func profile(_ name: String) throws -> SRTPProfile {
            switch name {
            case "cm": .aesCM128HmacSHA1_80
            case "gcm128": .aeadAES128GCM
            case "gcm256": .aeadAES256GCM
            default: throw UsageError("--profile: \"\(name)\" is none of cm, gcm128, gcm256")
            }
        }
    }

    // MARK: What is said

    private struct Report: Encodable {
        var command: [String]
        var location: String
        var token: String
        var sdp: String?
    }

    private static func report(
        _ result: PlainJoin.Result, _ command: ToolCommand, file: String?, _ context: Command.Context
    ) throws {
        if context.arguments.has("json") {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            let report = Report(command: command.arguments, location: result.location, token: result.token, sdp: file)
            context.console.print(String(decoding: try encoder.encode(report), as: UTF8.self))
            return
        }
        context.console.print(command.text)
        if let file { context.console.note("# The description is in \(file). It holds keys.") }
        context.console.note("# To end the leg:")
        context.console.note(
            "#   curl \(context.arguments.has("insecure") ? "-k " : "")-X DELETE -H "
                + ToolCommand.quoted("Authorization: Bearer \(result.token)") + " "
                + ToolCommand.quoted(result.location))
    }
}
