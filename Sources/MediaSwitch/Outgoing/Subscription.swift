import MediaContract
import MediaWire

/// One track on its way to one transport. Trivial, so that the fan-out loop reads it in place.
struct Subscription {
    let id: SubscriptionID
    let track: Int32
    let transport: Int32
    let ssrc: UInt32
    let payloadType: UInt8
    /// `Track.noPayloadType`: the primary encoding alone.
    let redPayloadType: UInt8
    /// The stream that repairs it (RFC 4588): 0, 0 and none, if there is none.
    let rtxSSRC: UInt32
    let rtxPayloadType: UInt8
    /// The next number of that stream.
    var nextRepair: Int64

    // Layers
    /// The encoding that it gets, or waits for.
    var encoding: Int32
    /// The encoding that it goes to with the next key frame of it; -1: it stays.
    var target: Int32 = -1
    var wish: LayerPreference
    /// Its transport can carry it: it is in its encoding's list.
    var isJoined = false
    /// Packets before this one are none of its: it came to the encoding with this key frame.
    var startsAt: Int64 = .min
    /// Added to the picture ids of this layer, and to its TL0PICIDX, so that they go on from those of the last one.
    var pictureShift: UInt16 = 0
    var temporalLevelShift: UInt8 = 0
    /// The last ones sent; -1: none.
    var lastPicture: Int32 = -1
    var lastTemporalLevel: Int32 = -1
    /// Of the encoding that it came from, until it starts in the new one: where a capture time lay on its timeline.
    var leftClock: EncodingClock?
    /// When the encoding that it came from was last heard; `nil`: it did not come from any.
    var leftAt: MediaTime?
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
    let form: ExtensionForm
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

    init(_ spec: SubscriptionSpec, track: Int, encoding: Int, transport: Int, isVideo: Bool, now: MediaTime) {
        id = spec.id
        self.track = Int32(track)
        self.encoding = Int32(encoding)
        wish = spec.layer
        redPayloadType = spec.redPayloadType.map { $0 & 0x7F } ?? Track.noPayloadType
        rtxSSRC = spec.rtx?.ssrc ?? 0
        rtxPayloadType = (spec.rtx?.payloadType ?? 0) & 0x7F
        // Another SSRC, hence numbers of its own.
        nextRepair = Int64(spec.firstSequence & 0x7FFF)
        self.transport = Int32(transport)
        ssrc = spec.ssrc
        payloadType = spec.payloadType & 0x7F
        timestampOffset = spec.timestampOffset
        feedback = spec.feedback
        // At ROC 0 for certain, and far enough from the wrap that an early loss cannot hide it (RFC 3711, section 3.3.1).
        rewriter = SequenceRewriter(first: Int64(spec.firstSequence & 0x7FFF))
        awaitsKeyFrame = isVideo
        let form = ExtensionForm(spec)
        self.form = form
        let mapped = spec.extensions.filter { form.carries($0.kind, isNamed: spec.mid != nil) }
        hasExtensions = !mapped.isEmpty
        mid = spec.mid.flatMap { ShortText($0) } ?? ShortText()
        for mapping in mapped { extensionIDs[Int(mapping.kind.rawValue)] = mapping.id }
        budget = RetransmissionBudget(now: now)
    }

    /// Goes on where an earlier stream under the same SSRC ended; its timestamps continue with the first packet.
    mutating func resume(_ earlier: RetiredStream) {
        rewriter = SequenceRewriter(first: earlier.highestOut &+ 1)
        nextRepair = earlier.nextRepair
        resumed = earlier
    }

