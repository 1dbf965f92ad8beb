package import ClientEngine
import MediaCodecs
package import MediaWire

/// A publisher that sends what its sources make, in real time, and answers key frame requests.
package struct SyntheticPublisher: ClientSession {
    private struct Line {
        var source: FrameSource
        /// The next frame to send; `nil`: starts with the next one that is made.
        var next: Int64?
        /// Nothing is sent before a key frame.
        var awaitsKeyFrame = true
    }

    private var lines: [Line]
    private var isSending = true
    private var wakeUp: MediaTime
    /// Since the first packet.
    package private(set) var firstSent: MediaTime?

    /// Probes of several intervals leave together: a thread cannot wake up for each.
    static let shortestNap = MediaDuration.milliseconds(1)
    /// Packets in one turn: what the engine keeps room for, and a little less.
    static let turn = 400

    /// - Parameter sources: one for each sent stream of the transport, in their order.
    package init(sources: [FrameSource], now: MediaTime) {
        lines = sources.map { Line(source: $0) }
        wakeUp = now
    }

    /// Sends nothing more.
    package mutating func stop() {
        isSending = false
        wakeUp = .distantFuture
    }

    package var skipped: Int64 { lines.reduce(0) { $0 + $1.source.skipped } }
    package var failure: String? { lines.lazy.compactMap(\.source.failure).first }
    package var nextDeadline: MediaTime { wakeUp }

    package mutating func receive(
        _ packet: ClientPacket, payload: RawSpan, _ transport: inout ClientTransport, _ scene: inout ClientScene
    ) {}

    package mutating func keyFramesWanted(
        _ streams: UInt64, _ transport: inout ClientTransport, _ scene: inout ClientScene
    ) {
        for index in lines.indices where streams & (1 << UInt64(index)) != 0 { lines[index].source.requestKeyFrame() }
    }

    package mutating func advance(_ transport: inout ClientTransport, _ scene: inout ClientScene) {
        guard isSending else { return }
        var packets = 0
        wakeUp = .distantFuture
        for index in lines.indices {
            let source = lines[index].source
            if lines[index].next == nil {
                lines[index].next = source.produced
                source.requestKeyFrame()
            }
            source.produce(until: scene.now) { scene.wallTime }
            var next = lines[index].next ?? 0
            while next < source.produced, packets < Self.turn {
                if let frame = source.frame(next) {
                    packets += send(frame, index, &transport, &scene)
                } else {
                    // It was made too long ago: this publisher starts again.
                    lines[index].awaitsKeyFrame = true
                    source.requestKeyFrame()
                }
                next += 1
            }
            lines[index].next = next
            let due = next < source.produced ? scene.now : source.due(next)
            wakeUp = min(wakeUp, max(due, scene.now + Self.shortestNap))
        }
    }

    private mutating func send(
        _ frame: EncodedFrame, _ index: Int, _ transport: inout ClientTransport, _ scene: inout ClientScene
    ) -> Int {
        guard frame.isKeyFrame || !lines[index].awaitsKeyFrame else { return 0 }
        lines[index].awaitsKeyFrame = false
        for payload in frame.payloads {
            transport.send(
                payload.bytes, stream: index, timestamp: frame.timestamp, marker: payload.marker, now: scene.now,
                into: &scene.outbox)
        }
        if firstSent == nil { firstSent = scene.now }
        return frame.payloads.count
    }
}
