package import MediaContract
import MediaTransport
package import MediaWire

/// What time brings: reports, requests for what is missing, silence.
extension Switchboard {
    /// Reports go out about once a second (RFC 3550, section 6.2 lets small sessions with known bandwidth do so).
    static var reportInterval: MediaDuration { .seconds(1) }
    /// Slots that must be free before a timer may fire.
    static var reserveForTimers: Int { 8 }

    /// Fires what is due. Where the outbox is nearly full the rest stays due: flush and call again.
    package mutating func advance(to now: MediaTime) {
        clock = max(clock, now)
        while outbox.freeCount >= Self.reserveForTimers, let entry = timers.pop(dueAt: now) {
            let place = Int(entry.index)
            switch entry.owner {
            case .transport:
                guard transports.isOccupied(place), transports[place].pointee.armedFor == entry.time else { continue }
                transports[place].pointee.armedFor = .distantFuture
                fire(transport: place, now: now)
            case .encoding:
                guard encodings.isOccupied(place), encodings[place].pointee.armedFor == entry.time else { continue }
                encodings[place].pointee.armedFor = .distantFuture
                fire(encoding: place, now: now)
            }
        }
        if !handshakes.isEmpty { advanceHandshakes(now: now) }
        for number in pendingSnapshots { events.append(.snapshot(number, snapshot(now: now))) }
        pendingSnapshots.removeAll(keepingCapacity: true)
    }

    // MARK: Timers

    mutating func arm(transport place: Int, at time: MediaTime) {
        guard time < transports[place].pointee.armedFor else { return }
        transports[place].pointee.armedFor = time
        timers.push(time, .transport, place)
    }

    mutating func arm(encoding place: Int, at time: MediaTime) {
        guard time < encodings[place].pointee.armedFor else { return }
        encodings[place].pointee.armedFor = time
        timers.push(time, .encoding, place)
    }

    /// The next report comes in about this time, or earlier if one was due.
    mutating func startReports(transport place: Int, in delay: MediaDuration) {
        // Spread, so that a thousand joiners do not report in the same millisecond.
        let spread = Int64(random.next() % UInt64(max(delay.nanoseconds / 2, 1)))
        let time = clock + MediaDuration(nanoseconds: delay.nanoseconds / 2 &+ spread)
        guard time < transports[place].pointee.nextReport else { return }
        transports[place].pointee.nextReport = time
        arm(transport: place, at: time)
    }

    private mutating func fire(transport place: Int, now: MediaTime) {
        let transport = transports[place]
        guard !transport.pointee.isClosing else { return }
        if transport.pointee.nextReport <= now {
            report(transport: place, now: now)
            for position in 0..<transport.pointee.tracks.count {
                let track = tracks[transport.pointee.tracks[position]]
                for layer in 0..<track.pointee.encodings.count {
                    encodings[track.pointee.encodings[layer]].pointee.fitCache()
                }
            }
            let isBusy = transport.pointee.tracks.count > 0 || transport.pointee.subscriptions.count > 0
            transport.pointee.nextReport = .distantFuture
            if isBusy { startReports(transport: place, in: Self.reportInterval) }
        } else if transport.pointee.nextReport != .distantFuture {
            arm(transport: place, at: transport.pointee.nextReport)
        }
        if transport.pointee.isWebRTC { fire(connection: transport.pointee.connection, now: now) }
        if let limit = transport.pointee.quietLimit { watchQuiet(transport: place, limit, now: now) }
        guard let limit = transport.pointee.silenceLimit else { return }
        let end = transport.pointee.lastHeard + limit
        if end > now {
            arm(transport: place, at: end)
        } else if !transport.pointee.isSilent {
            transport.pointee.isSilent = true
            events.append(.transportSilent(transport.pointee.id))
        }
    }

    /// The path of a connected WebRTC transport seems to be gone while the peer may still be there.
    private mutating func watchQuiet(transport place: Int, _ limit: MediaDuration, now: MediaTime) {
        let transport = transports[place]
        guard transport.pointee.isReady, !connections[transport.pointee.connection].pointee.hasFailed else { return }
        let end = transport.pointee.lastHeard + limit
        if end <= now, !transport.pointee.isQuiet {
            transport.pointee.isQuiet = true
            events.append(.transportQuiet(transport.pointee.id))
        }
        // Heard again, it may be quiet again before any other timer fires.
        arm(transport: place, at: end > now ? end : now + limit)
    }

