import MediaContract
import MediaTransport
package import MediaWire

/// RTCP of a client: reports out, requests in and out.
extension ClientTransport {
    /// Sends what is due: reports, requests for missing packets.
    ///
    /// - Parameter wallTime: nanoseconds since 1970, for sender reports.
    package mutating func advance(to now: MediaTime, wallTime: Int64, into outbox: inout ClientOutbox) {
        if let connection, connection.nextDeadline <= now {
            connection.advance(to: now)
            settleConnection(into: &outbox)
        }
        guard canSend else { return }
        for stream in inbound.indices where inbound[stream].repair.deadline <= now {
            inbound[stream].repair.takeDue(now: now, into: &numbers)
            if !numbers.isEmpty { sendNack(stream, into: &outbox) }
        }
        if nextReport <= now {
            sendReports(now: now, wallTime: wallTime, into: &outbox)
            let next = nextReport + Self.reportInterval
            // After a pause of the caller's no burst of reports.
            nextReport = next > now ? next : now + Self.reportInterval
        }
    }

    /// Asks for a key frame of received stream `stream` (RFC 4585, section 6.3.1), at most twice a second.
    package mutating func requestKeyFrame(stream: Int, now: MediaTime, into outbox: inout ClientOutbox) {
        guard canSend, inbound.indices.contains(stream), inbound[stream].isActive else { return }
        if let last = lastKeyFrameRequest[stream], now < last + Self.keyFrameSpacing { return }
        lastKeyFrameRequest[stream] = now
        let sender = reporterSSRC
        let media = inbound[stream].settings.ssrc
        let sent = sendControl(into: &outbox) { writer in
            writer.pictureLossIndication(senderSSRC: sender, mediaSSRC: media)
        }
        if sent { statistics.keyFrameRequestsSent &+= 1 }
    }

    /// Says goodbye for all sent streams (RFC 3550, section 6.6).
    package mutating func sendGoodbye(into outbox: inout ClientOutbox) {
        let ssrcs = outbound.filter(\.isActive).prefix(31).map(\.settings.ssrc)
        guard canSend, !ssrcs.isEmpty else { return }
        _ = sendControl(into: &outbox) { writer in ssrcs.withUnsafeBufferPointer { writer.goodbye(ssrcs: $0) } }
    }

    private mutating func sendNack(_ stream: Int, into outbox: inout ClientOutbox) {
        let sender = reporterSSRC
        let media = inbound[stream].settings.ssrc
        // An entry is 4 bytes and names at least one number: 128 of them always fit.
        var first = 0
        while first < numbers.count {
            let part = Array(numbers[first..<min(first + 128, numbers.count)])
            let sent = sendControl(into: &outbox) { writer in
                part.withUnsafeBufferPointer {
                    writer.nack(senderSSRC: sender, mediaSSRC: media, sequences: $0)
                }
            }
            if sent { statistics.nacksSent &+= 1 }
            first += part.count
        }
    }

    private mutating func sendReports(now: MediaTime, wallTime: Int64, into outbox: inout ClientOutbox) {
        var blocks: [RTCPReportBlock] = []
        for stream in inbound.indices where inbound[stream].isActive {
            if let block = inbound[stream].makeReport(now: now) { blocks.append(block) }
        }
        var reports: [RTCPSenderReport] = []
        for stream in outbound where stream.isActive {
            guard let last = stream.lastSent else { continue }
            let ticks = (now - last).ticks(at: stream.settings.codec.clockRate)
            reports.append(
                RTCPSenderReport(
                    ssrc: stream.settings.ssrc, ntp: NTPTime(unixNanoseconds: wallTime),
                    rtpTimestamp: stream.lastTimestamp &+ UInt32(truncatingIfNeeded: ticks),
                    packetCount: stream.packetCount, octetCount: stream.octetCount))
        }
        let reporter = reporterSSRC
        let name = cname
        // 31 blocks and as many reports as fit; the streams beyond take turns with the next datagram.
        repeat {
            let part = Array(blocks.prefix(RTCPReportBlock.maxCount))
            blocks.removeFirst(part.count)
            let sources = Array(reports.prefix(8))
            reports.removeFirst(sources.count)
            _ = sendControl(into: &outbox) { writer in
                part.withUnsafeBufferPointer { pointer in
                    var fits = true
                    if let first = sources.first {
                        fits = writer.senderReport(first, blocks: pointer)
                        for other in sources.dropFirst() where fits { fits = writer.senderReport(other) }
                    } else {
                        fits = writer.receiverReport(ssrc: reporter, blocks: pointer)
                    }
                    return fits && name.withUnsafeBytes { writer.sourceDescription(ssrc: reporter, cname: $0) }
                }
            }
        } while !blocks.isEmpty || !reports.isEmpty
    }

    /// Writes one RTCP datagram, seals it, and leaves it in the outbox.
    mutating func sendControl(
        into outbox: inout ClientOutbox, _ write: (inout RTCPWriter) -> Bool
    ) -> Bool {
        guard canSend, let path else { return false }
        guard let slot = outbox.nextSlot else {
            statistics.sendRefused &+= 1
            return false
        }
        var writer = RTCPWriter(into: UnsafeMutableRawBufferPointer(rebasing: slot[..<Self.rtcpLimit]))
        guard write(&writer), writer.count > 0, let length = sealer.sealRTCP(slot, length: writer.count) else {
            return false
        }
        outbox.addSealed(client: id, path: path, length: length)
        return true
    }

