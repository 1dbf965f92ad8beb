import MediaContract
import MediaTransport
import MediaWire

/// RTCP that comes in: reports, requests to send again, requests for key frames.
extension Switchboard {
    mutating func takeInRTCP(_ datagram: InboundDatagram, transport place: Int, isRTCPSocket: Bool, now: MediaTime) {
        let transport = transports[place]
        let length: Int
        switch transport.pointee.opener.openRTCP(datagram.bytes) {
        case .opened(let opened): length = opened
        case .failed(let reason):
            drops.count(reason)
            return
        }
        noteHeard(datagram, transport: place, isRTCPSocket: isRTCPSocket, bytes: length, now: now)
        let bytes = UnsafeRawBufferPointer(rebasing: datagram.bytes[..<length]).bytes
        var reader = RTCPCompoundReader()
        while let block = reader.next(bytes) {
            switch block.type {
            case RTCPType.senderReport:
                if let report = RTCPSenderReport.parse(bytes, block) { take(report, transport: place, now: now) }
                takeReportBlocks(bytes, block, transport: place, now: now)
            case RTCPType.receiverReport: takeReportBlocks(bytes, block, transport: place, now: now)
            case RTCPType.transportFeedback:
                if let nack = RTCPNack.parse(bytes, block) { take(nack, bytes, block, transport: place, now: now) }
            case RTCPType.payloadFeedback:
                takePayloadFeedback(bytes, block, transport: place, now: now)
            default: break
            }
        }
        if reader.malformed { drops.count(.malformedRTCP) }
    }

    /// Follows whatever was authentic, and tells the control plane now and then.
    mutating func noteHeard(
        _ datagram: InboundDatagram, transport place: Int, isRTCPSocket: Bool, bytes: Int, now: MediaTime
    ) {
        let transport = transports[place]
        packetsIn &+= 1
        bytesIn &+= UInt64(bytes)
        transport.pointee.packetsIn &+= 1
        transport.pointee.bytesIn &+= UInt64(bytes)
        if transport.pointee.isWebRTC {
            let path = WebRTCPath(socket: datagram.socket, address: datagram.source)
            if transport.pointee.uses(path) {
                transport.pointee.pathHeard = now
            } else {
                heardElsewhere(path, transport: place, now: now)
            }
        }
        if transport.pointee.heard(from: datagram.source, isRTCPSocket: isRTCPSocket, now: now) {
            events.append(.transportConnected(transport.pointee.id, datagram.source))
            transport.pointee.lastHeardReported = now
        }
        if !transport.pointee.isQuiet, let reported = transport.pointee.lastHeardReported,
            now < reported + .seconds(5)
        {
            return
        }
        reportHeard(transport: place, now: now)
    }

    mutating func reportHeard(transport place: Int, now: MediaTime) {
        let transport = transports[place]
        transport.pointee.isQuiet = false
        transport.pointee.lastHeardReported = now
        events.append(.transportHeard(transport.pointee.id))
    }

    private func subscription(of ssrc: UInt32, transport place: Int) -> Int? {
        let transport = transports[place]
        for position in 0..<transport.pointee.subscriptions.count {
            let subscription = transport.pointee.subscriptions[position]
            if subscriptions[subscription].pointee.ssrc == ssrc { return subscription }
        }
        return nil
    }

    // MARK: Reports

    private mutating func take(_ report: RTCPSenderReport, transport place: Int, now: MediaTime) {
        guard let binding = transports[place].pointee.binding(of: report.ssrc), !binding.isRepair,
            case let encoding = encodings[Int(binding.encoding)], encoding.pointee.reception.ssrc == report.ssrc
        else { return }
        encoding.pointee.reception.note(senderReport: report.ntp, timestamp: report.rtpTimestamp, now: now)
    }

    private mutating func takeReportBlocks(_ bytes: RawSpan, _ block: RTCPBlock, transport place: Int, now: MediaTime) {
        for index in 0..<RTCPReportBlock.count(block) {
            guard let report = RTCPReportBlock.parse(bytes, block, index: index),
                let place = subscription(of: report.ssrc, transport: place)
            else { continue }
            subscriptions[place].pointee.take(report, now: now)
        }
    }

    // MARK: Retransmission

    private mutating func take(
        _ nack: RTCPNack, _ bytes: RawSpan, _ block: RTCPBlock, transport place: Int, now: MediaTime
    ) {
        guard let subscription = subscription(of: nack.mediaSSRC, transport: place) else {
            drops.count(.unknownSSRC)
            return
        }
        guard subscriptions[subscription].pointee.feedback.contains(.nack) else {
            drops.count(.unnegotiatedFeedback)
            return
        }
        var reader = RTCPNackReader(block)
        // More in one message than anybody's history could give is nobody's honest wish.
        var left = Self.nackLimit
        while left > 0, let sequence = reader.next(bytes) {
            left &-= 1
            resend(sequence, subscription: subscription, now: now)
        }
    }

    /// Numbers that are looked for in one NACK.
    static var nackLimit: Int { 256 }

