import Glibc
import MediaWire

/// What the client commands ask of the machine's network.
enum LocalNetwork {
    /// The literal address of the node that answers TCP, and our own address on the way to it.
    struct Route {
        var node: TransportAddress
        var own: TransportAddress
    }

    /// Connects, looks at both ends, and closes: so the offer can name the address that the node will see.
    static func route(to host: String, port: UInt16) throws(CommandFailure) -> Route {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), &hints, &list)
        guard code == 0 else { throw CommandFailure("\(host): \(String(cString: gai_strerror(code)))") }
        defer { freeaddrinfo(list) }
        var problem = "no address"
        var next = list
        while let entry = next {
            next = entry.pointee.ai_next
            let descriptor = socket(
                entry.pointee.ai_family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            // The whole attempt is bounded: SO_SNDTIMEO bounds connect on Linux.
            var limit = timeval(tv_sec: 5, tv_usec: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
            guard connect(descriptor, entry.pointee.ai_addr, entry.pointee.ai_addrlen) == 0 else {
                problem = String(cString: strerror(errno))
                continue
            }
            if let own = address(of: descriptor, getsockname), let node = address(of: descriptor, getpeername) {
                return Route(node: node.unmapped, own: own.unmapped)
            }
        }
        throw CommandFailure("cannot reach \(host):\(port): \(problem) (is the node running? see --url)")
    }

    /// So many pairs of free UDP ports at the address, each an even one and the next: from the given one on.
    static func freePairs(_ count: Int, at address: TransportAddress, from first: UInt16) throws(CommandFailure)
        -> [UInt16]
    {
        var found: [UInt16] = []
        var port = Int(first) + Int(first) % 2
        while found.count < count, port + 1 <= 65535 {
            if isFree(address.with(port: UInt16(port))), isFree(address.with(port: UInt16(port + 1))) {
                found.append(UInt16(port))
            }
            port += 2
        }
        guard found.count == count else { throw CommandFailure("no free UDP ports from \(first) on") }
        return found
    }

    private static func isFree(_ address: TransportAddress) -> Bool {
        let descriptor = socket(
            address.isIPv4 ? AF_INET : AF_INET6, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        if address.isIPv4 {
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            name.sin_port = address.port.bigEndian
            name.sin_addr.s_addr = UInt32(truncatingIfNeeded: address.low).bigEndian
            return withUnsafeBytes(of: &name) { bind(descriptor, $0) }
        }
        var name = sockaddr_in6()
        name.sin6_family = sa_family_t(AF_INET6)
        name.sin6_port = address.port.bigEndian
        withUnsafeMutableBytes(of: &name.sin6_addr) { bytes in
            bytes.storeBytes(of: address.high.bigEndian, as: UInt64.self)
            bytes.storeBytes(of: address.low.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
        return withUnsafeBytes(of: &name) { bind(descriptor, $0) }
    }

    private static func bind(_ descriptor: Int32, _ name: UnsafeRawBufferPointer) -> Bool {
        guard let start = name.baseAddress else { return false }
        return Glibc.bind(descriptor, start.assumingMemoryBound(to: sockaddr.self), socklen_t(name.count)) == 0
    }

    private static func address(
        of descriptor: Int32,
        _ call: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> TransportAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call(descriptor, $0, &length) }
        }
        guard result == 0 else { return nil }
        return withUnsafeBytes(of: &storage) { SocketName.address($0) }
    }
}