    /// From this packet of the line on, copies are sent.
    mutating func start(
        at sequence: Int64, timestamp: UInt32, clockRate: UInt32, isLayered: Bool, clock: EncodingClock?, now: MediaTime
    ) {
        // With layers the picture numbers are shifted anew: what was sent before would be written otherwise now.
        rewriter.start(at: sequence, forgetting: isLayered)
        awaitsKeyFrame = false
        startsAt = .min
        if let leftAt {
            // The time between two captures, where sender reports tell it; else that between their arrivals.
            var elapsed = (now - leftAt).ticks(at: clockRate)
            if let leftClock, let clock {
                let exact =
                    clock.ticks(of: timestamp, at: clockRate)
                    &- leftClock.ticks(of: lastTimestamp &- timestampOffset, at: clockRate)
                if abs(exact &- elapsed) < Int64(clockRate) &* 2 { elapsed = exact }
            }
            timestampOffset = lastTimestamp &+ UInt32(truncatingIfNeeded: max(elapsed, 1)) &- timestamp
        }
        leftAt = nil
        leftClock = nil
        guard let earlier = resumed else { return }
        let elapsed = UInt32(truncatingIfNeeded: max((now - earlier.time).ticks(at: clockRate), 1))
        timestampOffset = earlier.timestamp &+ elapsed &- timestamp
        resumed = nil
    }

    /// Late packets carry earlier numbers.
    mutating func noteSent(picture: UInt16, mask: UInt16) {
        let isNewer = lastPicture < 0 || (picture &- UInt16(truncatingIfNeeded: lastPicture)) & mask <= mask / 2
        if isNewer { lastPicture = Int32(picture) }
    }

    mutating func noteSent(temporalLevel: UInt8) {
        let isNewer = lastTemporalLevel < 0 || temporalLevel &- UInt8(truncatingIfNeeded: lastTemporalLevel) < 0x80
        if isNewer { lastTemporalLevel = Int32(temporalLevel) }
    }

    mutating func noteSent(report ntp: NTPTime, now: MediaTime) {
        sentReports[1] = sentReports[0]
        sentReports[0] = SentReport(ntp: ntp.compact, time: now)
    }
}

/// In which of the forms of RFC 8285 a subscriber gets header extensions: the one-byte form (section 4.2), which everybody reads, as long as
/// that does.
enum ExtensionForm {
    /// One form in all packets is what a stream without `a=extmap-allow-mixed` must have (section 4.1.2).
    case oneByte
    /// An id above 14 was negotiated.
    case twoByte
    /// The form that each packet needs.
    case mixed

    init(_ spec: SubscriptionSpec) {
        self =
            spec.extensions.contains { $0.id > RTPHeaderWriter.oneByteMaxID }
            ? .twoByte : spec.allowsMixedExtensions ? .mixed : .oneByte
    }

    @inline(__always) func isTwoByte(hasLongElement: Bool) -> Bool {
        switch self {
        case .oneByte: false
        case .twoByte: true
        case .mixed: hasLongElement
        }
    }

    /// Dependency descriptors build on the one with the key frame, which describes the structure and is mostly above 16 bytes. A receiver
    /// that gets the later ones without it decodes nothing; one that gets none puts frames together by their numbers.
    func carries(_ kind: HeaderExtensionKind, isNamed: Bool) -> Bool {
        switch kind {
        case .dependencyDescriptor: self != .oneByte
        case .mid: isNamed
        default: kind.isEndToEnd
        }
    }
}

/// Where a capture time lies on an encoding's timeline, by its last sender report: all layers of a track share the capture clock.
struct EncodingClock {
    var ntp: NTPTime
    var timestamp: UInt32

    init?(_ reception: borrowing Reception) {
        guard let ntp = reception.senderReportNTP else { return nil }
        self.ntp = ntp
        timestamp = reception.senderReportTimestamp &+ reception.timestampOffset
    }

    /// The capture time of a timestamp on the encoding's line, in ticks since 1900, modulo 2^64.
    func ticks(of timestamp: UInt32, at clockRate: UInt32) -> Int64 {
        let seconds = Int64(ntp.bits >> 32) &* Int64(clockRate)
        let fraction = Int64((ntp.bits & 0xFFFF_FFFF) &* UInt64(clockRate) >> 32)
        return seconds &+ fraction &+ Int64(Int32(truncatingIfNeeded: timestamp &- self.timestamp))
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