    /// Sends a packet again, from the cache, under the number it had.
    private mutating func resend(_ sequence: UInt16, subscription place: Int, now: MediaTime) {
        let subscription = subscriptions[place]
        let place = Int(subscription.pointee.encoding)
        let encoding = encodings[place]
        let highest = subscription.pointee.rewriter.highestOut
        let step = Int16(truncatingIfNeeded: sequence &- UInt16(truncatingIfNeeded: highest))
        let number = highest &+ Int64(step)
        // On its way to another layer its numbers are still those of the one before, and its cache is not.
        guard step <= 0, subscription.pointee.leftAt == nil,
            let original = subscription.pointee.rewriter.inverse(number),
            let packet = encoding.pointee.cache.find(original)
        else {
            // Not sent yet, left out, or forgotten. One that we miss ourselves is forwarded when it comes.
            drops.count(.retransmissionGone)
            return
        }
        let size = packet.pointee.length &+ 32
        guard subscription.pointee.budget.take(size, sequence: UInt32(truncatingIfNeeded: number), now: now) else {
            drops.count(.retransmissionLimited)
            return
        }
        let destination = Outbox.destination(ofTransport: Int(subscription.pointee.transport))
        guard outbox.admits(destination, isVideo: encoding.pointee.isVideo), let slot = outbox.take() else {
            drops.count(.outboxFull)
            return
        }
        let content = encoding.pointee.cache.content(of: packet)
        let lastTimestamp = subscription.pointee.lastTimestamp
        let isWritten =
            subscription.pointee.rtxSSRC != 0
            ? writeRepair(packet, content, for: subscription, number: number, into: slot, encoding: place)
            : write(packet, content, for: subscription, number: number, into: slot, encoding: place)
        guard isWritten else { return }
        subscription.pointee.lastTimestamp = lastTimestamp
        subscription.pointee.retransmitted &+= 1
        outbox.enqueue(slot, to: destination)
    }

    // MARK: Key frames

    private mutating func takePayloadFeedback(
        _ bytes: RawSpan, _ block: RTCPBlock, transport place: Int, now: MediaTime
    ) {
        if let request = RTCPPictureLossIndication.parse(bytes, block) {
            requestKeyFrame(.pli, ssrc: request.mediaSSRC, transport: place, now: now)
        } else if RTCPFullIntraRequest.parse(bytes, block) != nil {
            for index in 0..<RTCPFullIntraRequest.entryCount(block) {
                guard let entry = RTCPFullIntraRequest.entry(bytes, block, index: index) else { continue }
                requestKeyFrame(.fir, ssrc: entry.ssrc, transport: place, now: now)
            }
        }
    }

    private mutating func requestKeyFrame(
        _ kind: FeedbackSet, ssrc: UInt32, transport place: Int, now: MediaTime
    ) {
        guard let subscription = subscription(of: ssrc, transport: place) else {
            drops.count(.unknownSSRC)
            return
        }
        guard subscriptions[subscription].pointee.feedback.contains(kind) else {
            drops.count(.unnegotiatedFeedback)
            return
        }
        let passed = wantKeyFrame(encoding: Int(subscriptions[subscription].pointee.encoding), now: now)
        if !passed { drops.count(.keyFrameRequestLimited) }
    }

    /// Somebody who listens to this encoding needs a key frame. False: the publisher is not asked now; it was lately, or cannot be.
    @discardableResult
    mutating func wantKeyFrame(encoding place: Int, now: MediaTime) -> Bool {
        let encoding = encodings[place]
        guard encoding.pointee.canRequestKeyFrames, encoding.pointee.reception.hasStarted,
            encoding.pointee.hasListeners
        else { return false }
        let decision = encoding.pointee.keyFrames.want(now: now)
        if decision == .send { sendKeyFrameRequest(encoding: place) }
        if let due = encoding.pointee.keyFrames.due { arm(encoding: place, at: due) }
        return decision == .send
    }

    // MARK: Loss on the way to us

    mutating func noteLoss(encoding place: Int, _ sequence: Int64, _ gap: Range<Int64>, now: MediaTime) {
        let encoding = encodings[place]
        if encoding.pointee.missing.count > 0 { encoding.pointee.missing.remove(sequence) }
        guard !gap.isEmpty else { return }
        guard encoding.pointee.missing.add(gap, now: now) else {
            // Too much is gone to ask for piece by piece.
            wantKeyFrame(encoding: place, now: now)
            return
        }
        if let due = encoding.pointee.missing.next { arm(encoding: place, at: due) }
    }
}

extension Subscription {
    /// What the subscriber says of what it got (RFC 3550, section 6.4.1).
    fileprivate mutating func take(_ report: RTCPReportBlock, now: MediaTime) {
        fractionLost = report.fractionLost
        guard report.lastSenderReport != 0 else { return }
        for place in 0..<2 where sentReports[place].ntp == report.lastSenderReport {
            let held = MediaDuration(nanoseconds: Int64(report.delaySinceLastSenderReport) &* 1_000_000_000 / 65536)
            let elapsed = now - sentReports[place].time
            roundTrip = MediaDuration(nanoseconds: max(0, elapsed.nanoseconds &- held.nanoseconds))
            return
        }
    }
}
