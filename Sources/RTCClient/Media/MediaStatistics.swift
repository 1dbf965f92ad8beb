/// What has become of a track that this client sends, since it was published or published anew.
public struct LocalTrackStatistics: Sendable, Hashable {
    /// Of RTP, without those that were sent again.
    public var packets: UInt64 = 0
    /// Of payload.
    public var bytes: UInt64 = 0
    /// Frames given to `send` that went out.
    public var frames: UInt64 = 0
    /// Frames that did not: no connection, no key frame yet, or more than the network takes.
    public var framesDropped: UInt64 = 0
    /// Packets that were sent again because the server asked.
    public var retransmitted: UInt64 = 0
    /// How often the server wanted a key frame.
    public var keyFrameRequests: UInt64 = 0
    /// Packets that did not reach the server, as it counts (RFC 3550, section 6.4.1).
    public var packetsLost: Int = 0
    /// Of the last second or so, 0 to 1.
    public var fractionLost = 0.0
    /// In seconds, as the server sees it.
    public var jitter = 0.0
    /// To the server and back, in seconds; `nil` before it was measured.
    public var roundTrip: Double?
    /// What each layer may take at the moment, in bit/s, the smallest picture first; empty before the network has said anything. 0: the
    /// layer is not worth sending.
    public var bitrateTargets: [Int] = []
    /// What the connection, with all its tracks, may take, in bit/s, as far as that was tried; `nil` before the network has said
    /// anything.
    public var bitrateEstimate: Int?

    /// Nothing counted.
    public init() {}
}

/// What has become of a track of another user, since it was subscribed to or subscribed to anew.
public struct RemoteTrackStatistics: Sendable, Hashable {
    /// Of RTP, with those that came again.
    public var packets: UInt64 = 0
    /// Of payload.
    public var bytes: UInt64 = 0
    /// Never came, though waited for.
    public var packetsLost: UInt64 = 0
    /// Came after they were asked for.
    public var packetsRecovered: UInt64 = 0
    /// In seconds (RFC 3550, section 6.4.1).
    public var jitter = 0.0
    /// To the server and back, in seconds; `nil` before it was measured.
    public var roundTrip: Double?
    /// Complete frames that can be decoded.
    public var frames: UInt64 = 0
    /// Frames that were decoded: with `videoFrames` and `audioFrames` only.
    public var framesDecoded: UInt64 = 0
    /// How long decoded frames are held so that they come evenly, in seconds; `nil` without listeners for whom they are.
    public var playoutDelay: Double?
    /// Frames that came after their time: sound that was left out, pictures that were shown late.
    public var framesLate: UInt64 = 0
    /// Pieces of sound that were made up for what was lost or late.
    public var framesConcealed: UInt64 = 0
    /// How often this client asked for a key frame, for all tracks of its connection.
    public var keyFrameRequests: UInt64 = 0
    /// Of the last second or so, in bit/s.
    public var bitrate = 0.0
    /// Of the last second or so.
    public var framesPerSecond = 0.0
    /// As what it is encoded.
    public var codec: MediaCodec?
    /// The layer of a track with several that the server sends, as it last said.
    public var profile: TrackProfile?

    /// Nothing counted.
    public init() {}
}

/// The layer of a track with several encodings that a subscriber wants.
public enum TrackProfile: String, Sendable, Hashable, CaseIterable {
    /// The smallest picture.
    case low
    /// The one in the middle.
    case medium
    /// The largest picture.
    case high
}

/// How long a join took: since the call of `join`, step by step. A step that has not come yet is `nil`.
public struct JoinTimeline: Sendable, Hashable {
    /// The HTTP step was answered.
    public var http: Duration?
    /// The WebSocket was open.
    public var webSocket: Duration?
    /// The room let us in.
    public var authenticated: Duration?
    /// The server answered the first subscription: its transport is known.
    public var subscribed: Duration?
    /// ICE found a path for the subscribing connection.
    public var ice: Duration?
    /// DTLS agreed on keys for it.
    public var dtls: Duration?
    /// The server said that it is connected.
    public var connected: Duration?
    /// The first packet of a subscribed track came.
    public var firstPacket: Duration?
    /// The first complete frame of a subscribed track that can be decoded; of a picture, if there are any.
    public var firstFrame: Duration?

    /// Nothing has come yet.
    public init() {}
}
