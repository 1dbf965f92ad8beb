package import ClientEngine
import MediaCodecs
package import MediaWire
import Synchronization

/// A track of another user as its media comes: packets in order become frames, and frames go to who listens. It outlives the
/// connection that carries it, so that listeners hear on after a new one.
///
/// Packets come on the engine's thread, already repaired and in order, or given up (`PacketOrderer`). After a loss nothing is given
/// out before the next key frame, which is asked for.
package final class TrackReceiver: TrackSink {
    private enum Depacketizer {
        case none
        case video(VideoDepacketizer)
        case h264(H264Depacketizer)
        case opus(OpusDepacketizer)
    }

    private struct Listener {
        var queue: FrameQueue
        var awaitsKeyFrame: Bool
    }

    /// A frame, and the length of sound in samples.
    private struct Received {
        var frame: RTCEncodedFrame
        var samples = 0
    }

    /// A listener's end of its queue: the receiver forgets it with this.
    package final class Subscription: Sendable {
        let queue: FrameQueue
        fileprivate let number: Int
        private let forget: @Sendable () -> Void

        fileprivate init(_ queue: FrameQueue, _ number: Int, forget: @escaping @Sendable () -> Void) {
            self.queue = queue
            self.number = number
            self.forget = forget
        }

        /// The next one, when it is due; `nil`: nothing comes any more, or the task is cancelled.
        package func next() async -> PlayoutBuffer.Item? { await queue.next() }

        deinit { forget() }
    }

    private struct State {
        var codec: Codec?
        var depacketizer = Depacketizer.none
        var listeners: [Int: Listener] = [:]
        var nextListener = 0
        var isFinished = false
        var clock = FrameClock()
        var meter = RateMeter()
        var frames: UInt64 = 0
        var framesDecoded: UInt64 = 0
        var lastTimestamp: UInt32?
        var lastSequence: Int64?
        var hasFirstFrame = false
        /// Of listeners that are gone.
        var played = PlayoutBuffer.Statistics()
    }

    let trackID: String
    let kind: TrackKind
    private let state = Mutex(State())
    /// In nanoseconds; negative: as long as usual.
    private let wantedPatience = Atomic<Int64>(-1)
    /// Told once, of the first frame.
    private let firstFrame: @Sendable (TrackKind, MediaTime) -> Void

    package init(trackID: String, kind: TrackKind, firstFrame: @escaping @Sendable (TrackKind, MediaTime) -> Void) {
        self.trackID = trackID
        self.kind = kind
        self.firstFrame = firstFrame
    }

    /// A new stream of packets, of another connection or of none before.
    package func begin(_ codec: Codec) {
        state.withLock { state in
            state.codec = codec
            state.lastSequence = nil
            state.lastTimestamp = nil
            state.meter = RateMeter()
            state.clock.interrupt()
            switch codec {
            case .opus: state.depacketizer = .opus(OpusDepacketizer())
            case .h264: state.depacketizer = .h264(H264Depacketizer())
            default: state.depacketizer = VPXCodec(codec).map { .video(VideoDepacketizer($0)) } ?? .none
            }
            for number in state.listeners.keys { state.listeners[number]?.awaitsKeyFrame = true }
        }
    }

    /// No frames come any more: the track is gone, or the join is over.
    package func finish() {
        let listeners = state.withLock { state in
            state.isFinished = true
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.queue.finish() }
    }

    /// A new listener, for everything from the next key frame on.
    ///
    /// - Parameter conceals: sound that is missing is told of.
    package func listen(_ playout: PlayoutDelay, conceals: Bool = false) -> Subscription {
        let queue = FrameQueue(playout, kind, conceals: conceals)
        let number = state.withLock { state in
            state.nextListener += 1
            if state.isFinished {
                queue.finish()
            } else {
                state.listeners[state.nextListener] = Listener(queue: queue, awaitsKeyFrame: true)
            }
            return state.nextListener
        }
        return Subscription(queue, number) { [weak self] in self?.forget(number) }
    }

    private func forget(_ number: Int) {
        let listener = state.withLock { state in
            let listener = state.listeners.removeValue(forKey: number)
            if let counts = listener?.queue.figures.counts {
                state.played.late += counts.late
                state.played.concealed += counts.concealed
            }
            return listener
        }
        listener?.queue.finish()
    }

    /// A new stream of everything from the next key frame on.
    package func frames(_ playout: PlayoutDelay) -> AsyncStream<RTCEncodedFrame> {
        let subscription = listen(playout)
        return AsyncStream(unfolding: {
            while let item = await subscription.queue.next() {
                if case .frame(let frame) = item { return frame }
            }
            return nil
        })
    }

    func noteDecoded() { state.withLock { $0.framesDecoded += 1 } }

    /// A listener's decoder could not use what it got.
    package func requireKeyFrame(for listener: Subscription) {
        // One that waits already is as good as another, and what leans on it comes with it.
        guard !listener.queue.holdsKeyFrame else { return }
        state.withLock { $0.listeners[listener.number]?.awaitsKeyFrame = true }
    }

    package func fill(_ statistics: inout RemoteTrackStatistics, now: MediaTime) {
        state.withLock { state in
            statistics.codec = state.codec.map { MediaCodec($0) }
            statistics.frames = state.frames
            statistics.framesDecoded = state.framesDecoded
            (statistics.bitrate, statistics.framesPerSecond) = state.meter.rates(now: now)
            var played = state.played
            for listener in state.listeners.values {
                let (delay, counts) = listener.queue.figures
                played.late += counts.late
                played.concealed += counts.concealed
                if let delay { statistics.playoutDelay = max(statistics.playoutDelay ?? 0, delay.seconds) }
            }
            statistics.framesLate = played.late
            statistics.framesConcealed = played.concealed
        }
    }

    // MARK: TrackSink

    package func receive(
        _ packet: ClientPacket, payload: RawSpan, now: MediaTime, wallTime: () -> Int64
    ) -> Bool {
        let (wanted, isFirst) = state.withLock { state in
            let isNew = state.lastTimestamp != packet.timestamp
            state.lastTimestamp = packet.timestamp
            state.meter.note(bytes: payload.byteCount, isNewFrame: isNew, now: now)
            guard payload.byteCount > 0 else { return (false, false) }
            let frame = TrackReceiver.frame(&state, packet, payload)
            guard let frame else { return (TrackReceiver.wantsKeyFrame(state), false) }
            state.frames += 1
            let isFirst = !state.hasFirstFrame
            state.hasFirstFrame = true
            TrackReceiver.give(frame, arrival: packet.arrival, now: now, &state)
            if kind == .audio { wantedPatience.store(TrackReceiver.patience(state), ordering: .relaxed) }
            return (TrackReceiver.wantsKeyFrame(state), isFirst)
        }
        if isFirst { firstFrame(kind, now) }
        return wanted
    }

    /// Sound that came when the one after it was given out already: playout may have to be slower.
    package func receiveLate(_ packet: ClientPacket) {
        guard kind == .audio else { return }
        state.withLock { state in
            guard let codec = state.codec,
                let time = state.clock.earlierTime(of: packet.timestamp, rate: codec.clockRate)
            else { return }
            for listener in state.listeners.values {
                listener.queue.noteLate(time, arrival: packet.arrival, now: packet.arrival)
            }
        }
    }

    package var patience: MediaDuration? {
        let wanted = wantedPatience.load(ordering: .relaxed)
        return kind == .audio
            ? wanted < 0 ? .milliseconds(TrackReceiver.usualPatience) : MediaDuration(nanoseconds: wanted) : nil
    }

    /// In milliseconds, as packets are waited for without another wish.
    private static let usualPatience: Int64 = 250

    /// What the most impatient listener allows, in nanoseconds; negative: as long as usual, for one of them wants all there is.
    private static func patience(_ state: State) -> Int64 {
        var least = Int64.max
        for listener in state.listeners.values {
            guard let patience = listener.queue.patience else { return -1 }
            least = min(least, patience.nanoseconds)
        }
        return least == .max ? -1 : least
    }

    private static func wantsKeyFrame(_ state: State) -> Bool {
        // Who does not read has no use for one: it would be left out, and asked for again.
        let needed: Bool
        switch state.depacketizer {
        case .video(let depacketizer): needed = depacketizer.needsKeyFrame
        case .h264(let depacketizer): needed = depacketizer.needsKeyFrame
        case .opus, .none: return false
        }
        if state.listeners.isEmpty { return needed }
        return state.listeners.values.contains { (needed || $0.awaitsKeyFrame) && $0.queue.hasRoom }
    }

    /// The frame that this packet completes.
    private static func frame(_ state: inout State, _ packet: ClientPacket, _ payload: RawSpan) -> Received? {
        guard let codec = state.codec else { return nil }
        let time = state.clock.time(of: packet.timestamp, rate: codec.clockRate, now: packet.arrival)
        // Moved out and back: the frame in the making keeps one owner and is not copied.
        let depacketizer = state.depacketizer
        state.depacketizer = .none
        switch depacketizer {
        case .none: return nil
        case .video(var video):
            let reception = video.receive(
                payload, sequenceNumber: packet.sequenceNumber, timestamp: packet.timestamp, marker: packet.marker)
            state.depacketizer = .video(video)
            guard case .frame(let frame) = reception else { return nil }
            return Received(
                frame: RTCEncodedFrame(
                    codec: MediaCodec(codec), data: frame.bytes, time: time, isKeyFrame: frame.isKeyFrame))
        case .h264(var video):
            let reception = video.receive(
                payload, sequenceNumber: packet.sequenceNumber, timestamp: packet.timestamp, marker: packet.marker)
            state.depacketizer = .h264(video)
            guard case .frame(let frame) = reception else { return nil }
            return Received(
                frame: RTCEncodedFrame(codec: .h264, data: frame.bytes, time: time, isKeyFrame: frame.isKeyFrame))
        case .opus(var audio):
            let reception = audio.receive(
                payload, sequenceNumber: packet.sequenceNumber, timestamp: packet.timestamp, marker: packet.marker)
            state.depacketizer = .opus(audio)
            guard case .audio(let received) = reception else { return nil }
            return Received(
                frame: RTCEncodedFrame(codec: .opus, data: received.packet, time: time), samples: received.samples)
        }
    }

    private static func give(_ received: Received, arrival: MediaTime, now: MediaTime, _ state: inout State) {
        let frame = received.frame
        for (number, listener) in state.listeners {
            guard frame.isKeyFrame || !listener.awaitsKeyFrame else { continue }
            let isTaken = listener.queue.insert(frame, samples: received.samples, arrival: arrival, now: now)
            // Whoever decodes the next one without this one sees garbage.
            state.listeners[number]?.awaitsKeyFrame = !isTaken && frame.codec != .opus
        }
    }
}

