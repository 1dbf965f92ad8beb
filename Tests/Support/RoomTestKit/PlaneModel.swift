package import MediaContract
import MediaWire

/// What a worker holds, kept the slow way: it follows commands and notes every one that a careful control plane would
/// never send. A command that names something unknown is one, though a real worker forgives it.
package struct PlaneModel: Sendable {
    package var peers: [PeerID: IsolationKey] = [:]
    package var transports: [TransportID: TransportSpec] = [:]
    package var webRTC: [TransportID: WebRTCTransportSpec] = [:]
    package var tracks: [TrackID: TrackSpec] = [:]
    package var subscriptions: [SubscriptionID: SubscriptionSpec] = [:]
    package private(set) var violations: [String] = []
    private var usedNumbers: Set<UInt64> = []
    private var usedFragments: Set<String> = []

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
            for (id, transport) in webRTC where transport.peer == peer { remove(id) }
        case .addWebRTCTransport(let spec):
            use(spec.id.rawValue, "transport")
            check(peers[spec.peer] != nil, "addWebRTCTransport for an unknown peer")
            checkCredentials(spec.credentials)
            check(spec.role == .server || !spec.fingerprints.isEmpty, "a DTLS client that checks nobody")
            check(spec.localSSRC != 0, "no SSRC for reports")
            webRTC[spec.id] = spec
        case .restartICE(let id, let credentials):
            check(webRTC[id] != nil, "restartICE of an unknown transport")
            checkCredentials(credentials)
            webRTC[id]?.credentials = credentials
        case .addTransport(let spec):
            use(spec.id.rawValue, "transport")
            check(peers[spec.peer] != nil, "addTransport for an unknown peer")
            let sockets = [spec.socket, spec.rtcpSocket]
            for other in transports.values {
                check(!sockets.contains(other.socket) && !sockets.contains(other.rtcpSocket), "a socket used twice")
            }
            transports[spec.id] = spec
        case .removeTransport(let id):
            check(peer(of: id) != nil, "removeTransport of an unknown transport")
            remove(id)
        case .addTrack(let spec): add(spec)
        case .removeTrack(let id):
            check(tracks[id] != nil, "removeTrack of an unknown track")
            remove(id)
        case .subscribe(let spec): subscribe(spec)
        case .unsubscribe(let id):
            check(subscriptions[id] != nil, "unsubscribe of an unknown subscription")
            subscriptions[id] = nil
        case .setLayer(let id, let layer):
            check(subscriptions[id] != nil, "setLayer of an unknown subscription")
            check(subscriptions[id]?.layer != layer, "setLayer to the layer that it is")
            subscriptions[id]?.layer = layer
        case .snapshot: break
        }
    }

    private func peer(of id: TransportID) -> PeerID? { transports[id]?.peer ?? webRTC[id]?.peer }

    private func localSSRC(of id: TransportID) -> UInt32? { transports[id]?.localSSRC ?? webRTC[id]?.localSSRC }

    private mutating func checkCredentials(_ credentials: ICECredentials) {
        check(
            credentials.usernameFragment.utf8.count == 16 && credentials.password.utf8.count == 32,
            "credentials of another form")
        check(usedFragments.insert(credentials.usernameFragment).inserted, "a user fragment used twice")
    }

    private mutating func add(_ spec: TrackSpec) {
        use(spec.id.rawValue, "track")
        check(peer(of: spec.transport) != nil, "addTrack on an unknown transport")
        check((1...TrackSpec.maximumEncodings).contains(spec.encodings.count), "\(spec.encodings.count) encodings")
        let types = [spec.payloadType, spec.rtxPayloadType, spec.redPayloadType].compactMap { $0 }
        check(Set(types).count == types.count, "a payload type with two meanings")
        check(
            spec.encodings.count == 1 || spec.encodings.allSatisfy { $0.rid != nil || !$0.ssrcs.isEmpty },
            "layers that nothing tells apart")
        let sources = TrackSpecSources(spec)
        check(Set(sources.all).count == sources.all.count, "an SSRC twice in one track")
        for other in tracks.values where other.transport == spec.transport {
            check(spec.mid == nil || other.mid != spec.mid, "two tracks of one mid")
            check(Set(TrackSpecSources(other).all).isDisjoint(with: sources.all), "two tracks of one SSRC")
        }
        check(localSSRC(of: spec.transport).map { !sources.all.contains($0) } ?? true, "a track with our own SSRC")
        tracks[spec.id] = spec
    }

    private struct TrackSpecSources {
        let all: [UInt32]
        init(_ spec: TrackSpec) { all = spec.encodings.flatMap { $0.ssrcs + [$0.rtxSSRC].compactMap { $0 } } }
    }

    package var sockets: Set<SocketID> { Set(transports.values.flatMap { [$0.socket, $0.rtcpSocket] }) }

    private mutating func subscribe(_ spec: SubscriptionSpec) {
        use(spec.id.rawValue, "subscription")
        guard let track = tracks[spec.track], let source = peer(of: track.transport),
            let sink = peer(of: spec.transport)
        else {
            check(false, "subscribe between unknown ends")
            return
        }
        check(peers[source] == peers[sink], "subscribe across rooms")
        check(source != sink, "subscribe to oneself")
        check(spec.firstSequence <= 32767, "first sequence number in the upper half")
        let own = [spec.ssrc, spec.rtx?.ssrc].compactMap { $0 }
        check(Set(own).count == own.count && !own.contains(0), "a stream without an SSRC of its own")
        check(localSSRC(of: spec.transport).map { !own.contains($0) } ?? true, "the transport's own SSRC")
        check(
            !subscriptions.values.contains {
                $0.transport == spec.transport && (own.contains($0.ssrc) || own.contains($0.rtx?.ssrc ?? 0))
            },
            "two streams under one SSRC at once")
        check(spec.rtx?.payloadType != spec.payloadType, "retransmissions under the stream's payload type")
        check(spec.extensions.allSatisfy { $0.kind.isEndToEnd || $0.kind == .mid }, "an extension of one hop")
        check(
            !subscriptions.values.contains { $0.track == spec.track && $0.transport == spec.transport },
            "track subscribed twice")
        subscriptions[spec.id] = spec
    }

    private mutating func remove(_ id: TransportID) {
        transports[id] = nil
        webRTC[id] = nil
        for (subscription, spec) in subscriptions where spec.transport == id { subscriptions[subscription] = nil }
        for (track, spec) in tracks where spec.transport == id { remove(track) }
    }

    /// Its subscriptions go with it.
    private mutating func remove(_ id: TrackID) {
        tracks[id] = nil
        for (subscription, spec) in subscriptions where spec.track == id { subscriptions[subscription] = nil }
    }

    private mutating func use(_ number: UInt64, _ what: String) {
        check(usedNumbers.insert(number).inserted, "number of a \(what) used twice")
    }

    private mutating func check(_ condition: Bool, _ violation: String) {
        if !condition { violations.append(violation) }
    }
}
