import ClientEngine
import MediaCodecs
import MediaWire

/// What a `LocalTrack` sends with while it is published: encoders and packetizers on one side, the streams of a connection on the
/// other. Behind the track's lock.
struct TrackSender {
    /// The streams of a publication, from the smallest picture to the largest.
    struct Target: Sendable {
        var connection: MediaConnection
        var ssrcs: [UInt32]
        var codec: Codec
    }

    private enum Packetizer {
        case opus(OpusPacketizer)
        case vp8(VP8Packetizer)
        case vp9(VP9Packetizer)
        case h264(H264Packetizer)
    }

    private struct Layer {
        var packetizer: Packetizer
        /// Nothing before one is sent: at first, after a mute, after a frame that was dropped.
        var awaitsKeyFrame: Bool
        /// The encoder's next picture is to be one.
        var keyFrameWanted = true
    }

    /// What `send` takes of one frame.
    static let longestFrame = 1 << 20

    private var target: Target?
    private var layers: [Layer] = []
    private var audioEncoder: OpusEncoder?
    private var videoEncoder: VPXEncoder?
    /// What the encoder keeps to, in bit/s.
    private var encoderBitrate = 0
    /// Added to all timestamps (RFC 3550, section 5.1: random), the same over all publications.
    private let offset = UInt32.random(in: 0...UInt32.max)
    private(set) var frames: UInt64 = 0
    private(set) var framesDropped: UInt64 = 0

    var current: Target? { target }

    mutating func begin(_ target: Target) {
        self.target = target
        frames = 0
        framesDropped = 0
        layers = target.ssrcs.map { _ in
            let packetizer: Packetizer =
                switch target.codec {
                case .opus: .opus(OpusPacketizer())
                case .vp9:
                    .vp9(
                        // Frames of any origin: nothing is claimed of their structure.
                        VP9Packetizer(
                            width: 0, height: 0, mode: .plain, firstPictureID: UInt16.random(in: 0...0x7FFF)))
                case .h264: .h264(H264Packetizer())
                case .vp8, .av1: .vp8(VP8Packetizer(firstPictureID: UInt16.random(in: 0...0x7FFF)))
                }
            return Layer(packetizer: packetizer, awaitsKeyFrame: target.codec != .opus)
        }
    }

    mutating func end() { target = nil }

    /// The server wants key frames of the layers in the bit mask.
    mutating func wantKeyFrames(_ mask: UInt8) {
        for layer in layers.indices.prefix(8) where mask & (1 << UInt8(layer)) != 0 {
            layers[layer].keyFrameWanted = true
        }
    }

    mutating func pause() {
        for layer in layers.indices where target?.codec != .opus {
            layers[layer].awaitsKeyFrame = true
            layers[layer].keyFrameWanted = true
        }
    }

    // MARK: Sending

    /// - Returns: whether a key frame is needed before anything else can go out.
    mutating func send(_ frame: RTCEncodedFrame, layer: Int) throws(RTCError) -> Bool {
        guard let target else { throw RTCError(.wrongState, "the track is not published") }
        guard frame.codec.codec == target.codec else {
            throw RTCError(
                .mediaNotSupported, "this room takes \(MediaCodec(target.codec).rawValue), not \(frame.codec.rawValue)")
        }
        guard layers.indices.contains(layer) else {
            throw RTCError(.invalidParameter, "layer \(layer): the track has \(layers.count)")
        }
        guard !frame.data.isEmpty, frame.data.count <= TrackSender.longestFrame else {
            throw RTCError(
                .invalidParameter, "a frame has 1 to \(TrackSender.longestFrame) bytes, not \(frame.data.count)")
        }
        let ticks = UInt32(truncatingIfNeeded: frame.time.ticks(target.codec.clockRate))
        return put(frame.data, layer, target, isKeyFrame: frame.isKeyFrame, timestamp: offset &+ ticks)
    }

    private mutating func put(
        _ data: [UInt8], _ layer: Int, _ target: Target, isKeyFrame: Bool, timestamp: UInt32
    ) -> Bool {
        // A part of an earlier one was lost on the way to the connection: those that follow lean on it.
        if target.codec != .opus, target.connection.takeLoss(ssrc: target.ssrcs[layer]) {
            layers[layer].awaitsKeyFrame = true
            layers[layer].keyFrameWanted = true
        }
        if layers[layer].awaitsKeyFrame, !isKeyFrame {
            framesDropped += 1
            return true
        }
        let payloads: [RTPPayload]
        switch layers[layer].packetizer {
        case .opus(var packetizer):
            payloads = [packetizer.packetize(data)]
            layers[layer].packetizer = .opus(packetizer)
        case .vp8(var packetizer):
            payloads = packetizer.packetize(data)
            layers[layer].packetizer = .vp8(packetizer)
        case .vp9(var packetizer):
            payloads = packetizer.packetize(data, isKeyFrame: isKeyFrame)
            layers[layer].packetizer = .vp9(packetizer)
        case .h264(let packetizer): payloads = packetizer.packetize(data)
        }
        guard !payloads.isEmpty, target.connection.send(payloads, ssrc: target.ssrcs[layer], timestamp: timestamp)
        else {
            framesDropped += 1
            layers[layer].awaitsKeyFrame = target.codec != .opus
            layers[layer].keyFrameWanted = true
            return false
        }
        frames += 1
        layers[layer].awaitsKeyFrame = false
        return false
    }

