package import MediaContract

/// What one client transport has counted since it began.
package struct ClientStatistics: Sendable, Equatable {
    // Sending
    package var packetsSent: UInt64 = 0
    /// Sealed datagrams, in bytes without UDP and IP headers.
    package var bytesSent: UInt64 = 0
    /// Sent again because the node asked (RFC 4585, section 6.2.1).
    package var retransmitted: UInt64 = 0
    /// The node asked for packets that are no longer kept.
    package var retransmissionGone: UInt64 = 0
    /// No room in the outbox, or the packet did not fit: the client's own fault.
    package var sendRefused: UInt64 = 0

    // Receiving
    package var packetsReceived: UInt64 = 0
    package var bytesReceived: UInt64 = 0

    // Feedback
    package var nacksSent: UInt64 = 0
    package var keyFrameRequestsSent: UInt64 = 0
    package var nacksReceived: UInt64 = 0
    package var keyFrameRequestsReceived: UInt64 = 0
    package var senderReportsReceived: UInt64 = 0
    package var receiverReportsReceived: UInt64 = 0
    package var goodbyesReceived: UInt64 = 0
    /// Transport-wide feedback messages (draft-holmer-rmcat-transport-wide-cc-extensions-01).
    package var transportFeedbackReceived: UInt64 = 0
    /// The node's last estimate of what it can receive, in bit/s (REMB); 0: none came.
    package var receiverEstimate: UInt64 = 0
    /// Packets of repair that came (RFC 4588), without empty ones.
    package var repairsReceived: UInt64 = 0

    /// Datagrams that were not used, by `DropReason.rawValue`.
    private var drops = [UInt64](repeating: 0, count: DropReason.allCases.count)

    package init() {}

    package func drops(_ reason: DropReason) -> UInt64 { drops[Int(reason.rawValue)] }

    /// Every reason that occurred.
    package var failures: [(reason: DropReason, count: UInt64)] {
        DropReason.allCases.compactMap { drops($0) > 0 ? ($0, drops($0)) : nil }
    }

    mutating func count(_ reason: DropReason) { drops[Int(reason.rawValue)] &+= 1 }
}

/// What one received stream has counted since its first packet.
package struct ReceptionStatistics: Sendable, Equatable {
    package var packets: UInt64 = 0
    /// Of payload.
    package var bytes: UInt64 = 0
    /// Never came, though waited for; without those that are still waited for.
    package var lost: UInt64 = 0
    /// Came after they were asked for.
    package var recovered: UInt64 = 0
    /// Came out of order without having been asked for.
    package var reordered: UInt64 = 0
    /// Came when they were no longer waited for.
    package var late: UInt64 = 0
    /// Interarrival jitter in seconds (RFC 3550, section 6.4.1).
    package var jitter = 0.0
    /// In 1/256, as the last receiver report said.
    package var fractionLost: UInt8 = 0

    package init() {}
}
