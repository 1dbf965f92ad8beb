package import MediaWire
package import RoomProtocol

/// Where clients find the node.
package enum HostCandidates {
    /// For each address a UDP host candidate and, behind all of these, a passive TCP one (RFC 6544), the first addresses preferred.
    ///
    /// - Parameters:
    ///   - policy: what the client asked for.
    ///   - announced: the node's addresses as clients reach them, in the order of preference. Ports do not count; an address
    ///     that stands twice counts once, one that is unspecified or multicast not at all.
    ///   - port: where the worker listens; 0: nowhere, and there is no candidate.
    ///   - tcp: whether it listens on TCP, too, on the same number.
    package static func candidates(
        policy: CandidatePolicy, announced: [TransportAddress], port: UInt16, tcp: Bool = false
    ) -> [ICECandidate] {
        guard port != 0 else { return [] }
        var hosts: [String] = []
        for address in announced.lazy.map(\.unmapped) {
            guard !address.isUnspecified, !address.isMulticast, !hosts.contains(address.host) else { continue }
            hosts.append(address.host)
            if hosts.count == maximum { break }
        }
        var candidates: [ICECandidate] = []
        if policy != .forceTCP {
            candidates += hosts.enumerated().map { index, host in
                ICECandidate(
                    // Another one for each base (RFC 8445, section 5.1.1.3) and protocol.
                    foundation: "udp\(index + 1)", priority: udpPriority(index), ip: host, protocol: "udp",
                    port: Int(port))
            }
        }
        if tcp, policy != .forceUDP {
            candidates += hosts.enumerated().map { index, host in
                ICECandidate(
                    foundation: "tcp\(index + 1)", priority: tcpPriority(index), ip: host, protocol: "tcp",
                    port: Int(port), tcpType: "passive")
            }
        }
        return candidates
    }

    /// More addresses than this are not announced: each costs every client a row of checks.
    package static let maximum = 16

    /// RFC 8445, section 5.1.2.1, for component 1.
    private static func priority(typePreference: UInt32, localPreference: UInt32) -> UInt32 {
        typePreference << 24 | localPreference << 8 | (256 - 1)
    }

    /// A host candidate (type preference 126).
    static func udpPriority(_ index: Int) -> UInt32 {
        priority(typePreference: 126, localPreference: UInt32(UInt16.max) - UInt32(clamping: index))
    }

    /// RFC 6544, section 4.2: the type preference of TCP is lower than that of UDP, 90 being what browsers take; the local preference has
    /// the direction in its upper three bits (4: passive) and 13 bits for what else is to be preferred.
    static func tcpPriority(_ index: Int) -> UInt32 {
        priority(typePreference: 90, localPreference: (4 << 13) + (0x1FFF - UInt32(clamping: index)))
    }
}
