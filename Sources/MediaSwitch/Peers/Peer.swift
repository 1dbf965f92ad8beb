import MediaContract

/// A user of a room, as far as the media plane knows: a name, what it may hear, and its transports.
struct Peer: ~Copyable {
    let id: PeerID
    let isolation: IsolationKey
    var transports = IndexList()

    init(id: PeerID, isolation: IsolationKey) {
        self.id = id
        self.isolation = isolation
    }
}
