package import MediaContract
import MediaTransport
package import MediaWire

/// WebRTC transports: checks that say where a peer is (RFC 8445, as a lite agent), and handshakes that agree on keys (RFC 5764).
///
/// The order of trust: a check counts when it carries one of our fragments, signed with its password; only from where one
/// came is DTLS listened to; only after the fingerprint was found right is media.
extension Switchboard {
    /// Handshake datagrams worked off between two batches.
    static var handshakesPerBatch: Int { 3 }
    /// An address that belongs to another transport is taken over when nothing was heard of that one for so long: some clients that are
    /// alive have nothing to say but a check each 4 to 6 s (RFC 7675, section 5.1).
    static var takeoverSilence: MediaDuration { .seconds(10) }
    /// Whoever was not heard for so long has lost pictures.
    static var absence: MediaDuration { .seconds(5) }
    /// When nothing came by the path in use for so long, media by another one that was verified moves the transport there. The next check
    /// of the peer, which nominates, may take 2.5 s more (libwebrtc's pings of a stable path).
    static var pathSilence: MediaDuration { .milliseconds(500) }

    // MARK: Commands

    mutating func add(_ spec: WebRTCTransportSpec, now: MediaTime) {
        guard let peer = peerPlaces[spec.peer], transportPlaces[spec.id] == nil, let context = configuration.dtls,
            let number = WebRTCConnection.number(of: spec.credentials.usernameFragment),
            fragments.find(ICEFragment(number: number)) == nil,
            let association = DTLSAssociation(
                context: context, role: spec.role, fingerprints: spec.fingerprints, now: now)
        else {
            events.append(.transportFailed(spec.id, .handshakeFailed))
            return
        }
        let place = transports.insert(Transport(spec, peer: peer, connection: connections.nextPlace, now: now))
        guard let connection = WebRTCConnection(spec, transport: place, association: association) else {
            transports.remove(at: place)
            return
        }
        _ = connections.insert(connection)
        transportPlaces[spec.id] = place
        peers[peer].pointee.transports.append(place)
        fragments.insert(ICEFragment(number: number), Int32(place))
        reserveForTransports()
        arm(transport: place, at: now + spec.silenceLimit)
    }

    mutating func restartICE(transport place: Int, _ credentials: ICECredentials) {
        guard transports[place].pointee.isWebRTC,
            let number = WebRTCConnection.number(of: credentials.usernameFragment),
            fragments.find(ICEFragment(number: number)) == nil,
            let change = connections[transports[place].pointee.connection].pointee.restart(credentials)
        else { return }
        fragments.insert(ICEFragment(number: change.added), Int32(place))
        if let forgotten = change.forgotten { fragments.remove(ICEFragment(number: forgotten)) }
    }

    /// Ends ICE and DTLS; what says so to the peer waits for the flush.
    mutating func close(connection place: Int) {
        let connection = connections[place]
        let transport = connection.pointee.transport
        fragments.remove(ICEFragment(number: connection.pointee.fragment))
        if let previous = connection.pointee.previousFragment { fragments.remove(ICEFragment(number: previous)) }
        connection.pointee.association.close()
        sendHandshake(connection: place)
        for verified in connection.pointee.paths {
            forget(verified.path, of: transport)
            if verified.path.socket.isStream { closedSockets.append(verified.path.socket) }
        }
    }

    private mutating func forget(_ path: WebRTCPath, of transport: Int) {
        if path.socket.isShared {
            if addresses.find(path.address) == Int32(transport) { addresses.remove(path.address) }
        } else if let found = sockets.find(path.socket), Int(found) / 2 == transport {
            sockets.remove(path.socket)
        }
    }

    // MARK: Streams

    /// An ICE-TCP connection has ended.
    package mutating func socketClosed(_ socket: SocketID, now: MediaTime) {
        guard let found = sockets.find(socket) else { return }
        sockets.remove(socket)
        let place = Int(found) / 2
        let transport = transports[place]
        guard transport.pointee.isWebRTC else { return }
        if let path = connections[transport.pointee.connection].pointee.lose(socket, now: now) {
            transport.pointee.use(path, now: now)
        }
    }

    /// Whether a check has bound the ICE-TCP connection to a transport.
    package func isBound(_ socket: SocketID) -> Bool { sockets.find(socket) != nil }

    // MARK: Checks

