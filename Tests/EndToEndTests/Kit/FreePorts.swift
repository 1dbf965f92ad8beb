import Glibc
import Synchronization

/// Ports of loopback that nobody has just now. They lie below the range from which the system itself takes ports for
/// outgoing sockets, and start at random places, so that two test runs hardly meet: 10000 to 23999; MediaEngineTests has
/// 24000 to 27999, ParlorNodeTests 28000 to 31999.
enum FreePorts {
    struct NoneFree: Error {}

    /// What was given out. A node has opened few of its plain ports at a time: the others look free and are its own.
    private static let given = Mutex<[ClosedRange<UInt16>]>([])

    /// So many in a row, free for UDP (and the first one for TCP too), beginning with an even one.
    static func row(of count: Int) throws(NoneFree) -> UInt16 {
        for _ in 0..<200 {
            let first = UInt16.random(in: 5_000..<12_000) * 2
            let ports = (0..<count).map { first + UInt16($0) }
            let row = first...(first + UInt16(max(count, 1) - 1))
            guard !given.withLock({ $0.contains { $0.overlaps(row) } }) else { continue }
            if isFree(first, SOCK_STREAM), ports.allSatisfy({ isFree($0, SOCK_DGRAM) }) {
                given.withLock { $0.append(row) }
                return first
            }
        }
        throw NoneFree()
    }

    private static func isFree(_ port: UInt16, _ type: __socket_type) -> Bool {
        let descriptor = socket(AF_INET, Int32(type.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return Loopback.bind(descriptor, port)
    }
}

/// Socket calls with an address of 127.0.0.1.
enum Loopback {
    static func bind(_ descriptor: Int32, _ port: UInt16) -> Bool {
        with(port) { Glibc.bind(descriptor, $0, $1) } == 0
    }

    static func connect(_ descriptor: Int32, _ port: UInt16) -> Bool {
        with(port) { Glibc.connect(descriptor, $0, $1) } == 0
    }

    private static func with(_ port: UInt16, _ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                call($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
