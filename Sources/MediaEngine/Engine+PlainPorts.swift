import CNet
package import MediaContract
import MediaWire
import Synchronization

/// The ports of plain legs: bound on the caller's thread, then handed to the worker through its mailbox, so every command
/// that names them comes after.
extension Engine {
    package func openPlainPorts(worker: Int, rtcp: Bool, ipv6: Bool) -> PlainPorts? {
        let bound = ipv6 ? configuration.plainIPv6 ?? configuration.ipv6 : configuration.plainIPv4 ?? configuration.ipv4
        guard let address = bound, workers.indices.contains(worker) else { return nil }
        // Each attempt moves on through the range, so this many pass over every port once.
        for _ in 0..<configuration.plainPorts.count {
            guard let port = link.ports.withLock({ rtcp ? $0.leasePair() : $0.lease() }) else { return nil }
            if rtcp {
                guard let first = open(address.with(port: port)) else {
                    giveBack(port, port + 1)
                    continue
                }
                guard let second = open(address.with(port: port + 1)) else {
                    first.close()
                    giveBack(port, port + 1)
                    continue
                }
                let ids = (attach(first, to: worker), attach(second, to: worker))
                guard let rtpSocket = ids.0, let rtcpSocket = ids.1 else { return nil }
                return PlainPorts(socket: rtpSocket, port: port, rtcpSocket: rtcpSocket, rtcpPort: port + 1)
            }
            guard let socket = open(address.with(port: port)) else {
                giveBack(port)
                continue
            }
            guard let id = attach(socket, to: worker) else { return nil }
            return PlainPorts(socket: id, port: port, rtcpSocket: id, rtcpPort: port)
        }
        return nil
    }

    package func close(_ ports: PlainPorts, worker: Int) {
        workers[worker].post(.detach(ports.socket))
        if ports.rtcpSocket != ports.socket { workers[worker].post(.detach(ports.rtcpSocket)) }
    }

    /// `nil`: somebody else has the port, or there is no such address.
    private func open(_ address: TransportAddress) -> UDPSocket? {
        let options = UDPSocket.Options(
            receiveBuffer: configuration.plainReceiveBufferSize, sendBuffer: configuration.plainSendBufferSize,
            errorQueue: true)
        return try? UDPSocket(boundTo: address, options)
    }

    private func giveBack(_ ports: UInt16...) {
        link.ports.withLock { pool in
            for port in ports { pool.release(port) }
        }
    }

    /// Hands the socket over; from then on the worker closes it and gives its port back. `nil`: the engine has stopped.
    private func attach(_ socket: UDPSocket, to worker: Int) -> SocketID? {
        let serial = nextSocketSerial.wrappingAdd(1, ordering: .relaxed).oldValue
        let slot = SocketID.firstPlainSlot + link.ports.withLock { $0.slot(of: socket.address.port) }
        let id = SocketID(serial: serial, slot: slot)
        guard workers[worker].post(.attach(id, socket)) else {
            socket.close()
            giveBack(socket.address.port)
            return nil
        }
        return id
    }
}
