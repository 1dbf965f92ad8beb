import MediaContract
import MediaTransport
import MediaWire

/// What publishers are told about the way to us, so that they leave their start rate: transport-wide feedback where it was negotiated
/// (draft-holmer-rmcat-transport-wide-cc-extensions-01), else an estimate (draft-alvestrand-rmcat-remb-03).
extension Switchboard {
    /// Between two reports of arrivals.
    static var feedbackInterval: MediaDuration { .milliseconds(50) }
    /// Bounds of the estimate, in bit/s.
    static var estimateRange: ClosedRange<UInt64> { 300_000...20_000_000 }

    /// Notes when an authentic packet came, and of which track's numbering.
    @inline(__always) mutating func noteArrival(
        _ header: RTPHeader, _ packet: RawSpan, transport place: Int, _ binding: SSRCBinding?, now: MediaTime
    ) {
        let connection = connections[transports[place].pointee.connection]
        guard connection.pointee.arrivals.isOn, header.extensionLength > 0, transports[place].pointee.tracks.count > 0
        else { return }
        let kinds =
            binding.map { encodings[Int($0.encoding)].pointee.extensionKinds }
            ?? tracks[transports[place].pointee.tracks[0]].pointee.extensionKinds
        var reader = HeaderExtensionReader(header)
        while let element = reader.next(packet) {
            guard kinds[Int(element.id)] == HeaderExtensionKind.transportWideCC.rawValue &+ 1, element.length == 2
            else {
                continue
            }
            let high = UInt16(packet.unsafeLoad(fromByteOffset: element.offset, as: UInt8.self))
            let low = UInt16(packet.unsafeLoad(fromByteOffset: element.offset &+ 1, as: UInt8.self))
            connection.pointee.arrivals.note(high << 8 | low, ssrc: header.ssrc, now: now)
            if connection.pointee.feedbackDue == .distantFuture {
                connection.pointee.feedbackDue = now + Self.feedbackInterval
                arm(transport: place, at: connection.pointee.feedbackDue)
            }
            return
        }
    }

    /// What is due of a WebRTC transport: handshake, feedback.
    mutating func fire(connection place: Int, now: MediaTime) {
        let connection = connections[place]
        let transport = connection.pointee.transport
        if let due = connection.pointee.association.nextDeadline {
            if due <= now {
                connection.pointee.association.advance(to: now)
                continueHandshake(transport: transport, now: now)
            } else {
                arm(transport: transport, at: due)
            }
        }
        guard connection.pointee.feedbackDue != .distantFuture else { return }
        guard connection.pointee.feedbackDue <= now else {
            arm(transport: transport, at: connection.pointee.feedbackDue)
            return
        }
        connection.pointee.feedbackDue = .distantFuture
        let localSSRC = transports[transport].pointee.localSSRC
        // At 50 ms these are 10,000 packets a second.
        for _ in 0..<8 where connection.pointee.arrivals.hasNews {
            sendRTCP(transport: transport, asCompound: true) { writer in
                connection.pointee.arrivals.write(to: &writer, senderSSRC: localSSRC)
            }
        }
    }

    /// An estimate for publishers without transport-wide feedback: well above what comes, as long as it comes whole.
    mutating func estimate(transport place: Int, now: MediaTime) {
        let transport = transports[place]
        let connection = connections[transport.pointee.connection]
        guard transport.pointee.isReady, !connection.pointee.arrivals.isOn else { return }
        let elapsed = now - connection.pointee.estimatedAt
        let bytes = transport.pointee.bytesIn &- connection.pointee.bytesAtEstimate
        connection.pointee.estimatedAt = now
        connection.pointee.bytesAtEstimate = transport.pointee.bytesIn
        let localSSRC = transport.pointee.localSSRC
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { ssrcs in
            var count = 0
            var lost: Int64 = 0
            var packets: UInt64 = 0
            for position in 0..<transport.pointee.tracks.count {
                let track = tracks[transport.pointee.tracks[position]]
                guard track.pointee.feedback.contains(.remb) else { continue }
                for layer in 0..<track.pointee.encodings.count where count < ssrcs.count {
                    let encoding = encodings[track.pointee.encodings[layer]]
                    guard encoding.pointee.reception.hasStarted else { continue }
                    ssrcs[count] = encoding.pointee.reception.ssrc
                    count &+= 1
                    lost &+= max(0, encoding.pointee.reception.lost)
                    packets &+= encoding.pointee.reception.received
                }
            }
            guard count > 0, elapsed > .zero else { return }
            let rate = Double(bytes) * 8 / min(max(elapsed.seconds, 0.1), 10)
            let lostNow = Double(max(0, lost &- connection.pointee.lostAtEstimate))
            let packetsNow = Double(packets &- min(packets, connection.pointee.packetsAtEstimate))
            connection.pointee.lostAtEstimate = lost
            connection.pointee.packetsAtEstimate = packets
            let share = lostNow / max(lostNow + packetsNow, 1)
            // As libwebrtc judges a sender's loss: above a tenth is too fast, below a fiftieth is not yet fast enough.
            let wanted = share > 0.1 ? rate * (1 - share / 2) : share > 0.02 ? rate * 1.2 : rate * 2 + 300_000
            let bitrate = min(max(UInt64(wanted), Self.estimateRange.lowerBound), Self.estimateRange.upperBound)
            let named = UnsafeBufferPointer(rebasing: ssrcs[..<count])
            sendRTCP(transport: place, asCompound: true) { writer in
                writer.receiverEstimate(senderSSRC: localSSRC, bitrate: bitrate, ssrcs: named)
            }
        }
    }
}
