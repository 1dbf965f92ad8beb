import MediaCodecs

/// Streams of decoded frames: a task decodes what a track's receiver gives out, and ends with whoever listens.
enum FrameDecoding {
    private static let pictureLimit = 8
    /// A second of sound in packets of 20 ms.
    private static let soundLimit = 50
    /// The longest gap in sound that is filled.
    private static let longestFill = 2880

    static func pictures(of receiver: TrackReceiver) -> AsyncStream<RTCVideoFrame> {
        let frames = receiver.frames()
        let (stream, continuation) = AsyncStream.makeStream(
            of: RTCVideoFrame.self, bufferingPolicy: .bufferingNewest(pictureLimit))
        let task = Task { [weak receiver] in
            var decoder: VPXDecoder?
            for await frame in frames {
                guard let codec = VPXCodec(frame.codec.codec) else { continue }
                do {
                    if decoder?.codec != codec { decoder = try VPXDecoder(codec) }
                    guard let picture = try decoder?.decode(frame.data) else { continue }
                    receiver?.noteDecoded()
                    continuation.yield(
                        RTCVideoFrame(
                            width: picture.width, height: picture.height, i420: picture.bytes, time: frame.time))
                } catch {
                    // Only a key frame helps; another decoder makes sure that nothing of the old is left.
                    decoder = nil
                    receiver?.requireKeyFrame()
                }
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    static func sound(of receiver: TrackReceiver) -> AsyncStream<RTCAudioFrame> {
        let frames = receiver.frames()
        let (stream, continuation) = AsyncStream.makeStream(
            of: RTCAudioFrame.self, bufferingPolicy: .bufferingNewest(soundLimit))
        let task = Task { [weak receiver] in
            var decoder: OpusDecoder?
            // When the next sample is due, in samples.
            var next: Int64?
            for await frame in frames where frame.codec == .opus {
                do {
                    let current = try decoder ?? OpusDecoder()
                    decoder = current
                    let begin = frame.time.ticks(UInt32(RTCAudioFrame.sampleRate))
                    if let next, begin > next, begin - next <= Int64(longestFill) {
                        // Opus fills in steps of 2.5 ms.
                        let missing = Int(begin - next) / 120 * 120
                        if missing > 0, let filled = try? current.conceal(samples: missing, next: frame.data) {
                            continuation.yield(
                                RTCAudioFrame(
                                    samples: filled,
                                    time: Duration(ticks: next, rate: UInt32(RTCAudioFrame.sampleRate))))
                        }
                    }
                    let samples = try current.decode(frame.data)
                    receiver?.noteDecoded()
                    next = begin + Int64(samples.count)
                    continuation.yield(RTCAudioFrame(samples: samples, time: frame.time))
                } catch { continue }
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }
}
