package import MediaContract
package import MediaWire

/// One message for the kernel: a datagram, or several equal ones (the last may be shorter) to one destination that leave as one
/// UDP_SEGMENT message. Its segments are `Outbox.segments[firstSegment ..< firstSegment + segmentCount]`, each a datagram.
package struct OutboundMessage {
    package var socket: SocketID
    package var destination: TransportAddress
    package var firstSegment: Int
    package var segmentCount: Int
    /// Length of every segment but perhaps the last; what UDP_SEGMENT is set to when `segmentCount` is above 1.
    package var segmentSize: Int

    @inlinable package init(
        socket: SocketID, destination: TransportAddress, firstSegment: Int, segmentCount: Int, segmentSize: Int
    ) {
        self.socket = socket
        self.destination = destination
        self.firstSegment = firstSegment
        self.segmentCount = segmentCount
        self.segmentSize = segmentSize
    }
}

/// What became of a planned message.
package enum SendOutcome {
    case sent
    /// The socket takes no more now (EAGAIN): the message stays and is planned again at the next flush.
    case blocked
    /// The queue of its connection takes no more; it is dropped and counted.
    case full
    /// The kernel refused it for good; it is dropped and counted.
    case failed
}
