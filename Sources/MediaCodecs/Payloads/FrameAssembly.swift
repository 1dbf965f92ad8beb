/// One complete video frame as it came out of RTP packets.
package struct AssembledFrame: Hashable, Sendable {
    /// What the decoder takes; with VP9 all layer frames of the picture behind each other.
    package var bytes: [UInt8]
    /// In 1/90000 s.
    package var timestamp: UInt32
    /// By the frame's own header, not by the descriptor.
    package var isKeyFrame: Bool
    /// 7 or 15 bits, if the sender gave one.
    package var pictureID: UInt16?
    /// How many payloads it came in.
    package var packets: Int
}

/// Why a payload, or the frame that it ended, was not used.
package enum DepacketizerDrop: UInt8, Hashable, Sendable, CaseIterable {
    /// Older than what was there before, or a copy.
    case late
    /// The descriptor or the frame behind it breaks the format.
    case malformed
    /// The frame grows above the limit.
    case oversized
    /// It continues a frame whose start was lost.
    case missingStart
    /// A complete frame that cannot be decoded, because one before it was lost.
    case awaitingKeyFrame
}

/// What became of one payload.
package enum VideoReception: Hashable, Sendable {
    /// Taken; its frame is not complete yet (or it was padding only).
    case incomplete
    /// This payload completed a frame that can be decoded.
    case frame(AssembledFrame)
    case dropped(DepacketizerDrop)
}

/// Counts of one depacketizer since it began.
package struct DepacketizerStatistics: Hashable, Sendable {
    package var payloads = 0
    /// Sequence numbers that never came.
    package var missing = 0
    /// How often numbers were missing or the sender began anew.
    package var gaps = 0
    package var frames = 0
    package var keyFrames = 0
    /// Frames of which a payload was there, but which were not given out: for loss, format or size.
    package var incompleteFrames = 0
    /// Complete frames not given out for want of a key frame.
    package var undecodableFrames = 0
    package var late = 0
    package var malformed = 0

    package init() {}
}

/// Puts the frames of one stream together: what VP8 and VP9 have in common.
struct FrameAssembly {
    /// What the payload's descriptor says.
    struct Fragment {
        var bodyOffset: Int
        var isStart: Bool
        var pictureID: UInt16?
        /// A further start with the same timestamp is another layer of the same picture.
        var isLayered: Bool
    }

    let maximumFrameSize: Int
    private(set) var needsKeyFrame = true
    private(set) var statistics = DepacketizerStatistics()

    private var sequence = SequenceTracker()
    private var frame: AssembledFrame?

    init(maximumFrameSize: Int) { self.maximumFrameSize = maximumFrameSize }

    /// Accounts for the packet. `nil`: go on; otherwise the answer for this payload.
    mutating func begin(sequenceNumber: UInt16, isEmpty: Bool) -> VideoReception? {
        statistics.payloads &+= 1
        switch sequence.take(sequenceNumber) {
        case .first, .next: break
        case .gap(let missing):
            statistics.missing &+= missing
            statistics.gaps &+= 1
            abandon()
            needsKeyFrame = true
        case .restart:
            statistics.gaps &+= 1
            abandon()
            needsKeyFrame = true
        case .late:
            statistics.late &+= 1
            return .dropped(.late)
        }
        // Padding-only packets keep the numbering and carry nothing.
        return isEmpty ? .incomplete : nil
    }

    mutating func malformed() -> VideoReception {
        statistics.malformed &+= 1
        abandon()
        needsKeyFrame = true
        return .dropped(.malformed)
    }

    /// - Parameter isKeyFrame: what the assembled bytes are; `nil` if no frame of the codec.
    mutating func take(
        _ fragment: Fragment, of payload: RawSpan, timestamp: UInt32, marker: Bool, isKeyFrame: ([UInt8]) -> Bool?
    ) -> VideoReception {
        guard fragment.bodyOffset >= 0, fragment.bodyOffset < payload.byteCount else { return malformed() }
        var current: AssembledFrame
        if let open = frame, open.timestamp == timestamp, !fragment.isStart || fragment.isLayered {
            current = open
        } else {
            // The frame before lacked its end, though no number was missing.
            if frame != nil {
                abandon()
                needsKeyFrame = true
            }
            guard fragment.isStart else {
                needsKeyFrame = true
                return .dropped(.missingStart)
            }
            current = AssembledFrame(
                bytes: [], timestamp: timestamp, isKeyFrame: false, pictureID: fragment.pictureID, packets: 0)
        }
        // One owner, so that appending does not copy.
        frame = nil
        let size = payload.byteCount &- fragment.bodyOffset
        guard current.bytes.count &+ size <= maximumFrameSize else {
            statistics.incompleteFrames &+= 1
            needsKeyFrame = true
            return .dropped(.oversized)
        }
        payload.withUnsafeBytes { current.bytes.append(contentsOf: $0[fragment.bodyOffset...]) }
        current.packets &+= 1
        guard marker else {
            frame = current
            return .incomplete
        }
        guard let isKey = isKeyFrame(current.bytes) else {
            statistics.incompleteFrames &+= 1
            return malformed()
        }
        current.isKeyFrame = isKey
        if isKey {
            needsKeyFrame = false
            statistics.keyFrames &+= 1
        } else if needsKeyFrame {
            statistics.undecodableFrames &+= 1
            return .dropped(.awaitingKeyFrame)
        }
        statistics.frames &+= 1
        return .frame(current)
    }

    /// The decoder could not use a frame: nothing is given out until the next key frame.
    mutating func requireKeyFrame() { needsKeyFrame = true }

    private mutating func abandon() {
        guard frame != nil else { return }
        frame = nil
        statistics.incompleteFrames &+= 1
    }
}
