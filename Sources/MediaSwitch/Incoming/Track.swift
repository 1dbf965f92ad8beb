import MediaContract
import MediaWire

/// One published audio or video stream, as one encoding or as several layers: how its packets are recognised, and who listens.
struct Track: ~Copyable {
    /// No payload type has this number.
    static var noPayloadType: UInt8 { 0xFF }

    let id: TrackID
    let transport: Int
    let codec: Codec
    let payloadType: UInt8
    let rtxPayloadType: UInt8
    let redPayloadType: UInt8
    let mid: ShortText
    let feedback: FeedbackSet
    let isVideo: Bool
    /// Whether signalling named its SSRCs.
    let hasDeclaredSSRCs: Bool
    /// For each extension id on the wire: its kind plus one, or 0.
    let extensionKinds: UnsafeMutablePointer<UInt8>
    /// From the smallest picture.
    var encodings = IndexList()
    /// Of all layers together, also those whose transport is not up yet.
    var subscriptions = IndexList()
    var hasStarted = false

    init(_ spec: TrackSpec, transport: Int) {
        id = spec.id
        self.transport = transport
        codec = spec.codec
        payloadType = spec.payloadType
        rtxPayloadType = spec.rtxPayloadType ?? Self.noPayloadType
        redPayloadType = spec.redPayloadType ?? Self.noPayloadType
        mid = spec.mid.flatMap { ShortText($0) } ?? ShortText()
        feedback = spec.feedback
        isVideo = spec.codec.kind == .video
        hasDeclaredSSRCs = spec.encodings.contains { !$0.ssrcs.isEmpty }
        extensionKinds = .allocate(capacity: 256)
        extensionKinds.initialize(repeating: 0, count: 256)
        for mapping in spec.extensions { extensionKinds[Int(mapping.id)] = mapping.kind.rawValue + 1 }
    }

    deinit { extensionKinds.deallocate() }

    /// Whether a packet of that payload type can be one of this track.
    func carries(_ type: UInt8) -> Bool { type == payloadType || type == rtxPayloadType || type == redPayloadType }
}