    private mutating func fire(encoding place: Int, now: MediaTime) {
        let encoding = encodings[place]
        if encoding.pointee.missing.count > 0 { requestMissing(encoding: place, now: now) }
        if !encoding.pointee.hasListeners { encoding.pointee.keyFrames.settle() }
        if encoding.pointee.keyFrames.fire(now: now) { sendKeyFrameRequest(encoding: place) }
        if encoding.pointee.nextLayerCheck <= now { chooseLayers(track: encoding.pointee.track, now: now) }
        if let due = encoding.pointee.missing.next { arm(encoding: place, at: due) }
        if let due = encoding.pointee.keyFrames.due { arm(encoding: place, at: due) }
        if encoding.pointee.nextLayerCheck != .distantFuture {
            arm(encoding: place, at: encoding.pointee.nextLayerCheck)
        }
    }

    // MARK: RTCP that leaves

    /// Writes one RTCP datagram to a transport and seals it. A compound starts with a report and the name (RFC 3550, section
    /// 6.1) unless reduced size was negotiated.
    mutating func sendRTCP(
        transport place: Int, asCompound: Bool, _ body: (inout RTCPWriter) -> Bool
    ) {
        let transport = transports[place]
        guard transport.pointee.rtcpDestination != nil, transport.pointee.isReady, !transport.pointee.isClosing else {
            drops.count(.noDestination)
            return
        }
        guard let slot = outbox.take() else {
            drops.count(.outboxFull)
            return
        }
        let room = outbox.bytes(of: slot)
        var writer = RTCPWriter(into: UnsafeMutableRawBufferPointer(rebasing: room[..<1200]))
        var fits = true
        if asCompound, !transport.pointee.reducedSizeRTCP {
            fits =
                writer.receiverReport(ssrc: transport.pointee.localSSRC)
                && transport.pointee.name(transport.pointee.localSSRC, &writer)
        }
        fits = fits && body(&writer)
        guard fits, writer.count > 0, let length = transport.pointee.sealer.sealRTCP(room, length: writer.count) else {
            drops.count(.sealFailed)
            outbox.giveBack(slot)
            return
        }
        outbox.slots[slot].length = Int32(truncatingIfNeeded: length)
        outbox.slots[slot].encoding = -1
        outbox.slots[slot].isVideo = false
        outbox.slots[slot].isSealed = true
        let destination = Outbox.destination(ofTransport: place)
        outbox.enqueue(slot, to: transport.pointee.isMuxed ? destination : destination + 1)
    }

    /// Receiver reports for what the peer publishes, sender reports for what it gets.
    private mutating func report(transport place: Int, now: MediaTime) {
        let transport = transports[place]
        let localSSRC = transport.pointee.localSSRC
        withUnsafeTemporaryAllocation(of: RTCPReportBlock.self, capacity: RTCPReportBlock.maxCount) { blocks in
            var count = 0
            for position in 0..<transport.pointee.tracks.count {
                let track = tracks[transport.pointee.tracks[position]]
                for layer in 0..<track.pointee.encodings.count where count < blocks.count {
                    let encoding = encodings[track.pointee.encodings[layer]]
                    guard encoding.pointee.reception.hasStarted else { continue }
                    blocks.initializeElement(at: count, to: encoding.pointee.reception.makeReport(now: now))
                    count += 1
                }
            }
            if count > 0 {
                let reports = UnsafeBufferPointer(rebasing: blocks[..<count])
                sendRTCP(transport: place, asCompound: false) { writer in
                    writer.receiverReport(ssrc: localSSRC, blocks: reports)
                        && transport.pointee.name(localSSRC, &writer)
                }
            }
        }
        if transport.pointee.isWebRTC { estimate(transport: place, now: now) }
        for position in 0..<transport.pointee.subscriptions.count {
            sendSenderReport(subscription: transport.pointee.subscriptions[position], transport: place, now: now)
        }
    }

