package import MediaWire

/// What a client expects to receive: one line of its session.
package struct InboundStreamSettings: Sendable {
    /// The stream that repairs another (RFC 4588).
    package struct Repair: Sendable, Hashable {
        package var ssrc: UInt32
        package var payloadType: UInt8

        package init(ssrc: UInt32, payloadType: UInt8) {
            self.ssrc = ssrc
            self.payloadType = payloadType
        }
    }

    package var ssrc: UInt32
    package var codec: Codec
    /// `nil`: what was lost comes again as it was.
    package var repair: Repair?
    /// Missing packets are asked for (RFC 4585, section 6.2.1). False: they are only waited for, which catches reordering.
    package var asksForMissing = true

    package init(ssrc: UInt32, codec: Codec, repair: Repair? = nil, asksForMissing: Bool = true) {
        self.ssrc = ssrc
        self.codec = codec
        self.repair = repair
        self.asksForMissing = asksForMissing
    }
}

/// Reception of one stream: numbers, loss, jitter, requests, order (RFC 3550, appendix A).
package struct InboundStream {
    /// More is a restart of the numbering, not loss (RFC 3550, appendix A.1: MAX_DROPOUT).
    package static var largestGap: Int64 { 3000 }

    let settings: InboundStreamSettings
    /// False: removed; its place can be taken.
    var isActive = true
    package internal(set) var statistics = ReceptionStatistics()
    var repair = RepairRequests()
    var orderer = PacketOrderer()

    private(set) var hasStarted = false
    private var highest: Int64 = 0
    private var base: Int64 = 0
    /// What comes after a packet that was far off: if that comes next, the source numbers anew.
    private var suspected: UInt16?
    private var expectedBefore: Int64 = 0
    private var receivedBefore: UInt64 = 0
    private var received: UInt64 = 0
    private var transit: Int64 = 0
    private var hasTransit = false
    /// In 1/16 timestamp units (RFC 3550, appendix A.8).
    private var scaledJitter: Int64 = 0
    private var senderReport: NTPTime?
    private var senderReportArrival = MediaTime.zero

    package init(_ settings: InboundStreamSettings) { self.settings = settings }

    /// What a packet's number makes of it.
    package enum Acceptance: Equatable {
        /// Its extended number.
        case packet(Int64)
        /// The same, of the first packet of a numbering that began anew: nothing of before is waited for.
        case restart(Int64)
        /// Its number makes no sense, or not yet.
        case implausible
    }

    /// Takes note of a packet.
    ///
    /// - Parameter isRepair: it came by the stream that repairs, at a time that says nothing of the path's jitter.
    package mutating func accept(
        _ number: UInt16, timestamp: UInt32, payload: Int, isRepair: Bool = false, now: MediaTime
    ) -> Acceptance {
        guard hasStarted else {
            // A stream does not begin with a packet that was sent before.
            guard !isRepair else { return .implausible }
            hasStarted = true
            begin(at: Int64(number))
            note(timestamp, payload, now)
            return .packet(base)
        }
        let sequence = highest &+ Int64(Int16(truncatingIfNeeded: number &- UInt16(truncatingIfNeeded: highest)))
        guard sequence > highest &- Self.largestGap, sequence <= highest &+ Self.largestGap else {
            return probe(number, timestamp: timestamp, payload: payload, isRepair: isRepair, now: now)
        }
        // From before the first packet: late, and no sign of another numbering.
        guard sequence >= base else { return .implausible }
        if !isRepair { suspected = nil }
        if sequence > highest {
            // What cannot be asked for is waited for by the orderer all the same.
            if sequence > highest &+ 1, settings.asksForMissing {
                _ = repair.add(highest &+ 1..<sequence, now: now)
            }
            highest = sequence
        } else {
            switch repair.arrived(sequence) {
            case .recovered: statistics.recovered &+= 1
            case .reordered: statistics.reordered &+= 1
            case .notMissing: break
            }
        }
        note(timestamp, payload, isRepair: isRepair, now)
        return .packet(sequence)
    }

    /// A number far from all others: one is a stray packet, two in a row are a source that numbers anew (RFC 3550, appendix A.1).
    private mutating func probe(
        _ number: UInt16, timestamp: UInt32, payload: Int, isRepair: Bool, now: MediaTime
    ) -> Acceptance {
        guard !isRepair else { return .implausible }
        guard suspected == number else {
            suspected = number &+ 1
            return .implausible
        }
        // In the next round of numbers, so that extended ones never go back.
        begin(at: ((highest >> 16) &+ 1) << 16 | Int64(number))
        repair = RepairRequests()
        orderer.restart()
        note(timestamp, payload, now)
        return .restart(base)
    }

    private mutating func begin(at sequence: Int64) {
        base = sequence
        highest = sequence
        suspected = nil
        (expectedBefore, received, receivedBefore) = (0, 0, 0)
        hasTransit = false
    }

    private mutating func note(_ timestamp: UInt32, _ payload: Int, isRepair: Bool = false, _ now: MediaTime) {
        received &+= 1
        statistics.packets &+= 1
        statistics.bytes &+= UInt64(max(payload, 0))
        guard !isRepair else { return }
        let newTransit = (now - .zero).ticks(at: settings.codec.clockRate) &- Int64(timestamp)
        if hasTransit {
            let difference = Int64(Int32(truncatingIfNeeded: newTransit &- transit).magnitude)
            // A jump of more than 10 s is a new timeline, not jitter.
            if difference < Int64(settings.codec.clockRate) &* 10 {
                scaledJitter += difference &- ((scaledJitter &+ 8) >> 4)
            }
        }
        transit = newTransit
        hasTransit = true
        statistics.jitter = Double(scaledJitter >> 4) / Double(settings.codec.clockRate)
    }

    mutating func note(senderReport report: NTPTime, now: MediaTime) {
        senderReport = report
        senderReportArrival = now
    }

    /// After packets were given out: what was given up needs no request any more.
    mutating func settle() {
        guard statistics.lost != orderer.abandoned else { return }
        statistics.lost = orderer.abandoned
        if let next = orderer.next { repair.forget(before: next) }
    }

    var deadline: MediaTime { min(repair.deadline, orderer.deadline) }

    /// The report block for the time since the last one (RFC 3550, section 6.4.1 and appendix A.3); `nil` before the first
    /// packet.
    package mutating func makeReport(now: MediaTime) -> RTCPReportBlock? {
        guard hasStarted else { return nil }
        let expected = highest &- base &+ 1
        let expectedNow = expected &- expectedBefore
        let lostNow = expectedNow &- Int64(clamping: received &- receivedBefore)
        expectedBefore = expected
        receivedBefore = received
        statistics.fractionLost =
            expectedNow > 0 && lostNow > 0 ? UInt8(clamping: (lostNow << 8) / expectedNow) : 0
        var delay: UInt32 = 0
        if senderReport != nil {
            delay = UInt32(min(max((now - senderReportArrival).seconds * 65536, 0), 4_294_967_295))
        }
        return RTCPReportBlock(
            ssrc: settings.ssrc, fractionLost: statistics.fractionLost,
            cumulativeLost: Int32(clamping: expected &- Int64(clamping: received)),
            highestSequence: UInt32(truncatingIfNeeded: highest),
            jitter: UInt32(clamping: scaledJitter >> 4), lastSenderReport: senderReport?.compact ?? 0,
            delaySinceLastSenderReport: delay)
    }
}
