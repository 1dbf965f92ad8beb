package import MediaWire

/// Where the media sockets listen and what answers name, worked out from the configuration and the machine. Pure.
package struct NodeAddresses: Sendable, Equatable {
    package var ipv4: TransportAddress?
    package var ipv6: TransportAddress?
    /// The preferred ones first; those on loopback only serve clients on this machine.
    package var announced: [TransportAddress] = []
    package var warnings: [String] = []

    private static let anyIPv4 = TransportAddress(ipv4: 0, port: 0)
    private static let anyIPv6 = TransportAddress(high: 0, low: 0, port: 0, isIPv4: false)

    /// - Parameter machine: the addresses of the machine's interfaces.
    package init(_ media: NodeConfiguration.Media, machine: [TransportAddress]) {
        let hasIPv6 = machine.contains { !$0.isIPv4 }
        // A machine without IPv6 cannot be asked to listen on it, unless somebody insists.
        let listen = media.listen ?? (hasIPv6 ? [Self.anyIPv4, Self.anyIPv6] : [Self.anyIPv4])
        ipv4 = listen.first { $0.isIPv4 }
        ipv6 = listen.first { !$0.isIPv4 }

        announced = media.announce ?? []
        for address in listen {
            let own = machine.filter { $0.isIPv4 == address.isIPv4 }
            if media.announce == nil {
                if address.isUnspecified {
                    if let reachable = own.first(where: { !$0.isLoopback }) { announced.append(reachable) }
                } else {
                    announced.append(address)
                }
            }
            // Whoever is on this machine can be reached on loopback too, if we listen there.
            if address.isUnspecified, let loopback = own.first(where: \.isLoopback) { announced.append(loopback) }
        }
        if announced.allSatisfy(\.isLoopback), listen.contains(where: { !$0.isLoopback }) {
            warnings.append(
                "no address but loopback is announced: clients on other machines cannot send media here (see media.announce)"
            )
        }
    }
}
