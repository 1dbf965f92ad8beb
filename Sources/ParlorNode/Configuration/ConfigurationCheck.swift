import MediaWire

/// The checks that need more than one value.
struct ConfigurationCheck {
    var configuration: NodeConfiguration
    var origins: [String: ConfigurationOrigin]
    var machine: ConfigurationLoader.Machine

    func problems(requiresApps: Bool) -> [ConfigurationProblem] {
        portProblems() + addressProblems() + tlsProblems() + appProblems(requiresApps: requiresApps)
            + adminProblems(requiresApps: requiresApps) + limitProblems() + iceServerProblems()
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
        // TCP and UDP do not collide; but a media port has TCP beside it on the same number, or may get it.
        var doors = [(key: "http.listen", name: "HTTP", address: configuration.http.listen)]
        if let tls = configuration.http.tls.listen { doors.append(("http.tls.listen", "HTTPS", tls)) }
        for (key, name, address) in doors {
            let port = Int(address.port)
            if media.contains(port) {
                let key = blame(key, "media.port", "media.workers")
                problems.append(
                    problem(key, "\(name)'s port \(port) is among the workers' ports \(text(media)); move one of them"))
            }
            if plain.contains(port) {
                let key = blame(key, "media.plain.portRange")
                problems.append(
                    problem(
                        key, "\(name)'s port \(port) is among the plain legs' ports \(text(plain)); move one of them"))
            }
        }
        if doors.count == 2, doors[0].address.port == doors[1].address.port,
            doors[0].address.isSameHost(as: doors[1].address) || doors.contains(where: \.address.isUnspecified)
        {
            let key = blame("http.tls.listen", "http.listen")
            problems.append(problem(key, "HTTP and HTTPS both want port \(doors[0].address.port); move one of them"))
        }
        return problems
    }

    private func text(_ range: ClosedRange<Int>) -> String {
        range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound)-\(range.upperBound)"
    }

    // MARK: Addresses

    private func addressProblems() -> [ConfigurationProblem] {
        var problems = foreign("http.listen", [configuration.http.listen])
        if let tls = configuration.http.tls.listen { problems += foreign("http.tls.listen", [tls]) }
        problems += foreign("media.listen", configuration.media.listen ?? [])
        guard let announce = configuration.media.announce, let listen = configuration.media.listen else {
            return problems
        }
        for case .address(let address) in announce where !listen.contains(where: { $0.isIPv4 == address.isIPv4 }) {
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

    // MARK: TLS

    private func tlsProblems() -> [ConfigurationProblem] {
        let tls = configuration.http.tls
        // Where HTTPS is off, a certificate that stands there for later does no harm.
        guard tls.listen != nil else { return [] }
        switch (tls.certificate, tls.key) {
        case (nil, _):
            let wanted = "give the PEM file of a certificate, or \(NodeConfiguration.CertificateChoice.selfSignedName)"
            return [
                ConfigurationProblem(
                    origins["http.tls.listen"] ?? .builtIn, key: "http.tls.certificate", "missing; \(wanted)")
            ]
        case (.file?, nil):
            return [
                ConfigurationProblem(
                    origins["http.tls.certificate"] ?? .builtIn, key: "http.tls.key",
                    "missing; give the PEM file of the certificate's key")
            ]
        case (.selfSigned?, .some):
            return [problem("http.tls.key", "a self-signed certificate has a key of its own; leave this one out")]
        default: return []
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

    /// A custom message travels in a frame, escaped as JSON and with names around it.
    private func limitProblems() -> [ConfigurationProblem] {
        let limits = configuration.limits
        guard limits.message > limits.signallingFrame / 2 else { return [] }
        return [
            problem(
                blame("limits.message", "limits.signallingFrame"),
                "a message of \(Numbers.size(limits.message)) does not fit into a WebSocket frame of "
                    + "\(Numbers.size(limits.signallingFrame)) with what stands around it; keep to half of it")
        ]
    }

    /// A TURN server lets nobody in who shows nothing, and browsers refuse to try (W3C WebRTC, RTCIceServer).
    private func iceServerProblems() -> [ConfigurationProblem] {
        var problems: [ConfigurationProblem] = []
        for (index, server) in configuration.media.iceServers.enumerated() {
            let path = "media.iceServers[\(index)]"
            func add(_ key: String, _ message: String) {
                problems.append(
                    ConfigurationProblem(origins[path] ?? .builtIn, key: "\(path).\(key)", message))
            }
            let hasTURN = server.urls.contains { $0.hasPrefix("turn") }
            switch (server.username, server.credential, server.secret) {
            case (nil, nil, nil) where hasTURN:
                add("username", "missing; a TURN server needs username and credential, or secret")
            case (nil, nil, _), (.some, .some, nil): break
            case (_, _, .some):
                add("secret", "takes the place of username and credential; leave one of the two ways out")
            case (nil, .some, nil): add("username", "missing; it goes with credential")
            case (.some, nil, nil): add("credential", "missing; it goes with username")
            }
        }
        let count = configuration.media.iceServers.reduce(0) { $0 + $1.urls.count }
        if count > NodeConfiguration.ICEServer.maximumURLs {
            let most = NodeConfiguration.ICEServer.maximumURLs
            problems.append(problem("media.iceServers", "\(count) URLs; give at most \(most)"))
        }
        return problems
    }

    private func adminProblems(requiresApps: Bool) -> [ConfigurationProblem] {
        guard requiresApps, let key = configuration.admin.accessKey,
            !configuration.apps.contains(where: { $0.accessKey == key })
        else { return [] }
        return [problem("admin.accessKey", "\"\(key)\" is no app's access key, so it has no secret to sign with")]
    }
}
