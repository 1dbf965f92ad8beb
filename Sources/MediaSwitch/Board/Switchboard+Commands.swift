package import MediaContract
package import MediaWire

/// What the control plane asks for. Every command is complete in itself; one that names something unknown does nothing.
extension Switchboard {
    package mutating func apply(_ command: MediaCommand, now: MediaTime) {
        clock = max(clock, now)
        switch command {
        case .addPeer(let id, let isolation): add(peer: id, isolation)
        case .removePeer(let id, let ticket):
            if let place = peerPlaces[id] { remove(peer: place, now: now) }
            pendingRemovals.append(ticket)
        case .addTransport(let spec): add(spec, now: now)
        case .removeTransport(let id):
            if let place = transportPlaces[id] { close(transport: place, now: now) }
        case .addTrack(let spec): add(spec, now: now)
        case .removeTrack(let id):
            if let place = trackPlaces[id] { remove(track: place, now: now) }
        case .subscribe(let spec):
            if !subscribe(spec, now: now) { events.append(.subscriptionRefused(spec.id)) }
        case .unsubscribe(let id):
            if let place = subscriptionPlaces[id] { remove(subscription: place, now: now) }
        case .addWebRTCTransport(let spec): add(spec, now: now)
        case .restartICE(let id, let credentials):
            if let place = transportPlaces[id] { restartICE(transport: place, credentials) }
        case .setLayer(let id, let wish):
            if let place = subscriptionPlaces[id] { setLayer(place, wish, now: now) }
        case .snapshot(let number): pendingSnapshots.append(number)
        }
    }

    // MARK: Peers

    private mutating func add(peer id: PeerID, _ isolation: IsolationKey) {
        guard peerPlaces[id] == nil else { return }
        peerPlaces[id] = peers.insert(Peer(id: id, isolation: isolation))
    }

    private mutating func remove(peer place: Int, now: MediaTime) {
        for transport in peers[place].pointee.transports.all { close(transport: transport, now: now) }
        peerPlaces[peers[place].pointee.id] = nil
        peers.remove(at: place)
    }

    // MARK: Transports

    private mutating func add(_ spec: TransportSpec, now: MediaTime) {
        guard let peer = peerPlaces[spec.peer], transportPlaces[spec.id] == nil else { return }
        let isShared = spec.socket.isShared
        if isShared {
            // On a shared socket only the address tells transports apart.
            guard case .known(let rtp, _) = spec.remote, addresses.find(rtp) == nil else { return }
        } else {
            guard sockets.find(spec.socket) == nil, sockets.find(spec.rtcpSocket) == nil else { return }
        }
        guard let transport = Transport(spec, peer: peer, now: now) else { return }
        let place = transports.insert(transport)
        transportPlaces[spec.id] = place
        peers[peer].pointee.transports.append(place)
        if isShared {
            addresses.insert(transports[place].pointee.remote, Int32(place))
        } else {
            sockets.insert(spec.rtcpSocket, Int32(place * 2 + 1))
            sockets.insert(spec.socket, Int32(place * 2))
        }
        reserveForTransports()
        if let limit = spec.silenceLimit { arm(transport: place, at: now + limit) }
    }

    mutating func reserveForTransports() {
        outbox.reserve(destinations: Outbox.destination(ofTransport: transports.capacity))
        timers.reserve(owners: transports.capacity + encodings.capacity)
    }

    /// Says goodbye and lets go of everything but the sockets and the goodbye itself; those go with the next flush.
    mutating func close(transport place: Int, now: MediaTime) {
        let transport = transports[place]
        guard !transport.pointee.isClosing else { return }
        for subscription in transport.pointee.subscriptions.all { remove(subscription: subscription, now: now) }
        for track in transport.pointee.tracks.all { remove(track: track, now: now) }
        outbox.drop(from: Outbox.destination(ofTransport: place)) { _ in true }
        outbox.drop(from: Outbox.destination(ofTransport: place) + 1) { _ in true }
        sendGoodbye(transport: place)
        transport.pointee.isClosing = true
        transportPlaces[transport.pointee.id] = nil
        peers[transport.pointee.peer].pointee.transports.remove(place)
        if transport.pointee.isWebRTC {
            close(connection: transport.pointee.connection)
        } else if transport.pointee.socket.isShared {
            if addresses.find(transport.pointee.remote) == Int32(place) { addresses.remove(transport.pointee.remote) }
        } else {
            sockets.remove(transport.pointee.socket)
            sockets.remove(transport.pointee.rtcpSocket)
        }
        closingTransports.append(place)
    }

    // MARK: Tracks

