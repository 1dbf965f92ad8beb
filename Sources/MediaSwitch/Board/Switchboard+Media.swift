import MediaContract
import MediaTransport
package import MediaWire

/// A packet in, and its copies out.
extension Switchboard {
    /// Larger datagrams are not media (RFC 7983 says nothing of size; an Ethernet frame does).
    static var largestDatagram: Int { 1500 }

    /// Takes in the datagrams from `cursor` on and forwards what they bring.
    /// - Parameter flushed: a flush has just been tried; a copy that still finds no slot is dropped.
    /// - Returns: false when the outbox wants a flush first; then flush and call again with the same cursor.
    package mutating func receive(
        _ datagrams: UnsafeBufferPointer<InboundDatagram>, cursor: inout Int, flushed: Bool, now: MediaTime
    ) -> Bool {
        clock = max(clock, now)
        var mayDrop = flushed
        if cursor == 0 { batchesIn &+= 1 }
        while true {
            guard forwardWaiting(mayDrop: &mayDrop, now: now) else { return false }
            guard cursor < datagrams.count else { return true }
            // Take in a run, so that what follows one another in a track leaves together.
            while cursor < datagrams.count, takeIn(datagrams[cursor], now: now) { cursor += 1 }
        }
    }

    // MARK: In

    /// False: the track of this packet must be forwarded first; it has not been taken in.
    private mutating func takeIn(_ datagram: InboundDatagram, now: MediaTime) -> Bool {
        let count = datagram.bytes.count
        guard count >= 8 else { return dropped(.tooShort) }
        guard count <= Self.largestDatagram else { return dropped(.tooLong) }
        // RFC 7983: 128...191 is RTP or RTCP; STUN and DTLS have no transport that would speak them yet.
        guard datagram.bytes[0] >> 6 == 2 else {
            return dropped(datagram.bytes[0] < 64 ? .notMedia : .badVersion)
        }

        let place: Int
        let isRTCPSocket: Bool
        if datagram.socket.isShared {
            guard let found = addresses.find(datagram.source) else { return dropped(.unknownSource) }
            place = Int(found)
            isRTCPSocket = false
        } else {
            guard let found = sockets.find(datagram.socket) else { return dropped(.unknownSocket) }
            place = Int(found) / 2
            isRTCPSocket = found & 1 == 1
        }
        let transport = transports[place]
        // Nobody can be answered at port 0, and a segmented send there fails as if the kernel knew none.
        guard datagram.source.port != 0 else { return dropped(.wrongSource) }
        guard transport.pointee.mayHear(datagram.source, isRTCPSocket: isRTCPSocket) else {
            return dropped(.wrongSource)
        }
        // RFC 5761, section 4: packet types 64...95 (with the marker bit 192...223) are RTCP.
        if datagram.bytes[1] & 0x7F >= 64, datagram.bytes[1] & 0x7F <= 95 {
            takeInRTCP(datagram, transport: place, isRTCPSocket: isRTCPSocket, now: now)
            return true
        }
        return takeInRTP(datagram, transport: place, isRTCPSocket: isRTCPSocket, now: now)
    }

    @inline(__always) private func dropped(_ reason: DropReason) -> Bool {
        drops.count(reason)
        return true
    }

