import MediaWire
import RTCClient

/// A sender with a clock of its own, a network, and a playout buffer that is asked each millisecond, in virtual time.
struct VirtualPlayout {
    struct Released {
        var at: MediaTime
        var item: PlayoutBuffer.Item
    }

    /// Of 1000 frames.
    var lost = 0
    /// In milliseconds, even from 0 up.
    var jitter = 0
    /// Of 1000 frames; these come `reorderDelay` milliseconds later, and may be overtaken.
    var reordered = 0
    var reorderDelay = 30
    /// What of these milliseconds of each two seconds arrives only at their end.
    var burst = 0
    /// Nothing arrives before.
    var stalledUntil = MediaTime.zero
    /// Of the sender's clock against ours, in parts of a million.
    var drift = 0
    /// Added to the media time of what is sent from now on, in milliseconds.
    var jump: Int64 = 0
    var isPaused = false

    private(set) var buffer: PlayoutBuffer
    private(set) var released: [Released] = []
    private(set) var sent = 0
    private(set) var lostCount = 0
    private(set) var largestCount = 0
    private(set) var now = MediaTime.zero + .seconds(1000)
    private let kind: TrackKind
    /// Between two frames, in milliseconds of the sender's clock.
    private let spacing: Int64
    private var random: SeededRandom
    private var nextFrame: Int64 = 0
    private var origin: MediaTime
    private var flights: [(arrival: MediaTime, time: Duration)] = []

    init(_ kind: TrackKind, _ playout: PlayoutDelay = .adaptive(), seed: UInt64 = 1) {
        self.kind = kind
        spacing = kind == .audio ? 20 : 40
        buffer = PlayoutBuffer(playout, kind, conceals: true)
        random = SeededRandom(seed: seed)
        origin = now
    }

    var delay: Int64 { (buffer.currentDelay?.nanoseconds ?? -1) / 1_000_000 }

    /// Goes on; what is released meanwhile replaces what was before.
    mutating func run(milliseconds: Int) {
        released = []
        for _ in 0..<milliseconds {
            now = now + .milliseconds(1)
            send()
            arrive()
            while let item = buffer.take(now: now) { released.append(Released(at: now, item: item)) }
        }
    }

    private mutating func send() {
        // Our time at which the sender's clock shows the next frame.
        while true {
            let shown = nextFrame * spacing * 1_000_000
            let due = origin + MediaDuration(nanoseconds: shown + shown / 1_000_000 * Int64(drift))
            guard due <= now else { return }
            nextFrame += 1
            if isPaused { continue }
            sent += 1
            if Int(random.next() % 1000) < lost {
                lostCount += 1
                continue
            }
            var arrival = now + .milliseconds(50)
            if jitter > 0 { arrival = arrival + .microseconds(Int64(random.next() % UInt64(jitter * 1000))) }
            if Int(random.next() % 1000) < reordered { arrival = arrival + .milliseconds(Int64(reorderDelay)) }
            if burst > 0 {
                let phase = (arrival - .zero).nanoseconds / 1_000_000 % 2000
                if phase < Int64(burst) { arrival = arrival + .milliseconds(Int64(burst) - phase) }
            }
            arrival = max(arrival, stalledUntil)
            flights.append((arrival, .milliseconds(shown / 1_000_000 + jump)))
        }
    }

    private mutating func arrive() {
        let come = flights.filter { $0.arrival <= now }.sorted { ($0.arrival, $0.time) < ($1.arrival, $1.time) }
        flights.removeAll { $0.arrival <= now }
        for flight in come {
            let frame = RTCEncodedFrame(codec: kind == .audio ? .opus : .vp8, data: [1], time: flight.time)
            _ = buffer.insert(frame, samples: kind == .audio ? 960 : 0, arrival: flight.arrival, now: now)
        }
        largestCount = max(largestCount, buffer.count)
    }

    // MARK: What came out

    var frames: [RTCEncodedFrame] {
        released.compactMap { if case .frame(let frame) = $0.item { frame } else { nil } }
    }

    /// Whether each piece of sound begins where the one before it ends.
    var isSeamless: Bool {
        var end: Duration?
        for item in released {
            let (time, samples): (Duration, Int) =
                switch item.item {
                case .frame(let frame): (frame.time, 960)
                case .missing(let time, let samples, _): (time, samples)
                }
            if let end, end != time { return false }
            end = time + .microseconds(samples * 1_000_000 / 48_000)
        }
        return end != nil
    }

    /// Between two releases, in milliseconds: the longest.
    var longestPause: Int64 {
        zip(released.dropFirst(), released).map { ($0.at - $1.at).nanoseconds / 1_000_000 }.max() ?? 0
    }
}
