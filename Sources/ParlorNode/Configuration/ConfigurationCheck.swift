import MediaWire

/// The checks that need more than one value.
struct ConfigurationCheck {
    var configuration: NodeConfiguration
    var origins: [String: ConfigurationOrigin]
    var machine: ConfigurationLoader.Machine

    func problems(requiresApps: Bool) -> [ConfigurationProblem] {
        portProblems() + addressProblems() + appProblems(requiresApps: requiresApps)
    }

    private func problem(_ key: String, _ message: String) -> ConfigurationProblem {
        ConfigurationProblem(origins[key] ?? .builtIn, key: key, message)
    }

    /// The first of the keys that somebody wrote: that is where to change something.
    private func blame(_ keys: String...) -> String {
        keys.first { origins[$0] != nil } ?? keys.first ?? ""
    }

    // MARK: Ports

    private func portProblems() -> [ConfigurationProblem] {
        var problems: [ConfigurationProblem] = []
        let first = Int(configuration.media.port)
        let workers = configuration.media.workers ?? machine.cores
        let media = first...(first + workers - 1)
        let plain =
            Int(configuration.media.plain.portRange.lowerBound)...Int(configuration.media.plain.portRange.upperBound)
        let http = Int(configuration.http.listen.port)
        if media.upperBound > 65535 {
            let key = blame("media.port", "media.workers")
            problems.append(
                problem(
                    key, "\(workers) workers from port \(first) on end above 65535; take a lower port or fewer workers")
            )
        }
        if media.overlaps(plain) {
            let key = blame("media.plain.portRange", "media.port", "media.workers")
            problems.append(
                problem(
                    key,
                    "the plain legs' ports \(text(plain)) and the workers' \(text(media)) overlap; move one of them"))
        }
        // TCP and UDP do not collide; but a media port will have TCP beside it on the same number.
        if media.contains(http) {
            let key = blame("http.listen", "media.port", "media.workers")
            problems.append(
                problem(key, "HTTP's port \(http) is among the workers' ports \(text(media)); move one of them"))
        }
        if plain.contains(http) {
            let key = blame("http.listen", "media.plain.portRange")
            problems.append(
                problem(key, "HTTP's port \(http) is among the plain legs' ports \(text(plain)); move one of them"))
        }
        return problems
    }

    private func text(_ range: ClosedRange<Int>) -> String {
        range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound)-\(range.upperBound)"
    }

    // MARK: Addresses

    private func addressProblems() -> [ConfigurationProblem] {
        var problems = foreign("http.listen", [configuration.http.listen])
        problems += foreign("media.listen", configuration.media.listen ?? [])
        guard let announce = configuration.media.announce, let listen = configuration.media.listen else {
            return problems
        }
        for address in announce where !listen.contains(where: { $0.isIPv4 == address.isIPv4 }) {
            let family = address.isIPv4 ? "IPv4" : "IPv6"
            problems.append(
                problem(
                    "media.announce",
                    "\(address.host) is announced, but media.listen has no \(family) address to receive on")
            )
        }
        return problems
    }

    /// Addresses to listen on that the machine does not have.
    private func foreign(_ key: String, _ addresses: [TransportAddress]) -> [ConfigurationProblem] {
        guard let own = machine.addresses else { return [] }
        return addresses.compactMap { address in
            // All of 127.0.0.0/8 is the machine's, whatever its interfaces say.
            if address.isUnspecified || (address.isIPv4 && address.isLoopback) { return nil }
            if own.contains(where: { $0.isSameHost(as: address) }) { return nil }
            let hosts = own.map(\.host).joined(separator: ", ")
            return problem(key, "\(address.host) is not an address of this machine, which has \(hosts)")
        }
    }

    // MARK: Apps

    private func appProblems(requiresApps: Bool) -> [ConfigurationProblem] {
        var problems: [ConfigurationProblem] = []
        if requiresApps, configuration.apps.isEmpty {
            problems.append(
                problem(
                    "apps", "no app, so nobody could join; list id, accessKey and secret of at least one (or use --dev)"
                ))
        }
        var ids: [String: Int] = [:]
        // Apps may share an access key; but a key has one secret.
        var secrets: [String: (secret: String, index: Int)] = [:]
        for (index, app) in configuration.apps.enumerated() {
            let origin = origins["apps[\(index)]"] ?? origins["apps"] ?? .builtIn
            if let before = ids.updateValue(index, forKey: app.id) {
                problems.append(
                    ConfigurationProblem(
                        origin, key: "apps[\(index)].id", "\"\(app.id)\" is the id of apps[\(before)] too"))
            }
            if let before = secrets[app.accessKey], before.secret != app.secret {
                problems.append(
                    ConfigurationProblem(
                        origin, key: "apps[\(index)].secret",
                        "the access key \"\(app.accessKey)\" has another secret in apps[\(before.index)]"))
            }
            secrets[app.accessKey] = (app.secret, index)
        }
        return problems
    }
}
