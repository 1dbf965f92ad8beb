#if canImport(MediaCodecs)
    import MediaCodecs
#endif

/// Plays a file of packets through the depacketizers and checks what must hold for any bytes. The fuzz target and the
/// corpus test share it.
///
/// The file: per packet a byte of length, a byte of sequence step (signed, less one), a byte of flags (1: marker, 2: new
/// timestamp), then the payload.
struct DepacketizerReplay {
    static let maximumFrameSize = 2_000

    private var vp8 = VP8Depacketizer(maximumFrameSize: maximumFrameSize)
    private var vp9 = VP9Depacketizer(maximumFrameSize: maximumFrameSize)
    private var h264 = H264Depacketizer(maximumFrameSize: maximumFrameSize)
    private var opus = OpusDepacketizer()
    private(set) var frames = 0
    private(set) var packets = 0

    /// The first broken promise, in words; `nil` if all were kept.
    mutating func run(_ file: [UInt8]) -> String? {
        var offset = 0
        var number: UInt16 = 65_500
        var timestamp: UInt32 = .max - 5_000
        while offset + 3 <= file.count {
            let end = min(offset + 3 + Int(file[offset]), file.count)
            let payload = Array(file[offset + 3..<end])
            number &+= UInt16(bitPattern: Int16(Int8(bitPattern: file[offset + 1]))) &+ 1
            if file[offset + 2] & 2 != 0 { timestamp &+= 3_000 }
            if let broken = take(payload, number, timestamp, marker: file[offset + 2] & 1 != 0) { return broken }
            offset = end
        }
        return nil
    }

    private mutating func take(_ payload: [UInt8], _ number: UInt16, _ timestamp: UInt32, marker: Bool) -> String? {
        packets += 1
        let first = vp8.receive(payload.span.bytes, sequenceNumber: number, timestamp: timestamp, marker: marker)
        let second = vp9.receive(payload.span.bytes, sequenceNumber: number, timestamp: timestamp, marker: marker)
        if let broken = check(first, vp8.needsKeyFrame, vp8.statistics, timestamp, marker: marker) { return broken }
        if let broken = check(second, vp9.needsKeyFrame, vp9.statistics, timestamp, marker: marker) { return broken }
        let third = h264.receive(payload.span.bytes, sequenceNumber: number, timestamp: timestamp, marker: marker)
        if let broken = check(third, h264.needsKeyFrame, h264.statistics, timestamp, marker: marker) { return broken }
        let audio = opus.receive(payload.span.bytes, sequenceNumber: number, timestamp: timestamp, marker: marker)
        if case .audio(let received) = audio {
            guard received.packet == payload else { return "an Opus packet was changed" }
            guard (120...5_760).contains(received.samples), received.samples % 120 == 0 else { return "Opus length" }
        }
        return nil
    }

    private mutating func check(
        _ reception: VideoReception, _ needsKeyFrame: Bool, _ statistics: DepacketizerStatistics, _ timestamp: UInt32,
        marker: Bool
    ) -> String? {
        guard statistics.payloads == packets else { return "a payload was not counted" }
        switch reception {
        case .incomplete: break
        case .frame(let frame):
            frames += 1
            guard marker, !needsKeyFrame else { return "a frame without marker, or while a key frame is needed" }
            guard (1...Self.maximumFrameSize).contains(frame.bytes.count) else { return "a frame above the limit" }
            guard frame.timestamp == timestamp, frame.packets >= 1 else { return "a frame of another time" }
        case .dropped(.late): break
        case .dropped: guard needsKeyFrame else { return "a drop that asks for no key frame" }
        }
        return nil
    }
}
