import MediaWire

/// Reception of one source: extended numbers, loss and jitter, as the receiver reports want them (RFC 3550, appendix A), and the line
/// that all that follows it works on.
///
/// The line is continuous: when the publisher starts again under another SSRC, numbers go on after the highest and the timestamps
/// go on by the time that passed. So caches and subscribers never see a restart.
struct Reception {
    enum Arrival {
        /// In order or late; `gap`: numbers that were passed over.
        case accepted(sequence: Int64, timestamp: UInt32, gap: Range<Int64>)
        case duplicate
        case implausible
    }

    /// A packet that is older than this is none of ours (RFC 3550, appendix A.1, allows 100; a resent one may be later).
    static var latest: Int64 { 3000 }
    /// A step of more than this is a restart of the numbering, not loss (RFC 3550, appendix A.1: MAX_DROPOUT). Passed on as it is,
    /// a few of them would take subscribers' numbers past half a round, and their rollover counters with them.
    static var largestStep: Int64 { 3000 }
    /// Packets that were overtaken by the very first one still find a place on the line.
    static var margin: Int64 { 64 }

    private(set) var ssrc: UInt32 = 0
    private(set) var hasStarted = false
    let clockRate: UInt32

    // The source's own numbers
    private(set) var highest: Int64 = 0
    private var base: Int64 = 0
    /// The lowest number that has a place on the line.
    private var floor: Int64 = 0
    /// What would follow a number that fits nowhere: two in a row are a restart (RFC 3550, appendix A.1: bad_seq).
    private var suspect: UInt16?
    private(set) var received: UInt64 = 0
    /// How often the source's numbering began anew, modulo 2^32.
    private(set) var restarts: UInt32 = 0
    private(set) var lastArrival = MediaTime.zero
    private var transit: Int64 = 0
    private var hasTransit = false
    /// In 1/16 timestamp units (RFC 3550, appendix A.8).
    private var scaledJitter: UInt32 = 0

    // The line
    private var sequenceOffset: Int64 = 0
    private(set) var timestampOffset: UInt32 = 0
    private(set) var highestOnLine: Int64 = -1
    private var highestTimestamp: UInt32 = 0

    // Between two reports
    private var expectedBefore: Int64 = 0
    private var receivedBefore: UInt64 = 0

    // The last sender report
    private(set) var senderReportNTP: NTPTime?
    private(set) var senderReportTimestamp: UInt32 = 0
    private(set) var senderReportArrival = MediaTime.zero

    init(clockRate: UInt32) { self.clockRate = clockRate }

    /// The source is another one from now on.
    mutating func restart(ssrc newSSRC: UInt32) {
        let line = highestOnLine
        let timestamp = highestTimestamp
        let offset = timestampOffset
        let arrival = lastArrival
        self = Reception(clockRate: clockRate)
        ssrc = newSSRC
        highestOnLine = line
        highestTimestamp = timestamp
        timestampOffset = offset
        lastArrival = arrival
    }

    /// The source's own number of a packet on the line.
    func sourceNumber(ofLine sequence: Int64) -> UInt16 { UInt16(truncatingIfNeeded: sequence &- sequenceOffset) }

    mutating func accept(sequence number: UInt16, timestamp: UInt32, now: MediaTime) -> Arrival {
        guard hasStarted else { return begin(number, timestamp, now) }
        let step = Int64(Int16(truncatingIfNeeded: number &- UInt16(truncatingIfNeeded: highest)))
        let extended = highest &+ step
        if step == 0 { return .duplicate }
        if step < -Self.latest || extended < floor {
            let isSecond = suspect == number
            suspect = number &+ 1
            guard isSecond else { return .implausible }
            return restartNumbering(at: highest &+ (step < 0 ? step &+ 65_536 : step), timestamp, now)
        }
        suspect = nil
        if step > Self.largestStep { return restartNumbering(at: extended, timestamp, now) }
        base = min(base, extended)
        received &+= 1
        measureJitter(timestamp, now)
        var gap: Range<Int64> = 0..<0
        if step > 0 {
            if step > 1 { gap = (highest &+ 1 &+ sequenceOffset)..<(extended &+ sequenceOffset) }
            highest = extended
            highestOnLine = extended &+ sequenceOffset
            highestTimestamp = timestamp &+ timestampOffset
        }
        lastArrival = now
        return .accepted(sequence: extended &+ sequenceOffset, timestamp: timestamp &+ timestampOffset, gap: gap)
    }

    /// Where a packet belongs that came again on another stream (RFC 4588): among those that came or were missed. `nil`: no such number
    /// is known. It counts neither as received nor for jitter.
    func place(ofRepaired number: UInt16) -> Int64? {
        guard hasStarted else { return nil }
        let step = Int64(Int16(truncatingIfNeeded: number &- UInt16(truncatingIfNeeded: highest)))
        let extended = highest &+ step
        guard step <= 0, step >= -Self.latest, extended >= floor else { return nil }
        return extended &+ sequenceOffset
    }

