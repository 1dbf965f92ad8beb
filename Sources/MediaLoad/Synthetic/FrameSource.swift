package import MediaCodecs
package import MediaWire

/// One synthetic source in real time: frames are made once, when the first of its publishers asks, and shared by all of them.
///
/// Used on the publishers' thread only, after it was made.
package final class FrameSource: @unchecked Sendable {
    private enum Maker {
        case stream(SharedStream)
        case probe(size: Int, perSecond: Int)
    }

    /// Whose picture or tone it is: what subscribers are to find.
    package let publisher: UInt16
    package let codec: Codec
    package let interval: MediaDuration
    /// Frames made so far: the number of the next one.
    package private(set) var produced: Int64 = 0
    /// Frames that were left out because the machine could not keep up.
    package private(set) var skipped: Int64 = 0
    /// What the encoder said when it failed.
    package private(set) var failure: String?

    private var maker: Maker
    private var recent: [EncodedFrame?]
    private var epoch: MediaTime?
    private var slipped: MediaDuration = .zero
    private var lastKeyFrame: MediaTime?
    private var keyFrameWanted = false

    /// Key frames are large: at most four a second, whoever asks. The node asks each publisher once a second at most.
    static let keyFrameSpacing = MediaDuration.milliseconds(250)
    /// A source that is so far behind leaves frames out instead of hurrying after.
    static let patience = MediaDuration.milliseconds(200)

    package init(_ stream: SharedStream) {
        publisher = stream.publisher
        codec = stream.codec
        interval = MediaDuration(nanoseconds: stream.frameDuration)
        maker = .stream(stream)
        recent = [EncodedFrame?](repeating: nil, count: 32)
    }

    /// Probes: small packets of Opus's payload type, so many a second.
    package init(probesPerSecond: Int, size: Int, publisher: UInt16) {
        self.publisher = publisher
        codec = .opus
        interval = MediaDuration(nanoseconds: 1_000_000_000 / Int64(max(probesPerSecond, 1)))
        maker = .probe(size: size, perSecond: max(probesPerSecond, 1))
        // A fifth of a second, and more.
        recent = [EncodedFrame?](repeating: nil, count: max(64, probesPerSecond / 4))
    }

    package func requestKeyFrame() { keyFrameWanted = true }

    /// When frame `number` is due; `.distantFuture` before the first `produce`.
    package func due(_ number: Int64) -> MediaTime {
        guard let epoch else { return .distantFuture }
        return epoch + MediaDuration(nanoseconds: interval.nanoseconds &* number &+ slipped.nanoseconds)
    }

    /// A frame that was made lately.
    package func frame(_ number: Int64) -> EncodedFrame? {
        guard number >= 0, number < produced, number >= produced - Int64(recent.count) else { return nil }
        return recent[Int(number % Int64(recent.count))]
    }

    /// Makes all frames that are due.
    ///
    /// - Parameter wallTime: of this moment, nanoseconds since 1970.
    package func produce(until now: MediaTime, wallTime: () -> Int64) {
        if epoch == nil { epoch = now }
        let behind = now - due(produced)
        if behind > Self.patience {
            let left = behind.nanoseconds / interval.nanoseconds
            skipped += left
            slipped = MediaDuration(nanoseconds: slipped.nanoseconds &+ left &* interval.nanoseconds)
        }
        while due(produced) <= now {
            guard let frame = make(now, wallTime()) else { return }
            recent[Int(produced % Int64(recent.count))] = frame
            produced += 1
        }
    }

    private func make(_ now: MediaTime, _ wallTime: Int64) -> EncodedFrame? {
        switch maker {
        case .stream(let stream):
            if keyFrameWanted, lastKeyFrame.map({ now >= $0 + Self.keyFrameSpacing }) ?? true {
                stream.requestKeyFrame()
                keyFrameWanted = false
            }
            do {
                let frame = try stream.nextFrame(at: wallTime)
                if frame.isKeyFrame { lastKeyFrame = now }
                return frame
            } catch {
                failure = "\(error)"
                // The next try when the next frame would be due.
                slipped = MediaDuration(nanoseconds: slipped.nanoseconds &+ interval.nanoseconds)
                return nil
            }
        case .probe(let size, let perSecond):
            let payload = ProbePayload(
                counter: UInt32(truncatingIfNeeded: produced), microseconds: UInt64(clamping: wallTime / 1000),
                publisher: publisher)
            let ticks = produced &* 48_000 / Int64(perSecond)
            return EncodedFrame(
                timestamp: UInt32(truncatingIfNeeded: ticks), isKeyFrame: true,
                payloads: [RTPPayload(bytes: payload.encoded(size: size), marker: false)])
        }
    }
}
