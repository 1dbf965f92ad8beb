package import ClientEngine
import MediaCodecs
package import MediaWire

/// One stream of a publisher: sends what its source makes, in real time, from a key frame on.
struct PublisherLine {
    let source: FrameSource
    /// The next frame to send; `nil`: starts with the next one that is made.
    private var next: Int64?
    /// Nothing is sent before a key frame.
    private var awaitsKeyFrame = true

    /// Probes of several intervals leave together: a thread cannot wake up for each.
    static let shortestNap = MediaDuration.milliseconds(1)
    /// Packets in one turn: what the engine keeps room for, and a little less.
    static let turn = 400

    init(source: FrameSource) { self.source = source }

    /// Sends what is due on sent stream `stream`.
    ///
    /// - Parameter budget: packets of this turn that are left.
    /// - Returns: when there is more.
    mutating func advance(
        stream: Int, budget: inout Int, _ transport: inout ClientTransport, _ scene: inout ClientScene
    ) -> MediaTime {
        var place: Int64
        if let next {
            place = next
        } else {
            place = source.produced
            source.requestKeyFrame()
        }
        source.produce(until: scene.now) { scene.wallTime }
        while place < source.produced, budget > 0 {
            if let frame = source.frame(place) {
                budget -= send(frame, stream, &transport, &scene)
            } else {
                // It was made too long ago: this publisher starts again.
                awaitsKeyFrame = true
                source.requestKeyFrame()
            }
            place += 1
        }
        next = place
        let due = place < source.produced ? scene.now : source.due(place)
        return max(due, scene.now + Self.shortestNap)
    }

    private mutating func send(
        _ frame: EncodedFrame, _ stream: Int, _ transport: inout ClientTransport, _ scene: inout ClientScene
    ) -> Int {
        guard frame.isKeyFrame || !awaitsKeyFrame else { return 0 }
        awaitsKeyFrame = false
        for payload in frame.payloads {
            transport.send(
                payload.bytes, stream: stream, timestamp: frame.timestamp, marker: payload.marker, now: scene.now,
                into: &scene.outbox)
        }
        return frame.payloads.count
    }
}

/// A publisher that sends what its sources make, in real time, and answers key frame requests.
package struct SyntheticPublisher: ClientSession {
    private var lines: [PublisherLine]
    private var isSending = true
    private var wakeUp: MediaTime

    /// - Parameter sources: one for each sent stream of the transport, in their order.
    package init(sources: [FrameSource], now: MediaTime) {
        lines = sources.map { PublisherLine(source: $0) }
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
        var budget = PublisherLine.turn
        wakeUp = .distantFuture
        for index in lines.indices {
            wakeUp = min(wakeUp, lines[index].advance(stream: index, budget: &budget, &transport, &scene))
        }
    }
}
