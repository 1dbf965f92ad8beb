import CCodecs
import MediaWire

/// A VP8 or VP9 decoder (8 bit, 4:2:0). Any bytes may be given to it: bad ones are an error, never a trap. After an error
/// it needs a key frame.
///
/// One object belongs to one thread at a time.
package final class VPXDecoder {
    package let codec: VPXCodec
    private let decoder: OpaquePointer

    package init(_ codec: VPXCodec) throws(CodecError) {
        var error: Int32 = 0
        guard let decoder = parlor_vpx_decoder_create(codec.number, Int32(VideoFrame.maximumSide), &error) else {
            throw CodecError("opening the \(codec.codec.name) decoder", .vpx, code: error)
        }
        self.decoder = decoder
        self.codec = codec
    }

    deinit { parlor_vpx_decoder_destroy(decoder) }

    /// Decodes one complete frame (with VP9 all layer frames of a picture, behind each other).
    ///
    /// - Parameter picture: takes the pixels; its buffer is kept as long as the size stays. Untouched on `false` and on
    ///   error.
    /// - Returns: `false` if the frame is not to be shown.
    package func decode(_ frame: [UInt8], into picture: inout VideoFrame) throws(CodecError) -> Bool {
        var width: Int32 = 0
        var height: Int32 = 0
        let status = parlor_vpx_decode(decoder, frame, frame.count, &width, &height)
        guard status >= 0 else { throw CodecError("decoding", .vpx, code: status) }
        guard status == 1 else { return false }
        picture.resize(width: Int(width), height: Int(height))
        let copied = parlor_vpx_decoder_copy(decoder, &picture.bytes, picture.bytes.count)
        guard copied == Int32(picture.bytes.count) else { throw CodecError("copying the picture", .vpx, code: copied) }
        return true
    }

    /// As above, into a picture of its own. `nil` if the frame is not to be shown.
    package func decode(_ frame: [UInt8]) throws(CodecError) -> VideoFrame? {
        var picture = VideoFrame(width: 1, height: 1)
        return try decode(frame, into: &picture) ? picture : nil
    }
}