    /// - Throws: what is wrong with a picture, or with a track that it is given to.
    static func check(_ frame: RTCVideoFrame, layers: Int) throws(RTCError) {
        guard layers == 1 else { throw RTCError(.wrongState, "a track with layers takes encoded frames only") }
        guard 16...VideoFrame.maximumSide ~= frame.width, 16...VideoFrame.maximumSide ~= frame.height,
            frame.i420.count == VideoFrame.size(width: frame.width, height: frame.height)
        else {
            throw RTCError(
                .invalidParameter, "\(frame.width)x\(frame.height) with \(frame.i420.count) bytes is no I420 picture")
        }
    }

    /// Encodes and sends a picture that was checked; black instead of it when the track is muted.
    ///
    /// - Parameter bitrate: to keep to, in bit/s.
    mutating func send(_ frame: RTCVideoFrame, isMuted: Bool, bitrate: Int) throws(RTCError) {
        guard let target else { throw RTCError(.wrongState, "the track is not published") }
        guard let codec = VPXCodec(target.codec) else {
            throw RTCError(
                .mediaNotSupported,
                "this room takes \(MediaCodec(target.codec).rawValue), which is not encoded here: send encoded frames")
        }
        var picture = VideoFrame(width: frame.width, height: frame.height)
        if isMuted {
            let luma = frame.width * frame.height
            for index in 0..<luma { picture.bytes[index] = 16 }
            for index in luma..<picture.bytes.count { picture.bytes[index] = 128 }
        } else {
            picture.bytes = frame.i420
        }
        do {
            let encoder = try encoder(codec, frame, bitrate)
            // A picture that nobody gets is not encoded: those after it would lean on it.
            guard target.connection.canSend else {
                framesDropped += 1
                layers[0].awaitsKeyFrame = true
                layers[0].keyFrameWanted = true
                return
            }
            if target.connection.takeLoss(ssrc: target.ssrcs[0]) {
                layers[0].awaitsKeyFrame = true
                layers[0].keyFrameWanted = true
            }
            if layers[0].keyFrameWanted {
                encoder.requestKeyFrame()
                layers[0].keyFrameWanted = false
            }
            let ticks = frame.time.ticks(target.codec.clockRate)
            guard let encoded = try encoder.encode(picture, time: ticks) else { return }
            _ = put(
                encoded.bytes, 0, target, isKeyFrame: encoded.isKeyFrame,
                timestamp: offset &+ UInt32(truncatingIfNeeded: ticks))
        } catch { throw RTCError(.fatal, "\(error)") }
    }

    private mutating func encoder(
        _ codec: VPXCodec, _ frame: RTCVideoFrame, _ bitrate: Int
    ) throws(CodecError) -> VPXEncoder {
        if let encoder = videoEncoder, encoder.settings.codec == codec, encoder.settings.width == frame.width,
            encoder.settings.height == frame.height
        {
            if bitrate != encoderBitrate {
                try encoder.setBitrate(bitrate / 1000)
                encoderBitrate = bitrate
            }
            return encoder
        }
        let encoder = try VPXEncoder(
            VPXEncoder.Settings(
                codec: codec, width: frame.width, height: frame.height, framesPerSecond: 30, bitrate: bitrate / 1000))
        videoEncoder = encoder
        encoderBitrate = bitrate
        return encoder
    }

    /// Encodes and sends a piece of sound; silence instead of it when the track is muted.
    ///
    /// - Parameter bitrate: to keep to, in bit/s.
    mutating func send(_ frame: RTCAudioFrame, isMuted: Bool, bitrate: Int) throws(RTCError) {
        guard let target else { throw RTCError(.wrongState, "the track is not published") }
        guard [120, 240, 480, 960, 1920, 2880].contains(frame.samples.count) else {
            throw RTCError(
                .invalidParameter, "\(frame.samples.count) samples: 120, 240, 480, 960, 1920 or 2880 are needed")
        }
        do {
            let encoder: OpusEncoder
            if let audioEncoder {
                encoder = audioEncoder
                if bitrate != encoderBitrate { try encoder.setBitrate(bitsPerSecond: bitrate) }
            } else {
                encoder = try OpusEncoder(OpusEncoder.Settings(channels: 1, bitsPerSecond: bitrate))
                audioEncoder = encoder
            }
            encoderBitrate = bitrate
            let samples = isMuted ? [Int16](repeating: 0, count: frame.samples.count) : frame.samples
            let packet = try encoder.encode(samples)
            let ticks = UInt32(truncatingIfNeeded: frame.time.ticks(target.codec.clockRate))
            _ = put(packet, 0, target, isKeyFrame: true, timestamp: offset &+ ticks)
        } catch { throw RTCError(.fatal, "\(error)") }
    }
}
