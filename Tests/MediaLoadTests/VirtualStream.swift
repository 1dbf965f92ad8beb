import ClientEngine
import MediaCodecs
import MediaLoad
import MediaWire
import Testing

/// A synthetic source whose packets go straight to a check, in virtual time; a test may change them on the way.
struct VirtualStream {
    var source: FrameSource
    var now = MediaTime(nanoseconds: 1_000_000_000)
    private var sequence: Int64 = 500
    private var taken: Int64 = 0

    /// Monotonic to wall-clock time, in nanoseconds.
    static let offset: Int64 = 1_700_000_000_000_000_000

    init(_ source: FrameSource) { self.source = source }

    static func video(_ codec: VPXCodec, publisher: UInt16) throws -> VirtualStream {
        let settings = VPXEncoder.Settings(codec: codec, framesPerSecond: 25, bitrate: 300)
        return VirtualStream(FrameSource(try SharedStream(video: settings, publisher: publisher)))
    }

    static func audio(publisher: UInt16) throws -> VirtualStream {
        VirtualStream(FrameSource(try SharedStream(audio: OpusEncoder.Settings(), publisher: publisher)))
    }

    static func probes(publisher: UInt16) -> VirtualStream {
        VirtualStream(FrameSource(probesPerSecond: 1000, size: 20, publisher: publisher))
    }

    /// The packets of the next frame, numbered.
    mutating func nextFrame() throws -> [(packet: ClientPacket, payload: [UInt8])] {
        let time = now
        source.produce(until: time) { time.nanoseconds + Self.offset }
        let frame = try #require(source.frame(taken))
        taken += 1
        now = source.due(taken)
        return frame.payloads.map { payload in
            defer { sequence += 1 }
            let packet = ClientPacket(
                stream: 0, sequence: sequence, timestamp: frame.timestamp, marker: payload.marker, payloadType: 96,
                arrival: time)
            return (packet, payload.bytes)
        }
    }
}

extension LineCheck {
    /// Takes packets that came `milliseconds` after they were sent.
    @discardableResult
    func take(_ packets: [(packet: ClientPacket, payload: [UInt8])], after milliseconds: Int64 = 20) -> Bool {
        var wanted = false
        for (packet, payload) in packets {
            let now = packet.arrival + .milliseconds(milliseconds)
            wanted =
                receive(packet, payload: payload.span.bytes, now: now) {
                    now.nanoseconds + VirtualStream.offset
                } || wanted
        }
        return wanted
    }
}
