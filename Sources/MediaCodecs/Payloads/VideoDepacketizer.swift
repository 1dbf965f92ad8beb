/// The depacketizer of whichever codec a video track has.
package enum VideoDepacketizer {
    case vp8(VP8Depacketizer)
    case vp9(VP9Depacketizer)

    package init(_ codec: VPXCodec) {
        switch codec {
        case .vp8: self = .vp8(VP8Depacketizer())
        case .vp9: self = .vp9(VP9Depacketizer())
        }
    }

    package var needsKeyFrame: Bool {
        switch self {
        case .vp8(let depacketizer): depacketizer.needsKeyFrame
        case .vp9(let depacketizer): depacketizer.needsKeyFrame
        }
    }

    package var statistics: DepacketizerStatistics {
        switch self {
        case .vp8(let depacketizer): depacketizer.statistics
        case .vp9(let depacketizer): depacketizer.statistics
        }
    }

    /// Takes the payload of one packet, without RTP header and padding.
    package mutating func receive(
        _ payload: RawSpan, sequenceNumber: UInt16, timestamp: UInt32, marker: Bool
    ) -> VideoReception {
        switch self {
        case .vp8(var depacketizer):
            // Moved out and back: the frame in the making keeps one owner and is not copied.
            self = .vp8(VP8Depacketizer(maximumFrameSize: 0))
            defer { self = .vp8(depacketizer) }
            return depacketizer.receive(
                payload, sequenceNumber: sequenceNumber, timestamp: timestamp, marker: marker)
        case .vp9(var depacketizer):
            self = .vp9(VP9Depacketizer(maximumFrameSize: 0))
            defer { self = .vp9(depacketizer) }
            return depacketizer.receive(
                payload, sequenceNumber: sequenceNumber, timestamp: timestamp, marker: marker)
        }
    }

    /// The decoder refused a frame: nothing is given out until the next key frame.
    package mutating func requireKeyFrame() {
        switch self {
        case .vp8(var depacketizer):
            depacketizer.requireKeyFrame()
            self = .vp8(depacketizer)
        case .vp9(var depacketizer):
            depacketizer.requireKeyFrame()
            self = .vp9(depacketizer)
        }
    }
}
