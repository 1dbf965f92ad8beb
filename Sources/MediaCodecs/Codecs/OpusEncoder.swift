import CCodecs

/// An Opus encoder at 48 kHz (RFC 6716; RFC 7587, section 4.1).
///
/// One object belongs to one thread at a time. It costs about 25 kB.
package final class OpusEncoder {
    package struct Settings: Hashable, Sendable {
        /// 1 or 2.
        package var channels = 1
        /// 6,000...510,000 bit/s.
        package var bitsPerSecond = 32_000
        /// 0 (cheap)...10.
        package var complexity = 5
        /// Tuned for speech instead of for any signal.
        package var isVoice = false
        /// Each packet carries a coarse copy of the one before (`useinbandfec`, RFC 7587, section 6.1).
        package var inBandFEC = false
        /// Packet loss in percent that the in-band FEC prepares for.
        package var expectedLoss = 0
        /// Sends almost nothing during silence (`usedtx`).
        package var discontinuous = false

        package init(channels: Int = 1, bitsPerSecond: Int = 32_000) {
            self.channels = channels
            self.bitsPerSecond = bitsPerSecond
        }
    }

    /// Samples per second and channel.
    package static let sampleRate = 48_000
    /// The largest Opus packet that we make: three frames of 1275 bytes and their lengths fit (RFC 6716, section 3.2).
    private static let packetCapacity = 4_000

    package let settings: Settings
    private let encoder: OpaquePointer
    private var scratch = [UInt8](repeating: 0, count: packetCapacity)

    package init(_ settings: Settings = Settings()) throws(CodecError) {
        var plain = parlor_opus_settings()
        plain.channels = Int32(clamping: settings.channels)
        plain.bits_per_second = Int32(clamping: settings.bitsPerSecond)
        plain.complexity = Int32(clamping: settings.complexity)
        plain.voice = settings.isVoice ? 1 : 0
        plain.in_band_fec = settings.inBandFEC ? 1 : 0
        plain.expected_loss = Int32(clamping: settings.expectedLoss)
        plain.dtx = settings.discontinuous ? 1 : 0
        var error: Int32 = 0
        guard let encoder = parlor_opus_encoder_create(&plain, &error) else {
            throw CodecError("opening the encoder", .opus, code: error)
        }
        self.encoder = encoder
        self.settings = settings
    }

    deinit { parlor_opus_encoder_destroy(encoder) }

    /// Encodes one frame of 2.5, 5, 10, 20, 40 or 60 ms.
    ///
    /// - Parameter samples: 16-bit PCM, channels interleaved.
    /// - Returns: one Opus packet, which is one RTP payload.
    package func encode(_ samples: [Int16]) throws(CodecError) -> [UInt8] {
        let perChannel = Int32(clamping: samples.count / max(settings.channels, 1))
        let size = parlor_opus_encode(encoder, samples, perChannel, &scratch, Int32(Self.packetCapacity))
        guard size > 0 else { throw CodecError("encoding", .opus, code: size) }
        return Array(scratch.prefix(Int(size)))
    }

    package func setBitrate(bitsPerSecond: Int) throws(CodecError) {
        let status = parlor_opus_encoder_set_bitrate(encoder, Int32(clamping: bitsPerSecond))
        guard status == 0 else { throw CodecError("setting the bitrate", .opus, code: status) }
    }
}
