/// VP8 frames as RTP payloads (RFC 7741), with a picture id of 15 bits and without temporal layers.
///
/// Partitions are not told apart: a payload may begin anywhere in the frame, as section 4.4 allows.
package struct VP8Packetizer: Sendable {
    package let maximumPayloadSize: Int
    /// The picture id of the next frame, 0...0x7FFF.
    package private(set) var pictureID: UInt16

    /// - Parameters:
    ///   - maximumPayloadSize: in bytes, with the descriptor; at least 64.
    ///   - firstPictureID: the RFC asks for a random start (section 4.2); the caller brings it.
    package init(maximumPayloadSize: Int = RTPPayload.defaultMaximumSize, firstPictureID: UInt16 = 0) {
        precondition(maximumPayloadSize >= RTPPayload.smallestMaximumSize, "a payload has at least 64 bytes")
        self.maximumPayloadSize = maximumPayloadSize
        pictureID = firstPictureID & 0x7FFF
    }

    /// The payloads of one frame in order; none for an empty frame. The last one has the marker.
    package mutating func packetize(_ frame: [UInt8]) -> [RTPPayload] {
        guard !frame.isEmpty else { return [] }
        // X, then I; M makes the picture id 15 bits long. S marks the start of partition 0: the first payload.
        let extensions: [UInt8] = [
            0x80, 0x80 | UInt8(truncatingIfNeeded: pictureID >> 8), UInt8(truncatingIfNeeded: pictureID),
        ]
        pictureID = (pictureID &+ 1) & 0x7FFF
        return RTPPayload.split(
            frame, first: [0x90] + extensions, next: [0x80] + extensions, maximumSize: maximumPayloadSize)
    }
}
