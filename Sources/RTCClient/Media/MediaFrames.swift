import MediaWire

/// How a track's media is encoded.
public enum MediaCodec: String, Sendable, Hashable, CaseIterable {
    /// Sound (RFC 6716).
    case opus
    /// Pictures (RFC 6386).
    case vp8
    /// Pictures.
    case vp9
    /// Pictures; only encoded frames go in and out.
    case h264
    /// Pictures; is told of, but neither sent nor received here.
    case av1

    init(_ codec: Codec) {
        switch codec {
        case .opus: self = .opus
        case .vp8: self = .vp8
        case .vp9: self = .vp9
        case .h264: self = .h264
        case .av1: self = .av1
        }
    }

    var codec: Codec {
        switch self {
        case .opus: .opus
        case .vp8: .vp8
        case .vp9: .vp9
        case .h264: .h264
        case .av1: .av1
        }
    }
}

/// One encoded frame: a picture, or a packet of sound.
public struct RTCEncodedFrame: Sendable, Hashable {
    /// As what it is encoded.
    public var codec: MediaCodec
    /// A whole frame: for H.264 an access unit with start codes (Annex B), for Opus one packet.
    public var data: [UInt8]
    /// When it was captured: on any clock of the sender's that never goes back. Received frames count from the track's
    /// first packet.
    public var time: Duration
    /// Whether decoding can begin with it. Always true for sound.
    public var isKeyFrame: Bool

    /// - Parameters:
    ///   - codec: as what it is encoded.
    ///   - data: a whole frame; up to 1 MiB.
    ///   - time: when it was captured, on any clock that never goes back.
    ///   - isKeyFrame: whether decoding can begin with it.
    public init(codec: MediaCodec, data: [UInt8], time: Duration, isKeyFrame: Bool = true) {
        self.codec = codec
        self.data = data
        self.time = time
        self.isKeyFrame = isKeyFrame
    }
}

/// One picture, not encoded: 8 bits, 4:2:0.
public struct RTCVideoFrame: Sendable, Hashable {
    /// In pixels.
    public var width: Int
    /// In pixels.
    public var height: Int
    /// The planes Y, U and V behind each other, without padding; U and V have half of the sides, rounded up.
    public var i420: [UInt8]
    /// As of `RTCEncodedFrame`.
    public var time: Duration

    /// - Parameters:
    ///   - width: of the picture, in pixels.
    ///   - height: of the picture, in pixels.
    ///   - i420: the planes; `size(width:height:)` bytes.
    ///   - time: when it was captured, on any clock that never goes back.
    public init(width: Int, height: Int, i420: [UInt8], time: Duration) {
        self.width = width
        self.height = height
        self.i420 = i420
        self.time = time
    }

    /// Bytes of a picture.
    public static func size(width: Int, height: Int) -> Int {
        width * height + 2 * ((width + 1) / 2) * ((height + 1) / 2)
    }
}

/// A piece of sound, not encoded: 48,000 samples a second, one channel.
public struct RTCAudioFrame: Sendable, Hashable {
    /// 16 bits each. To be sent: 120, 240, 480, 960, 1920 or 2880 of them (2.5 to 60 ms).
    public var samples: [Int16]
    /// When the first sample was captured; as of `RTCEncodedFrame`.
    public var time: Duration

    /// - Parameters:
    ///   - samples: at 48 kHz, one channel.
    ///   - time: when the first sample was captured, on any clock that never goes back.
    public init(samples: [Int16], time: Duration) {
        self.samples = samples
        self.time = time
    }

    /// Samples a second.
    public static let sampleRate = 48_000
}

extension Duration {
    /// In ticks of an RTP clock, rounded.
    func ticks(_ rate: UInt32) -> Int64 {
        let (seconds, attoseconds) = components
        // 10^18 / 10^9, so that the product fits.
        let fraction = (attoseconds / 1_000_000_000 * Int64(rate) + 500_000_000) / 1_000_000_000
        return seconds &* Int64(rate) &+ fraction
    }

    init(ticks: Int64, rate: UInt32) {
        let (seconds, rest) = ticks.quotientAndRemainder(dividingBy: Int64(rate))
        self = .seconds(seconds) + .nanoseconds(rest * 1_000_000_000 / Int64(rate))
    }
}
