import CCodecs
package import MediaWire

/// The video codecs that libvpx speaks.
package enum VPXCodec: Hashable, Sendable, CaseIterable {
    case vp8, vp9

    /// `nil` for what libvpx cannot do.
    package init?(_ codec: Codec) {
        switch codec {
        case .vp8: self = .vp8
        case .vp9: self = .vp9
        case .opus, .h264, .av1: return nil
        }
    }

    package var codec: Codec { self == .vp8 ? .vp8 : .vp9 }
    var number: Int32 { self == .vp8 ? 8 : 9 }
}

/// One encoded picture, before packetization.
package struct EncodedPicture: Hashable, Sendable {
    package var bytes: [UInt8]
    package var isKeyFrame: Bool
}

/// A VP8 or VP9 encoder with the settings of a conference: constant bitrate, one pass, no look-ahead, no dropped pictures,
/// one layer. Two runs over the same pictures and times give the same bytes.
///
/// One object belongs to one thread at a time.
package final class VPXEncoder {
    package struct Settings: Hashable, Sendable {
        package var codec: VPXCodec
        /// In pixels, 16...4096.
        package var width: Int
        package var height: Int
        /// What the rate control expects, 1...240.
        package var framesPerSecond: Int
        /// In kbit/s.
        package var bitrate: Int
        /// A key frame at least every so many frames; 0: only the first, and those that are asked for.
        package var keyFrameInterval: Int
        package var threads = 1
        /// The encoder's `cpu-used`: 0 (slow)...16 for VP8, 0...9 for VP9.
        package var speed: Int

        package init(
            codec: VPXCodec, width: Int = 320, height: Int = 240, framesPerSecond: Int = 15, bitrate: Int = 150,
            keyFrameInterval: Int = 0
        ) {
            self.codec = codec
            self.width = width
            self.height = height
            self.framesPerSecond = framesPerSecond
            self.bitrate = bitrate
            self.keyFrameInterval = keyFrameInterval
            // From 5 on, VP9 of libvpx 1.12 now and then takes a block that changed for one that did not, at any bitrate: the
            // picture is right again with the next frame, but its mark could not be read.
            speed = codec == .vp8 ? 12 : 4
        }
    }

    package let settings: Settings
    private let encoder: OpaquePointer
    private var keyFrameRequested = true
    private var framesSinceKeyFrame = 0
    private var lastTime = Int64.min

    package init(_ settings: Settings) throws(CodecError) {
        var plain = parlor_vpx_settings()
        plain.codec = settings.codec.number
        plain.width = Int32(clamping: settings.width)
        plain.height = Int32(clamping: settings.height)
        plain.frames_per_second = Int32(clamping: settings.framesPerSecond)
        plain.kilobits_per_second = Int32(clamping: settings.bitrate)
        plain.threads = Int32(clamping: settings.threads)
        plain.speed = Int32(clamping: settings.speed)
        var error: Int32 = 0
        guard let encoder = parlor_vpx_encoder_create(&plain, &error) else {
            throw CodecError("opening the \(settings.codec.codec.name) encoder", .vpx, code: error)
        }
        self.encoder = encoder
        self.settings = settings
    }

    deinit { parlor_vpx_encoder_destroy(encoder) }

    /// The next picture becomes a key frame: the answer to a PLI or FIR.
    package func requestKeyFrame() { keyFrameRequested = true }

    /// In kbit/s, from the next picture on.
    package func setBitrate(_ bitrate: Int) throws(CodecError) {
        let status = parlor_vpx_encoder_set_bitrate(encoder, Int32(clamping: bitrate))
        guard status == 0 else { throw CodecError("setting the bitrate", .vpx, code: status) }
    }

    /// Encodes one picture of the settings' size.
    ///
    /// - Parameter time: capture time in 1/90000 s from any origin. The encoder needs time that grows: a step back or a
    ///   standstill is taken as one tick after the picture before.
    /// - Returns: `nil` if the encoder gave out nothing for this picture; with these settings it always does.
    package func encode(_ frame: VideoFrame, time: Int64) throws(CodecError) -> EncodedPicture? {
        let ordered = lastTime == .min ? time : max(time, lastTime &+ 1)
        let due = settings.keyFrameInterval > 0 && framesSinceKeyFrame >= settings.keyFrameInterval
        let duration = Int64(90_000 / max(settings.framesPerSecond, 1))
        var packet = parlor_vpx_packet()
        let status = parlor_vpx_encode(
            encoder, frame.bytes, frame.bytes.count, ordered, duration, keyFrameRequested || due ? 1 : 0, &packet)
        guard status >= 0 else { throw CodecError("encoding", .vpx, code: status) }
        lastTime = ordered
        guard status == 1, let bytes = packet.bytes else { return nil }
        let picture = EncodedPicture(
            bytes: Array(UnsafeBufferPointer(start: bytes, count: packet.size)), isKeyFrame: packet.is_key_frame != 0)
        if picture.isKeyFrame {
            keyFrameRequested = false
            framesSinceKeyFrame = 1
        } else {
            framesSinceKeyFrame += 1
        }
        return picture
    }
}
