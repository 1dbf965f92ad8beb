import MediaCodecs

/// Judges what is read from a stream's frames: whose they are, and whether each follows the one before.
package struct FrameJudge: Sendable {
    /// Whose frames are expected.
    package let publisher: UInt16
    package private(set) var frames: UInt64 = 0
    /// Frames with any fault.
    package private(set) var wrong: UInt64 = 0
    package private(set) var latency = LatencyHistogram()
    package private(set) var faults = FaultCounts()
    private var last: UInt32?

    package init(publisher: UInt16) { self.publisher = publisher }

    /// A frame whose mark was read.
    ///
    /// - Parameters:
    ///   - lossBefore: packets are missing since the frame before, so numbers may be.
    ///   - wallMicroseconds: now.
    package mutating func note(
        counter: UInt32, publisher found: UInt16, captureMicroseconds: UInt64, lossBefore: Bool,
        wallMicroseconds: Int64
    ) {
        frames += 1
        guard found == publisher else {
            wrong += 1
            faults.add(.wrongPublisher, "a frame of publisher \(found) in place of \(publisher)")
            return
        }
        if let last {
            let step = counter &- last
            let isNext = step == 1
            // Half the numbers count as forward.
            let isForward = step > 0 && step < 1 << 31
            if !isNext, !(lossBefore && isForward) {
                wrong += 1
                faults.add(.wrongOrder, "frame \(counter) of publisher \(publisher) after frame \(last)")
            }
        }
        last = counter
        latency.add(microseconds: wallMicroseconds &- Int64(clamping: captureMicroseconds))
    }

    /// A complete frame that could not be read: `.unreadable` or `.undecodable`.
    package mutating func note(_ fault: FaultKind, _ example: @autoclosure () -> String) {
        frames += 1
        wrong += 1
        faults.add(fault, example())
    }
}

/// Judges a publisher's tone, stretch by stretch.
package struct ToneJudge: Sendable {
    package private(set) var windows: UInt64 = 0
    package private(set) var wrong: UInt64 = 0
    package private(set) var faults = FaultCounts()
    private let detector: ToneDetector
    private let publisher: UInt16
    private var window: [Int16] = []
    private var toSkip: Int

    /// 100 ms: long enough to tell neighbouring tones in spite of the codec.
    package static let windowSamples = 4800
    /// Encoder and decoder need this long to settle, at the start and after a gap: 200 ms.
    package static let settlingSamples = 9600

    package init(publisher: UInt16) {
        self.publisher = publisher
        detector = ToneDetector(publisher: publisher)
        toSkip = Self.settlingSamples
        window.reserveCapacity(Self.windowSamples)
    }

    /// Decoded sound, mono at 48 kHz.
    package mutating func note(_ samples: [Int16], lossBefore: Bool) {
        if lossBefore {
            toSkip = Self.settlingSamples
            window.removeAll(keepingCapacity: true)
        }
        for sample in samples {
            if toSkip > 0 {
                toSkip -= 1
                continue
            }
            window.append(sample)
            if window.count == Self.windowSamples { judge() }
        }
    }

    private mutating func judge() {
        windows += 1
        let reading = detector.read(window)
        if !reading.isPresent {
            wrong += 1
            let level = Int((reading.level * 1000).rounded())
            let share = Int((reading.share * 100).rounded())
            faults.add(
                .wrongTone,
                "\(detector.frequency) Hz of publisher \(publisher) has \(share) % of the energy at level 0.\(level)")
        }
        window.removeAll(keepingCapacity: true)
    }

    package mutating func note(undecodable reason: String) { faults.add(.undecodable, reason) }
}