    private mutating func add(_ spec: TrackSpec, now: MediaTime) {
        guard let place = transportPlaces[spec.transport], trackPlaces[spec.id] == nil,
            (1...TrackSpec.maximumEncodings).contains(spec.encodings.count)
        else { return }
        let track = tracks.insert(Track(spec, transport: place))
        trackPlaces[spec.id] = track
        transports[place].pointee.tracks.append(track)
        for (layer, encoding) in spec.encodings.enumerated() {
            let new = encodings.insert(
                Encoding(
                    encoding, layer: layer, of: tracks[track].pointee, at: track,
                    hasSiblings: spec.encodings.count > 1))
            tracks[track].pointee.encodings.append(new)
            // Declared SSRCs are known from the start; places are kept for those that are not.
            let most = transports[place].pointee.bindingLimit * 3 / 4
            for ssrc in encoding.ssrcs where transports[place].pointee.bindingCount < most {
                transports[place].pointee.bind(ssrc, to: new)
            }
            if let ssrc = encoding.rtxSSRC, transports[place].pointee.bindingCount < most {
                transports[place].pointee.bind(ssrc, to: new, isRepair: true)
            }
        }
        if spec.feedback.contains(.transportCC), transports[place].pointee.isWebRTC,
            spec.extensions.contains(where: { $0.kind == .transportWideCC })
        {
            connections[transports[place].pointee.connection].pointee.arrivals.turnOn()
        }
        timers.reserve(owners: transports.capacity + encodings.capacity)
        if transports[place].pointee.nextReport == .distantFuture {
            startReports(transport: place, in: .milliseconds(500))
        }
    }

    mutating func remove(track place: Int, now: MediaTime) {
        let track = tracks[place]
        let transport = transports[track.pointee.transport]
        for subscription in track.pointee.subscriptions.all { remove(subscription: subscription, now: now) }
        for encoding in track.pointee.encodings.all {
            outbox.drop(copiesOf: encoding)
            waitingEncodings.remove(encoding)
            transport.pointee.unbind(encoding: encoding)
            encodings.remove(at: encoding)
        }
        transport.pointee.tracks.remove(place)
        trackPlaces[track.pointee.id] = nil
        tracks.remove(at: place)
    }

    // MARK: Subscriptions

    /// The one place where a subscription comes to be. A track and its subscriber carry the same isolation key, or it does not.
    private mutating func subscribe(_ spec: SubscriptionSpec, now: MediaTime) -> Bool {
        guard subscriptionPlaces[spec.id] == nil,
            let track = trackPlaces[spec.track], let transport = transportPlaces[spec.transport]
        else { return false }
        let publisher = tracks[track].pointee.transport
        guard
            peers[transports[publisher].pointee.peer].pointee.isolation
                == peers[transports[transport].pointee.peer].pointee.isolation
        else { return false }
        // One stream for each SSRC of a transport: two would share numbers under one key.
        for other in transports[transport].pointee.subscriptions.all
        where subscriptions[other].pointee.ssrc == spec.ssrc { return false }

        // Each stream that ended is remembered for good, so there is an end to them.
        guard transports[transport].pointee.retired.count < Transport.retiredLimit else { return false }
        let highest = tracks[track].pointee.encodings[tracks[track].pointee.encodings.count - 1]
        var subscription = Subscription(
            spec, track: track, encoding: highest, transport: transport, isVideo: tracks[track].pointee.isVideo,
            now: now)
        if let earlier = transports[transport].pointee.retired.removeValue(forKey: spec.ssrc) {
            subscription.resume(earlier)
        }
        let place = subscriptions.insert(subscription)
        subscriptionPlaces[spec.id] = place
        transports[transport].pointee.subscriptions.append(place)
        tracks[track].pointee.subscriptions.append(place)
        if transports[transport].pointee.nextReport == .distantFuture {
            startReports(transport: transport, in: .milliseconds(500))
        }
        // Where the keys are still to come, it waits for them.
        if transports[transport].pointee.isReady { join(subscription: place, now: now) }
        return true
    }

    mutating func remove(subscription place: Int, now: MediaTime) {
        let subscription = subscriptions[place]
        let track = Int(subscription.pointee.track)
        let transport = Int(subscription.pointee.transport)
        if !transports[transport].pointee.isClosing {
            transports[transport].pointee.retire(subscription.pointee, now: now)
        }
        let (ssrc, rtxSSRC) = (subscription.pointee.ssrc, subscription.pointee.rtxSSRC)
        outbox.drop(from: Outbox.destination(ofTransport: transport)) {
            $0.encoding >= 0 && ($0.ssrc == ssrc || (rtxSSRC != 0 && $0.ssrc == rtxSSRC))
        }
        transports[transport].pointee.subscriptions.remove(place)
        tracks[track].pointee.subscriptions.remove(place)
        for encoding in tracks[track].pointee.encodings.all { encodings[encoding].pointee.leave(subscription: place) }
        subscriptionPlaces[subscription.pointee.id] = nil
        subscriptions.remove(at: place)
    }
}