    /// The source goes on elsewhere: the line goes on right after the highest. What comes from before has no place any more.
    private mutating func restartNumbering(at extended: Int64, _ timestamp: UInt32, _ now: MediaTime) -> Arrival {
        suspect = nil
        restarts &+= 1
        received &+= 1
        highest = extended
        floor = extended
        sequenceOffset = highestOnLine &+ 1 &- extended
        highestOnLine &+= 1
        // Whether its clock began anew, too: one that goes on is as far as the time that passed.
        let due = highestTimestamp &+ UInt32(truncatingIfNeeded: max((now - lastArrival).ticks(at: clockRate), 1))
        if Int32(truncatingIfNeeded: timestamp &+ timestampOffset &- due).magnitude > clockRate &* 10 {
            timestampOffset = due &- timestamp
            senderReportNTP = nil
        }
        highestTimestamp = timestamp &+ timestampOffset
        lastArrival = now
        measureJitter(timestamp, now)
        return .accepted(sequence: highestOnLine, timestamp: highestTimestamp, gap: 0..<0)
    }

    private mutating func begin(_ number: UInt16, _ timestamp: UInt32, _ now: MediaTime) -> Arrival {
        hasStarted = true
        base = Int64(number)
        highest = base
        received = 1
        let isFirstSource = highestOnLine < 0
        let first = isFirstSource ? Self.margin : highestOnLine &+ 1
        floor = isFirstSource ? base &- Self.margin : base
        if !isFirstSource {
            // A new source on an old line: timestamps move on by the time that passed, at least by one tick.
            let elapsed = UInt32(truncatingIfNeeded: max((now - lastArrival).ticks(at: clockRate), 1))
            timestampOffset = highestTimestamp &+ elapsed &- timestamp
        }
        sequenceOffset = first &- base
        highestOnLine = first
        highestTimestamp = timestamp &+ timestampOffset
        lastArrival = now
        measureJitter(timestamp, now)
        return .accepted(sequence: first, timestamp: highestTimestamp, gap: 0..<0)
    }

    private mutating func measureJitter(_ timestamp: UInt32, _ now: MediaTime) {
        let newTransit = (now - .zero).ticks(at: clockRate) &- Int64(timestamp)
        if hasTransit {
            let difference = UInt32(truncatingIfNeeded: Int32(truncatingIfNeeded: newTransit &- transit).magnitude)
            // A jump of more than 10 s is a new timeline, not jitter.
            if difference < clockRate &* 10 {
                scaledJitter = scaledJitter &+ difference &- ((scaledJitter &+ 8) >> 4)
            }
        }
        transit = newTransit
        hasTransit = true
    }

    // MARK: Reports

    mutating func note(senderReport ntp: NTPTime, timestamp: UInt32, now: MediaTime) {
        senderReportNTP = ntp
        senderReportTimestamp = timestamp
        senderReportArrival = now
    }

    /// In seconds.
    var jitter: Double { Double(scaledJitter >> 4) / Double(clockRate) }

    /// By RFC 3550, appendix A.3.
    var lost: Int64 { hasStarted ? highest &- base &+ 1 &- Int64(clamping: received) : 0 }

    mutating func makeReport(now: MediaTime) -> RTCPReportBlock {
        let expected = highest &- base &+ 1
        let expectedNow = expected &- expectedBefore
        let receivedNow = Int64(clamping: received &- receivedBefore)
        expectedBefore = expected
        receivedBefore = received
        let lostNow = expectedNow &- receivedNow
        let fraction = expectedNow > 0 && lostNow > 0 ? min(255, (lostNow << 8) / expectedNow) : 0
        var block = RTCPReportBlock(
            ssrc: ssrc, fractionLost: 0, cumulativeLost: 0, highestSequence: 0, jitter: 0, lastSenderReport: 0,
            delaySinceLastSenderReport: 0)
        block.fractionLost = UInt8(clamping: fraction)
        block.cumulativeLost = Int32(min(max(lost, -0x80_0000), 0x7F_FFFF))
        // Cycles and number (RFC 3550, section 6.4.1).
        block.highestSequence = UInt32(truncatingIfNeeded: highest)
        block.jitter = scaledJitter >> 4
        if let ntp = senderReportNTP {
            block.lastSenderReport = ntp.compact
            let delay = (now - senderReportArrival).seconds * 65536
            block.delaySinceLastSenderReport = UInt32(min(max(delay, 0), Double(UInt32.max)))
        }
        return block
    }
}
