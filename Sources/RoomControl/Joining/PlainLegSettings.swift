package import MediaWire

/// What the configuration says about plain SRTP legs.
package struct PlainLegSettings: Hashable, Sendable {
    /// Off unless the configuration allows them: keys in an SDP belong on TLS or loopback.
    package var areAllowed: Bool
    /// The node's addresses as clients reach them, the preferred ones first; ports are not used.
    package var announced: [TransportAddress]

    /// The UDP ports on which the node itself listens: no leg is sent there, or packets would go round for ever.
    package var ownPorts: [ClosedRange<UInt16>]

    package init(
        areAllowed: Bool = false, announced: [TransportAddress] = [], ownPorts: [ClosedRange<UInt16>] = []
    ) {
        self.areAllowed = areAllowed
        self.announced = announced
        self.ownPorts = ownPorts
    }

    /// Whether the node would send to itself.
    func isOwn(_ destination: TransportAddress) -> Bool {
        (destination.isLoopback || announced.contains { $0.isSameHost(as: destination) })
            && ownPorts.contains { $0.contains(destination.port) }
    }

    /// The first address of the family; one on loopback only for clients that are there, and preferred for them.
    func announcedAddress(ipv6: Bool, client: TransportAddress) -> TransportAddress? {
        let family = announced.filter { $0.isIPv4 != ipv6 }
        if client.isLoopback, let loopback = family.first(where: \.isLoopback) { return loopback }
        return family.first { !$0.isLoopback } ?? family.first
    }
}
