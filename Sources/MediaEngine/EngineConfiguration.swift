package import MediaTransport
package import MediaWire

extension Engine {
    /// What the engine listens on and how it works. Values are taken as they are; who reads them from a file checks them.
    package struct Configuration: Sendable {
        /// Where the shared sockets listen; the ports of these addresses are not used. `nil`: not at all.
        package var ipv4: TransportAddress? = TransportAddress(ipv4: 0x7F00_0001, port: 0)
        package var ipv6: TransportAddress?
        /// The machine's own addresses, other than loopback. Where `ipv4` or `ipv6` stands for all and there are several of that family, each gets
        /// a shared socket of its own beside the one for all, so that what leaves has the address that the client has asked: which
        /// one the kernel would choose is a matter of routes. Those beyond `SocketID.sharedLimit` do without.
        package var localAddresses: [TransportAddress] = []
        /// Worker i listens on `mediaPort + i`, for both families. 0: ports of the kernel's choice.
        package var mediaPort: UInt16 = 7900
        /// Whether clients may come by TCP, too, on the same addresses and port numbers (ICE-TCP, RFC 6544).
        package var tcp = true
        package var streams = StreamLimits()
        /// Where the ports of plain legs are bound; `nil`: at `ipv4` and `ipv6`.
        package var plainIPv4: TransportAddress?
        package var plainIPv6: TransportAddress?
        /// The UDP ports of plain legs, for all workers and both families together.
        package var plainPorts: ClosedRange<UInt16> = 8000...8499
        /// Threads; 0: as many as there are processors for this process.
        package var workers = 0
        /// Pins worker i to the i-th processor of this process.
        package var pinsThreads = false
        /// SO_RCVBUF and SO_SNDBUF of the shared sockets, in bytes: 0.1 s of 300 Mbit/s in, 0.05 s of it out.
        package var receiveBufferSize = 4 << 20
        package var sendBufferSize = 2 << 20
        /// The same for a plain leg's socket, which carries one peer.
        package var plainReceiveBufferSize = 1 << 20
        package var plainSendBufferSize = 1 << 20
        /// The longest time for which datagrams are let collect as the core fills; zero: never.
        package var collecting = MediaDuration.milliseconds(1)
        /// Whether runs to one destination leave as one UDP_SEGMENT message, where the kernel can.
        package var segmentation = true
        /// What seals outgoing packets: `auto`, `multibuffer` or `evp`.
        package var sealing = "auto"
        /// The node's end of DTLS; `nil`: there are no WebRTC transports.
        package var dtls: DTLSContext?

        package init() {}
    }

    /// Why the engine could not start.
    package enum StartError: Error, Equatable, CustomStringConvertible {
        /// The UDP address of a worker could not be bound.
        case listen(TransportAddress, SystemError)
        /// The same number could not be bound for TCP.
        case listenTCP(TransportAddress, SystemError)
        /// The last worker's port would be above 65535.
        case portOutOfRange(first: UInt16, workers: Int)
        /// Neither an IPv4 nor an IPv6 address to listen on.
        case noAddress
        /// libipsec-mb was asked for, and is not here or does not run on this processor.
        case noMultiBuffer
        /// Not a name of `Configuration.sealing`.
        case unknownSealing(String)
        /// No descriptors, memory or threads left.
        case resources(SystemError)

        package var description: String {
            switch self {
            case .listen(let address, let error): "cannot listen on UDP \(address): \(error)"
            case .listenTCP(let address, let error): "cannot listen on TCP \(address): \(error)"
            case .portOutOfRange(let first, let workers):
                "\(workers) workers from media port \(first) on would need ports above 65535"
            case .noAddress: "the media engine has no address to listen on"
            case .noMultiBuffer: "libipsec-mb is not here, or not for this processor"
            case .unknownSealing(let name): "nothing seals under the name \(name)"
            case .resources(let error): "the media engine cannot start: \(error)"
            }
        }
    }

    /// Something worth a line in the log, said once.
    package enum Notice: Sendable, Equatable, CustomStringConvertible {
        /// The kernel refused a UDP_SEGMENT message; the worker sends datagram by datagram from now on.
        case segmentationRefused(worker: Int, SystemError)
        /// Receiving fails for another reason than an empty socket.
        case receiveFailed(worker: Int, SystemError)
        /// There are no descriptors or no memory for clients that come by TCP; they wait.
        case acceptFailed(worker: Int, SystemError)

        package var description: String {
            switch self {
            case .segmentationRefused(let worker, let error):
                "worker \(worker): the kernel refused a segmented send (\(error)); segmentation is off from now on"
            case .receiveFailed(let worker, let error):
                "worker \(worker): receiving failed (\(error))"
            case .acceptFailed(let worker, let error):
                "worker \(worker): clients that come by TCP have to wait (\(error)); raise the limit of open files"
            }
        }
    }
}
