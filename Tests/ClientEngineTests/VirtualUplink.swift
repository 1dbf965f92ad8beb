import ClientEngine
import MediaWire

/// A sender that keeps to a `SendRateEstimator`, a link with a queue, and a node that answers with transport-wide feedback, in
/// virtual time.
struct VirtualUplink {
    /// In bit/s.
    var capacity = 5_000_000.0
    /// 0...1
    var loss = 0.0
    /// Of the node's messages, 0...1
    var feedbackLoss = 0.0
    /// Added at random to each packet that does not wait, in milliseconds.
    var jitter = 0.0
    /// What the app sends at most, in bit/s.
    var demand = 2_500_000.0
    /// Longer queues overflow.
    var queueLimit = MediaDuration.milliseconds(400)
    var delay = MediaDuration.milliseconds(20)

    private(set) var now = MediaTime.zero
    private(set) var estimator = SendRateEstimator()
    /// Since the last `measure`.
    private(set) var arrivedBytes = 0
    private(set) var longestQueue = MediaDuration.zero
    private var began = MediaTime.zero
    private var random: SeededRandom
    private var sequence: UInt16
    private var budget = 0.0
    private var isFree = MediaTime.zero
    private var arrivals: [(sequence: UInt16, time: MediaTime)] = []
    private var nextFeedback = MediaTime.zero
    private var feedbackCount: UInt8 = 250
    /// The node's clock has another origin.
    private let clockOffset: Int64

    private static let packet = 1000

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
        sequence = UInt16(truncatingIfNeeded: random.next())
        clockOffset = Int64(random.next() % 1_000_000_000_000)
    }

    var rate: Double { min(estimator.bitrate, demand) }

    mutating func pathChanged() { estimator.pathChanged(now: now) }

    /// Goes on, and gives what arrived, in bit/s.
    mutating func run(_ duration: MediaDuration) -> Double {
        (arrivedBytes, longestQueue, began) = (0, .zero, now)
        let end = now + duration
        while now < end {
            now = now + .milliseconds(1)
            budget += rate / 8000
            while budget >= Double(Self.packet) {
                budget -= Double(Self.packet)
                send()
            }
            if now >= nextFeedback { report() }
        }
        return Double(arrivedBytes) * 8 / (now - began).seconds
    }

    private mutating func send() {
        sequence &+= 1
        estimator.noteSent(sequence, size: Self.packet, now: now)
        let leaves = max(isFree, now) + MediaDuration(nanoseconds: Int64(Double(Self.packet) * 8e9 / capacity))
        guard leaves - now <= queueLimit, Double(random.next() % 10_000) >= loss * 10_000 else { return }
        isFree = leaves
        longestQueue = max(longestQueue, leaves - now)
        arrivedBytes += Self.packet
        let extra = jitter > 0 ? Int64(random.next() % UInt64(jitter * 1_000_000)) : 0
        // What jitters does not overtake.
        let last = arrivals.last?.time ?? .zero
        arrivals.append((sequence, max(last, leaves + delay + MediaDuration(nanoseconds: extra))))
    }

    /// Of 250 us, by the node's clock.
    private func ticks(_ time: MediaTime) -> Int64 { (time.nanoseconds + clockOffset) / 250_000 }

    private mutating func report() {
        nextFeedback = now + .milliseconds(50)
        // What has arrived, and was told so by now.
        let arrived = arrivals.prefix { [now, delay] in now - $0.time >= delay }
        guard let first = arrived.first, let last = arrived.last else { return }
        defer {
            arrivals.removeFirst(arrived.count)
            feedbackCount &+= 1
        }
        if feedbackLoss > 0, Double(random.next() % 10_000) < feedbackLoss * 10_000 { return }
        let reference = ticks(first.time) / 256
        estimator.beginFeedback(
            reference: UInt32(truncatingIfNeeded: reference) & 0xFF_FFFF, count: feedbackCount, base: first.sequence)
        for arrival in arrived {
            estimator.noteArrival(
                RTCPPacketArrival(sequence: arrival.sequence, ticks: ticks(arrival.time) - reference * 256))
        }
        estimator.endFeedback(next: last.sequence &+ 1, now: now)
    }
}
