import CNet
import Glibc
package import MediaWire

/// A client's own UDP socket. Who opened it closes it, or the engine that took it over.
package struct ClientSocket: Sendable {
    package let descriptor: Int32
    /// With the port that the kernel chose.
    package let address: TransportAddress
    /// Granted, in bytes.
    package let receiveBuffer: Int

    /// What a socket asks for: a second of 30 Mbit/s, so that a busy tester does not lose what it is to count.
    static let receiveBufferWanted: Int32 = 4 << 20
    static let sendBufferWanted: Int32 = 1 << 20

    /// Opens a socket at a free port of the address.
    package init(at address: TransportAddress) throws(ClientSystemError) {
        var local = parlor_address(address.with(port: 0))
        var wanted = parlor_udp_options(
            receive_buffer: Self.receiveBufferWanted, send_buffer: Self.sendBufferWanted, gro: 1, error_queue: 0)
        var opened = parlor_udp_socket()
        let result = parlor_udp_open(&local, &wanted, &opened)
        guard result >= 0 else { throw ClientSystemError(result: result) }
        let named = parlor_udp_local_address(opened.descriptor, &local)
        guard named >= 0 else {
            parlor_close(opened.descriptor)
            throw ClientSystemError(result: named)
        }
        descriptor = opened.descriptor
        receiveBuffer = Int(opened.receive_buffer)
        self.address = TransportAddress(local)
    }

    package func close() { parlor_close(descriptor) }

    /// SO_MEMINFO and its ninth word, SK_MEMINFO_DROPS (linux/sock_diag.h): Glibc's headers have no names for them.
    private static let memoryInformation: Int32 = 55
    private static let dropsWord = 8

    /// Datagrams (or GRO runs of them) that the kernel dropped because this socket's buffer was full.
    var drops: UInt64 {
        var words = [UInt32](repeating: 0, count: Self.dropsWord + 1)
        var length = socklen_t(words.count * 4)
        guard getsockopt(descriptor, SOL_SOCKET, Self.memoryInformation, &words, &length) == 0,
            Int(length) >= words.count * 4
        else { return 0 }
        return UInt64(words[Self.dropsWord])
    }
}

/// A system call that failed.
package struct ClientSystemError: Error, Equatable, CustomStringConvertible {
    /// The negated errno.
    package let result: Int32

    package var description: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { text in
            guard let start = text.baseAddress else { return "error \(-result)" }
            parlor_error_text(result, start, text.count)
            return String(cString: start)
        }
    }
}

extension parlor_address {
    init(_ address: TransportAddress) {
        self.init(high: address.high, low: address.low, port: address.port, is_ipv4: address.isIPv4 ? 1 : 0)
    }
}

extension TransportAddress {
    init(_ address: parlor_address) {
        self.init(high: address.high, low: address.low, port: address.port, isIPv4: address.is_ipv4 != 0)
    }
}
