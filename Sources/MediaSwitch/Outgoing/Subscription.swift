import MediaContract
import MediaWire

/// One track on its way to one transport. Trivial, so that the fan-out loop reads it in place.
struct Subscription {
    let id: SubscriptionID
    let track: Int32
    let transport: Int32
    let ssrc: UInt32
    let payloadType: UInt8
    /// Added to timestamps of the track's line.
    var timestampOffset: UInt32
    /// What the subscriber may ask for.
    let feedback: FeedbackSet
    var rewriter: SequenceRewriter
    /// Nothing is sent before the start of a key frame.
    var awaitsKeyFrame: Bool

    // Header extensions
    /// Whether any extension is written at all.
    let hasExtensions: Bool
    /// The two-byte form is needed (RFC 8285, section 4.3).
    let usesTwoByteForm: Bool
    /// For each kind: the subscriber's id, or 0.
    private(set) var extensionIDs = InlineArray<16, UInt8>(repeating: 0)
    let mid: ShortText

    // Figures, as sender reports want them
    var packets: UInt64 = 0
    var octets: UInt64 = 0
    var retransmitted: UInt64 = 0
    /// On the subscriber's timeline.
    var lastTimestamp: UInt32 = 0

    /// The stream that this one continues, until its first packet.
    private(set) var resumed: RetiredStream?

    // What the subscriber reports
    var fractionLost: UInt8 = 0
    var roundTrip = MediaDuration(nanoseconds: -1)
    /// The last two sender reports that left, to know their echoes: compact NTP and when.
    var sentReports = InlineArray<2, SentReport>(repeating: SentReport())

    // Retransmission
    var budget: RetransmissionBudget

    struct SentReport {
        var ntp: UInt32 = 0
        var time = MediaTime.zero
    }

    init(_ spec: SubscriptionSpec, track: Int, transport: Int, isVideo: Bool, now: MediaTime) {
        id = spec.id
        self.track = Int32(track)
        self.transport = Int32(transport)
        ssrc = spec.ssrc
        payloadType = spec.payloadType & 0x7F
        timestampOffset = spec.timestampOffset
        feedback = spec.feedback
        // At ROC 0 for certain, and far enough from the wrap that an early loss cannot hide it (RFC 3711, section 3.3.1).
        rewriter = SequenceRewriter(first: Int64(spec.firstSequence & 0x7FFF))
        awaitsKeyFrame = isVideo
        let mapped = spec.extensions.filter { $0.kind.isEndToEnd || ($0.kind == .mid && spec.mid != nil) }
        hasExtensions = !mapped.isEmpty
        usesTwoByteForm = mapped.contains { $0.id > 14 }
        mid = spec.mid.flatMap { ShortText($0) } ?? ShortText()
        for mapping in mapped { extensionIDs[Int(mapping.kind.rawValue)] = mapping.id }
        budget = RetransmissionBudget(now: now)
    }

    /// Goes on where an earlier stream under the same SSRC ended; its timestamps continue with the first packet.
    mutating func resume(_ earlier: RetiredStream) {
        rewriter = SequenceRewriter(first: earlier.highestOut &+ 1)
        resumed = earlier
    }

    /// From this packet of the line on, copies are sent.
    mutating func start(at sequence: Int64, timestamp: UInt32, clockRate: UInt32, now: MediaTime) {
        rewriter.start(at: sequence)
        awaitsKeyFrame = false
        guard let earlier = resumed else { return }
        let elapsed = UInt32(truncatingIfNeeded: max((now - earlier.time).ticks(at: clockRate), 1))
        timestampOffset = earlier.timestamp &+ elapsed &- timestamp
        resumed = nil
    }

    mutating func noteSent(report ntp: NTPTime, now: MediaTime) {
        sentReports[1] = sentReports[0]
        sentReports[0] = SentReport(ntp: ntp.compact, time: now)
    }
}

/// How much one subscriber may have sent again: bytes that refill with time, and no packet twice within the cooldown.
struct RetransmissionBudget {
    /// Bytes per second, and at most this many at once. A constant until a subscriber's bandwidth is estimated.
    static var rate: Int64 { 500_000 }
    static var burst: Int64 { 250_000 }
    static var cooldown: MediaDuration { .milliseconds(20) }

    private var available: Int64
    private var updated: MediaTime
    private var recent = InlineArray<32, Recent>(repeating: Recent())

    private struct Recent {
        var sequence: UInt32 = .max
        var time = MediaTime.zero
    }

    init(now: MediaTime) {
        available = Self.burst
        updated = now
    }

    mutating func take(_ bytes: Int, sequence: UInt32, now: MediaTime) -> Bool {
        let elapsed = min(max((now - updated).nanoseconds, 0), 1_000_000_000)
        available = min(Self.burst, available &+ elapsed &* Self.rate / 1_000_000_000)
        updated = now
        let place = Int(sequence & 31)
        if recent[place].sequence == sequence, now < recent[place].time + Self.cooldown { return false }
        guard available >= Int64(bytes) else { return false }
        available &-= Int64(bytes)
        recent[place] = Recent(sequence: sequence, time: now)
        return true
    }
}
