/// Puts H.264 access units together from RTP payloads (RFC 6184, packetization modes 0 and 1), as a byte stream with start codes.
///
/// Payloads come in the order of their sequence numbers. Any bytes may be given to it. After a gap, access units are held back
/// until the next key frame, and `needsKeyFrame` says so: then is the time for a PLI.
package struct H264Depacketizer {
    private let maximumFrameSize: Int
    private var sequence = SequenceTracker()
    private var unit: AssembledFrame?
    /// A NAL unit in pieces is open.
    private var isFragmented = false
    /// No access unit will be given out before a key frame. True at first.
    package private(set) var needsKeyFrame = true
    package private(set) var statistics = DepacketizerStatistics()

    /// - Parameter maximumFrameSize: in bytes; a larger access unit is dropped.
    package init(maximumFrameSize: Int = 4 << 20) { self.maximumFrameSize = maximumFrameSize }

    /// Takes the payload of one packet, without RTP header and padding.
    package mutating func receive(
        _ payload: RawSpan, sequenceNumber: UInt16, timestamp: UInt32, marker: Bool
    ) -> VideoReception {
        statistics.payloads &+= 1
        switch sequence.take(sequenceNumber) {
        case .first, .next: break
        case .gap(let missing):
            statistics.missing &+= missing
            lose()
        case .restart: lose()
        case .late:
            statistics.late &+= 1
            return .dropped(.late)
        }
        guard !payload.isEmpty else { return .incomplete }
        if let open = unit, open.timestamp != timestamp { lose() }
        var current =
            unit ?? AssembledFrame(bytes: [], timestamp: timestamp, isKeyFrame: false, pictureID: nil, packets: 0)
        // One owner, so that appending does not copy.
        unit = nil
        guard append(payload, to: &current) else {
            statistics.malformed &+= 1
            lose()
            return .dropped(.malformed)
        }
        guard current.bytes.count <= maximumFrameSize else {
            lose()
            return .dropped(.oversized)
        }
        current.packets &+= 1
        guard marker, !isFragmented else {
            unit = current
            return .incomplete
        }
        current.isKeyFrame = H264AccessUnit.isKeyFrame(current.bytes)
        if current.isKeyFrame {
            needsKeyFrame = false
            statistics.keyFrames &+= 1
        } else if needsKeyFrame {
            statistics.undecodableFrames &+= 1
            return .dropped(.awaitingKeyFrame)
        }
        statistics.frames &+= 1
        return .frame(current)
    }

    private mutating func append(_ payload: RawSpan, to frame: inout AssembledFrame) -> Bool {
        payload.withUnsafeBytes { bytes in
            switch bytes[0] & 0x1F {
            case 1...23:
                guard !isFragmented else { return false }
                frame.bytes.append(contentsOf: H264AccessUnit.startCode)
                frame.bytes.append(contentsOf: bytes)
            case 24:
                // STAP-A (section 5.7.1): each NAL unit has its length in two bytes before it.
                guard !isFragmented, bytes.count > 1 else { return false }
                var cursor = 1
                while cursor < bytes.count {
                    guard cursor + 2 <= bytes.count else { return false }
                    let length = Int(bytes[cursor]) << 8 | Int(bytes[cursor + 1])
                    cursor += 2
                    guard length > 0, length <= bytes.count - cursor else { return false }
                    frame.bytes.append(contentsOf: H264AccessUnit.startCode)
                    frame.bytes.append(contentsOf: bytes[cursor..<(cursor + length)])
                    cursor += length
                }
            case 28:
                // FU-A (section 5.8).
                guard bytes.count > 2 else { return false }
                let isStart = bytes[1] & 0x80 != 0
                guard isStart != isFragmented else { return false }
                if isStart {
                    frame.bytes.append(contentsOf: H264AccessUnit.startCode)
                    frame.bytes.append(bytes[0] & 0xE0 | bytes[1] & 0x1F)
                }
                frame.bytes.append(contentsOf: bytes[2...])
                isFragmented = bytes[1] & 0x40 == 0
            default: return false
            }
            return true
        }
    }

    private mutating func lose() {
        statistics.gaps &+= 1
        if unit != nil { statistics.incompleteFrames &+= 1 }
        unit = nil
        isFragmented = false
        needsKeyFrame = true
    }
}