/// RTP timestamps as a time that never goes back, though they wrap, and though a stream begins anew: under another SSRC, or under
/// the same one with timestamps that have nothing to do with those before.
package struct FrameClock: Sendable {
    /// In seconds: timestamps that are farther than this from the time that went by are another timeline.
    private static let farthest: Int64 = 10

    private var last: (timestamp: UInt32, ticks: Int64)?
    private var arrival = MediaTime.zero

    /// The next timestamp has nothing to do with the last.
    private var isInterrupted = false

    package init() {}

    package mutating func interrupt() { isInterrupted = true }

    /// When this was captured, by the clock of the first timestamp.
    ///
    /// - Parameters:
    ///   - rate: ticks of a timestamp in a second.
    ///   - now: when it arrived.
    package mutating func time(of timestamp: UInt32, rate: UInt32, now: MediaTime) -> Duration {
        guard let last else {
            self.last = (timestamp, 0)
            arrival = now
            return .zero
        }
        let elapsed = (now - arrival).ticks(at: rate)
        let difference = Int64(Int32(bitPattern: timestamp &- last.timestamp))
        let isNew = isInterrupted || abs(difference &- elapsed) > Self.farthest &* Int64(rate)
        let step = isNew ? max(elapsed, 0) : difference
        isInterrupted = false
        let ticks = last.ticks &+ step
        // A packet that comes late belongs to an earlier time, and the reckoning goes on from the latest.
        if isNew || step > 0 {
            self.last = (timestamp, ticks)
            arrival = now
        }
        return Duration(ticks: max(ticks, 0), rate: rate)
    }

    /// Of a packet that came after its time, without moving on; `nil` before the first one, and for one of another timeline.
    package func earlierTime(of timestamp: UInt32, rate: UInt32) -> Duration? {
        guard let last, !isInterrupted else { return nil }
        let step = Int64(Int32(bitPattern: timestamp &- last.timestamp))
        guard abs(step) <= Self.farthest &* Int64(rate) else { return nil }
        return Duration(ticks: max(last.ticks &+ step, 0), rate: rate)
    }
}

/// Bytes and frames of the last second or so.
struct RateMeter: Sendable {
    private static let window = MediaDuration.seconds(1)

    private var since: MediaTime?
    private var bytes = 0
    private var frames = 0
    private var rates = (0.0, 0.0)

    mutating func note(bytes: Int, isNewFrame: Bool, now: MediaTime) {
        roll(now)
        self.bytes &+= bytes
        if isNewFrame { frames &+= 1 }
    }

    mutating func rates(now: MediaTime) -> (bitrate: Double, frames: Double) {
        roll(now)
        return rates
    }

    private mutating func roll(_ now: MediaTime) {
        guard let since else {
            self.since = now
            return
        }
        let elapsed = now - since
        guard elapsed >= Self.window else { return }
        rates = (Double(bytes) * 8 / elapsed.seconds, Double(frames) / elapsed.seconds)
        (bytes, frames, self.since) = (0, 0, now)
    }
}