    mutating func takeInCheck(_ datagram: InboundDatagram, now: MediaTime) {
        let bytes = UnsafeRawBufferPointer(datagram.bytes)
        guard let request = STUNBindingRequest.parse(bytes.bytes) else {
            drops.count(.malformedCheck)
            return
        }
        guard let number = request.localFragment, let found = fragments.find(ICEFragment(number: number)) else {
            drops.count(.unknownCheck)
            return
        }
        let place = Int(found)
        let transport = transports[place]
        let connection = connections[transport.pointee.connection]
        guard !transport.pointee.isClosing, datagram.source.port != 0, connection.pointee.verifies(bytes, request)
        else {
            drops.count(.unauthenticCheck)
            return
        }
        let path = WebRTCPath(socket: datagram.socket, address: datagram.source)
        guard owns(path, place, now: now) else {
            drops.count(.wrongSource)
            return
        }
        let verdict = connection.pointee.judge(
            request, by: path, pathHeard: transport.pointee.pathHeard, now: now)
        switch verdict {
        case .fresh, .overtaken: break
        case .repeated:
            answer(request, bytes, path, connection: transport.pointee.connection)
            return
        case .replayed:
            drops.count(.replayed)
            return
        }
        // Checks come every few seconds; where one comes at last, or from elsewhere, pictures were lost in between.
        let wasAway = now - transport.pointee.lastHeard > Self.absence
        transport.pointee.lastHeard = now
        transport.pointee.hasBeenHeard = true
        transport.pointee.isSilent = false
        if transport.pointee.isQuiet { reportHeard(transport: place, now: now) }
        let pathHeard = transport.pointee.pathHeard
        let change =
            verdict == .overtaken
            ? connection.pointee.moveBack(now: now)
            : connection.pointee.checked(path, request, pathHeard: pathHeard, now: now)
        take(change, path, transport: place, now: now)
        if transport.pointee.uses(path) { transport.pointee.pathHeard = now }
        answer(request, bytes, path, connection: transport.pointee.connection)
        if transport.pointee.isReady, wasAway || change.isMove { refresh(transport: place, now: now) }
        // Our ClientHello is a step like any other, and waits for its turn; where there is no room, the next check tries again.
        if connection.pointee.role == .client, !connection.pointee.hasStarted,
            handshakes.append(UnsafeRawBufferPointer(start: nil, count: 0), transport: place, id: transport.pointee.id)
        {
            connection.pointee.hasStarted = true
            connection.pointee.waiting += 1
        }
    }

    /// An authentic packet came by another path than the one in use.
    @inline(never) mutating func heardElsewhere(_ path: WebRTCPath, transport place: Int, now: MediaTime) {
        let transport = transports[place]
        guard now - transport.pointee.pathHeard >= Self.pathSilence,
            connections[transport.pointee.connection].pointee.follow(path, now: now)
        else { return }
        transport.pointee.use(path, now: now)
        refresh(transport: place, now: now)
        // What was sent into the dead path is lost.
        for position in 0..<transport.pointee.tracks.count {
            let track = tracks[transport.pointee.tracks[position]]
            for layer in 0..<track.pointee.encodings.count {
                wantKeyFrame(encoding: track.pointee.encodings[layer], now: now)
            }
        }
    }

    /// A receiver whose path broke off has lost what its decoder builds on.
    private mutating func refresh(transport place: Int, now: MediaTime) {
        let transport = transports[place]
        for position in 0..<transport.pointee.subscriptions.count {
            let subscription = subscriptions[transport.pointee.subscriptions[position]]
            wantKeyFrame(encoding: Int(subscription.pointee.encoding), now: now)
        }
        // What a publisher was asked for went where it is no more; and after a hole in its path it need not be waited for what shows the hole.
        for position in 0..<transport.pointee.tracks.count {
            let track = tracks[transport.pointee.tracks[position]]
            for layer in 0..<track.pointee.encodings.count {
                let place = track.pointee.encodings[layer]
                let encoding = encodings[place]
                if encoding.pointee.keyFrames.due != nil {
                    sendKeyFrameRequest(encoding: place)
                } else if now - encoding.pointee.reception.lastArrival > Self.longPause {
                    wantKeyFrame(encoding: place, now: now)
                }
            }
        }
    }

    /// Whether the transport may be heard from there: nobody may take the address of another, live one, whatever it has signed.
    private func owns(_ path: WebRTCPath, _ place: Int, now: MediaTime) -> Bool {
        let found = path.socket.isShared ? addresses.find(path.address) : sockets.find(path.socket).map { $0 / 2 }
        guard let owner = found, Int(owner) != place else { return true }
        guard path.socket.isShared else { return false }
        // Whoever was there before gets it back.
        if connections[transports[place].pointee.connection].pointee.knows(path) { return true }
        return now - transports[Int(owner)].pointee.lastHeard > Self.takeoverSilence
    }

    private mutating func take(
        _ change: WebRTCConnection.Change, _ path: WebRTCPath, transport place: Int, now: MediaTime
    ) {
        let forgotten: WebRTCPath?
        switch change {
        case .nothing:
            // Another transport may have had the address meanwhile.
            if path.socket.isShared, addresses.find(path.address) != Int32(place) {
                addresses.insert(path.address, Int32(place))
            }
            return
        case .added(let old): forgotten = old
        case .moved(let old):
            forgotten = old
            transports[place].pointee.use(path, now: now)
        }
        if let forgotten {
            // The peer may have the same address at another of our sockets.
            if forgotten.socket.isStream
                || !connections[transports[place].pointee.connection].pointee.knows(forgotten.address)
            {
                forget(forgotten, of: place)
            }
            if forgotten.socket.isStream { closedSockets.append(forgotten.socket) }
        }
        if path.socket.isShared {
            addresses.insert(path.address, Int32(place))
        } else {
            sockets.insert(path.socket, Int32(place * 2))
        }
    }

