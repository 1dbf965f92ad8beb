import ClientEngine
import MediaCodecs
import MediaWire
import Synchronization

/// A track of another user as its media comes: packets in order become frames, and frames go to who listens. It outlives the
/// connection that carries it, so that listeners hear on after a new one.
///
/// Packets come on the engine's thread, already repaired and in order, or given up (`PacketOrderer`). After a loss nothing is given
/// out before the next key frame, which is asked for.
final class TrackReceiver: TrackSink {
    /// Frames that wait in one listener's stream; beyond, sound is left out, and pictures up to the next key frame.
    static let streamLimit = 64

    private enum Depacketizer {
        case none
        case video(VideoDepacketizer)
        case h264(H264Depacketizer)
        case opus(OpusDepacketizer)
    }

    private struct Listener {
        var continuation: AsyncStream<RTCEncodedFrame>.Continuation
        var awaitsKeyFrame: Bool
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
    }

    let trackID: String
    let kind: TrackKind
    private let state = Mutex(State())
    /// Told once, of the first frame.
    private let firstFrame: @Sendable (TrackKind, MediaTime) -> Void

    init(trackID: String, kind: TrackKind, firstFrame: @escaping @Sendable (TrackKind, MediaTime) -> Void) {
        self.trackID = trackID
        self.kind = kind
        self.firstFrame = firstFrame
    }

    /// A new stream of packets, of another connection or of none before.
    func begin(_ codec: Codec) {
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
    func finish() {
        let listeners = state.withLock { state in
            state.isFinished = true
            defer { state.listeners = [:] }
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.continuation.finish() }
    }

    /// A new stream of everything from the next key frame on.
    func frames() -> AsyncStream<RTCEncodedFrame> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: RTCEncodedFrame.self, bufferingPolicy: .bufferingOldest(TrackReceiver.streamLimit))
        let number: Int? = state.withLock { state in
            guard !state.isFinished else { return nil }
            state.nextListener += 1
            state.listeners[state.nextListener] = Listener(continuation: continuation, awaitsKeyFrame: true)
            return state.nextListener
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            guard let self else { return }
            _ = self.state.withLock { $0.listeners.removeValue(forKey: number) }
        }
        return stream
    }

    func noteDecoded() { state.withLock { $0.framesDecoded += 1 } }

    /// A decoder could not use what it got.
    func requireKeyFrame() {
        state.withLock { state in
            for number in state.listeners.keys { state.listeners[number]?.awaitsKeyFrame = true }
        }
    }

    func fill(_ statistics: inout RemoteTrackStatistics, now: MediaTime) {
        state.withLock { state in
            statistics.codec = state.codec.map { MediaCodec($0) }
            statistics.frames = state.frames
            statistics.framesDecoded = state.framesDecoded
            (statistics.bitrate, statistics.framesPerSecond) = state.meter.rates(now: now)
        }
    }

    // MARK: TrackSink

    func receive(_ packet: ClientPacket, payload: RawSpan, now: MediaTime, wallTime: () -> Int64) -> Bool {
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
            TrackReceiver.give(frame, &state)
            return (TrackReceiver.wantsKeyFrame(state), isFirst)
        }
        if isFirst { firstFrame(kind, now) }
        return wanted
    }

    private static func wantsKeyFrame(_ state: State) -> Bool {
        switch state.depacketizer {
        case .video(let depacketizer): if depacketizer.needsKeyFrame { return true }
        case .h264(let depacketizer): if depacketizer.needsKeyFrame { return true }
        case .opus, .none: return false
        }
        return state.listeners.values.contains { $0.awaitsKeyFrame }
    }

    /// The frame that this packet completes.
    private static func frame(_ state: inout State, _ packet: ClientPacket, _ payload: RawSpan) -> RTCEncodedFrame? {
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
            return RTCEncodedFrame(
                codec: MediaCodec(codec), data: frame.bytes, time: time, isKeyFrame: frame.isKeyFrame)
        case .h264(var video):
            let reception = video.receive(
                payload, sequenceNumber: packet.sequenceNumber, timestamp: packet.timestamp, marker: packet.marker)
            state.depacketizer = .h264(video)
            guard case .frame(let frame) = reception else { return nil }
            return RTCEncodedFrame(codec: .h264, data: frame.bytes, time: time, isKeyFrame: frame.isKeyFrame)
        case .opus(var audio):
            let reception = audio.receive(
                payload, sequenceNumber: packet.sequenceNumber, timestamp: packet.timestamp, marker: packet.marker)
            state.depacketizer = .opus(audio)
            guard case .audio(let received) = reception else { return nil }
            return RTCEncodedFrame(codec: .opus, data: received.packet, time: time)
        }
    }

    private static func give(_ frame: RTCEncodedFrame, _ state: inout State) {
        for (number, listener) in state.listeners {
            guard frame.isKeyFrame || !listener.awaitsKeyFrame else { continue }
            if case .dropped = listener.continuation.yield(frame) {
                // Whoever decodes the next one without this one sees garbage.
                state.listeners[number]?.awaitsKeyFrame = frame.codec != .opus
            } else if listener.awaitsKeyFrame {
                state.listeners[number]?.awaitsKeyFrame = false
            }
        }
    }
}

/// RTP timestamps as a time that never goes back, though they wrap, and though a stream begins anew under another SSRC.
struct FrameClock: Sendable {
    private var last: (timestamp: UInt32, ticks: Int64)?
    private var arrival = MediaTime.zero

    /// The next timestamp has nothing to do with the last.
    private var isInterrupted = false

    mutating func interrupt() { isInterrupted = true }

    mutating func time(of timestamp: UInt32, rate: UInt32, now: MediaTime) -> Duration {
        guard let last else {
            self.last = (timestamp, 0)
            arrival = now
            return .zero
        }
        let step =
            isInterrupted
            ? (now - arrival).ticks(at: rate) : Int64(Int32(bitPattern: timestamp &- last.timestamp))
        isInterrupted = false
        let ticks = last.ticks &+ step
        // A packet that comes late belongs to an earlier time, and the reckoning goes on from the latest.
        if step > 0 {
            self.last = (timestamp, ticks)
            arrival = now
        }
        return Duration(ticks: max(ticks, 0), rate: rate)
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
