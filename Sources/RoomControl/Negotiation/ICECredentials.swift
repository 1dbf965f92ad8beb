package import MediaContract
package import MediaWire
package import RoomProtocol

extension ICECredentials {
    /// As signalling carries them. The node is an ICE-lite agent (RFC 8445, section 2.5).
    package var parameters: ICEParameters {
        ICEParameters(usernameFragment: usernameFragment, password: password, iceLite: true)
    }
}

/// Where clients find the node.
package enum HostCandidates {
    /// One UDP host candidate for each address, the first one preferred.
    ///
    /// - Parameters:
    ///   - policy: what the client asked for; for `forceTCP` there is none.
    ///   - announced: the node's addresses as clients reach them, in the order of preference. Ports do not count; an address
    ///     that stands twice counts once, one that is unspecified or multicast not at all.
    ///   - port: where the worker listens; 0: nowhere, and there is no candidate.
    package static func candidates(
        policy: CandidatePolicy, announced: [TransportAddress], port: UInt16
    ) -> [ICECandidate] {
        guard policy != .forceTCP, port != 0 else { return [] }
        var hosts: [TransportAddress] = []
        for address in announced.lazy.map({ $0.unmapped.with(port: port) }) {
            guard !address.isUnspecified, !address.isMulticast, !hosts.contains(address) else { continue }
            hosts.append(address)
            if hosts.count == maximum { break }
        }
        return hosts.enumerated().map { index, host in
            ICECandidate(
                // Another one for each base (RFC 8445, section 5.1.1.3).
                foundation: "udp\(index + 1)", priority: priority(localPreference: UInt16.max - UInt16(index)),
                ip: host.host, protocol: "udp", port: Int(port))
        }
    }

    /// More addresses than this are not announced: each costs every client a row of checks.
    package static let maximum = 16

    /// RFC 8445, section 5.1.2.1, for a host candidate (type preference 126) of component 1.
    static func priority(localPreference: UInt16) -> UInt32 {
        126 << 24 | UInt32(localPreference) << 8 | (256 - 1)
    }
}
