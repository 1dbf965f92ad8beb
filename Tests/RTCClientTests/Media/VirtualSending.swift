import ClientEngine
import MediaWire
import RTCClient

/// Tracks that share what an estimator says, a link with a queue, and a node that answers with transport-wide feedback: the whole
/// loop, in virtual time, as `MediaSession` closes it.
struct VirtualSending {
    struct Track {
        var kind: TrackKind
        /// What the encodings take at most, in bit/s.
        var layers: [Int]
        /// What the app's encoder makes of what it may, in bit/s: no more than this of each encoding.
        var uses = Int.max
    }

    /// In bit/s.
    var capacity = 20_000_000.0
    var tracks: [Track]
    private(set) var targets: [[Int]]
    private(set) var estimator = SendRateEstimator()
    private(set) var now = MediaTime.zero
    private(set) var longestQueue = MediaDuration.zero
    private(set) var arrivedBytes = 0
    /// Rounds in which a queue above 200 ms was seen.
    private(set) var longQueues = 0

    private var usages: [[SentUsage]]
    private var bytes: [[UInt64]]
    private var budgets: [[Double]]
    private var sequence: UInt16 = 65_000
    private var isFree = MediaTime.zero
    private var arrivals: [(sequence: UInt16, time: MediaTime)] = []
    private var nextFeedback = MediaTime.zero
    private var feedbackCount: UInt8 = 0
    private static let delay = MediaDuration.milliseconds(20)

    init(_ tracks: [Track]) {
        self.tracks = tracks
        usages = tracks.map { $0.layers.map { _ in SentUsage() } }
        bytes = tracks.map { $0.layers.map { _ in 0 } }
        budgets = tracks.map { $0.layers.map { _ in 0 } }
        targets = []
        targets = BitrateAllocation.allocate(estimator.bitrate, among: demands)
    }

    private var demands: [BitrateDemand] {
        tracks.indices.map { track in
            BitrateDemand(
                kind: tracks[track].kind, minimum: tracks[track].kind == .audio ? 6000 : 30_000,
                layers: tracks[track].layers, sent: usages[track].map(\.rate))
        }
    }

    /// Goes on, and gives what arrived, in bit/s.
    @discardableResult
    mutating func run(_ duration: MediaDuration) -> Double {
        (arrivedBytes, longestQueue, longQueues) = (0, .zero, 0)
        let began = now
        let end = now + duration
        while now < end {
            now = now + .milliseconds(1)
            for track in tracks.indices {
                let packet = tracks[track].kind == .audio ? 80 : 1100
                for layer in tracks[track].layers.indices {
                    budgets[track][layer] += Double(min(targets[track][layer], tracks[track].uses)) / 8000
                    while budgets[track][layer] >= Double(packet) {
                        budgets[track][layer] -= Double(packet)
                        bytes[track][layer] += UInt64(packet)
                        send(packet + 40)
                    }
                }
            }
            if now >= nextFeedback { report() }
        }
        return Double(arrivedBytes) * 8 / (now - began).seconds
    }

    private mutating func send(_ size: Int) {
        sequence &+= 1
        estimator.noteSent(sequence, size: size, now: now)
        let leaves = max(isFree, now) + MediaDuration(nanoseconds: Int64(Double(size) * 8e9 / capacity))
        guard leaves - now <= .milliseconds(1000) else { return }
        isFree = leaves
        longestQueue = max(longestQueue, leaves - now)
        arrivedBytes += size
        arrivals.append((sequence, leaves + Self.delay))
    }

    private mutating func report() {
        nextFeedback = now + .milliseconds(50)
        let arrived = arrivals.prefix { [now] in now - $0.time >= Self.delay }
        guard let first = arrived.first, let last = arrived.last else { return }
        arrivals.removeFirst(arrived.count)
        let reference = first.time.nanoseconds / 64_000_000
        estimator.beginFeedback(
            reference: UInt32(truncatingIfNeeded: reference), count: feedbackCount, base: first.sequence)
        feedbackCount &+= 1
        for arrival in arrived {
            estimator.noteArrival(
                RTCPPacketArrival(
                    sequence: arrival.sequence, ticks: arrival.time.nanoseconds / 250_000 - reference * 256))
        }
        estimator.endFeedback(next: last.sequence &+ 1, now: now)
        guard let bitrate = estimator.takeNews() else { return }
        if estimator.queue > .milliseconds(200) { longQueues += 1 }
        for track in tracks.indices {
            for layer in tracks[track].layers.indices {
                usages[track][layer].note(bytes: bytes[track][layer], isOn: targets[track][layer] > 0, now: now)
            }
        }
        let demands = demands
        targets = BitrateAllocation.allocate(bitrate, among: demands)
        estimator.nextStep = BitrateAllocation.nextStep(above: bitrate, among: demands)
    }
}