    /// The publisher's last sender report, brought to now and to the subscriber's numbers.
    private mutating func sendSenderReport(subscription place: Int, transport: Int, now: MediaTime) {
        let subscription = subscriptions[place]
        let reception = encodings[Int(subscription.pointee.encoding)].pointee.reception
        let age = now - reception.senderReportArrival
        // While it waits to start in another layer, its timeline is still that of the one before.
        guard let ntp = reception.senderReportNTP, subscription.pointee.packets > 0, age < .seconds(30),
            subscription.pointee.leftAt == nil
        else { return }
        let ticks = UInt32(truncatingIfNeeded: age.ticks(at: reception.clockRate))
        let report = RTCPSenderReport(
            ssrc: subscription.pointee.ssrc, ntp: ntp.advanced(by: age),
            rtpTimestamp: reception.senderReportTimestamp &+ ticks &+ reception.timestampOffset
                &+ subscription.pointee.timestampOffset,
            packetCount: UInt32(truncatingIfNeeded: subscription.pointee.packets),
            octetCount: UInt32(truncatingIfNeeded: subscription.pointee.octets))
        subscription.pointee.noteSent(report: report.ntp, now: now)
        let ssrc = subscription.pointee.ssrc
        let peer = transports[transport]
        sendRTCP(transport: transport, asCompound: false) { writer in
            writer.senderReport(report) && peer.pointee.name(ssrc, &writer)
        }
    }

    private mutating func requestMissing(encoding place: Int, now: MediaTime) {
        let encoding = encodings[place]
        let transport = encoding.pointee.transport
        let localSSRC = transports[transport].pointee.localSSRC
        let mediaSSRC = encoding.pointee.reception.ssrc
        let gaveUp = withUnsafeTemporaryAllocation(of: UInt16.self, capacity: MissingPackets.limit) { due in
            let (count, gaveUp) = encoding.pointee.missing.takeDue(
                now: now, from: encoding.pointee.reception, into: due)
            if count > 0 {
                let sequences = UnsafeBufferPointer(rebasing: due[..<count])
                sendRTCP(transport: transport, asCompound: true) { writer in
                    writer.nack(senderSSRC: localSSRC, mediaSSRC: mediaSSRC, sequences: sequences)
                }
                encoding.pointee.nacksSent &+= UInt64(count)
            }
            return gaveUp
        }
        if gaveUp { wantKeyFrame(encoding: place, now: now) }
    }

    mutating func sendKeyFrameRequest(encoding place: Int) {
        let encoding = encodings[place]
        let localSSRC = transports[encoding.pointee.transport].pointee.localSSRC
        let mediaSSRC = encoding.pointee.reception.ssrc
        encoding.pointee.keyFrameRequestsSent &+= 1
        encoding.pointee.fullIntraSequence &+= 1
        let sequence = encoding.pointee.fullIntraSequence
        let prefersPLI = tracks[encoding.pointee.track].pointee.feedback.contains(.pli)
        sendRTCP(transport: encoding.pointee.transport, asCompound: true) { writer in
            prefersPLI
                ? writer.pictureLossIndication(senderSSRC: localSSRC, mediaSSRC: mediaSSRC)
                : writer.fullIntraRequest(senderSSRC: localSSRC, mediaSSRC: mediaSSRC, sequence: sequence)
        }
    }

    /// BYE for our own SSRC and for every stream the peer got (RFC 3550, section 6.6).
    mutating func sendGoodbye(transport place: Int) {
        let transport = transports[place]
        guard transport.pointee.rtcpDestination != nil else { return }
        var ssrcs = [transport.pointee.localSSRC]
        ssrcs += transport.pointee.retired.keys.prefix(30).sorted()
        let most = Array(ssrcs.prefix(31))
        sendRTCP(transport: place, asCompound: true) { writer in
            most.withUnsafeBufferPointer { writer.goodbye(ssrcs: $0) }
        }
    }

    // MARK: Signs of death

