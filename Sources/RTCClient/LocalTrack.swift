import ClientEngine
import MediaWire
import Synchronization

/// A track of this client's own.
///
/// ```swift
/// let microphone = LocalTrack(kind: .audio, tag: "microphone")
/// try await client.publish([microphone])
/// for await frame in capture { try microphone.send(frame) }
/// ```
///
/// Published, it takes frames by `send`: encoded ones as they are, or sound and pictures to be encoded.
public final class LocalTrack: Sendable {
    /// What it carries; never changes.
    public let kind: TrackKind
    /// A word of the app's own that the others get with the track, for example "camera".
    public let tag: String
    /// The most that it takes, in kbit/s, all its layers together; the server is told of it. `nil`: 32 for sound, what the size asks for
    /// of pictures that are encoded here, 2500 for encoded ones. What is encoded here keeps to what the network takes
    /// between that and its least (6 for sound, 30 for pictures); `bitrateTargets` tells the same to apps that encode.
    public let bitrate: Int?

    /// Encodings that the app gives, from the smallest picture to the largest, for each subscriber to have the one it asks for; 1: one
    /// for everybody.
    public let layerCount: Int

    /// The client's own name for it on the wire.
    let localID: String
    /// What feeds its streams by itself, in place of `send`: for load tests.
    let feed: (any TrackFeed)?

    private struct State {
        var trackID: String?
        /// By this client: what the server is told.
        var isMuted = false
        /// By the app's back end: what the server says.
        var isMutedByServer = false
        weak var core: ClientCore?
    }

    private let state = Mutex(State())
    /// Held while a frame is encoded: never take it on the media thread.
    private let sender = Mutex(TrackSender())
    private let steering: Mutex<SendSteering>
    private let requests = Broadcast<Void>()
    private let targets = Broadcast<[Int]>()

    /// A track that is not published yet.
    ///
    /// - Parameters:
    ///   - kind: what it carries.
    ///   - tag: a word of the app's own for the others; empty: none.
    ///   - bitrate: the most that it takes, in kbit/s; `nil`: what is usual.
    ///   - layers: 1 to 3 encodings of a picture (simulcast): more than one is for apps that encode by themselves, and give
    ///     each frame with its layer. Other numbers are taken for the nearest.
    public convenience init(kind: TrackKind, tag: String = "", bitrate: Int? = nil, layers: Int = 1) {
        self.init(kind: kind, tag: tag, bitrate: bitrate, layers: layers, feed: nil)
    }

    /// With what feeds it by itself.
    package init(kind: TrackKind, tag: String, bitrate: Int?, layers: Int = 1, feed: (any TrackFeed)?) {
        self.kind = kind
        self.tag = tag
        self.bitrate = bitrate
        self.feed = feed
        layerCount = kind == .video ? min(max(layers, 1), 3) : 1
        steering = Mutex(SendSteering(kind, layers: layerCount, kilobits: bitrate))
        // Shaped like the identifier of a browser's track.
        localID = [8, 4, 4, 4, 12].map { length in
            String((0..<length).map { _ in Character(String(UInt8.random(in: 0..<16), radix: 16)) })
        }.joined(separator: "-")
    }

    /// The server's id for it, the same for everybody in the room; `nil` unless published.
    public var trackID: String? { state.withLock { $0.trackID } }

    /// Whether the room has it: from the end of `publish` until `unpublish`, the end of the join, or `didLoseLocalTracks`.
    public var isPublished: Bool { trackID != nil }

    /// Whether the others see it as muted: by `updateMute`, or by the app's back end. False at first.
    public var isMuted: Bool { state.withLock { $0.isMuted || $0.isMutedByServer } }

    /// Whether the app's back end has muted it. Only the back end can take that back; it ends with the publication.
    public var isMutedByServer: Bool { state.withLock { $0.isMutedByServer } }

    /// What `updateMute` said last.
    var isMutedByClient: Bool { state.withLock { $0.isMuted } }

    /// Mutes the track or takes that back; the others are told. The state outlives a reconnect. A mute by the app's
    /// back end is another one, and stays.
    ///
    /// - Throws: 21002 unless the track is published.
    public func updateMute(_ isMuted: Bool) throws(RTCError) {
        let core: ClientCore? = state.withLock { state in
            guard state.trackID != nil, let core = state.core else { return nil }
            state.isMuted = isMuted
            return core
        }
        guard let core else { throw RTCError(.wrongState, "a track can be muted while it is published") }
        // Encoded frames stop, and begin again with a key frame; what is encoded here goes on as silence and black.
        sender.withLock { $0.pause() }
        if !isMuted { requests.send(()) }
        core.sendMutes(of: [self])
    }

    // MARK: Sending

    /// Sends an encoded frame. While the client is not connected, the track muted, or a key frame awaited, the frame is left
    /// out: `keyFrameRequests` tells when one is needed.
    ///
    /// - Parameter layer: of a track with several, 0 the smallest picture.
    /// - Throws: 21002 unless the track is published; 10054 for another codec than the room's (`RTCClient.codec`); 10053
    ///   for no such layer, and for frames without bytes or above 1 MiB.
    public func send(_ frame: RTCEncodedFrame, layer: Int = 0) throws(RTCError) {
        if isMutedByClient { return }
        let wanted = steering.withLock { $0.takeKeyFrames() }
        let needsKeyFrame = try sender.withLock { sender throws(RTCError) in
            sender.wantKeyFrames(wanted)
            return try sender.send(frame, layer: layer)
        }
        if needsKeyFrame { requests.send(()) }
    }

