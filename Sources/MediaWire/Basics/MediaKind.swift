/// What a track carries.
package enum MediaKind: UInt8, Hashable, Sendable, CaseIterable {
    case audio = 0
    case video = 1

    /// The word used in SDP m-lines and in JSON.
    package var name: String { self == .audio ? "audio" : "video" }
}

/// The codecs that Parlor forwards. It never decodes them in the node; it reads their payload headers.
package enum Codec: UInt8, Hashable, Sendable, CaseIterable {
    case opus, vp8, vp9, h264, av1

    package var kind: MediaKind { self == .opus ? .audio : .video }

    /// The encoding name of `a=rtpmap`.
    package var name: String {
        switch self {
        case .opus: "opus"
        case .vp8: "VP8"
        case .vp9: "VP9"
        case .h264: "H264"
        case .av1: "AV1"
        }
    }

    /// RTP clock rate in Hz: RFC 7587 for Opus, 90 kHz for all video.
    @inlinable package var clockRate: UInt32 { self == .opus ? 48_000 : 90_000 }

    /// Encoding names compare without case (RFC 8866, section 6.6).
    package init?(name: some StringProtocol) {
        let lower = name.lowercased()
        guard let codec = Codec.allCases.first(where: { $0.name.lowercased() == lower }) else { return nil }
        self = codec
    }
}

/// RTP header extensions that Parlor knows by URI. Ids are negotiated per transport and mapped per subscriber.
package enum HeaderExtensionKind: UInt8, Hashable, Sendable, CaseIterable {
    case mid, rid, repairedRid, audioLevel, transportWideCC, absoluteSendTime, transmissionOffset, videoOrientation,
        playoutDelay, absoluteCaptureTime, dependencyDescriptor

    package var uri: String {
        switch self {
        case .mid: "urn:ietf:params:rtp-hdrext:sdes:mid"
        case .rid: "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id"
        case .repairedRid: "urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id"
        case .audioLevel: "urn:ietf:params:rtp-hdrext:ssrc-audio-level"
        case .transportWideCC: "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
        case .absoluteSendTime: "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time"
        case .transmissionOffset: "urn:ietf:params:rtp-hdrext:toffset"
        case .videoOrientation: "urn:3gpp:video-orientation"
        case .playoutDelay: "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay"
        case .absoluteCaptureTime: "http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time"
        case .dependencyDescriptor:
            "https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension"
        }
    }

    package init?(uri: some StringProtocol) {
        guard let kind = HeaderExtensionKind.allCases.first(where: { $0.uri == uri }) else { return nil }
        self = kind
    }

    /// End-to-end extensions pass from publisher to subscriber unchanged; the others belong to one hop and are dropped
    /// or written anew for each subscriber.
    @inlinable package var isEndToEnd: Bool {
        switch self {
        case .audioLevel, .videoOrientation, .playoutDelay, .absoluteCaptureTime, .dependencyDescriptor: true
        case .mid, .rid, .repairedRid, .transportWideCC, .absoluteSendTime, .transmissionOffset: false
        }
    }
}

/// One negotiated header extension: the id on the wire and what it means.
package struct HeaderExtensionMapping: Hashable, Sendable {
    /// 1...14 in the one-byte form, up to 255 in the two-byte form (RFC 8285, section 4.2 and 4.3).
    package var id: UInt8
    package var kind: HeaderExtensionKind

    package init(id: UInt8, kind: HeaderExtensionKind) {
        self.id = id
        self.kind = kind
    }
}