    /// For so long a receiving peer may refuse our packets before it counts as gone: a player that was told its port a moment ago
    /// may not have opened it yet.
    static var unreachableLimit: MediaDuration { .seconds(10) }
    /// Refusals further apart than this are not one absence.
    static var unreachablePause: MediaDuration { .seconds(5) }

    /// ICMP said that nobody listens at `destination`, where this socket sent to.
    package mutating func socketUnreachable(_ socket: SocketID, destination: TransportAddress, now: MediaTime) {
        drops.count(.unreachable)
        guard let found = sockets.find(socket) else { return }
        let transport = transports[Int(found) / 2]
        guard !transport.pointee.isWebRTC else { return }
        // ICMP can be forged by anyone who guesses what it quotes; what it quotes must at least be what we do.
        guard destination == transport.pointee.remote,
            transport.pointee.packetsOut > transport.pointee.packetsOutAtRefusal
        else { return }
        transport.pointee.packetsOutAtRefusal = transport.pointee.packetsOut
        // RTCP may be refused by a peer that has no RTCP; then its media still flows.
        guard found & 1 == 0, !transport.pointee.isLatching else { return }
        if now > transport.pointee.lastRefused + Self.unreachablePause { transport.pointee.refusedSince = now }
        transport.pointee.lastRefused = now
        guard now - transport.pointee.refusedSince >= Self.unreachableLimit, !transport.pointee.isGone else { return }
        transport.pointee.isGone = true
        events.append(.transportUnreachable(transport.pointee.id))
    }

    // MARK: Figures

    private func snapshot(now: MediaTime) -> MediaSnapshot {
        var result = MediaSnapshot(time: now)
        result.packetsIn = packetsIn
        result.bytesIn = bytesIn
        result.packetsOut = packetsOut
        result.bytesOut = bytesOut
        result.batchesIn = batchesIn
        result.batchesOut = batchesOut
        result.drops = drops.all
        result.transports = transports.indices.map { place in
            let transport = transports[place]
            var figures = MediaSnapshot.Transport(id: transport.pointee.id)
            figures.remote = transport.pointee.hasRemote ? transport.pointee.remote : nil
            figures.packetsIn = transport.pointee.packetsIn
            figures.bytesIn = transport.pointee.bytesIn
            figures.packetsOut = transport.pointee.packetsOut
            figures.bytesOut = transport.pointee.bytesOut
            figures.lastHeard = transport.pointee.hasBeenHeard ? transport.pointee.lastHeard : nil
            return figures
        }
        result.tracks = tracks.indices.map { place in
            let track = tracks[place]
            var figures = MediaSnapshot.Track(id: track.pointee.id)
            for encoding in track.pointee.encodings.all.map({ encodings[$0] }) {
                figures.packets &+= encoding.pointee.packets
                figures.bytes &+= encoding.pointee.bytes
                figures.lost &+= encoding.pointee.reception.lost
                figures.jitter = max(figures.jitter, encoding.pointee.reception.jitter)
                figures.keyFrames &+= encoding.pointee.keyFrameCount
                figures.nacksSent &+= encoding.pointee.nacksSent
                figures.keyFrameRequestsSent &+= encoding.pointee.keyFrameRequestsSent
            }
            return figures
        }
        result.subscriptions = subscriptions.indices.map { place in
            let subscription = subscriptions[place]
            var figures = MediaSnapshot.Subscription(id: subscription.pointee.id)
            figures.packets = subscription.pointee.packets
            figures.bytes = subscription.pointee.octets
            figures.retransmitted = subscription.pointee.retransmitted
            figures.fractionLost = Double(subscription.pointee.fractionLost) / 256
            figures.roundTrip = subscription.pointee.roundTrip.nanoseconds >= 0 ? subscription.pointee.roundTrip : nil
            figures.awaitingKeyFrame = subscription.pointee.awaitsKeyFrame
            let encoding = encodings[Int(subscription.pointee.encoding)]
            if encoding.pointee.hasSiblings {
                let count = tracks[encoding.pointee.track].pointee.encodings.count
                figures.layer = LayerPreference(index: encoding.pointee.layer, among: count)
            }
            return figures
        }
        return result
    }
}
