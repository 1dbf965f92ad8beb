import MediaCodecs

/// Decodes the pictures of one track. After an error it passes over what leans on what it does not have, up to the next key frame.
package struct PictureDecoder {
    package enum Outcome {
        case picture(RTCVideoFrame)
        /// Nothing to show: the frame shows nothing, leans on one that is missing, or is of a codec that is not decoded here.
        case none
        /// The frame is broken. Only a key frame helps.
        case failed
    }

    private var decoder: VPXDecoder?

    package init() {}

    package mutating func decode(_ frame: RTCEncodedFrame) -> Outcome {
        guard let codec = VPXCodec(frame.codec.codec) else { return .none }
        do {
            if decoder?.codec != codec {
                guard frame.isKeyFrame else { return .none }
                decoder = try VPXDecoder(codec)
            }
            guard let picture = try decoder?.decode(frame.data) else { return .none }
            return .picture(
                RTCVideoFrame(width: picture.width, height: picture.height, i420: picture.bytes, time: frame.time))
        } catch {
            // Another decoder makes sure that nothing of the old is left.
            decoder = nil
            return .failed
        }
    }
}
