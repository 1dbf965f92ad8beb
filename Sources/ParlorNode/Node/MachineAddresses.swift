import Glibc
import MediaWire

/// The addresses of the machine's interfaces that are up.
enum MachineAddresses {
    /// In the order of the interfaces; ports are 0. IPv6 link-local addresses are left out: they mean nothing without a zone.
    static func all() -> [TransportAddress] {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return [] }
        defer { freeifaddrs(list) }
        var addresses: [TransportAddress] = []
        var next = list
        while let entry = next {
            next = entry.pointee.ifa_next
            guard entry.pointee.ifa_flags & UInt32(IFF_UP) != 0, let name = entry.pointee.ifa_addr else { continue }
            let bytes: UnsafeRawBufferPointer
            switch Int32(name.pointee.sa_family) {
            case AF_INET: bytes = UnsafeRawBufferPointer(start: name, count: MemoryLayout<sockaddr_in>.size)
            case AF_INET6: bytes = UnsafeRawBufferPointer(start: name, count: MemoryLayout<sockaddr_in6>.size)
            default: continue
            }
            guard let address = SocketName.address(bytes)?.with(port: 0), !isLinkLocal(address) else { continue }
            if !addresses.contains(address) { addresses.append(address) }
        }
        return addresses
    }

    /// fe80::/10 (RFC 4291, section 2.5.6).
    private static func isLinkLocal(_ address: TransportAddress) -> Bool {
        !address.isIPv4 && address.high >> 54 == 0xFE80 >> 6
    }
}

/// The kernel's form of an address.
enum SocketName {
    /// `nil` for a family other than IPv4 and IPv6.
    static func address(_ bytes: UnsafeRawBufferPointer) -> TransportAddress? {
        guard bytes.count >= MemoryLayout<sockaddr_in>.size else { return nil }
        switch Int32(bytes.loadUnaligned(as: sa_family_t.self)) {
        case AF_INET:
            let name = bytes.loadUnaligned(as: sockaddr_in.self)
            return TransportAddress(
                ipv4: UInt32(bigEndian: name.sin_addr.s_addr), port: UInt16(bigEndian: name.sin_port))
        case AF_INET6 where bytes.count >= MemoryLayout<sockaddr_in6>.size:
            let name = bytes.loadUnaligned(as: sockaddr_in6.self)
            return withUnsafeBytes(of: name.sin6_addr) { ip in
                TransportAddress(
                    high: UInt64(bigEndian: ip.loadUnaligned(as: UInt64.self)),
                    low: UInt64(bigEndian: ip.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
                    port: UInt16(bigEndian: name.sin6_port), isIPv4: false)
            }
        default: return nil
        }
    }
}
