#if canImport(MediaWire)
    import MediaWire
#endif

/// What must hold for any bytes that come as a payload, in each codec. Run by the fuzzer, and by the unit tests on vectors and
/// corpus.
enum PayloadExercise {
    static func run(_ bytes: RawSpan) {
        for codec in Codec.allCases {
            for marker in [false, true] {
                let facts = PayloadFacts.read(codec: codec, payload: bytes, marker: marker)
                precondition(facts.endsFrame || !marker, "the marker ends a frame in every codec")
                precondition(facts.startsFrame || !facts.isKeyFrame, "a key frame begins a frame")
                precondition(facts.spatialLayer <= 7 && facts.temporalLayer <= 7)
                if !facts.isParsed, codec != .opus { precondition(facts == .unreadable(marker: marker)) }
            }
        }
        if let vp8 = VP8Descriptor.parse(bytes) {
            precondition(vp8.length >= 1 && vp8.length <= 6 && vp8.length <= bytes.byteCount)
            precondition(vp8.pictureIDOffset + vp8.pictureIDLength <= vp8.length)
            precondition(vp8.temporalLevelOffset < vp8.length && vp8.pictureID <= 0x7FFF)
        }
        if let vp9 = VP9Descriptor.parse(bytes) {
            precondition(vp9.length >= 1 && vp9.length <= bytes.byteCount)
            precondition(vp9.pictureIDOffset + vp9.pictureIDLength <= vp9.length)
            precondition(vp9.temporalLevelOffset < vp9.length && vp9.pictureID <= 0x7FFF)
            precondition(vp9.referenceCount <= 3 && vp9 == vp9)
            if let structure = vp9.structure, structure.resolutionsOffset > 0 {
                for layer in 0..<structure.spatialLayerCount {
                    precondition(structure.resolution(ofLayer: layer, bytes) != nil)
                }
                precondition(structure.resolution(ofLayer: structure.spatialLayerCount, bytes) == nil)
            }
        }
        _ = H264Payload.parse(bytes)
        _ = AV1Payload.parse(bytes)
    }
}
