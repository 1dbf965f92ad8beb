package import MediaWire

/// How much a client may send, from what the node says of it: transport-wide feedback
/// (draft-holmer-rmcat-transport-wide-cc-extensions-01) of delay and loss; without it the node's own estimate
/// (draft-alvestrand-rmcat-remb-03); without either, receiver reports.
///
/// It grows while nothing queues and next to nothing is lost, goes below what arrived when the queue on the way grows, and gives in
/// to loss as draft-ietf-rmcat-gcc-02 does (section 6). It has no clock; it allocates when it is made and never after.
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

    // The round.
    private var roundBegan: MediaTime?
    private var received = 0
    private var lost = 0
    private var bytes = 0
    private var shortest: MediaDuration?
    /// In bit/s, over some rounds.
    private var arrived: Double?

    // The empty way: the shortest of this window and the one before.
    private var base: MediaDuration?
    private var baseBefore: MediaDuration?
    private var baseBegan = MediaTime.zero
    /// What left by then may have gone another way.
    private var pathBegan = MediaTime(nanoseconds: .min)

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
        (base, baseBefore, shortest) = (nil, nil, nil)
        (received, lost, bytes, roundBegan) = (0, 0, 0, nil)
        queue = .zero
    }

    // MARK: Transport-wide feedback

    /// - Parameter size: in bytes.
    package mutating func noteSent(_ sequence: UInt16, size: Int, now: MediaTime) {
        departures[Int(sequence) % Self.historyLength] = Departure(
            sequence: sequence, size: UInt16(clamping: size), isKnown: true, time: now)
        if roundBegan == nil { roundBegan = now }
    }

    /// Before the arrivals of one message.
    package mutating func beginFeedback(reference time: UInt32) {
        hasTransportFeedback = true
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
        (received, lost, bytes, shortest, roundBegan) = (0, 0, 0, nil, now)
        hasNews = true
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
        if queue > Self.fullQueue {
            // A queue that drains already needs no more than time.
            if mayLower, queue.nanoseconds >= before.nanoseconds - 5_000_000 {
                lower(to: min(own, arrived) * 0.85, now: now)
            }
        } else if loss > Self.highLoss {
            if mayLower { lower(to: own * (1 - loss / 2), now: now) }
        } else if loss < Self.lowLoss, queue < Self.emptyQueue {
            let growth = hasBeenCongested ? Self.slowGrowth : Self.fastGrowth
            // Not far above what was tried: a calm picture proves nothing of the way.
            let limit = arrived * 1.5 + 50_000
            let step = (own * (growth - 1) + Self.steadyGrowth) * min(seconds, 1)
            own = max(own, min(own + step, limit))
        }
        clamp()
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
