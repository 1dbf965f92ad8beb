/// VP9 frames of one spatial and one temporal layer as RTP payloads (RFC 9628), with a picture id of 15 bits.
///
/// It expects a stream in which each frame that is not a key frame refers to the frame before it: what `VPXEncoder` makes.
package struct VP9Packetizer: Sendable {
    /// How the descriptor tells on which pictures a frame depends.
    package enum Mode: Hashable, Sendable {
        /// By a picture group in the scalability structure, with layer indices and TL0PICIDX: what browsers send for
        /// one layer (section 4.2.1, F = 0).
        case nonFlexible
        /// By a list of differences in each frame's descriptor (F = 1).
        case flexible
        /// Not at all: F, L and V are 0, and the picture id alone tells that nothing is missing. Receivers that do not
        /// know layer indices, such as FFmpeg 5.1, take only this.
        case plain
    }

    package let mode: Mode
    package let maximumPayloadSize: Int
    /// The picture id of the next frame, 0...0x7FFF.
    package private(set) var pictureID: UInt16
    /// TL0PICIDX of the next frame: with one temporal layer it counts every picture (section 4.2).
    private var baseLayerIndex: UInt8
    private let structure: [UInt8]

    /// - Parameters:
    ///   - width: of the pictures, as the scalability structure on key frames announces it.
    ///   - height: likewise.
    ///   - maximumPayloadSize: in bytes, with the descriptor; at least 64.
    ///   - firstPictureID: the RFC asks for a random start (section 4.2); the caller brings it.
    package init(
        width: Int, height: Int, mode: Mode = .nonFlexible,
        maximumPayloadSize: Int = RTPPayload.defaultMaximumSize, firstPictureID: UInt16 = 0
    ) {
        precondition(maximumPayloadSize >= RTPPayload.smallestMaximumSize, "a payload has at least 64 bytes")
        self.mode = mode
        self.maximumPayloadSize = maximumPayloadSize
        pictureID = firstPictureID & 0x7FFF
        baseLayerIndex = UInt8(truncatingIfNeeded: firstPictureID)
        let size = [width, height].flatMap { [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] }
        // N_S = 0 (one spatial layer), Y; in non-flexible mode G with a group of one picture: TID 0, U 0, R 1, P_DIFF 1.
        switch mode {
        case .nonFlexible: structure = [0x18] + size + [1, 0x04, 1]
        case .flexible: structure = [0x10] + size
        case .plain: structure = []
        }
    }

    /// The payloads of one frame in order; none for an empty frame. The last one has the marker.
    package mutating func packetize(_ frame: [UInt8], isKeyFrame: Bool) -> [RTPPayload] {
        guard !frame.isEmpty else { return [] }
        // I | P | L | F | B | E | V | Z. Z stays 0: no layer above exists that could do without this one.
        var bits: UInt8 = 0x80 | (isKeyFrame ? 0 : 0x40)
        var rest: [UInt8] = [0x80 | UInt8(truncatingIfNeeded: pictureID >> 8), UInt8(truncatingIfNeeded: pictureID)]
        switch mode {
        case .nonFlexible:
            bits |= 0x20
            // TID, U, SID and D are 0.
            rest += [0, baseLayerIndex]
        case .flexible:
            bits |= 0x10
            // P_DIFF = 1, N = 0: no further reference.
            if !isKeyFrame { rest.append(1 << 1) }
        case .plain: break
        }
        pictureID = (pictureID &+ 1) & 0x7FFF
        baseLayerIndex &+= 1

        // The structure is in the first payload of a key frame only.
        let announced = isKeyFrame ? structure : []
        let first = [bits | 0x08 | (announced.isEmpty ? 0 : 0x02)] + rest + announced
        return RTPPayload.split(frame, first: first, next: [bits] + rest, maximumSize: maximumPayloadSize) { $0 | 0x04 }
    }
}
