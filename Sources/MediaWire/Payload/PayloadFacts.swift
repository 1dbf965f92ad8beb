/// What the switch needs to know about a video or audio payload, read once per packet from its payload header.
package struct PayloadFacts: Equatable, Sendable {
    /// A subscriber can start here, or switch to this encoding: the packet begins a key frame (H.264: carries the SPS,
    /// which comes before the IDR; Opus: always).
    package var isKeyFrame: Bool
    /// A frame begins in this packet. VP8 and VP9 say so exactly (VP9: the frame of one spatial layer). H.264 and AV1 do
    /// not: there it means that a frame can begin here, and it may be set on several packets of one timestamp.
    package var startsFrame: Bool
    /// A frame ends with this packet. VP9: the frame of one spatial layer, so the marker bit alone ends the picture
    /// (RFC 9628, section 4.1). All other codecs: the marker bit; Opus: always.
    package var endsFrame: Bool
    /// The layer inside this stream (VP9, AV1); 0 for codecs without. In simulcast the encoding comes from the rid, not
    /// from here.
    package var spatialLayer: UInt8
    package var temporalLayer: UInt8
    /// Whether the payload header could be read. If not, nothing above says anything, except `endsFrame` by the marker;
    /// the packet can still be forwarded.
    package var isParsed: Bool

    package init(
        isKeyFrame: Bool, startsFrame: Bool, endsFrame: Bool, spatialLayer: UInt8 = 0, temporalLayer: UInt8 = 0,
        isParsed: Bool = true
    ) {
        self.isKeyFrame = isKeyFrame
        self.startsFrame = startsFrame
        self.endsFrame = endsFrame
        self.spatialLayer = spatialLayer
        self.temporalLayer = temporalLayer
        self.isParsed = isParsed
    }

    /// The facts of a payload whose header cannot be read.
    package static func unreadable(marker: Bool) -> PayloadFacts {
        PayloadFacts(isKeyFrame: false, startsFrame: false, endsFrame: marker, isParsed: false)
    }

    /// Reads `payload`, the opened packet without header and padding; `marker` is the RTP header's.
    package static func read(codec: Codec, payload: RawSpan, marker: Bool) -> PayloadFacts {
        switch codec {
        case .opus:
            // RFC 7587, section 4.2: one packet is one whole Opus packet, and decoding can begin with any.
            PayloadFacts(isKeyFrame: true, startsFrame: true, endsFrame: true, isParsed: !payload.isEmpty)
        case .vp8: VP8Descriptor.parse(payload)?.facts(payload, marker: marker) ?? .unreadable(marker: marker)
        case .vp9: VP9Descriptor.parse(payload)?.facts(payload, marker: marker) ?? .unreadable(marker: marker)
        case .h264: H264Payload.parse(payload)?.facts(marker: marker) ?? .unreadable(marker: marker)
        case .av1: AV1Payload.parse(payload)?.facts(marker: marker) ?? .unreadable(marker: marker)
        }
    }
}
