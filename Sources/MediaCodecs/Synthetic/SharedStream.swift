package import MediaWire

/// One encoded frame, cut into RTP payloads: to be sent to as many as want it.
package struct EncodedFrame: Hashable, Sendable {
    /// RTP timestamp at the codec's clock rate.
    package var timestamp: UInt32
    /// For Opus always true: each packet is decoded without the one before.
    package var isKeyFrame: Bool
    /// In the order of sending.
    package var payloads: [RTPPayload]

    package init(timestamp: UInt32, isKeyFrame: Bool, payloads: [RTPPayload]) {
        self.timestamp = timestamp
        self.isKeyFrame = isKeyFrame
        self.payloads = payloads
    }
}

/// A synthetic source of one track: draws or sounds, encodes and packetizes one frame per call.
///
/// It is encoded once, however many transports send it: sequence numbers, SSRC and keys are the sender's. It has no clock
/// and no thread: the caller gives the time and comes again after `frameDuration`. One object belongs to one thread at a
/// time.
package final class SharedStream {
    private enum Source {
        case vp8(VPXEncoder, VP8Packetizer)
        case vp9(VPXEncoder, VP9Packetizer)
        case opus(OpusEncoder, OpusPacketizer, TestTone)
    }

    package let codec: Codec
    /// Is in the picture's mark, and chooses the tone.
    package let publisher: UInt16
    /// How long a frame lasts, in nanoseconds.
    package let frameDuration: Int64
    /// Frames made so far; the counter in the next picture's mark.
    package private(set) var counter: UInt32 = 0

    private var source: Source
    private var picture: VideoFrame
    private let firstTimestamp: UInt32
    private var firstTime: Int64?
    /// Of the last frame, counted from the first, in ticks of the codec's clock.
    private var lastTicks: Int64 = -1

    /// A moving test picture. The picture must be at least 160 by 120.
    package init(
        video settings: VPXEncoder.Settings, publisher: UInt16, firstTimestamp: UInt32 = 0, firstPictureID: UInt16 = 0,
        maximumPayloadSize: Int = RTPPayload.defaultMaximumSize, vp9Mode: VP9Packetizer.Mode = .nonFlexible
    ) throws(CodecError) {
        precondition(
            TestPicture.fits(width: settings.width, height: settings.height),
            "a test picture has at least 160 by 120 pixels")
        let encoder = try VPXEncoder(settings)
        switch settings.codec {
        case .vp8:
            let packetizer = VP8Packetizer(maximumPayloadSize: maximumPayloadSize, firstPictureID: firstPictureID)
            source = .vp8(encoder, packetizer)
        case .vp9:
            let packetizer = VP9Packetizer(
                width: settings.width, height: settings.height, mode: vp9Mode, maximumPayloadSize: maximumPayloadSize,
                firstPictureID: firstPictureID)
            source = .vp9(encoder, packetizer)
        }
        codec = settings.codec.codec
        self.publisher = publisher
        self.firstTimestamp = firstTimestamp
        frameDuration = 1_000_000_000 / Int64(settings.framesPerSecond)
        picture = VideoFrame(width: settings.width, height: settings.height)
    }

    /// The publisher's test tone in Opus frames of 20 ms.
    package init(
        audio settings: OpusEncoder.Settings, publisher: UInt16, firstTimestamp: UInt32 = 0
    ) throws(CodecError) {
        source = .opus(try OpusEncoder(settings), OpusPacketizer(), TestTone(publisher: publisher))
        codec = .opus
        self.publisher = publisher
        self.firstTimestamp = firstTimestamp
        frameDuration = 20_000_000
        picture = VideoFrame(width: 1, height: 1)
    }

    /// The next video frame becomes a key frame: the answer to a PLI or FIR. Nothing happens for audio.
    package func requestKeyFrame() {
        switch source {
        case .vp8(let encoder, _): encoder.requestKeyFrame()
        case .vp9(let encoder, _): encoder.requestKeyFrame()
        case .opus: break
        }
    }

    /// Makes the next frame.
    ///
    /// - Parameter unixNanoseconds: wall-clock time of capture. It goes into the picture; the RTP timestamp of video
    ///   follows it (and still grows if it stands or steps back), that of audio advances by the frame's 960 samples.
    package func nextFrame(at unixNanoseconds: Int64) throws(CodecError) -> EncodedFrame {
        defer { counter &+= 1 }
        switch source {
        case .vp8(let encoder, var packetizer):
            let (encoded, timestamp) = try encode(with: encoder, at: unixNanoseconds)
            let payloads = packetizer.packetize(encoded.bytes)
            source = .vp8(encoder, packetizer)
            return EncodedFrame(timestamp: timestamp, isKeyFrame: encoded.isKeyFrame, payloads: payloads)
        case .vp9(let encoder, var packetizer):
            let (encoded, timestamp) = try encode(with: encoder, at: unixNanoseconds)
            let payloads = packetizer.packetize(encoded.bytes, isKeyFrame: encoded.isKeyFrame)
            source = .vp9(encoder, packetizer)
            return EncodedFrame(timestamp: timestamp, isKeyFrame: encoded.isKeyFrame, payloads: payloads)
        case .opus(let encoder, var packetizer, var tone):
            let mono = tone.nextFrame()
            let samples = encoder.settings.channels == 2 ? mono.flatMap { [$0, $0] } : mono
            let payload = packetizer.packetize(try encoder.encode(samples))
            source = .opus(encoder, packetizer, tone)
            let timestamp = firstTimestamp &+ counter &* UInt32(TestTone.samplesPerFrame)
            return EncodedFrame(timestamp: timestamp, isKeyFrame: true, payloads: [payload])
        }
    }

    private func encode(
        with encoder: VPXEncoder, at unixNanoseconds: Int64
    ) throws(CodecError) -> (EncodedPicture, timestamp: UInt32) {
        let microseconds = unixNanoseconds / 1_000
        let first = firstTime ?? microseconds
        firstTime = first
        // 90 ticks per millisecond. A year of microseconds times nine is far from the end of Int64.
        let elapsed = min(max(microseconds &- first, 0), 1 << 56)
        let ticks = max(elapsed * 9 / 100, lastTicks + 1)
        lastTicks = ticks
        TestPicture.draw(
            into: &picture, counter: counter, captureMicroseconds: UInt64(clamping: microseconds), publisher: publisher)
        let timestamp = firstTimestamp &+ UInt32(truncatingIfNeeded: ticks)
        guard let encoded = try encoder.encode(picture, time: ticks) else {
            return (EncodedPicture(bytes: [], isKeyFrame: false), timestamp)
        }
        return (encoded, timestamp)
    }
}
