import CCodecs

/// An Opus decoder at 48 kHz (RFC 6716). Any packet may be given to it: a bad one is an error, never a trap.
///
/// One object belongs to one thread at a time. It costs about 18 kB per channel.
package final class OpusDecoder {
    /// 1 or 2; packets of either kind are mixed to it.
    package let channels: Int
    /// 120 ms, the longest packet (RFC 6716, section 3.2.5), in samples per channel.
    package static let maximumSamples = 5_760

    private let decoder: OpaquePointer
    private var scratch: [Int16]

    package init(channels: Int = 1) throws(CodecError) {
        var error: Int32 = 0
        guard let decoder = parlor_opus_decoder_create(Int32(clamping: channels), &error) else {
            throw CodecError("opening the decoder", .opus, code: error)
        }
        self.decoder = decoder
        self.channels = channels
        scratch = [Int16](repeating: 0, count: Self.maximumSamples * channels)
    }

    deinit { parlor_opus_decoder_destroy(decoder) }

    /// Decodes one packet to 16-bit PCM, channels interleaved.
    package func decode(_ packet: [UInt8]) throws(CodecError) -> [Int16] {
        // An empty packet would mean "conceal" to libopus.
        guard !packet.isEmpty else { throw CodecError("decoding an empty packet", .opus, code: -4) }
        return try run(packet, samples: Self.maximumSamples, fec: false)
    }

    /// What may have been in a lost packet of `samples` per channel (a multiple of 120, at most 5760): extrapolated, or,
    /// when the packet after it is given and carries in-band FEC, decoded from there.
    package func conceal(samples: Int, next packet: [UInt8]? = nil) throws(CodecError) -> [Int16] {
        let count = min(max(samples, 0), Self.maximumSamples)
        guard let packet, !packet.isEmpty else { return try run(nil, samples: count, fec: false) }
        return try run(packet, samples: count, fec: true)
    }

    private func run(_ packet: [UInt8]?, samples: Int, fec: Bool) throws(CodecError) -> [Int16] {
        let capacity = Int32(samples)
        let count: Int32
        if let packet {
            let size = Int32(clamping: packet.count)
            count = parlor_opus_decode(decoder, packet, size, &scratch, capacity, fec ? 1 : 0)
        } else {
            count = parlor_opus_decode(decoder, nil, 0, &scratch, capacity, 0)
        }
        guard count >= 0 else { throw CodecError("decoding", .opus, code: count) }
        return Array(scratch.prefix(Int(count) * channels))
    }
}