    // MARK: Receiving

    mutating func receiveControl(
        _ datagram: UnsafeMutableRawBufferPointer, now: MediaTime, into outbox: inout ClientOutbox
    ) -> Arrival {
        let length: Int
        switch opener.openRTCP(datagram) {
        case .opened(let opened): length = opened
        case .failed(let reason): return drop(reason)
        }
        let bytes = RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: datagram[..<length]))
        var reader = RTCPCompoundReader()
        while let block = reader.next(bytes) { take(bytes, block, now: now, into: &outbox) }
        return reader.malformed ? drop(.malformedRTCP) : .control
    }

    /// One block of a compound. A function of its own also because the compiler does not come to an end with both in one, without
    /// optimization (6.3.1).
    private mutating func take(_ bytes: RawSpan, _ block: RTCPBlock, now: MediaTime, into outbox: inout ClientOutbox) {
        switch block.type {
        case RTCPType.senderReport: note(senderReport: bytes, block, now: now)
        case RTCPType.receiverReport:
            statistics.receiverReportsReceived &+= 1
            noteReport(bytes, block, now: now)
        case RTCPType.goodbye: statistics.goodbyesReceived &+= 1
        case RTCPType.transportFeedback:
            if let feedback = RTCPTransportFeedback.parse(bytes, block) {
                statistics.transportFeedbackReceived &+= 1
                sendRate?.take(feedback, bytes, block, now: now)
            }
            resend(bytes, block, into: &outbox)
        case RTCPType.payloadFeedback:
            if let estimate = RTCPReceiverEstimate.parse(bytes, block) {
                statistics.receiverEstimate = estimate.bitrate
                sendRate?.noteReceiverEstimate(estimate.bitrate, now: now)
            }
            noteKeyFrameRequest(bytes, block)
        default: break
        }
    }

    private mutating func note(senderReport bytes: RawSpan, _ block: RTCPBlock, now: MediaTime) {
        guard let report = RTCPSenderReport.parse(bytes, block) else { return }
        statistics.senderReportsReceived &+= 1
        for stream in inbound.indices where inbound[stream].settings.ssrc == report.ssrc {
            inbound[stream].note(senderReport: report.ntp, now: now)
        }
    }

    private mutating func resend(_ bytes: RawSpan, _ block: RTCPBlock, into outbox: inout ClientOutbox) {
        guard let nack = RTCPNack.parse(bytes, block),
            let stream = place(of: nack.mediaSSRC)
        else { return }
        statistics.nacksReceived &+= 1
        var reader = RTCPNackReader(block)
        while let number = reader.next(bytes) {
            guard let sent = outbound[stream].sent(number) else {
                statistics.retransmissionGone &+= 1
                continue
            }
            guard repeatPacket(sent, stream: stream, into: &outbox) else {
                statistics.sendRefused &+= 1
                return
            }
            statistics.retransmitted &+= 1
            outbound[stream].statistics.retransmitted &+= 1
        }
    }

    private func place(of ssrc: UInt32) -> Int? {
        outbound.firstIndex { $0.isActive && $0.settings.ssrc == ssrc }
    }

    /// What the node says of the sent streams (RFC 3550, section 6.4.1).
    private mutating func noteReport(_ bytes: RawSpan, _ block: RTCPBlock, now: MediaTime) {
        var worst: UInt8?
        for index in 0..<RTCPReportBlock.count(block) {
            guard let report = RTCPReportBlock.parse(bytes, block, index: index), let stream = place(of: report.ssrc)
            else { continue }
            worst = max(worst ?? 0, report.fractionLost)
            outbound[stream].statistics.fractionLost = report.fractionLost
            outbound[stream].statistics.lost = report.cumulativeLost
            outbound[stream].statistics.jitter =
                Double(report.jitter) / Double(outbound[stream].settings.codec.clockRate)
        }
        if let worst { sendRate?.noteReport(loss: Double(worst) / 256, now: now) }
    }

    private mutating func noteKeyFrameRequest(_ bytes: RawSpan, _ block: RTCPBlock) {
        if let request = RTCPPictureLossIndication.parse(bytes, block) {
            wantKeyFrame(of: request.mediaSSRC)
        } else if RTCPFullIntraRequest.parse(bytes, block) != nil {
            for index in 0..<RTCPFullIntraRequest.entryCount(block) {
                if let entry = RTCPFullIntraRequest.entry(bytes, block, index: index) { wantKeyFrame(of: entry.ssrc) }
            }
        }
    }

    private mutating func wantKeyFrame(of ssrc: UInt32) {
        guard let stream = place(of: ssrc) else { return }
        statistics.keyFrameRequestsReceived &+= 1
        outbound[stream].statistics.keyFrameRequests &+= 1
        wantedKeyFrames |= 1 << UInt64(stream)
    }
}