    private mutating func answer(
        _ request: STUNBindingRequest, _ datagram: UnsafeRawBufferPointer, _ path: WebRTCPath, connection place: Int
    ) {
        guard let slot = outbox.take() else {
            drops.count(.outboxFull)
            return
        }
        guard
            let length = connections[place].pointee.writeResponse(
                to: request, in: datagram, mapped: path.address, into: outbox.bytes(of: slot))
        else {
            outbox.giveBack(slot)
            return
        }
        outbox.slots[slot].length = Int32(truncatingIfNeeded: length)
        outbox.answer(slot, to: path)
    }

    // MARK: Handshakes

    /// A DTLS datagram, from where a check came: it waits for its turn.
    mutating func takeInHandshake(_ datagram: InboundDatagram, transport place: Int) {
        let transport = transports[place]
        guard transport.pointee.isWebRTC else {
            drops.count(.notMedia)
            return
        }
        let connection = connections[transport.pointee.connection]
        guard !connection.pointee.hasFailed, !transport.pointee.isClosing else {
            drops.count(.unexpectedHandshake)
            return
        }
        guard connection.pointee.waiting < WebRTCConnection.waitingLimit,
            handshakes.append(UnsafeRawBufferPointer(datagram.bytes), transport: place, id: transport.pointee.id)
        else {
            drops.count(.handshakeQueueFull)
            return
        }
        connection.pointee.waiting += 1
    }

    /// Works off some of the waiting handshake datagrams.
    mutating func advanceHandshakes(now: MediaTime) {
        for _ in 0..<Self.handshakesPerBatch {
            guard outbox.freeCount >= Self.reserveForTimers, let (entry, bytes) = handshakes.takeFirst() else { return }
            guard transportPlaces[entry.id] == entry.transport else { continue }
            let connection = connections[transports[entry.transport].pointee.connection]
            connection.pointee.waiting -= 1
            guard !connection.pointee.hasFailed else { continue }
            if bytes.isEmpty {
                connection.pointee.association.start(now: now)
            } else {
                connection.pointee.association.receive(bytes, now: now)
            }
            continueHandshake(transport: entry.transport, now: now)
        }
    }

    /// After anything that happened to an association: sends what it has to say, and takes notice of where it stands.
    mutating func continueHandshake(transport place: Int, now: MediaTime) {
        let transport = transports[place]
        let connection = connections[transport.pointee.connection]
        sendHandshake(connection: transport.pointee.connection)
        switch connection.pointee.association.state {
        case .handshaking: break
        case .connected:
            guard !transport.pointee.isReady, let keys = connection.pointee.association.takeKeys() else { break }
            guard transport.pointee.begin(inbound: keys.inbound, outbound: keys.outbound) else {
                fail(transport: place, .handshakeFailed)
                return
            }
            events.append(.transportConnected(transport.pointee.id, transport.pointee.remote))
            if let limit = transport.pointee.quietLimit { arm(transport: place, at: now + limit) }
            for subscription in transport.pointee.subscriptions.all { join(subscription: subscription, now: now) }
        case .failed(let failure):
            fail(transport: place, failure)
            return
        case .closed:
            fail(transport: place, .closedByPeer)
            return
        }
        if let due = connection.pointee.association.nextDeadline { arm(transport: place, at: due) }
    }

    private mutating func fail(transport place: Int, _ failure: TransportFailure) {
        let connection = connections[transports[place].pointee.connection]
        guard !connection.pointee.hasFailed else { return }
        connection.pointee.hasFailed = true
        events.append(.transportFailed(transports[place].pointee.id, failure))
    }

    /// What the association has to say goes to the path in use.
    private mutating func sendHandshake(connection place: Int) {
        let connection = connections[place]
        let transport = connection.pointee.transport
        guard transports[transport].pointee.hasRemote else { return }
        while let slot = outbox.take() {
            let room = UnsafeMutableRawBufferPointer(rebasing: outbox.bytes(of: slot)[..<1500])
            guard let length = connection.pointee.association.takeDatagram(into: room) else {
                outbox.giveBack(slot)
                return
            }
            outbox.slots[slot].length = Int32(truncatingIfNeeded: length)
            outbox.slots[slot].encoding = -1
            outbox.slots[slot].isVideo = false
            outbox.slots[slot].isSealed = true
            outbox.enqueue(slot, to: Outbox.destination(ofTransport: transport))
        }
        drops.count(.outboxFull)
    }
}
