package import MediaWire
import RoomProtocol

/// Makes `rtpcaps` of auth-res from the offer that a client shows at its join (`capsdp`).
///
/// Clients write their descriptions from rtpcaps, so every number in it is one of the client's own: payload types and
/// header extension ids are never invented.
package enum ClientCapabilities {
    /// Of each kind, the codecs of the first section that is not rejected count: it shows what the client both sends and
    /// receives. Other codecs, which only further sections hold, are for `ClientMediaProfile.codec(for:)`.
    ///
    /// - Parameters:
    ///   - capsdp: an offer (RFC 8829) that is never answered.
    ///   - videoCodec: the room's.
    /// - Throws: 10053 when the text is no session description or contradicts itself, 10054 when the client lacks Opus or
    ///   the video codec.
    package static func capabilities(
        of capsdp: String, videoCodec: Codec
    ) throws(NegotiationError) -> ClientMediaProfile {
        guard videoCodec.kind == .video else {
            throw NegotiationError(.codecMissing, reason: "\(videoCodec.name) is no video codec")
        }
        let session: SessionDescription
        do { session = try SessionDescription(parsing: capsdp, bounds: .webRTC) } catch {
            throw NegotiationError(error)
        }
        let audio = try ClientSection.first(.audio, in: session)
        let video = try ClientSection.first(.video, in: session)
        guard let opus = audio.codecs[.opus] else {
            throw NegotiationError(
                .codecMissing, line: audio.line,
                reason: "the client offers no opus: an a=rtpmap of opus/48000/2 is needed in its first audio section")
        }
        guard let picture = video.codecs[videoCodec] else {
            throw NegotiationError(
                .codecMissing, line: video.line, reason: missing(videoCodec, among: video.codecs.keys))
        }
        // The descriptor says which frame needs which, by numbers of one encoder: only for AV1 is it the way to know.
        let streams = [
            stream(opus, .opus, extensions: audio.extensions, in: session),
            stream(
                picture, videoCodec,
                extensions: video.extensions.filter {
                    $0.kind != .dependencyDescriptor || (videoCodec == .av1 && session.allowsMixedExtensions)
                }, in: session),
        ]
        try checkShared(streams, line: video.line)

        // The first section that has a codec says its numbers.
        var codecs: [Codec: RTPCapabilities.Codec] = [:]
        for section in try ClientSection.all(in: session) {
            for (codec, offered) in section.codecs where codecs[codec] == nil {
                codecs[codec] = offered.capability(codec)
            }
        }
        return ClientMediaProfile(
            rtpCapabilities: RTPCapabilities(
                codecs: [opus.capability(.opus), picture.capability(videoCodec)]
                    + [opus.redCapability].compactMap { $0 },
                headerExtensions: streams.flatMap { stream in
                    stream.extensions.map {
                        RTPCapabilities.HeaderExtension(
                            kind: TrackKind(stream.codec.kind), uri: $0.kind.uri, id: Int($0.id))
                    }
                }),
            audio: streams[0], video: streams[1], codecs: codecs)
    }

    private static func stream(
        _ offered: ClientSection.Offered, _ codec: Codec, extensions: [HeaderExtensionMapping],
        in session: SessionDescription
    ) -> ClientMediaProfile.Stream {
        ClientMediaProfile.Stream(
            codec: codec, payloadType: offered.payloadType, rtxPayloadType: offered.rtxPayloadType,
            redPayloadType: offered.redPayloadType, extensions: extensions,
            allowsMixedExtensions: session.allowsMixedExtensions, feedback: offered.feedback)
    }

    private static func missing(_ codec: Codec, among others: some Sequence<Codec>) -> String {
        let names = others.map(\.name).sorted().joined(separator: ", ")
        let wanted =
            switch codec {
            case .h264: "H264 of packetization-mode 1 and the constrained baseline profile (such as 42e01f)"
            case .vp9, .av1: "\(codec.name) of profile 0"
            case .vp8, .opus: codec.name
            }
        return "the room's video is \(codec.name), and the client offers \(names.isEmpty ? "no usable codec" : names)"
            + " in its first video section; \(wanted) is needed"
    }

    /// Both kinds share one transport, so a number has one meaning (RFC 9143, sections 9.1 and 10).
    private static func checkShared(_ streams: [ClientMediaProfile.Stream], line: Int) throws(NegotiationError) {
        var types: Set<UInt8> = []
        var uses: [UInt8: HeaderExtensionKind] = [:]
        for stream in streams {
            for type in [stream.payloadType, stream.rtxPayloadType, stream.redPayloadType].compactMap({ $0 })
            where !types.insert(type).inserted {
                throw NegotiationError(
                    .malformed, line: line, reason: "payload type \(type) means two codecs of one bundle")
            }
            for map in stream.extensions where uses.updateValue(map.kind, forKey: map.id) ?? map.kind != map.kind {
                throw NegotiationError(
                    .malformed, line: line, reason: "the header extension id \(map.id) has two meanings in one bundle")
            }
        }
    }
}

extension SDPBounds {
    /// A browser's offer grows by about 4 KiB and 130 lines with each live video section, and never loses a dead one.
    static let webRTC = SDPBounds(text: 1_048_576, lines: 65_536, media: 256)
}