    private mutating func takeInRTP(
        _ datagram: InboundDatagram, transport place: Int, isRTCPSocket: Bool, now: MediaTime
    ) -> Bool {
        let transport = transports[place]
        var header = RTPHeader()
        switch RTPHeader.parse(datagram.bytes.bytes, into: &header) {
        case .header: break
        case .tooShort: return dropped(.tooShort)
        case .badVersion: return dropped(.badVersion)
        case .malformed: return dropped(.malformedHeader)
        }
        guard !isRTCPSocket, transport.pointee.tracks.count > 0 else { return dropped(.wrongDirection) }
        let bound = transport.pointee.track(of: header.ssrc)
        if let bound {
            // A run as long as we keep, or as the cache can hold beside its history, or of another source: forward it first.
            let track = tracks[bound]
            if track.pointee.pendingCount == Track.pendingLimit
                || track.pointee.pendingBytes + datagram.bytes.count > track.pointee.cache.byteCapacity / 2
                || (track.pointee.encoding.ssrc != header.ssrc && track.pointee.pendingCount > 0)
            {
                return false
            }
            // A second of a track is more than the near caches hold: its oldest lines are far away, and are wanted right after
            // opening.
            willWrite(track.pointee.cache.nextPlace, count: datagram.bytes.count)
        } else {
            guard transport.pointee.canBind else { return dropped(.tooManySSRCs) }
            // It may turn out to be the new source of any of them.
            for position in 0..<transport.pointee.tracks.count
            where tracks[transport.pointee.tracks[position]].pointee.pendingCount > 0 { return false }
        }

        // Read from the packet once more: the compiler loads the header's two bytes as four, which waits until every store before
        // them, the last packet's copy into the cache too, has left the store buffer; 80 ns, measured on Zen 4.
        let sequence = UInt16(bigEndian: datagram.bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        let length: Int
        switch transport.pointee.opener.openRTP(
            datagram.bytes, ssrc: header.ssrc, sequenceNumber: sequence, headerLength: header.headerLength)
        {
        case .opened(let opened): length = opened
        case .failed(let reason): return dropped(reason)
        }
        let packet = UnsafeRawBufferPointer(rebasing: datagram.bytes[..<length])
        noteHeard(transport: place, from: datagram.source, isRTCPSocket: isRTCPSocket, bytes: length, now: now)

        guard let track = bound ?? bind(header, packet.bytes, transport: place) else { return true }
        guard header.payloadType == tracks[track].pointee.payloadType else {
            passOver(header, track: track, now: now)
            return dropped(.unknownPayloadType)
        }
        guard let padding = header.paddingLength(in: packet.bytes) else {
            passOver(header, track: track, now: now)
            return dropped(.badPadding)
        }
        accept(packet, header, payloadEnd: length &- padding, track: track, now: now)
        return true
    }

    /// Whose SSRC this is: by MID (RFC 9143, section 9.2), else by a payload type that only one track has. It then stays.
    private mutating func bind(_ header: RTPHeader, _ packet: RawSpan, transport place: Int) -> Int? {
        let transport = transports[place]
        var match: Int?
        for position in 0..<transport.pointee.tracks.count {
            let candidate = transport.pointee.tracks[position]
            let track = tracks[candidate]
            var reader = HeaderExtensionReader(header)
            while let element = reader.next(packet) {
                guard track.pointee.extensionKinds[Int(element.id)] == HeaderExtensionKind.mid.rawValue + 1,
                    track.pointee.mid.equals(packet, offset: element.offset, length: element.length)
                else { continue }
                transport.pointee.bind(header.ssrc, to: candidate)
                return candidate
            }
            guard track.pointee.payloadType == header.payloadType else { continue }
            guard match == nil else {
                drops.count(.ambiguousPayloadType)
                return nil
            }
            match = candidate
        }
        guard let match else {
            drops.count(.unknownPayloadType)
            return nil
        }
        transport.pointee.bind(header.ssrc, to: match)
        return match
    }

    /// Numbers the packet on its track's line and keeps it once.
    private mutating func accept(
        _ packet: UnsafeRawBufferPointer, _ header: RTPHeader, payloadEnd: Int, track place: Int, now: MediaTime
    ) {
        let track = tracks[place]
        if track.pointee.encoding.ssrc != header.ssrc || !track.pointee.encoding.hasStarted {
            begin(track: place, ssrc: header.ssrc)
        }
        let arrival = track.pointee.encoding.accept(
            sequence: header.sequenceNumber, timestamp: header.timestamp, now: now)
        guard case .accepted(let sequence, let timestamp, let gap) = arrival else {
            if case .duplicate = arrival { drops.count(.duplicate) } else { drops.count(.implausibleSequence) }
            return
        }
        if track.pointee.asksForMissing { noteLoss(track: place, sequence, gap, now: now) }

        let payloadLength = payloadEnd &- header.headerLength
        guard payloadLength > 0 else {
            drops.count(.paddingOnly)
            append(PendingPacket(sequence: sequence, isLeftOut: true), bytes: 0, to: place)
            return
        }
        if track.pointee.cache.find(sequence) != nil {
            drops.count(.duplicate)
            return
        }
        if sequence &+ Int64(track.pointee.cache.entryCapacity) <= track.pointee.encoding.highestOnLine {
            drops.count(.implausibleSequence)
            return
        }
        let payload = packet.bytes.extracting(header.headerLength..<payloadEnd)
        let facts = PayloadFacts.read(codec: track.pointee.codec, payload: payload, marker: header.marker)
        var cached = CachedPacket()
        cached.sequence = sequence
        cached.timestamp = timestamp
        cached.payloadLength = UInt16(truncatingIfNeeded: payloadLength)
        cached.extensionLength = UInt16(truncatingIfNeeded: endToEndLength(header, packet.bytes, track: place))
        cached.marker = header.marker
        cached.isKeyFrame = facts.isKeyFrame
        cached.startsFrame = facts.startsFrame
        let bytes = track.pointee.cache.store(cached)
        if cached.extensionLength > 0 { writeEndToEnd(header, packet, track: place, into: bytes) }
        if let source = packet.baseAddress {
            (bytes + Int(cached.extensionLength)).copyMemory(
                from: source + header.headerLength, byteCount: payloadLength)
        }
        track.pointee.packets &+= 1
        track.pointee.bytes &+= UInt64(payloadLength)
        if facts.isKeyFrame, facts.startsFrame, track.pointee.isVideo {
            track.pointee.keyFrameCount &+= 1
            track.pointee.keyFrames.settle()
        }
        append(PendingPacket(sequence: sequence, isLeftOut: false), bytes: cached.length, to: place)
    }

    /// The track's first packet, or the first of a publisher that started again: whoever listens needs a key frame.
    private mutating func begin(track place: Int, ssrc: UInt32) {
        let track = tracks[place]
        let isFirst = !track.pointee.encoding.hasStarted && track.pointee.encoding.highestOnLine < 0
        track.pointee.encoding.restart(ssrc: ssrc)
        if isFirst {
            events.append(.trackStarted(track.pointee.id))
        } else if track.pointee.isVideo {
            for subscription in track.pointee.subscriptions.all {
                subscriptions[subscription].pointee.awaitsKeyFrame = true
            }
        }
        track.pointee.missing.forget()
    }

    /// A packet of the track's source that is not forwarded takes its place in the numbering all the same, and leaves no gap.
    private mutating func passOver(_ header: RTPHeader, track place: Int, now: MediaTime) {
        let track = tracks[place]
        guard track.pointee.encoding.ssrc == header.ssrc, track.pointee.encoding.hasStarted,
            case .accepted(let sequence, _, let gap) = track.pointee.encoding.accept(
                sequence: header.sequenceNumber, timestamp: header.timestamp, now: now)
        else { return }
        if track.pointee.asksForMissing { noteLoss(track: place, sequence, gap, now: now) }
        append(PendingPacket(sequence: sequence, isLeftOut: true), bytes: 0, to: place)
    }

    @inline(__always) private mutating func append(_ packet: PendingPacket, bytes: Int, to place: Int) {
        let track = tracks[place]
        guard track.pointee.subscriptions.count > 0 else { return }
        if track.pointee.pendingCount == 0 { waitingTracks.append(place) }
        track.pointee.pending[track.pointee.pendingCount] = packet
        track.pointee.pendingCount &+= 1
        track.pointee.pendingBytes &+= bytes
    }

    // MARK: Out

    /// Forwards the runs that wait, oldest first. False: the outbox is full and wants a flush.
    private mutating func forwardWaiting(mayDrop: inout Bool, now: MediaTime) -> Bool {
        while waitingTracks.count > 0 {
            let place = waitingTracks[0]
            guard fanOut(track: place, mayDrop: &mayDrop, now: now) else { return false }
            waitingTracks.removeFirst()
        }
        return true
    }

    /// The fan-out loop. For each subscription, each packet of the run: admit it, number it, copy it into a slot. Runs to one
    /// destination so stand together, and leave as one message.
    private mutating func fanOut(track place: Int, mayDrop: inout Bool, now: MediaTime) -> Bool {
        let track = tracks[place]
        let isVideo = track.pointee.isVideo
        while track.pointee.nextSubscription < track.pointee.subscriptions.count {
            let subscription = subscriptions[track.pointee.subscriptions[track.pointee.nextSubscription]]
            let destination = Int(subscription.pointee.transport) &* 2
            while track.pointee.nextPending < track.pointee.pendingCount {
                if outbox.isFull, !mayDrop { return false }
                let waiting = track.pointee.pending[track.pointee.nextPending]
                track.pointee.nextPending &+= 1
                guard !waiting.isLeftOut else {
                    subscription.pointee.rewriter.skip(waiting.sequence)
                    continue
                }
                guard let packet = track.pointee.cache.find(waiting.sequence) else {
                    drops.count(.overwritten)
                    continue
                }
                if subscription.pointee.awaitsKeyFrame {
                    guard packet.pointee.isKeyFrame, packet.pointee.startsFrame else {
                        drops.count(.awaitingKeyFrame)
                        wantKeyFrame(track: place, now: now)
                        continue
                    }
                }
                if subscription.pointee.awaitsKeyFrame || !subscription.pointee.rewriter.hasStarted {
                    start(subscription, at: packet, clockRate: track.pointee.encoding.clockRate, now: now)
                }
                guard let number = subscription.pointee.rewriter.map(waiting.sequence) else {
                    drops.count(.lateForSubscriber)
                    continue
                }
                guard outbox.admits(destination, isVideo: isVideo),
                    let slot = outbox.take() ?? slotFromVideo(isVideo: isVideo)
                else {
                    drops.count(.outboxFull)
                    continue
                }
                mayDrop = false
                let content = track.pointee.cache.content(of: packet)
                if write(packet, content, for: subscription, number: number, into: slot, track: place) {
                    outbox.enqueue(slot, to: destination)
                    subscription.pointee.packets &+= 1
                    subscription.pointee.octets &+= UInt64(packet.pointee.payloadLength)
                }
            }
            track.pointee.nextPending = 0
            track.pointee.nextSubscription &+= 1
        }
        track.pointee.nextSubscription = 0
        track.pointee.pendingCount = 0
        track.pointee.pendingBytes = 0
        return true
    }

    /// Where nothing is free, speech takes the place of video.
    private mutating func slotFromVideo(isVideo: Bool) -> Int? {
        guard !isVideo, let slot = outbox.takeFromVideo() else { return nil }
        drops.count(.outboxFull)
        return slot
    }

    private mutating func start(
        _ subscription: UnsafeMutablePointer<Subscription>, at packet: UnsafePointer<CachedPacket>, clockRate: UInt32,
        now: MediaTime
    ) {
        subscription.pointee.start(
            at: packet.pointee.sequence, timestamp: packet.pointee.timestamp, clockRate: clockRate, now: now)
        // The subscriber's first sender report follows its first packet, so that sound and picture meet early.
        startReports(transport: Int(subscription.pointee.transport), in: .milliseconds(20))
    }

    /// Writes one copy, unsealed. The same packet and number always give the same bytes, so that a retransmission is a repetition and
    /// never a second plaintext under one key stream.
    @inline(__always) mutating func write(
        _ packet: UnsafePointer<CachedPacket>, _ content: UnsafeRawPointer,
        for subscription: UnsafeMutablePointer<Subscription>, number: Int64, into slot: Int, track: Int
    ) -> Bool {
        let buffer = outbox.bytes(of: slot)
        var writer = RTPHeaderWriter(
            into: buffer, marker: packet.pointee.marker, payloadType: subscription.pointee.payloadType,
            sequenceNumber: UInt16(truncatingIfNeeded: number),
            timestamp: packet.pointee.timestamp &+ subscription.pointee.timestampOffset,
            ssrc: subscription.pointee.ssrc, twoByte: subscription.pointee.usesTwoByteForm)
        if subscription.pointee.hasExtensions {
            writeExtensions(content, length: Int(packet.pointee.extensionLength), for: subscription, &writer)
        }
        let payloadLength = Int(packet.pointee.payloadLength)
        guard let headerLength = writer.finish(),
            headerLength &+ payloadLength &+ 16 <= Outbox.slotSize, let base = buffer.baseAddress
        else {
            drops.count(.headerTooLarge)
            outbox.giveBack(slot)
            return false
        }
        (base + headerLength).copyMemory(
            from: content + Int(packet.pointee.extensionLength), byteCount: payloadLength)
        let entry = outbox.slots + slot
        entry.pointee.length = Int32(truncatingIfNeeded: headerLength &+ payloadLength)
        entry.pointee.headerLength = UInt16(truncatingIfNeeded: headerLength)
        entry.pointee.ssrc = subscription.pointee.ssrc
        entry.pointee.index = UInt64(bitPattern: number) & 0xFFFF_FFFF_FFFF
        entry.pointee.track = Int32(truncatingIfNeeded: track)
        entry.pointee.isVideo = tracks[track].pointee.isVideo
        entry.pointee.isSealed = false
        subscription.pointee.lastTimestamp = packet.pointee.timestamp &+ subscription.pointee.timestampOffset
        return true
    }
}
