package import MediaContract
package import MediaWire

/// ICE-TCP connections, as the worker tells of them.
extension Switchboard {
    /// A connection is closed: by its peer, by an error, or because it carried nobody.
    package mutating func socketClosed(_ id: SocketID, now: MediaTime) {}

    /// Whether the connection carries a peer.
    package func isBound(_ id: SocketID) -> Bool { false }
}
