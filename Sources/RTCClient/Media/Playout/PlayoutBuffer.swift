package import MediaWire

/// Frames of one track between arrival and decoding: held so that they come out spaced as they were captured, by as little as the
/// jitter of the network allows. Time comes in as an argument.
///
/// The delay is counted from the fastest way that a frame took lately (over 5 to 10 s, which follows clocks that drift). It grows at
/// once when the jitter does, and shrinks by 2 %. A piece of sound that is not there at its time is made up; when it comes after all it is
/// late, and left out. After a pause of the network that is longer than what is made up, the delay grows by as much as the sound is
/// late, up to the maximum. Pictures are never left out, for others lean on them: late ones are given out at once.
package struct PlayoutBuffer {
    /// What is to be decoded next.
    package enum Item: Sendable, Hashable {
        case frame(RTCEncodedFrame)
        /// A piece of sound that is to be made up.
        ///
        /// - next: the packet directly after it, if it is there: it may carry a coarse copy.
        case missing(time: Duration, samples: Int, next: [UInt8]?)
    }

    package struct Statistics: Sendable, Hashable {
        /// Frames that came after their time.
        package var late: UInt64 = 0
        /// Pieces of sound that were made up.
        package var concealed: UInt64 = 0
        /// Frames for which there was no room.
        package var dropped: UInt64 = 0

        package init() {}
    }

    private struct Entry {
        var frame: RTCEncodedFrame
        /// Nanoseconds of the media's clock.
        var time: Int64
        /// In nanoseconds; 0 for pictures.
        var length: Int64
    }

    /// Frames that may wait besides those that are held on purpose.
    package static let slack = 64
    /// Sound that is made up in a row, in nanoseconds: more would be noticed as such.
    package static let longestConcealment: Int64 = 120_000_000
    private static let share = 0.97
    private static let window = MediaDuration.seconds(5)
    /// Of the time that goes by.
    private static let shrinking = 0.02
    /// Opus makes up sound in steps of 2.5 ms (RFC 6716, section 2.1.4).
    private static let concealmentStep: Int64 = 2_500_000
    /// Sound that overlaps what was made up by no more than this is no late one.
    private static let tolerance: Int64 = 1_000_000
    /// A packet of sound of unknown length.
    private static let usualLength: Int64 = 20_000_000
    /// Frames that are too late so often in a row, and for so long, are another timeline, or another network.
    private static let restartCount = 5
    private static let restartTime = MediaDuration.milliseconds(300)

    private let isImmediate: Bool
    private let isSound: Bool
    /// Sound that is missing is of interest: it is decoded.
    private let conceals: Bool
    private let minimum: Int64
    private let maximum: Int64
    private let limit: Int

    private var entries: [Entry] = []
    private var histogram = DelayHistogram()
    /// Arrival minus media time, at the least, in this window and the one before.
    private var base: Int64?
    private var baseBefore: Int64?
    private var baseBegan = MediaTime.zero
    /// What the histogram counts from: within a step of the shortest.
    private var histogramBase: Int64 = 0
    private var delay: Int64
    private var target: Int64
    private var delayKnown = MediaTime.zero
    private var farInARow = 0
    private var farSince = MediaTime.zero
    /// Where the sound that was given out ends, on the media's clock.
    private var playedEnd: Int64?
    private var lastLength = PlayoutBuffer.usualLength
    private var madeUp: Int64 = 0
    package private(set) var statistics = Statistics()

    package init(_ playout: PlayoutDelay, _ kind: TrackKind, conceals: Bool) {
        isImmediate = playout.isImmediate
        isSound = kind == .audio
        self.conceals = conceals && kind == .audio
        minimum = playout.minimum.nanoseconds
        maximum = playout.maximum.nanoseconds
        delay = minimum
        target = minimum
        // Packets of 2.5 ms, and 60 pictures a second.
        limit = Self.slack + Int(maximum / 1_000_000) * (kind == .audio ? 400 : 60) / 1000
    }

    package var count: Int { entries.count }
    package var isFull: Bool { entries.count >= limit }
    /// Whether a key frame and what follows would find room: the one who reads goes on.
    package var hasRoom: Bool { entries.count < limit / 2 }

    /// Whether a key frame waits.
    package var holdsKeyFrame: Bool { entries.contains { $0.frame.isKeyFrame } }

    /// How long frames are held; `nil`: not at all.
    package var currentDelay: MediaDuration? { isImmediate ? nil : MediaDuration(nanoseconds: delay) }

    /// How long a missing packet of sound may be waited for without those after it being late; `nil`: no matter.
    package var patience: MediaDuration? {
        guard isSound, !isImmediate else { return nil }
        // The one after it is there before the missing one is due.
        return MediaDuration(nanoseconds: max(delay - lastLength - 5_000_000, 10_000_000))
    }

    // MARK: In

    /// Takes a frame. False: there is no room; a picture that leans on it is of no use.
    ///
    /// - Parameters:
    ///   - samples: its length at 48 kHz; 0 for pictures.
    ///   - arrival: of its last packet.
    package mutating func insert(_ frame: RTCEncodedFrame, samples: Int, arrival: MediaTime, now: MediaTime) -> Bool {
        let entry = Entry(
            frame: frame, time: frame.time.nanoseconds, length: Int64(max(samples, 0)) * 1_000_000_000 / 48_000)
        if isFull {
            statistics.dropped += 1
            guard isSound, !isImmediate else { return false }
            entries.removeFirst()
        }
        if entry.length > 0 { lastLength = entry.length }
        guard !isImmediate else {
            entries.append(entry)
            return true
        }
        measure(entry.time, arrival: arrival, now: now)
        if isSound, let playedEnd, entry.time + Self.tolerance < playedEnd {
            // What was made up, or what came after it, was given out already.
            statistics.late += 1
            return true
        }
        let lateness = (now - .zero).nanoseconds - due(entry.time)
        if lateness > 0 {
            statistics.late += 1
            if isSound {
                delay = min(delay + lateness, maximum)
                guard due(entry.time) >= (now - .zero).nanoseconds else { return true }
            }
        }
        var place = entries.count
        while place > 0, entries[place - 1].time > entry.time { place -= 1 }
        entries.insert(entry, at: place)
        return true
    }

    /// A frame came too late to be handed in: its delay counts all the same.
    package mutating func noteLate(_ time: Duration, arrival: MediaTime, now: MediaTime) {
        guard !isImmediate else { return }
        statistics.late += 1
        measure(time.nanoseconds, arrival: arrival, now: now)
    }

    /// Learns from one arrival. What is later than the maximum allows teaches nothing, until nothing else comes.
    private mutating func measure(_ time: Int64, arrival: MediaTime, now: MediaTime) {
        settleDelay(now)
        let way = (arrival - .zero).nanoseconds &- time
        if let known = shortest, way &- known > maximum {
            if farInARow == 0 { farSince = arrival }
            farInARow += 1
            guard farInARow >= Self.restartCount, arrival - farSince >= Self.restartTime else { return }
            (base, baseBefore, histogram) = (nil, nil, DelayHistogram())
            playedEnd = nil
        }
        farInARow = 0
        let before = shortest
        if base == nil || arrival - baseBegan >= Self.window {
            baseBefore = base
            base = way
            baseBegan = arrival
        } else {
            base = min(base ?? way, way)
        }
        rebase(from: before, to: shortest ?? way)
        histogram.add(MediaDuration(nanoseconds: way &- histogramBase))
        let needed = histogram.quantile(Self.share).nanoseconds &+ histogramBase &- (shortest ?? way)
        target = min(max(needed, minimum), maximum)
        delay = max(delay, target)
    }

    /// The fastest way is another one: what is held and measured stays where it is.
    private mutating func rebase(from before: Int64?, to now: Int64) {
        guard let before, abs(now &- before) <= maximum else {
            histogram = DelayHistogram()
            histogramBase = now
            return
        }
        delay = min(max(delay &- (now &- before), minimum), maximum)
        let steps = (now &- histogramBase) / DelayHistogram.step.nanoseconds
        guard steps != 0 else { return }
        histogram.shift(by: Int(steps))
        histogramBase &+= steps &* DelayHistogram.step.nanoseconds
    }

    private var shortest: Int64? { base.map { min($0, baseBefore ?? $0) } }

    /// Shrinks the delay by the time that went by.
    private mutating func settleDelay(_ now: MediaTime) {
        let elapsed = min(max((now - delayKnown).nanoseconds, 0), 1_000_000_000)
        delayKnown = max(delayKnown, now)
        delay = max(target, delay - Int64(Double(elapsed) * Self.shrinking))
    }

    // MARK: Out

    /// When what has this media time is due, in nanoseconds of our clock.
    private func due(_ time: Int64) -> Int64 { isImmediate ? .min : time &+ (shortest ?? 0) &+ delay }

    /// When `take` gives something out though nothing comes.
    package var nextDeadline: MediaTime {
        var next = MediaTime.distantFuture
        if let first = entries.first { next = MediaTime(nanoseconds: due(first.time)) }
        if !isImmediate, let slot = missing { next = min(next, MediaTime(nanoseconds: due(slot))) }
        return next
    }

    /// The sound that is next and not there, and may still be made up.
    private var missing: Int64? {
        guard conceals, let playedEnd, madeUp < Self.longestConcealment else { return nil }
        if let first = entries.first, first.time - playedEnd < Self.concealmentStep { return nil }
        return playedEnd
    }

    /// What is due.
    package mutating func take(now: MediaTime) -> Item? {
        if !isImmediate { settleDelay(now) }
        let present = (now - .zero).nanoseconds
        // Without delay a gap is known by what comes after it.
        if let slot = missing, isImmediate ? entries.first != nil : due(slot) <= present {
            return conceal(from: slot)
        }
        // Old sound is worth nothing, and would only delay what comes after it.
        while isSound, !isImmediate, let first = entries.first, present - due(first.time) > maximum {
            entries.removeFirst()
            statistics.late += 1
        }
        guard let first = entries.first, due(first.time) <= present else { return nil }
        entries.removeFirst()
        playedEnd = isSound ? first.time + (first.length > 0 ? first.length : lastLength) : nil
        madeUp = 0
        return .frame(first.frame)
    }

    private mutating func conceal(from slot: Int64) -> Item? {
        var length = min(lastLength, Self.longestConcealment - madeUp)
        var next: [UInt8]?
        if let first = entries.first {
            let gap = first.time - slot
            if gap <= length {
                length = gap
                next = first.frame.data
            } else if isImmediate, gap > Self.longestConcealment {
                // A pause of the sender's, and no loss.
                madeUp = Self.longestConcealment
                return take(now: MediaTime(nanoseconds: .max))
            }
        }
        length = max(length / Self.concealmentStep, 1) * Self.concealmentStep
        playedEnd = slot + length
        madeUp += length
        statistics.concealed += 1
        return .missing(time: .nanoseconds(slot), samples: Int(length * 48_000 / 1_000_000_000), next: next)
    }
}

extension Duration {
    /// Saturates.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? (seconds < 0 ? .min : .max) / 4 : whole &+ attoseconds / 1_000_000_000
    }
}
