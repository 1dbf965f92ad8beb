import MediaContract
import MediaTransport
package import MediaWire

/// A packet in: whose it is, what it is, and where it is kept. What follows is in `+FanOut`.
extension Switchboard {
    /// A pause after which a gap is that of a path, not of a few packets.
    static var longPause: MediaDuration { .milliseconds(500) }

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

    /// False: the track of this packet must be forwarded first; it has not been taken in.
    private mutating func takeIn(_ datagram: InboundDatagram, now: MediaTime) -> Bool {
        let count = datagram.bytes.count
        guard count >= 8 else { return dropped(.tooShort) }
        guard count <= Self.largestDatagram else { return dropped(.tooLong) }
        // RFC 7983: 0...3 is STUN, 20...63 DTLS, 128...191 RTP or RTCP.
        let first = datagram.bytes[0]
        let isShared = datagram.socket.isShared
        if first < 4, isShared || datagram.socket.isStream {
            takeInCheck(datagram, now: now)
            return true
        }

        let place: Int
        let isRTCPSocket: Bool
        if isShared {
            guard let found = addresses.find(datagram.source) else { return dropped(.unverifiedSource) }
            place = Int(found)
            isRTCPSocket = false
        } else {
            guard let found = sockets.find(datagram.socket) else {
                return dropped(datagram.socket.isStream ? .unverifiedSource : .unknownSocket)
            }
            place = Int(found) / 2
            isRTCPSocket = found & 1 == 1
        }
        guard first >> 6 == 2 else {
            guard first >= 20, first < 64 else { return dropped(first < 64 ? .notMedia : .badVersion) }
            takeInHandshake(datagram, transport: place)
            return true
        }
        let transport = transports[place]
        guard transport.pointee.isReady else { return dropped(.noKeysYet) }
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
        let bound = transport.pointee.binding(of: header.ssrc)
        if let bound {
            // A run as long as we keep, or as the cache can hold beside its history, or of another source: forward it first.
            let encoding = encodings[Int(bound.encoding)]
            if encoding.pointee.pendingCount == Encoding.pendingLimit
                || encoding.pointee.pendingBytes + datagram.bytes.count > encoding.pointee.cache.byteCapacity / 2
                || (encoding.pointee.reception.ssrc != header.ssrc && encoding.pointee.pendingCount > 0
                    && !bound.isRepair)
            {
                return false
            }
            // A second of a track is more than the near caches hold: its oldest lines are far away, and are wanted right after
            // opening.
            willWrite(encoding.pointee.cache.nextPlace, count: datagram.bytes.count)
        } else {
            guard transport.pointee.canBind else { return dropped(.tooManySSRCs) }
            // It may turn out to be the new source of any of them.
            for position in 0..<transport.pointee.tracks.count {
                let track = tracks[transport.pointee.tracks[position]]
                for layer in 0..<track.pointee.encodings.count
                where encodings[track.pointee.encodings[layer]].pointee.pendingCount > 0 { return false }
            }
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
        noteHeard(datagram, transport: place, isRTCPSocket: isRTCPSocket, bytes: length, now: now)

        if transport.pointee.isWebRTC { noteArrival(header, packet.bytes, transport: place, bound, now: now) }
        guard let binding = bound ?? bind(header, packet.bytes, transport: place) else { return true }
        takeIn(packet, header, binding, now: now)
        return true
    }

    /// An authentic packet of a known encoding.
    private mutating func takeIn(
        _ packet: UnsafeRawBufferPointer, _ header: RTPHeader, _ binding: SSRCBinding, now: MediaTime
    ) {
        let place = Int(binding.encoding)
        let track = tracks[encodings[place].pointee.track]
        if binding.isRepair {
            takeInRepair(packet, header, encoding: place, now: now)
            return
        }
        let isRedundant = header.payloadType == track.pointee.redPayloadType
        guard header.payloadType == track.pointee.payloadType || isRedundant else {
            passOver(header, encoding: place, now: now)
            drops.count(.unknownPayloadType)
            return
        }
        guard let padding = header.paddingLength(in: packet.bytes) else {
            passOver(header, encoding: place, now: now)
            drops.count(.badPadding)
            return
        }
        accept(
            packet, header, payload: header.headerLength..<(packet.count &- padding), isRedundant: isRedundant,
            encoding: place, now: now)
    }

    /// A packet that repairs another one (RFC 4588, section 4): the lost number, then its payload. Probes of the publisher come this
    /// way, too, as padding alone or as what has come long ago.
    private mutating func takeInRepair(
        _ packet: UnsafeRawBufferPointer, _ header: RTPHeader, encoding place: Int, now: MediaTime
    ) {
        let encoding = encodings[place]
        guard header.payloadType == tracks[encoding.pointee.track].pointee.rtxPayloadType else {
            drops.count(.unknownPayloadType)
            return
        }
        guard let padding = header.paddingLength(in: packet.bytes) else {
            drops.count(.badPadding)
            return
        }
        let end = packet.count &- padding
        guard end > header.headerLength else {
            drops.count(.paddingOnly)
            return
        }
        guard end >= header.headerLength &+ 2 else {
            drops.count(.malformedRetransmission)
            return
        }
        let original = UInt16(
            bigEndian: packet.loadUnaligned(fromByteOffset: header.headerLength, as: UInt16.self))
        guard let sequence = encoding.pointee.reception.place(ofRepaired: original) else {
            drops.count(.unknownRetransmission)
            return
        }
        guard end > header.headerLength &+ 2 else {
            drops.count(.paddingOnly)
            return
        }
        if encoding.pointee.missing.count > 0 { encoding.pointee.missing.remove(sequence) }
        keep(
            packet, header, payload: (header.headerLength &+ 2)..<end, isRedundant: false, sequence: sequence,
            timestamp: header.timestamp &+ encoding.pointee.reception.timestampOffset, encoding: place)
    }

    /// Numbers the packet on its encoding's line and keeps it once.
    private mutating func accept(
        _ packet: UnsafeRawBufferPointer, _ header: RTPHeader, payload: Range<Int>, isRedundant: Bool,
        encoding place: Int, now: MediaTime
    ) {
        let encoding = encodings[place]
        if encoding.pointee.reception.ssrc != header.ssrc || !encoding.pointee.reception.hasStarted {
            begin(encoding: place, ssrc: header.ssrc)
        }
        let isFirst = !encoding.pointee.reception.hasStarted
        let isBack = !isFirst && now - encoding.pointee.reception.lastArrival > Self.longPause
        let restarts = encoding.pointee.reception.restarts
        let arrival = encoding.pointee.reception.accept(
            sequence: header.sequenceNumber, timestamp: header.timestamp, now: now)
        if encoding.pointee.reception.restarts != restarts { jumped(encoding: place, now: now) }
        if isFirst, encoding.pointee.hasSiblings { chooseLayers(track: encoding.pointee.track, now: now) }
        guard case .accepted(let sequence, let timestamp, let gap) = arrival else {
            if case .duplicate = arrival { drops.count(.duplicate) } else { drops.count(.implausibleSequence) }
            return
        }
        if encoding.pointee.asksForMissing { noteLoss(encoding: place, sequence, gap, now: now) }
        // After a hole in its path a publisher has hardly kept what was lost.
        if isBack, !gap.isEmpty, encoding.pointee.hasListeners { wantKeyFrame(encoding: place, now: now) }

        guard payload.upperBound > payload.lowerBound else {
            drops.count(.paddingOnly)
            append(PendingPacket(sequence: sequence, isLeftOut: true), bytes: 0, to: place)
            return
        }
        keep(
            packet, header, payload: payload, isRedundant: isRedundant, sequence: sequence, timestamp: timestamp,
            encoding: place)
    }

    /// Works out what a packet is, once, and copies it into the cache.
    @inline(__always) private mutating func keep(
        _ packet: UnsafeRawBufferPointer, _ header: RTPHeader, payload range: Range<Int>, isRedundant: Bool,
        sequence: Int64, timestamp: UInt32, encoding place: Int
    ) {
        let encoding = encodings[place]
        if encoding.pointee.cache.knows(sequence) {
            drops.count(.duplicate)
            return
        }
        if sequence &+ Int64(encoding.pointee.cache.entryCapacity) <= encoding.pointee.reception.highestOnLine {
            drops.count(.implausibleSequence)
            return
        }
        let payloadLength = range.upperBound &- range.lowerBound
        let payload = packet.bytes.extracting(range)
        let facts = PayloadFacts.read(codec: encoding.pointee.codec, payload: payload, marker: header.marker)
        var cached = CachedPacket()
        cached.sequence = sequence
        cached.timestamp = timestamp
        cached.payloadLength = UInt16(truncatingIfNeeded: payloadLength)
        noteEndToEnd(header, packet.bytes, kinds: encoding.pointee.extensionKinds, in: &cached)
        cached.marker = header.marker
        cached.isKeyFrame = facts.isKeyFrame
        cached.startsFrame = facts.startsFrame
        if isRedundant {
            guard let primary = RedundantAudio.primaryOffset(payload) else {
                drops.count(.malformedRedundancy)
                append(PendingPacket(sequence: sequence, isLeftOut: true), bytes: 0, to: place)
                return
            }
            cached.isRedundant = true
            cached.primaryOffset = UInt16(truncatingIfNeeded: primary)
        }
        if encoding.pointee.hasSiblings { cached.notePictures(codec: encoding.pointee.codec, payload) }
        let bytes = encoding.pointee.cache.store(cached)
        if cached.extensionLength > 0 {
            writeEndToEnd(header, packet, kinds: encoding.pointee.extensionKinds, into: bytes)
        }
        if let source = packet.baseAddress {
            (bytes + Int(cached.extensionLength)).copyMemory(from: source + range.lowerBound, byteCount: payloadLength)
        }
        encoding.pointee.packets &+= 1
        encoding.pointee.bytes &+= UInt64(payloadLength)
        if facts.isKeyFrame, facts.startsFrame, encoding.pointee.isVideo {
            encoding.pointee.keyFrameCount &+= 1
            encoding.pointee.keyFrames.settle()
        }
        append(PendingPacket(sequence: sequence, isLeftOut: false), bytes: cached.length, to: place)
    }

    /// A packet of the encoding's source that is not forwarded takes its place in the numbering all the same, and leaves no gap.
    private mutating func passOver(_ header: RTPHeader, encoding place: Int, now: MediaTime) {
        let encoding = encodings[place]
        guard encoding.pointee.reception.ssrc == header.ssrc, encoding.pointee.reception.hasStarted,
            case .accepted(let sequence, _, let gap) = encoding.pointee.reception.accept(
                sequence: header.sequenceNumber, timestamp: header.timestamp, now: now)
        else { return }
        if encoding.pointee.asksForMissing { noteLoss(encoding: place, sequence, gap, now: now) }
        append(PendingPacket(sequence: sequence, isLeftOut: true), bytes: 0, to: place)
    }

    @inline(__always) private mutating func append(_ packet: PendingPacket, bytes: Int, to place: Int) {
        let encoding = encodings[place]
        guard encoding.pointee.hasListeners else { return }
        if encoding.pointee.pendingCount == 0 { waitingEncodings.append(place) }
        encoding.pointee.pending[encoding.pointee.pendingCount] = packet
        encoding.pointee.pendingCount &+= 1
        encoding.pointee.pendingBytes &+= bytes
    }
}
