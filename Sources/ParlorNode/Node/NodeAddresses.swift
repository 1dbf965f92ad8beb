package import MediaWire

/// Where the media sockets listen and what answers name, worked out from the configuration, the machine and what the resolver said.
/// Pure.
package struct NodeAddresses: Sendable, Equatable {
    package var ipv4: TransportAddress?
    package var ipv6: TransportAddress?
    /// What WebRTC clients are told, the preferred ones first; they try them all.
    package var candidates: [TransportAddress] = []
    /// What plain clients are told, one of the right family, the preferred ones first; those on loopback only serve clients on
    /// this machine.
    package var announced: [TransportAddress] = []
    package var warnings: [String] = []
    /// Why nothing can be announced that was asked for; then the node must not start.
    package var failure: String?

    private static let anyIPv4 = TransportAddress(ipv4: 0, port: 0)
    private static let loopback = TransportAddress(ipv4: 0x7F00_0001, port: 0)
    private static let anyIPv6 = TransportAddress(high: 0, low: 0, port: 0, isIPv4: false)

    /// - Parameters:
    ///   - machine: the addresses of the machine's interfaces.
    ///   - names: what came of the names in `media.announce`.
    package init(
        _ media: NodeConfiguration.Media, machine: [TransportAddress], names: [String: HostNames.Found] = [:]
    ) {
        let hasIPv6 = machine.contains { !$0.isIPv4 }
        // A machine without IPv6 cannot be asked to listen on it, unless somebody insists.
        let listen = media.listen ?? (hasIPv6 ? [Self.anyIPv4, Self.anyIPv6] : [Self.anyIPv4])
        ipv4 = listen.first { $0.isIPv4 }
        ipv6 = listen.first { !$0.isIPv4 }

        for host in media.announce ?? [.auto] { announce(host, listen, machine, names) }
        if let announce = media.announce, candidates.isEmpty, announce.contains(where: \.isParticular) {
            let hosts = announce.map(\.description).joined(separator: ", ")
            failure = (["nothing can be announced of \(hosts)"] + warnings).joined(separator: "; ")
        }
        // Whoever is on this machine can be reached on loopback too, if we listen there.
        let loopback = Self.own(machine, listen).filter(\.isLoopback)
        announced = candidates + loopback.filter { !candidates.contains($0) }
        if candidates.isEmpty { candidates = loopback }
        if announced.allSatisfy(\.isLoopback), listen.contains(where: { !$0.isLoopback }) {
            warnings.append(
                "no address but loopback is announced: clients on other machines cannot send media here (see media.announce)"
            )
        }
    }

    private mutating func announce(
        _ host: AnnouncedHost, _ listen: [TransportAddress], _ machine: [TransportAddress],
        _ names: [String: HostNames.Found]
    ) {
        switch host {
        case .address(let address): add([address], of: host)
        case .name(let name):
            switch names[name] {
            case .addresses(let addresses): add(addresses, of: host)
            case .nothing(let reason): warnings.append("\(name) is not announced: \(reason)")
            case nil: warnings.append("\(name) is not announced: it was not looked up")
            }
        case .auto:
            for address in listen {
                let own = Self.own(machine, [address])
                add(own.first { !$0.isLoopback || !address.isUnspecified }.map { [$0] } ?? [], of: host)
            }
        case .all:
            let own = Self.own(machine, listen)
            add(own.filter { !$0.isLoopback } + own.filter(\.isLoopback), of: host)
        }
    }

    /// Leaves out what is there already and families that nobody listens for.
    private mutating func add(_ addresses: [TransportAddress], of host: AnnouncedHost) {
        let usable = addresses.filter { $0.isIPv4 ? ipv4 != nil : ipv6 != nil }
        if usable.isEmpty, let address = addresses.first {
            let family = address.isIPv4 ? "IPv4" : "IPv6"
            warnings.append("\(host) is not announced: the node listens on no \(family) address")
        }
        for address in usable where !candidates.contains(address) { candidates.append(address) }
    }

    /// The addresses that listening there comes to: all of the family, or the one.
    private static func own(_ machine: [TransportAddress], _ listen: [TransportAddress]) -> [TransportAddress] {
        listen.flatMap { address in
            guard address.isUnspecified else { return [address] }
            let family = machine.filter { $0.isIPv4 == address.isIPv4 }
            // All of 127.0.0.0/8 is the machine's, whatever its interfaces say.
            return address.isIPv4 && !family.contains(where: \.isLoopback) ? family + [Self.loopback] : family
        }
    }
}