    /// Encodes a picture for the room and sends it, on the caller's thread. A muted track sends black pictures. Pictures of
    /// another size than before begin with a key frame.
    ///
    /// - Throws: 21002 unless the track is published, and for a track with layers; 10054 in a room whose codec is not
    ///   encoded here; 10053 for what is no picture of 16 to 4096 pixels a side; 21005 when the encoder fails.
    public func send(_ frame: RTCVideoFrame) throws(RTCError) {
        let isMuted = isMutedByClient
        try TrackSender.check(frame, layers: layerCount)
        let maximum = SendSteering.maximum(width: frame.width, height: frame.height, kilobits: bitrate)
        let (wanted, target) = steering.withLock { ($0.takeKeyFrames(), $0.target(maximum: maximum)) }
        try sender.withLock { sender throws(RTCError) in
            sender.wantKeyFrames(wanted)
            try sender.send(frame, isMuted: isMuted, bitrate: target)
        }
    }

    /// Encodes a piece of sound and sends it, on the caller's thread. A muted track sends silence.
    ///
    /// - Throws: 21002 unless the track is published; 10053 for a length that is none of Opus's; 21005 when the encoder
    ///   fails.
    public func send(_ frame: RTCAudioFrame) throws(RTCError) {
        let isMuted = isMutedByClient
        let maximum = SendSteering.maximumOfSound(kilobits: bitrate)
        let target = steering.withLock { $0.target(maximum: maximum) }
        try sender.withLock { sender throws(RTCError) in
            try sender.send(frame, isMuted: isMuted, bitrate: target)
        }
    }

    /// A new stream, for one task, of what the network takes of this track now: for each layer, the smallest picture first, the bit/s
    /// that it should not exceed; 0: the layer is not worth sending at the moment. For apps that encode by themselves; what
    /// `send` encodes keeps to it by itself. Only the last one waits.
    public var bitrateTargets: AsyncStream<[Int]> { targets.stream() }

    /// A new stream, for one task, of the moments at which the server needs a key frame of an encoded track; several that
    /// come at once are one. What `send` encodes by itself answers them by itself.
    public var keyFrameRequests: AsyncStream<Void> { requests.stream() }

    /// What became of it, since it was published; `nil` unless published.
    public func statistics() async -> LocalTrackStatistics? {
        let (target, frames, dropped) = sender.withLock { ($0.current, $0.frames, $0.framesDropped) }
        guard let target else { return nil }
        var result = LocalTrackStatistics()
        (result.bitrateTargets, result.bitrateEstimate) = steering.withLock { ($0.targets ?? [], $0.estimate) }
        result.frames = frames
        result.framesDropped = dropped
        for ssrc in target.ssrcs {
            guard let figures = await target.connection.figures(ssrc: ssrc), let sending = figures.sending else {
                return result
            }
            result.packets += sending.packets
            result.bytes += sending.bytes
            result.retransmitted += sending.retransmitted
            result.keyFrameRequests += sending.keyFrameRequests
            result.packetsLost += Int(sending.lost)
            result.fractionLost = max(result.fractionLost, Double(sending.fractionLost) / 256)
            result.jitter = max(result.jitter, sending.jitter)
            result.roundTrip = figures.roundTrip?.seconds
        }
        return result
    }

    /// The streams that carry it from now on.
    func begin(_ target: TrackSender.Target) {
        steering.withLock { $0.begin() }
        sender.withLock { $0.begin(target) }
        requests.send(())
    }

    /// The server wants a key frame of a layer. On the media thread.
    func keyFrameWanted(layer: Int) {
        steering.withLock { $0.wantKeyFrame(layer) }
        requests.send(())
    }

    /// Its streams on the present connection.
    var target: TrackSender.Target? { sender.withLock { $0.current } }

    // MARK: Publication

    func published(as trackID: String, by core: ClientCore) {
        state.withLock {
            $0.trackID = trackID
            $0.isMutedByServer = false
            $0.core = core
        }
    }

    func unpublished() {
        sender.withLock { $0.end() }
        state.withLock {
            $0.trackID = nil
            $0.isMutedByServer = false
            $0.core = nil
        }
    }

    func setMutedByServer(_ isMuted: Bool) { state.withLock { $0.isMutedByServer = isMuted } }
}

extension LocalTrack: Hashable {
    /// Whether both are the same object: a track made twice alike is two tracks.
    public static func == (a: LocalTrack, b: LocalTrack) -> Bool { a === b }
    /// By identity, as `==`.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// On the media thread.
extension LocalTrack: BitrateFollower {
    var demand: BitrateDemand { steering.withLock { $0.demand } }

    func follow(_ targets: [Int], estimate: Int) {
        let isNews = steering.withLock { $0.follow(targets, estimate: estimate) }
        if isNews { self.targets.send(targets) }
    }
}
