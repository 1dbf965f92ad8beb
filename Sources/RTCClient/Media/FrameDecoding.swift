import MediaCodecs

/// Streams of decoded frames: a task decodes what a track's receiver gives out, and ends with whoever listens.
enum FrameDecoding {
    private static let pictureLimit = 8
    /// A second of sound in packets of 20 ms.
    private static let soundLimit = 50

    static func pictures(of receiver: TrackReceiver, _ playout: PlayoutDelay) -> AsyncStream<RTCVideoFrame> {
        let subscription = receiver.listen(playout)
        let (stream, continuation) = AsyncStream.makeStream(
            of: RTCVideoFrame.self, bufferingPolicy: .bufferingNewest(pictureLimit))
        let task = Task { [weak receiver] in
            var decoder = PictureDecoder()
            while let item = await subscription.next() {
                guard case .frame(let frame) = item else { continue }
                switch decoder.decode(frame) {
                case .picture(let picture):
                    receiver?.noteDecoded()
                    continuation.yield(picture)
                case .failed: receiver?.requireKeyFrame(for: subscription)
                case .none: break
                }
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    static func sound(of receiver: TrackReceiver, _ playout: PlayoutDelay) -> AsyncStream<RTCAudioFrame> {
        let subscription = receiver.listen(playout, conceals: true)
        let (stream, continuation) = AsyncStream.makeStream(
            of: RTCAudioFrame.self, bufferingPolicy: .bufferingNewest(soundLimit))
        let task = Task { [weak receiver] in
            var decoder: OpusDecoder?
            while let item = await subscription.next() {
                do {
                    let current = try decoder ?? OpusDecoder()
                    decoder = current
                    switch item {
                    case .missing(let time, let samples, let next):
                        continuation.yield(
                            RTCAudioFrame(samples: try current.conceal(samples: samples, next: next), time: time))
                    case .frame(let frame) where frame.codec == .opus:
                        let samples = try current.decode(frame.data)
                        receiver?.noteDecoded()
                        continuation.yield(RTCAudioFrame(samples: samples, time: frame.time))
                    case .frame: break
                    }
                } catch { continue }
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }
}
