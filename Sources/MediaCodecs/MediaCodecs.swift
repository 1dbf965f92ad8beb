// MediaCodecs
