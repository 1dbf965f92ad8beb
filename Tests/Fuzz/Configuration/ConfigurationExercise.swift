import MediaWire
import ParlorNode

/// What must hold for any configuration. Run by the fuzzer, and by the unit tests on the corpus.
///
/// The input's lines that begin with `PARLOR_NAME=` or `--name=` are environment and flags; all others are the file.
enum ConfigurationExercise {
    typealias Input = (file: String, environment: [String: String], flags: [String: String])

    static func input(_ bytes: [UInt8]) -> Input {
        var input: Input = ("", [:], [:])
        var lines: [Substring] = []
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false) {
            let pair = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            if pair.count == 2, pair[0].hasPrefix("PARLOR_") {
                input.environment[pair[0]] = pair[1]
            } else if pair.count == 2, pair[0].hasPrefix("--") {
                input.flags[String(pair[0].dropFirst(2))] = pair[1]
            } else {
                lines.append(line)
            }
        }
        input.file = lines.joined(separator: "\n")
        return input
    }

    static func load(
        _ input: Input, base: NodeConfiguration = NodeConfiguration()
    ) throws(ConfigurationError) -> ConfigurationLoader.Loaded {
        try ConfigurationLoader.load(
            base: base, file: .init(path: "parlor.yaml", text: input.file), environment: input.environment,
            flags: input.flags, machine: .init(cores: 2, addresses: [TransportAddress(ipv4: 0xC000_0201, port: 0)]))
    }

    /// The first broken promise, in words; `nil` if all were kept.
    static func run(_ bytes: [UInt8]) -> String? {
        let input = input(bytes)
        for base in [NodeConfiguration(), .development] {
            do throws(ConfigurationError) {
                let loaded = try load(input, base: base)
                if let broken = check(loaded.configuration) ?? checkShown(loaded.configuration) { return broken }
            } catch {
                if let broken = check(error, input) { return broken }
            }
        }
        return nil
    }

    private static func check(_ configuration: NodeConfiguration) -> String? {
        let plain = configuration.media.plain
        let workers = configuration.media.workers ?? 2
        guard workers >= 1, configuration.media.port > 0, Int(configuration.media.port) + workers - 1 <= 65535,
            configuration.http.listen.port > 0, plain.portRange.count >= 2, plain.portRange.lowerBound > 0
        else { return "ports or workers that cannot be" }
        guard plain.lease >= .seconds(1), plain.silence >= .seconds(1), configuration.limits.httpBody >= 4096,
            configuration.limits.httpConnections >= 1, configuration.media.receiveBuffer > 0
        else { return "a limit out of its range" }
        let servers = configuration.media.iceServers
        // Beyond 30 s nothing may be sent (RFC 7675, section 5.1).
        guard (.seconds(5) ... .seconds(30)).contains(configuration.media.silence),
            servers.reduce(0, { $0 + $1.urls.count }) <= 16
        else {
            return "a silence or ICE servers out of their ranges"
        }
        for server in servers {
            let isOpen = server.username == nil && server.credential == nil && server.secret == nil
            let isOne = (server.username != nil && server.credential != nil) != (server.secret != nil)
            guard !server.urls.isEmpty, isOne || isOpen && !server.urls.contains(where: { $0.hasPrefix("turn") }) else {
                return "ICE servers without a way in, or with two"
            }
            guard (server.username == nil) == (server.credential == nil) else { return "half a way in" }
        }
        let limits = configuration.limits
        guard limits.signallingFrame >= 16 << 10, limits.message >= 1, limits.messagesPerSecond >= 1,
            limits.requestsPerSecond >= 1, limits.changesPerSecond >= 1, (1...64).contains(limits.tracksPerUser),
            limits.subscriptionsPerSecond >= 1, limits.usersPerRoom >= 1, limits.rooms >= 1,
            limits.users >= 1, limits.appsPerKey >= 1, limits.connections >= 1
        else { return "a limit of rooms or signalling out of its range" }
        let tls = configuration.http.tls
        guard
            tls.listen == nil || tls.certificate == .selfSigned && tls.key == nil
                || tls.certificate != nil && tls.key != nil
        else { return "HTTPS without certificate or key" }
        guard
            tls.listen?.port != configuration.http.listen.port || tls.listen?.isIPv4 != configuration.http.listen.isIPv4
                || tls.listen?.isSameHost(as: configuration.http.listen) == false
        else { return "HTTP and HTTPS on one port" }
        guard configuration.operatorKey.map({ key in configuration.apps.contains { $0.accessKey == key } }) ?? true
        else { return "an operator without a secret" }
        guard configuration.apps.allSatisfy({ $0.settings.videoCodec.kind == .video }) else { return "no video codec" }
        guard !configuration.apps.isEmpty, Set(configuration.apps.map(\.id)).count == configuration.apps.count,
            configuration.apps.allSatisfy({ !$0.id.isEmpty && !$0.accessKey.isEmpty && $0.secret.utf8.count >= 8 })
        else { return "apps that cannot be" }
        guard configuration.http.trustedProxies.allSatisfy({ $0.contains($0.address) }) else {
            return "a block that does not hold its own address"
        }
        return nil
    }

    /// What `show` writes is read as the same.
    private static func checkShown(_ configuration: NodeConfiguration) -> String? {
        var flags: [String: String] = [:]
        for key in ConfigurationKey<NodeConfiguration>.all {
            let text = key.show(configuration)
            // Words for the default of keys that have no written one.
            if text == "auto", ["media.listen", "media.announce"].contains(key.path) { continue }
            flags[key.flagName] = text
        }
        var base = NodeConfiguration()
        base.apps = configuration.apps
        base.media.iceServers = configuration.media.iceServers
        do throws(ConfigurationError) {
            let again = try load(("", [:], flags), base: base).configuration
            return again == configuration ? nil : "what was shown reads as something else"
        } catch { return "what was shown is not read: \(error)" }
    }

    private static func check(_ error: ConfigurationError, _ input: Input) -> String? {
        guard !error.problems.isEmpty, error.problems.allSatisfy({ !$0.message.isEmpty }) else { return "no reason" }
        let lines = input.file.unicodeScalars.reduce(1) {
            "\n\r\u{85}\u{2028}\u{2029}".unicodeScalars.contains($1) ? $0 + 1 : $0
        }
        for case .file(_, let line) in error.problems.map(\.origin) where !(1...lines + 1).contains(line) {
            return "an error outside the file: line \(line) of \(lines)"
        }
        return nil
    }
}
