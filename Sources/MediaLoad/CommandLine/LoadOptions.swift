/// Bad usage: one line that says what would be right.
package struct LoadUsageError: Error, Hashable, CustomStringConvertible {
    package var description: String
    package init(_ description: String) { self.description = description }
}

/// One option: `--name VALUE`, `--name=VALUE`, or a bare `--name`.
struct LoadOption: Sendable {
    /// Without the dashes.
    var name: String
    /// What stands for the value in help; `nil`: the option takes none.
    var value: String?
    var help: String
    /// The title that it is listed under.
    var group: String
    /// The kind of run that it is for.
    var kind = Kind.any

    enum Kind: Sendable { case any, media, signalling }
}

/// The options of `parlor-load`, their help, and their parser: the same manners as those of `parlor`.
package enum LoadOptions {
    static let all: [LoadOption] = [
        LoadOption(name: "url", value: "URL", help: "The node (http://127.0.0.1:7880).", group: "Node"),
        LoadOption(name: "app", value: "ID", help: "The app whose rooms are used (demo).", group: "Node"),
        LoadOption(name: "key", value: "KEY", help: "The app's access key (devkey).", group: "Node"),
        LoadOption(name: "secret", value: "SECRET", help: "And its secret (devsecret).", group: "Node"),

        LoadOption(
            name: "rooms", value: "N", help: "Rooms (1; with --signalling one for each 10 users).", group: "Who"),
        LoadOption(name: "publishers", value: "N", help: "Publishers in each room (1).", group: "Who", kind: .media),
        LoadOption(
            name: "subscribers", value: "N",
            help: "Subscribers in each room (1); each receives every publisher of its room.", group: "Who", kind: .media
        ),
        LoadOption(
            name: "via", value: "WAY",
            help:
                "webrtc: users are clients of the room, by signalling, ICE and DTLS; plain: SRTP legs of WHIP and WHEP"
                + " (webrtc).", group: "Who", kind: .media),
        LoadOption(
            name: "joins", value: "N",
            help: "Instead of a load: N users come, see the first picture and leave, one after the other; how long each"
                + " step takes.", group: "Who", kind: .media),
        LoadOption(
            name: "storm", value: "RATE",
            help:
                "RATE users a second come, connect and leave, for --duration, after as long without: what they add to the"
                + " latency of the streams. The streams are small packets, 50 a second.", group: "Who", kind: .media),
        LoadOption(
            name: "room-prefix", value: "NAME", help: "Rooms are called NAME-1, NAME-2 ... (load).", group: "Who"),
        LoadOption(
            name: "ramp", value: "N", help: "At most N joins a second (as fast as the node answers).", group: "Who",
            kind: .media),
        LoadOption(
            name: "late-after", value: "N",
            help: "Subscribers join only when each publisher of their room has sent N packets.", group: "Who",
            kind: .media),
        LoadOption(
            name: "duration", value: "SECONDS", help: "How long the full load lasts, after all have joined (10).",
            group: "Who", kind: .media),
        LoadOption(
            name: "live", value: nil, help: "Runs until Ctrl-C, and shows a table meanwhile.", group: "Who",
            kind: .media),

        LoadOption(name: "codec", value: "NAME", help: "vp8 or vp9 (vp8).", group: "Media", kind: .media),
        LoadOption(
            name: "profile", value: "NAME",
            help: "gcm128, gcm256 or cm: how SRTP is sealed (gcm128; by WebRTC what the node likes best).",
            group: "Media",
            kind: .media),
        LoadOption(name: "fps", value: "N", help: "Pictures a second, 1 to 60 (25).", group: "Media", kind: .media),
        LoadOption(
            name: "size", value: "WxH", help: "Of the picture in pixels (320x240).", group: "Media", kind: .media),
        LoadOption(
            name: "bitrate", value: "KBITS", help: "Of the video in kbit/s (300).", group: "Media", kind: .media),
        LoadOption(name: "audio-only", value: nil, help: "No video.", group: "Media", kind: .media),
        LoadOption(
            name: "packets-per-second", value: "N",
            help: "Small packets in place of sound, N a second: to test packet rates.", group: "Media", kind: .media),
        LoadOption(
            name: "payload", value: "BYTES", help: "Size of the small packets, 16 to 1150 (20).", group: "Media",
            kind: .media),
        LoadOption(
            name: "share", value: "yes|no",
            help: "Whether publishers share a few encoders (yes with more than 4 publishers).", group: "Media",
            kind: .media),
        LoadOption(
            name: "decode", value: "N",
            help: "Subscribers that decode everything (all, up to 20); of the others packets and headers are checked.",
            group: "Media", kind: .media),

        LoadOption(
            name: "signalling", value: nil,
            help: "No media: users join, publish, message, drop and come back at random, and every client's view is"
                + " checked.", group: "Signalling"),
        signalling("users", "N", "Users in all rooms together (100; 0 with --idle alone)."),
        signalling("churn", "TIME", "How long they act after all have joined, like 60s or 2m (10s)."),
        signalling("idle", "N", "Besides, connections in rooms of their own that only answer pings (0)."),
        signalling("join-rate", "N", "Joins a second (200)."),
        signalling("actions", "N", "Actions of each user a second (0.5)."),
        signalling(
            "mix", "LIST",
            "How often which action, by weight, like drop=30,leave=0; the others stay as they are: "
                + SignallingMix.standard.text + "."),
        signalling("offline", "TIME", "The longest that a dropped user stays away, up to 20s (8s)."),
        signalling("check", "TIME", "From one quiet point of a room to the next (15s)."),
        signalling("seed", "N", "Of the random choices (a new one, which the report shows)."),
        signalling("pid", "PID", "The node's process, to measure it (found by its port on this machine)."),

        LoadOption(
            name: "threads", value: "N", help: "Threads that receive (processors less one).", group: "Output",
            kind: .media),
        LoadOption(name: "json", value: nil, help: "The report as JSON on standard output.", group: "Output"),
        LoadOption(name: "quiet", value: nil, help: "No progress.", group: "Output"),
    ]

    private static func signalling(_ name: String, _ value: String, _ help: String) -> LoadOption {
        LoadOption(name: name, value: value, help: help, group: "Signalling", kind: .signalling)
    }

    /// The text of `--help`.
    package static var help: String {
        var lines = [
            "Joins rooms of a Parlor node as synthetic publishers and subscribers, or as users who only signal, checks",
            "every frame or every view, and reports.",
            "",
            "Usage: parlor-load [OPTIONS]",
        ]
        var groups: [String] = []
        for option in all where !groups.contains(option.group) { groups.append(option.group) }
        let width = all.map { left($0).count }.max() ?? 0
        for group in groups {
            lines += ["", "\(group):"]
            for option in all where option.group == group {
                let indent = String(repeating: " ", count: width + 4)
                var line = "  " + left(option) + String(repeating: " ", count: width - left(option).count + 1)
                for word in option.help.split(separator: " ") {
                    if line.count + 1 + word.count > 100 {
                        lines.append(line)
                        line = indent + word
                    } else {
                        line += (line.count < width + 4 ? " " : line.count == width + 3 ? "" : " ") + word
                    }
                }
                lines.append(line)
            }
        }
        lines += [
            "",
            "Exit code: 0 when all was right; 1 when anything was wrong, with a line for each kind of fault; 2 for bad usage.",
            "", "  parlor-load --rooms 2 --publishers 2 --subscribers 10",
            "  parlor-load --publishers 2 --joins 50",
            "  parlor-load --rooms 5 --subscribers 4 --storm 100",
            "  parlor-load --audio-only --packets-per-second 20000 --late-after 70000",
            "  parlor-load --signalling --users 2000 --rooms 200 --churn 60s",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    private static func left(_ option: LoadOption) -> String {
        "--\(option.name)" + (option.value.map { " \($0)" } ?? "")
    }

    /// What the words say: option names with their values, empty for those that take none. `nil`: help is wanted.
    package static func parse(_ arguments: [String]) throws(LoadUsageError) -> [String: String]? {
        var values: [String: String] = [:]
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--help" || argument == "-h" { return nil }
            guard argument.hasPrefix("-") else {
                throw LoadUsageError("parlor-load does not take \"\(argument)\" (see --help)")
            }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let written = parts.first.map { String($0) } ?? argument
            let name = String(written.drop { $0 == "-" })
            guard written.hasPrefix("--"), let option = all.first(where: { $0.name == name }) else {
                let hint = nearest(to: name).map { "did you mean --\($0)?" } ?? "see --help"
                throw LoadUsageError("no option \(written); \(hint)")
            }
            guard values[name] == nil else { throw LoadUsageError("--\(name) is given twice") }
            guard let wanted = option.value else {
                guard parts.count == 1 else { throw LoadUsageError("--\(name) takes no value") }
                values[name] = ""
                continue
            }
            if parts.count == 2 {
                values[name] = String(parts[1])
            } else if let next = rest.first, !next.hasPrefix("--") {
                values[name] = next
                rest.removeFirst()
            } else {
                throw LoadUsageError("--\(name) needs a value: --\(name) \(wanted)")
            }
        }
        return values
    }

    /// The option that a mistyped name is closest to, if at most a third of its letters would have to change.
    private static func nearest(to text: String) -> String? {
        let scored = (all.map(\.name) + ["help"]).map { (name: $0, distance: distance(text.lowercased(), $0)) }
        return scored.filter { $0.distance <= max(1, max(text.count, $0.name.count) / 3) }
            .min { $0.distance < $1.distance }?.name
    }

    /// Insertions, removals and replacements from one to the other (Levenshtein).
    private static func distance(_ a: String, _ b: String) -> Int {
        let a = Array(a.prefix(64))
        let b = Array(b.prefix(64))
        var row = Array(0...b.count)
        for i in a.indices {
            var diagonal = row[0]
            row[0] = i + 1
            for j in b.indices {
                let replaced = diagonal + (a[i] == b[j] ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(replaced, row[j] + 1, row[j + 1] + 1)
            }
        }
        return row[b.count]
    }
}
