/// Names that the control plane gives to things in the media plane. It counts them up and never uses one twice, so an
/// answer can leave before the worker has seen the command, and a late command for a removed thing finds nothing.
package protocol MediaIdentifier: Hashable, Sendable, CustomStringConvertible {
    var rawValue: UInt64 { get }
}

extension MediaIdentifier {
    package var description: String { "\(Self.self)(\(rawValue))" }
}

/// A user of a room, on one worker.
package struct PeerID: MediaIdentifier {
    package let rawValue: UInt64
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// What may hear what: peers with the same key are in the same room. A subscription between two keys cannot be made.
package struct IsolationKey: MediaIdentifier {
    package let rawValue: UInt64
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// One secured path between a peer and the node: one key pair, one remote address, one or two sockets.
package struct TransportID: MediaIdentifier {
    package let rawValue: UInt64
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// One published audio or video stream.
package struct TrackID: MediaIdentifier {
    package let rawValue: UInt64
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// One track on its way to one transport.
package struct SubscriptionID: MediaIdentifier {
    package let rawValue: UInt64
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// Answers a removal: when `removed(ticket)` comes back, not one more packet of or to that peer is sent.
package struct RemovalTicket: MediaIdentifier {
    package let rawValue: UInt64
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// A socket of one worker, counted up by the engine and never used twice. 0 and 1 are the worker's shared UDP sockets
/// for IPv4 and IPv6, those up to `sharedLimit` more of them, each at one address of the machine; plain legs have theirs from there on.
package struct SocketID: MediaIdentifier {
    package let rawValue: UInt64
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }
    package static let sharedIPv4 = SocketID(0)
    package static let sharedIPv6 = SocketID(1)
    /// No shared socket has this number or a higher one.
    @inlinable package static var sharedLimit: UInt64 { 32 }
    @inlinable package var isShared: Bool { rawValue < Self.sharedLimit }

    /// Set in the names of ICE-TCP connections (RFC 6544): each carries one peer, and is closed by who gave it its name.
    package static let streamBit: UInt64 = 1 << 63
    @inlinable package var isStream: Bool { rawValue & Self.streamBit != 0 }
}
