import Glibc

/// A player's ports in the hands of the test: what came, in which order, and when the kernel took it in.
final class UDPTap {
    struct Datagram {
        /// Index of the port, from the first one on.
        var port: Int
        /// Nanoseconds of the system's clock.
        var time: Int64
        var bytes: [UInt8]
    }

    struct Failure: Error {
        var step: String
    }

    private let sockets: [Int32]
    private(set) var datagrams: [Datagram] = []

    init(_ ports: [UInt16]) throws(Failure) {
        var sockets: [Int32] = []
        for port in ports {
            let descriptor = socket(
                AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            guard descriptor >= 0 else { throw Failure(step: "socket") }
            sockets.append(descriptor)
            var on: Int32 = 1
            guard setsockopt(descriptor, SOL_SOCKET, SO_TIMESTAMPNS, &on, socklen_t(MemoryLayout<Int32>.size)) == 0,
                Loopback.bind(descriptor, port)
            else { throw Failure(step: "port \(port)") }
        }
        self.sockets = sockets
    }

    deinit { for descriptor in sockets { close(descriptor) } }

    /// Takes all that has come; returns how many.
    @discardableResult
    func drain() -> Int {
        let before = datagrams.count
        for (port, descriptor) in sockets.enumerated() {
            while let next = receive(descriptor) {
                datagrams.append(Datagram(port: port, time: next.time, bytes: next.bytes))
            }
        }
        return datagrams.count - before
    }

    private func receive(_ descriptor: Int32) -> (time: Int64, bytes: [UInt8])? {
        var bytes = [UInt8](repeating: 0, count: 2048)
        // One control message: size (8), level (4), type (4), then a timespec (16).
        var control = [Int64](repeating: 0, count: 8)
        let count = bytes.withUnsafeMutableBytes { data in
            control.withUnsafeMutableBytes { ancillary in
                var vector = iovec(iov_base: data.baseAddress, iov_len: data.count)
                return withUnsafeMutablePointer(to: &vector) { vector in
                    var message = msghdr()
                    message.msg_iov = vector
                    message.msg_iovlen = 1
                    message.msg_control = ancillary.baseAddress
                    message.msg_controllen = ancillary.count
                    return recvmsg(descriptor, &message, 0)
                }
            }
        }
        guard count >= 0 else { return nil }
        return (control[2] * 1_000_000_000 + control[3], Array(bytes[..<count]))
    }
}
