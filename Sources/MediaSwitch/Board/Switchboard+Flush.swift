import MediaContract
import MediaTransport

/// Sealing and leaving.
extension Switchboard {
    /// Seals what waits and plans it into `outbox.messages`.
    package mutating func prepareFlush() {
        var sealed = 0
        for position in 0..<outbox.listedCount {
            let destination = Int(outbox.listed[position])
            var slot = outbox.queues[destination].head
            while slot >= 0 {
                let entry = outbox.slots + Int(slot)
                if !entry.pointee.isSealed {
                    seal(Int(slot), transport: Outbox.transport(ofDestination: destination))
                    outbox.sealing[sealed] = slot
                    sealed &+= 1
                }
                slot = entry.pointee.next
            }
        }
        if batch.seal() > 0 { dropUnsealed(sealed) }

        outbox.beginPlan()
        var segment = 0
        // Before anything else: libwebrtc ends a TCP connection of ICE by which RTCP comes before the answer to its check.
        outbox.planAnswers(segment: &segment)
        for position in 0..<outbox.listedCount {
            let destination = Int(outbox.listed[position])
            guard destination > 0, outbox.queues[destination].head >= 0 else { continue }
            let transport = transports[Outbox.transport(ofDestination: destination)]
            if destination & 1 == 0 {
                outbox.plan(
                    destination: destination, socket: transport.pointee.socket, address: transport.pointee.remote,
                    segment: &segment)
            } else if let address = transport.pointee.rtcpDestination {
                outbox.plan(
                    destination: destination, socket: transport.pointee.rtcpSocket, address: address, segment: &segment)
            }
        }
        if outbox.messageCount > 0 { batchesOut &+= 1 }
    }

    /// What could not be sealed is plain text: it never leaves.
    private mutating func dropUnsealed(_ count: Int) {
        for position in 0..<count where batch.hasFailed(position) {
            outbox.slots[Int(outbox.sealing[position])].isDone = true
            drops.count(.sealFailed)
        }
        outbox.dropDone()
    }

    @inline(__always) private mutating func seal(_ slot: Int, transport place: Int) {
        let transport = transports[place]
        let entry = outbox.slots + slot
        guard let base = outbox.bytes(of: slot).baseAddress else { return }
        batch.append(
            transport.pointee.sealer, packet: base, length: Int(entry.pointee.length),
            headerLength: Int(entry.pointee.headerLength), ssrc: entry.pointee.ssrc, index: entry.pointee.index)
        entry.pointee.length &+= transport.pointee.tagLength
        entry.pointee.isSealed = true
    }

    /// Says what became of message `index` of the plan; call for each message, in order, after the sends.
    /// - Parameter lost: of a sent message, the datagrams of it that were not, and their bytes; who lost them has counted them.
    package mutating func complete(
        message index: Int, _ outcome: SendOutcome, lost: (count: Int, bytes: Int) = (0, 0)
    ) {
        let message = outbox.messages[index]
        let place = Outbox.transport(ofDestination: outbox.mark(message: index, outcome))
        switch outcome {
        case .sent:
            let count = UInt64(message.segmentCount &- lost.count)
            var bytes = UInt64(bitPattern: Int64(-lost.bytes))
            for segment in message.firstSegment..<message.firstSegment + message.segmentCount {
                bytes &+= UInt64(outbox.segments[segment].count)
            }
            if place >= 0 {
                transports[place].pointee.packetsOut &+= count
                transports[place].pointee.bytesOut &+= bytes
            }
            packetsOut &+= count
            bytesOut &+= bytes
        case .failed: drops.count(.sendFailed, UInt64(message.segmentCount))
        case .full: drops.count(.streamFull, UInt64(message.segmentCount))
        // An answer that finds no room is not kept.
        case .blocked: if place < 0 { drops.count(.sendFailed) }
        }
    }

    /// The same for a message of a connection whose queue may have taken only some of its datagrams.
    /// - Parameter isTaken: of a place in `outbox.segments`.
    package mutating func complete(message index: Int, isTaken: (Int) -> Bool) {
        let message = outbox.messages[index]
        var lost = (count: 0, bytes: 0)
        for segment in message.firstSegment..<message.firstSegment + message.segmentCount where !isTaken(segment) {
            lost.count += 1
            lost.bytes += outbox.segments[segment].count
        }
        guard lost.count < message.segmentCount else { return complete(message: index, .full) }
        drops.count(.streamFull, UInt64(lost.count))
        complete(message: index, .sent, lost: lost)
    }

    /// Ends the flush: frees what was sent or dropped, keeps what was blocked. Removals that waited for it are done now.
    package mutating func finishFlush() {
        for place in closingTransports {
            // A goodbye that could not leave is not worth keeping the socket.
            outbox.drop(from: Outbox.destination(ofTransport: place)) { !$0.isDone }
            outbox.drop(from: Outbox.destination(ofTransport: place) + 1) { !$0.isDone }
        }
        outbox.finish()
        for place in closingTransports {
            let transport = transports[place]
            if transport.pointee.isWebRTC {
                connections.remove(at: transport.pointee.connection)
            } else if !transport.pointee.socket.isShared {
                closedSockets.append(transport.pointee.socket)
                if !transport.pointee.isMuxed { closedSockets.append(transport.pointee.rtcpSocket) }
            }
            transports.remove(at: place)
        }
        closingTransports.removeAll(keepingCapacity: true)
        for ticket in pendingRemovals { events.append(.removed(ticket)) }
        pendingRemovals.removeAll(keepingCapacity: true)
    }

    /// Whether a flush has anything to do: datagrams, or removals that wait for one.
    package var wantsFlush: Bool {
        outbox.count > 0 || !pendingRemovals.isEmpty || !closingTransports.isEmpty
    }
}
