package import MediaWire

/// What the configuration says about plain SRTP legs.
package struct PlainLegSettings: Hashable, Sendable {
    /// Off unless the configuration allows them: keys in an SDP belong on TLS or loopback.
    package var areAllowed: Bool
    /// The node's addresses as clients reach them, the preferred ones first; ports are not used.
    package var announced: [TransportAddress]

    package init(areAllowed: Bool = false, announced: [TransportAddress] = []) {
        self.areAllowed = areAllowed
        self.announced = announced
    }

    /// The first address of the family; one on loopback only for clients that are there, and preferred for them.
    func announcedAddress(ipv6: Bool, client: TransportAddress) -> TransportAddress? {
        let family = announced.filter { $0.isIPv4 != ipv6 }
        if client.isLoopback, let loopback = family.first(where: \.isLoopback) { return loopback }
        return family.first { !$0.isLoopback } ?? family.first
    }
}
