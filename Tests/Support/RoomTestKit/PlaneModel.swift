package import MediaContract
import MediaWire

/// What a worker holds, kept the slow way: it follows commands and notes every one that a careful control plane would
/// never send. A command that names something unknown is one, though a real worker forgives it.
package struct PlaneModel: Sendable {
    package var peers: [PeerID: IsolationKey] = [:]
    package var transports: [TransportID: TransportSpec] = [:]
    package var tracks: [TrackID: TrackSpec] = [:]
    package var subscriptions: [SubscriptionID: SubscriptionSpec] = [:]
    package private(set) var violations: [String] = []
    private var usedNumbers: Set<UInt64> = []

    package init() {}

    package mutating func apply(_ command: MediaCommand) {
        switch command {
        case .addPeer(let peer, let isolation):
            use(peer.rawValue, "peer")
            peers[peer] = isolation
        case .removePeer(let peer, _):
            check(peers[peer] != nil, "removePeer of an unknown peer")
            peers[peer] = nil
            for (id, transport) in transports where transport.peer == peer { remove(id) }
        case .addTransport(let spec):
            use(spec.id.rawValue, "transport")
            check(peers[spec.peer] != nil, "addTransport for an unknown peer")
            let sockets = [spec.socket, spec.rtcpSocket]
            for other in transports.values {
                check(!sockets.contains(other.socket) && !sockets.contains(other.rtcpSocket), "a socket used twice")
            }
            transports[spec.id] = spec
        case .removeTransport(let id):
            check(transports[id] != nil, "removeTransport of an unknown transport")
            remove(id)
        case .addTrack(let spec):
            use(spec.id.rawValue, "track")
            check(transports[spec.transport] != nil, "addTrack on an unknown transport")
            tracks[spec.id] = spec
        case .removeTrack(let id):
            check(tracks[id] != nil, "removeTrack of an unknown track")
            tracks[id] = nil
        case .subscribe(let spec): subscribe(spec)
        case .unsubscribe(let id):
            check(subscriptions[id] != nil, "unsubscribe of an unknown subscription")
            subscriptions[id] = nil
        case .addWebRTCTransport, .restartICE, .setLayer, .snapshot: break
        }
    }

    package var sockets: Set<SocketID> { Set(transports.values.flatMap { [$0.socket, $0.rtcpSocket] }) }

    private mutating func subscribe(_ spec: SubscriptionSpec) {
        use(spec.id.rawValue, "subscription")
        guard let track = tracks[spec.track], let source = transports[track.transport],
            let sink = transports[spec.transport]
        else {
            check(false, "subscribe between unknown ends")
            return
        }
        check(peers[source.peer] == peers[sink.peer], "subscribe across rooms")
        check(source.peer != sink.peer, "subscribe to oneself")
        check(spec.firstSequence <= 32767, "first sequence number in the upper half")
        check(spec.ssrc != sink.localSSRC, "subscription under the transport's own SSRC")
        check(
            !subscriptions.values.contains { $0.transport == spec.transport && $0.ssrc == spec.ssrc },
            "two streams under one SSRC at once")
        check(
            !subscriptions.values.contains { $0.track == spec.track && $0.transport == spec.transport },
            "track subscribed twice")
        subscriptions[spec.id] = spec
    }

    private mutating func remove(_ id: TransportID) {
        transports[id] = nil
        for (subscription, spec) in subscriptions where spec.transport == id { subscriptions[subscription] = nil }
        for (track, spec) in tracks where spec.transport == id {
            tracks[track] = nil
            check(!subscriptions.values.contains { $0.track == track }, "a track removed under its subscriptions")
            for (subscription, spec) in subscriptions where spec.track == track { subscriptions[subscription] = nil }
        }
    }

    private mutating func use(_ number: UInt64, _ what: String) {
        check(usedNumbers.insert(number).inserted, "number of a \(what) used twice")
    }

    private mutating func check(_ condition: Bool, _ violation: String) {
        if !condition { violations.append(violation) }
    }
}
