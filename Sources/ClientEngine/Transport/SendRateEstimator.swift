package import MediaWire

/// How much a client may send, from what the node says of it: transport-wide feedback
/// (draft-holmer-rmcat-transport-wide-cc-extensions-01) of delay and loss; without it the node's own estimate
/// (draft-alvestrand-rmcat-remb-03); without either, receiver reports.
///
/// It grows while nothing queues and next to nothing is lost, goes below what arrived when the queue on the way grows, and gives in
/// to loss as draft-ietf-rmcat-gcc-02 does (section 6). A queue that stays as it is however little is sent is no queue, but a longer
/// way. It has no clock; it allocates when it is made and never after.
package struct SendRateEstimator: Sendable {
    /// In bit/s, before anything is known.
    package static let initial = 600_000.0
    /// In bit/s.
    package static let range = 50_000.0...20_000_000.0
    /// Feedback is judged this often.
    static let round = MediaDuration.milliseconds(200)
    /// More in one round than this many packets are needed, or this much time.
    private static let roundPackets = 10
    private static let longestRound = MediaDuration.seconds(1)
    /// A standing queue above is too much; below the other, there is room.
    static let fullQueue = MediaDuration.milliseconds(60)
    static let emptyQueue = MediaDuration.milliseconds(30)
    /// Section 6 of the draft: above a tenth is too fast, below a fiftieth is not yet fast enough.
    static let highLoss = 0.1
    static let lowLoss = 0.02
    /// A second: before the first congestion, and after it.
    private static let fastGrowth = 2.5
    private static let slowGrowth = 1.08
    /// In bit/s a second, so that the way up from next to nothing is not endless.
    private static let steadyGrowth = 15_000.0
    /// Not more often than this is it lowered: feedback of what was sent since must come first.
    private static let decreasePause = MediaDuration.milliseconds(500)
    /// Packets of which the departure is known: seconds of most connections.
    private static let historyLength = 2048
    /// The shortest way of the last one or two of these counts as empty.
    private static let baseWindow = MediaDuration.seconds(10)
    /// A queue is the same within this.
    private static let sameQueue = MediaDuration.milliseconds(5)
    /// As often is it lowered before a queue that does not change is taken for a longer way.
    private static let vainDecreases = 2
    /// After a step that the way did not carry the next is tried: this much later, then twice, at most `longestStepPause`.
    private static let stepPause = MediaDuration.seconds(10)
    private static let longestStepPause = MediaDuration.seconds(80)
    /// A decrease this soon after growth towards a step is due to the step.
    private static let stepTrial = MediaDuration.seconds(5)

    private struct Departure {
        var sequence: UInt16
        var size: UInt16
        var isKnown: Bool
        var time: MediaTime
    }

    /// In bit/s, of RTP as it leaves.
    package var bitrate: Double {
        min(max(min(own, receiverEstimate ?? .infinity), Self.range.lowerBound), Self.range.upperBound)
    }
    /// Of the last round: how long packets wait on the way.
    package private(set) var queue = MediaDuration.zero
    /// 0...1, of the last rounds.
    package private(set) var loss = 0.0
    /// In bit/s: from here on more would be sent than now; `nil`: whatever is allowed is sent. What is sent grows in steps, and the
    /// estimate may get as far as the next, though nothing that arrived proves that the way carries it.
    package var nextStep: Double?

    private var own = SendRateEstimator.initial
    private var receiverEstimate: Double?
    private var departures: [Departure]
    private var hasTransportFeedback = false
    private var hasBeenCongested = false
    private var hasNews = false
    private var lowered: MediaTime?
    private var lastReport: MediaTime?

    // The node's clock, which counts 64 ms in 24 bits.
    private var reference: UInt32?
    private var referenceTicks: Int64 = 0
    private var nextReported: UInt16?
    private var nextFeedback: UInt8?

    // The round.
    private var roundBegan: MediaTime?
    private var received = 0
    private var lost = 0
    private var bytes = 0
    private var sentBytes = 0
    private var shortest: MediaDuration?
    /// In bit/s, over some rounds.
    private var arrived: Double?

    // The empty way: the shortest of this window and the one before.
    private var base: MediaDuration?
    private var baseBefore: MediaDuration?
    private var baseBegan = MediaTime.zero
    /// What left by then may have gone another way.
    private var pathBegan = MediaTime(nanoseconds: .min)
    /// Decreases in a row for one and the same queue, and what arrived at the first of them, in bit/s.
    private var vain: (count: Int, queue: MediaDuration, rate: Double)?

    // Growth beyond what was tried.
    private var stepped: MediaTime?
    private var stepsFrom = MediaTime(nanoseconds: .min)
    private var nextStepPause = SendRateEstimator.stepPause

    package init() {
        let none = Departure(sequence: 0, size: 0, isKnown: false, time: .zero)
        departures = [Departure](repeating: none, count: Self.historyLength)
    }

    /// The estimate, if something was judged since the last call.
    package mutating func takeNews() -> Double? {
        guard hasNews else { return nil }
        hasNews = false
        return bitrate
    }

    /// Media goes another way from now on: what was learned of delays does not hold for it.
    package mutating func pathChanged(now: MediaTime) {
        pathBegan = now
        (base, baseBefore, vain) = (nil, nil, nil)
        beginRound(nil)
        queue = .zero
    }

    // MARK: Transport-wide feedback

    /// - Parameter size: in bytes.
    package mutating func noteSent(_ sequence: UInt16, size: Int, now: MediaTime) {
        departures[Int(sequence) % Self.historyLength] = Departure(
            sequence: sequence, size: UInt16(clamping: size), isKnown: true, time: now)
        if roundBegan == nil { roundBegan = now }
        sentBytes += size
    }

    /// Takes in one message.
    mutating func take(_ feedback: RTCPTransportFeedback, _ bytes: RawSpan, _ block: RTCPBlock, now: MediaTime) {
        beginFeedback(reference: feedback.referenceTime, count: feedback.feedbackCount, base: feedback.baseSequence)
        var reader = RTCPTransportFeedbackReader(feedback, block)
        while let arrival = reader.next(bytes) { noteArrival(arrival) }
        endFeedback(next: feedback.baseSequence &+ feedback.statusCount, now: now)
    }

    /// Before the arrivals of one message.
    ///
    /// - Parameters:
    ///   - time: the message's reference time.
    ///   - count: the message's number, which counts up by one.
    ///   - base: the number of the first packet it tells of.
    package mutating func beginFeedback(reference time: UInt32, count: UInt8, base: UInt16) {
        hasTransportFeedback = true
        // A message that did not come says nothing of the packets it told of. Packets between messages that did come are lost,
        // for the node's begin with one that arrived.
        let skipped = nextFeedback.map { Int8(bitPattern: count &- $0) } ?? 0
        if skipped > 0, isNew(base) { nextReported = base }
        if skipped >= 0 { nextFeedback = count &+ 1 }
        if let reference {
            let distance = RTCPTransportFeedback.referenceDistance(from: reference, to: time)
            referenceTicks &+= Int64(distance) &* Int64(RTCPTransportFeedback.ticksPerReference)
        }
        reference = time
    }

    /// One packet that arrived. Those of a message come in the order of their numbers.
    package mutating func noteArrival(_ arrival: RTCPPacketArrival) {
        countLost(upTo: arrival.sequence)
        guard isNew(arrival.sequence), let departure = departure(arrival.sequence) else { return }
        nextReported = arrival.sequence &+ 1
        received += 1
        bytes += Int(departure.size)
        guard departure.time > pathBegan else { return }
        let ticks = referenceTicks &+ arrival.ticks
        let there = MediaTime(nanoseconds: ticks &* Int64(RTCPTransportFeedback.tickMicroseconds) &* 1000)
        let way = there - departure.time
        shortest = min(shortest ?? way, way)
    }

    /// After the arrivals of one message.
    ///
    /// - Parameter next: the number after the last one reported on.
    package mutating func endFeedback(next: UInt16, now: MediaTime) {
        countLost(upTo: next)
        guard let began = roundBegan, now - began >= Self.round,
            received + lost >= Self.roundPackets || now - began >= Self.longestRound
        else { return }
        judge(over: now - began, now: now)
        beginRound(now)
        hasNews = true
    }

    private mutating func beginRound(_ now: MediaTime?) {
        (received, lost, bytes, sentBytes, shortest, roundBegan) = (0, 0, 0, 0, nil, now)
    }

    private func departure(_ sequence: UInt16) -> Departure? {
        let found = departures[Int(sequence) % Self.historyLength]
        return found.isKnown && found.sequence == sequence ? found : nil
    }

    private func isNew(_ sequence: UInt16) -> Bool {
        guard let nextReported else { return true }
        return sequence &- nextReported < 0x8000
    }

    /// What is passed over did not arrive.
    private mutating func countLost(upTo sequence: UInt16) {
        guard let next = nextReported, isNew(sequence) else {
            nextReported = nextReported ?? sequence
            return
        }
        var number = next
        var steps = 0
        while number != sequence, steps < Self.historyLength {
            if departure(number) != nil { lost += 1 }
            number &+= 1
            steps += 1
        }
        nextReported = sequence
    }

    private mutating func judge(over time: MediaDuration, now: MediaTime) {
        let seconds = max(time.seconds, 0.001)
        let rate = Double(bytes) * 8 / seconds
        let arrived = arrived.map { $0 * 0.5 + rate * 0.5 } ?? rate
        self.arrived = arrived
        let share = Double(lost) / Double(max(lost + received, 1))
        loss = loss * 0.6 + share * 0.4
        let before = queue
        if let shortest {
            moveBase(shortest, now: now)
            queue = max(.zero, shortest - min(base ?? shortest, baseBefore ?? shortest))
        }
        let mayLower = lowered.map { now - $0 >= Self.decreasePause } ?? true
        if queue <= Self.fullQueue { vain = nil }
        if queue > Self.fullQueue {
            // A queue that drains already needs no more than time.
            guard mayLower, queue >= before - Self.sameQueue else { return }
            let sent = Double(sentBytes) * 8 / seconds
            let isIdle = max(sent, arrived) < own / 2
            if isLongerWay(rate: rate, isIdle: isIdle) {
                (base, baseBefore, baseBegan, vain) = (shortest, nil, now, nil)
                queue = .zero
            } else if isIdle {
                // Next to nothing is sent: the queue is another's, and what arrives is no measure of the way.
                own *= 0.85
                lowered = now
            } else {
                lower(to: min(own, arrived) * 0.85, now: now)
            }
        } else if loss > Self.highLoss {
            if mayLower { lower(to: own * (1 - loss / 2), now: now) }
        } else if loss < Self.lowLoss, queue < Self.emptyQueue {
            grow(arrived: arrived, seconds: seconds, now: now)
        }
        clamp()
    }

    private mutating func grow(arrived: Double, seconds: Double, now: MediaTime) {
        let growth = hasBeenCongested ? Self.slowGrowth : Self.fastGrowth
        // Not far above what was tried: a calm picture proves nothing of the way.
        let proven = arrived * 1.5 + 50_000
        let limit = now >= stepsFrom ? max(proven, nextStep ?? 0) : proven
        let step = (own * (growth - 1) + Self.steadyGrowth) * min(seconds, 1)
        let grown = max(own, min(own + step, limit))
        if grown > own, grown > proven { stepped = now }
        if let stepped, now - stepped > Self.stepTrial {
            // The way carried it.
            self.stepped = nil
            nextStepPause = Self.stepPause
        }
        own = grown
    }

    /// Whether the queue of this round is the one of some decreases before, though less arrives: then it is no queue of what is sent.
    private mutating func isLongerWay(rate: Double, isIdle: Bool) -> Bool {
        guard let known = vain, queue - known.queue <= Self.sameQueue, known.queue - queue <= Self.sameQueue else {
            vain = (1, queue, rate)
            return false
        }
        // A queue that is ours and does not drain delivers all that the way carries.
        if known.count >= Self.vainDecreases, isIdle || rate < known.rate * 0.9 { return true }
        vain?.count += 1
        return false
    }

    private mutating func moveBase(_ shortest: MediaDuration, now: MediaTime) {
        if base == nil || now - baseBegan >= Self.baseWindow {
            baseBefore = base
            base = shortest
            baseBegan = now
        } else {
            base = min(base ?? shortest, shortest)
        }
    }

    private mutating func lower(to bitrate: Double, now: MediaTime) {
        own = bitrate
        hasBeenCongested = true
        lowered = now
        guard let stepped, now - stepped <= Self.stepTrial else { return }
        self.stepped = nil
        stepsFrom = now + nextStepPause
        nextStepPause = min(nextStepPause + nextStepPause, Self.longestStepPause)
    }

    private mutating func clamp() { own = min(max(own, Self.range.lowerBound), Self.range.upperBound) }

    // MARK: Other feedback

    /// The node's estimate, in bit/s. Without transport-wide feedback it is what counts, with it an upper bound.
    package mutating func noteReceiverEstimate(_ bitrate: UInt64, now: MediaTime) {
        receiverEstimate = Double(bitrate)
        hasNews = true
        if !hasTransportFeedback { own = Double(bitrate) }
        clamp()
    }

    /// A report of the node's; counts when nothing better comes.
    ///
    /// - Parameter fraction: what was lost since the last one, 0...1.
    package mutating func noteReport(loss fraction: Double, now: MediaTime) {
        guard !hasTransportFeedback, receiverEstimate == nil else { return }
        let seconds = lastReport.map { min(max((now - $0).seconds, 0), 1) } ?? 1
        lastReport = now
        loss = fraction
        if fraction > Self.highLoss {
            if lowered.map({ now - $0 >= Self.decreasePause }) ?? true { lower(to: own * (1 - fraction / 2), now: now) }
        } else if fraction < Self.lowLoss {
            own += (own * (Self.slowGrowth - 1) + Self.steadyGrowth) * seconds
        }
        hasNews = true
        clamp()
    }
}

extension MediaDuration {
    static func - (a: MediaDuration, b: MediaDuration) -> MediaDuration {
        MediaDuration(nanoseconds: a.nanoseconds &- b.nanoseconds)
    }

    static func + (a: MediaDuration, b: MediaDuration) -> MediaDuration {
        MediaDuration(nanoseconds: a.nanoseconds &+ b.nanoseconds)
    }
}
