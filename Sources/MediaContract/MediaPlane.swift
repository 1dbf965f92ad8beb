import MediaWire

/// The media plane as the control plane sees it: workers that take commands and report events. Real: `MediaEngine.Engine`;
/// in tests of rooms: a recorder with a manual clock.
package protocol MediaPlane: Sendable {
    /// Number of workers, at least 1; workers are named 0..<workerCount.
    var workerCount: Int { get }

    /// The worker with the least to do: where the next room goes.
    func leastLoadedWorker() -> Int

    /// Binds a UDP port of the plain range for one leg (an even one and the next when `rtcp`), on the given worker. The port is open when
    /// this returns, so an answer may name it; it closes with the transport that uses it, or by `close`.
    /// `nil`: the range is used up.
    func openPlainPorts(worker: Int, rtcp: Bool, ipv6: Bool) -> PlainPorts?

    /// Gives back ports that no transport was made for.
    func close(_ ports: PlainPorts, worker: Int)

    /// Never waits.
    func post(_ command: MediaCommand, to worker: Int)

    /// Posts `removePeer` and waits for its ticket. False: not done after a second; the removal is still pending, and
    /// a repeated call for the same peer waits for the same ticket.
    func removePeer(_ peer: PeerID, worker: Int) async -> Bool

    /// A copy of the worker's figures; `nil` if it did not answer within a second.
    func snapshot(worker: Int) async -> MediaSnapshot?

    /// All workers' events, in the order each worker reported them. One reader.
    var events: AsyncStream<MediaEventBatch> { get }
}

package struct MediaEventBatch: Sendable {
    package var worker: Int
    package var events: [MediaEvent]
    package init(worker: Int, events: [MediaEvent]) {
        self.worker = worker
        self.events = events
    }
}

/// An open port, or two, of a plain leg.
package struct PlainPorts: Hashable, Sendable {
    package var socket: SocketID
    package var port: UInt16
    /// The same as `socket` when RTCP is muxed.
    package var rtcpSocket: SocketID
    package var rtcpPort: UInt16
    package init(socket: SocketID, port: UInt16, rtcpSocket: SocketID, rtcpPort: UInt16) {
        self.socket = socket
        self.port = port
        self.rtcpSocket = rtcpSocket
        self.rtcpPort = rtcpPort
    }
}
