import Glibc
package import MediaWire

/// Names looked up by the system's resolver. Blocks: for the start, and for a thread that nothing waits for.
package enum HostNames {
    /// What came of a name.
    package enum Found: Equatable, Sendable {
        /// Its addresses in the resolver's order, at least one; ports are 0.
        case addresses([TransportAddress])
        /// The resolver's words.
        case nothing(String)
    }

    package static func look(up name: String) -> Found {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let result = getaddrinfo(name, nil, &hints, &list)
        guard result == 0 else { return .nothing(String(cString: gai_strerror(result))) }
        defer { freeaddrinfo(list) }
        var addresses: [TransportAddress] = []
        var next = list
        while let entry = next {
            next = entry.pointee.ai_next
            guard let name = entry.pointee.ai_addr else { continue }
            let bytes = UnsafeRawBufferPointer(start: name, count: Int(entry.pointee.ai_addrlen))
            guard let address = SocketName.address(bytes)?.with(port: 0).unmapped, !address.isUnspecified,
                !address.isMulticast, !addresses.contains(address)
            else { continue }
            addresses.append(address)
        }
        return addresses.isEmpty ? .nothing("no address that could be announced") : .addresses(addresses)
    }

    /// All names of a list of hosts.
    package static func look(
        up hosts: [AnnouncedHost]?, by lookUp: (String) -> Found = HostNames.look(up:)
    ) -> [String: Found] {
        var found: [String: Found] = [:]
        for case .name(let name) in hosts ?? [] { found[name] = lookUp(name) }
        return found
    }
}
