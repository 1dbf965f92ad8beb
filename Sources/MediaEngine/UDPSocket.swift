import CNet
import MediaWire

/// An open UDP socket: what CNet granted, and where it is bound. The owner closes it.
struct UDPSocket: Sendable {
    let descriptor: Int32
    /// The bound address, with the port that the kernel chose if none was given.
    let address: TransportAddress
    /// Granted buffer sizes in bytes.
    let receiveBuffer: Int
    let sendBuffer: Int
    /// Whether ICMP errors are queued with their destination.
    let hasErrorQueue: Bool

    struct Options {
        var receiveBuffer: Int
        var sendBuffer: Int
        var errorQueue: Bool
    }

    /// - Parameter all: a socket that holds the port for all addresses of the machine; the new one takes over its own.
    init(
        boundTo address: TransportAddress, _ options: Options, beside all: UDPSocket? = nil
    ) throws(SystemError) {
        var local = parlor_address(address)
        var wanted = parlor_udp_options(
            receive_buffer: Int32(clamping: options.receiveBuffer), send_buffer: Int32(clamping: options.sendBuffer),
            gro: 1, error_queue: options.errorQueue ? 1 : 0)
        var opened = parlor_udp_socket()
        if let all {
            try SystemError.check(parlor_udp_open_beside(all.descriptor, &local, &wanted, &opened))
        } else {
            try SystemError.check(parlor_udp_open(&local, &wanted, &opened))
        }
        let result = parlor_udp_local_address(opened.descriptor, &local)
        if result < 0 {
            parlor_close(opened.descriptor)
            throw SystemError(result: result)
        }
        descriptor = opened.descriptor
        self.address = TransportAddress(local)
        receiveBuffer = Int(opened.receive_buffer)
        sendBuffer = Int(opened.send_buffer)
        hasErrorQueue = options.errorQueue
    }

    func close() { parlor_close(descriptor) }
}

/// A system call that failed.
package struct SystemError: Error, Equatable, CustomStringConvertible {
    /// The negated errno.
    package let result: Int32

    package init(result: Int32) { self.result = result }

    package var description: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { text in
            guard let start = text.baseAddress else { return "error \(-result)" }
            parlor_error_text(result, start, text.count)
            return String(cString: start)
        }
    }

    @discardableResult
    static func check(_ result: Int32) throws(SystemError) -> Int32 {
        precondition(result != PARLOR_BAD_DESCRIPTOR, "a descriptor is used that is not open")
        guard result >= 0 else { throw SystemError(result: result) }
        return result
    }
}

extension parlor_address {
    @inline(__always)
    init(_ address: TransportAddress) {
        self.init(high: address.high, low: address.low, port: address.port, is_ipv4: address.isIPv4 ? 1 : 0)
    }
}

extension TransportAddress {
    @inline(__always)
    init(_ address: parlor_address) {
        self.init(high: address.high, low: address.low, port: address.port, isIPv4: address.is_ipv4 != 0)
    }
}
