import CNet
import MediaWire

/// A TCP socket on which ICE-TCP clients arrive. The owner closes it.
struct StreamListener: Sendable {
    /// Connections that the kernel completes before the worker takes them.
    private static var backlog: Int32 { 512 }

    let descriptor: Int32
    /// The bound address, with the port that the kernel chose if none was given.
    let address: TransportAddress

    init(boundTo address: TransportAddress) throws(SystemError) {
        var local = parlor_address(address)
        descriptor = try SystemError.check(parlor_tcp_listen(&local, Self.backlog))
        let result = parlor_udp_local_address(descriptor, &local)
        if result < 0 {
            parlor_close(descriptor)
            throw SystemError(result: result)
        }
        self.address = TransportAddress(local)
    }

    func close() { parlor_close(descriptor) }
}
