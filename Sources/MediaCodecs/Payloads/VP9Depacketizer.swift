/// Puts VP9 frames together from RTP payloads (RFC 9628).
///
/// Payloads come in the order of their sequence numbers. Any bytes may be given to it. After a gap, frames are held back
/// until the next key frame, and `needsKeyFrame` says so: then is the time for a PLI.
package struct VP9Depacketizer {
    private var assembly: FrameAssembly

    /// - Parameter maximumFrameSize: in bytes; a larger frame is dropped.
    package init(maximumFrameSize: Int = 4 << 20) { assembly = FrameAssembly(maximumFrameSize: maximumFrameSize) }

    /// No frame will be given out before a key frame. True at first.
    package var needsKeyFrame: Bool { assembly.needsKeyFrame }
    package var statistics: DepacketizerStatistics { assembly.statistics }

    /// Takes the payload of one packet, without RTP header and padding.
    package mutating func receive(
        _ payload: RawSpan, sequenceNumber: UInt16, timestamp: UInt32, marker: Bool
    ) -> VideoReception {
        if let answer = assembly.begin(sequenceNumber: sequenceNumber, isEmpty: payload.isEmpty) { return answer }
        guard let header = VP9PayloadHeader(payload) else { return assembly.malformed() }
        let fragment = FrameAssembly.Fragment(
            bodyOffset: header.length, isStart: header.isStart, pictureID: header.pictureID, isLayered: true)
        return assembly.take(
            fragment, of: payload, timestamp: timestamp, marker: marker, isKeyFrame: VP9PayloadHeader.isKeyFrame)
    }

    /// The decoder refused a frame: nothing is given out until the next key frame.
    package mutating func requireKeyFrame() { assembly.requireKeyFrame() }
}
