import CNet
import MediaContract
import MediaWire

/// What a worker listens on: the shared UDP sockets, some of them at single addresses of the machine, and, on the same numbers, the TCP
/// listeners.
struct WorkerSockets: Sendable {
    var shared: [(id: SocketID, socket: UDPSocket)] = []
    var listeners: [StreamListener] = []
    /// Behind `sharedIPv4` and `sharedIPv6`.
    private var nextOwn: UInt64 = 2

    /// How often another number is tried where the kernel's choice for UDP is taken for TCP.
    private static var attempts: Int { 16 }

    init() {}

    /// Binds all of one worker's.
    init(_ configuration: Engine.Configuration, worker: Int) throws(Engine.StartError) {
        let port = configuration.mediaPort == 0 ? 0 : configuration.mediaPort + UInt16(worker)
        do throws(Engine.StartError) {
            for (id, address) in [(SocketID.sharedIPv4, configuration.ipv4), (.sharedIPv6, configuration.ipv6)] {
                guard let address = address?.with(port: port) else { continue }
                try open(id, address, configuration)
                if address.isUnspecified { openOwn(beside: shared[shared.count - 1].socket, configuration) }
            }
        } catch {
            close()
            throw error
        }
    }

    private mutating func open(
        _ id: SocketID, _ address: TransportAddress, _ configuration: Engine.Configuration
    ) throws(Engine.StartError) {
        let options = UDPSocket.Options(
            receiveBuffer: configuration.receiveBufferSize, sendBuffer: configuration.sendBufferSize,
            errorQueue: false)
        for attempt in 1...Self.attempts {
            let socket: UDPSocket
            do throws(SystemError) { socket = try UDPSocket(boundTo: address, options) } catch {
                throw .listen(address, error)
            }
            guard configuration.tcp else {
                shared.append((id, socket))
                return
            }
            do throws(SystemError) {
                listeners.append(try StreamListener(boundTo: socket.address))
                shared.append((id, socket))
                return
            } catch {
                socket.close()
                guard address.port == 0, error.result == PARLOR_ADDRESS_IN_USE, attempt < Self.attempts else {
                    throw .listenTCP(socket.address, error)
                }
            }
        }
    }

    /// One more socket on the same port for each of the machine's addresses, if there are several; one that cannot be bound (any more) is
    /// served by the socket for all.
    private mutating func openOwn(beside all: UDPSocket, _ configuration: Engine.Configuration) {
        var own: [TransportAddress] = []
        for address in configuration.localAddresses
        where address.isIPv4 == all.address.isIPv4 && !address.isUnspecified {
            let address = address.with(port: all.address.port)
            if !own.contains(address) { own.append(address) }
        }
        guard own.count > 1 else { return }
        let options = UDPSocket.Options(
            receiveBuffer: configuration.receiveBufferSize, sendBuffer: configuration.sendBufferSize,
            errorQueue: false)
        for address in own where nextOwn < SocketID.sharedLimit {
            guard let socket = try? UDPSocket(boundTo: address, options, beside: all) else { continue }
            shared.append((SocketID(nextOwn), socket))
            nextOwn += 1
        }
    }

    func close() {
        for entry in shared { entry.socket.close() }
        for listener in listeners { listener.close() }
    }
}
