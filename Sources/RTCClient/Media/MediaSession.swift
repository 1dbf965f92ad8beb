package import ClientEngine
package import MediaWire

/// What feeds a sent stream by itself, on the engine's thread. A `LocalTrack` needs none: its frames are given to `send`.
package protocol TrackFeed: AnyObject, Sendable {
    /// When `advance` has something to do.
    var nextDeadline: MediaTime { get }
    /// Sends what is due on sent stream `stream` of the transport.
    func advance(stream: Int, _ transport: inout ClientTransport, _ scene: inout ClientScene)
    /// The server wants a key frame.
    func keyFrameWanted()
}

/// What takes the packets of a received stream, on the engine's thread.
package protocol TrackSink: AnyObject, Sendable {
    /// Takes a packet, in order. True: a key frame should be asked for.
    func receive(_ packet: ClientPacket, payload: RawSpan, now: MediaTime, wallTime: () -> Int64) -> Bool
}

/// What stands behind the transport of a publishing or subscribing connection.
package struct MediaSession: ClientSession {
    /// What a session tells, on the engine's thread.
    package struct Reports: Sendable {
        var stateChanged: @Sendable (ClientConnectionState, ClientConnectionTimes?) -> Void
        var firstPacket: @Sendable (MediaTime) -> Void
    }

    private struct Sent {
        var ssrc: UInt32
        var feed: (any TrackFeed)?
        var keyFrameWanted: (@Sendable () -> Void)?
    }

    private struct Received {
        var ssrc: UInt32
        var sink: any TrackSink
    }

    private let reports: Reports
    /// By the transport's places.
    private var sent: [Sent?] = []
    private var received: [Received?] = []
    private var hasReceived = false

    package init(reports: Reports) { self.reports = reports }

    // MARK: Streams

    /// - Parameter keyFrameWanted: the server wants a key frame.
    mutating func addSending(
        _ settings: OutboundStreamSettings, feed: (any TrackFeed)?, keyFrameWanted: (@Sendable () -> Void)?,
        _ transport: inout ClientTransport
    ) {
        guard let place = transport.addSending(settings) else { return }
        while sent.count <= place { sent.append(nil) }
        sent[place] = Sent(ssrc: settings.ssrc, feed: feed, keyFrameWanted: keyFrameWanted)
    }

    mutating func removeSending(ssrc: UInt32, _ transport: inout ClientTransport, _ scene: inout ClientScene) {
        guard let place = sendingPlace(ssrc) else { return }
        transport.removeSending(place, into: &scene.outbox)
        sent[place] = nil
    }

    mutating func addReceiving(
        _ settings: InboundStreamSettings, sink: any TrackSink, _ transport: inout ClientTransport
    ) {
        guard let place = transport.addReceiving(settings) else { return }
        while received.count <= place { received.append(nil) }
        received[place] = Received(ssrc: settings.ssrc, sink: sink)
    }

    mutating func removeReceiving(ssrc: UInt32, _ transport: inout ClientTransport) {
        guard let place = receivingPlace(ssrc) else { return }
        transport.removeReceiving(place)
        received[place] = nil
    }

    /// The transport's place of a stream.
    package func sendingPlace(_ ssrc: UInt32) -> Int? { sent.firstIndex { $0?.ssrc == ssrc } }
    package func receivingPlace(_ ssrc: UInt32) -> Int? { received.firstIndex { $0?.ssrc == ssrc } }

    /// The sinks by the transport's places.
    package var sinks: [(any TrackSink)?] { received.map { $0?.sink } }
    package var feeds: [(any TrackFeed)?] { sent.map { $0?.feed } }

    // MARK: ClientSession

    package var nextDeadline: MediaTime {
        var deadline = MediaTime.distantFuture
        for case .some(let line) in sent { deadline = min(deadline, line.feed?.nextDeadline ?? .distantFuture) }
        return deadline
    }

    package mutating func receive(
        _ packet: ClientPacket, payload: RawSpan, _ transport: inout ClientTransport, _ scene: inout ClientScene
    ) {
        guard packet.stream < received.count, let line = received[packet.stream] else { return }
        if !hasReceived {
            hasReceived = true
            reports.firstPacket(scene.now)
        }
        let wanted = line.sink.receive(packet, payload: payload, now: scene.now) { scene.wallTime }
        if wanted { transport.requestKeyFrame(stream: packet.stream, now: scene.now, into: &scene.outbox) }
    }

    package mutating func keyFramesWanted(
        _ streams: UInt64, _ transport: inout ClientTransport, _ scene: inout ClientScene
    ) {
        for place in sent.indices where streams & (1 << UInt64(place)) != 0 {
            sent[place]?.feed?.keyFrameWanted()
            sent[place]?.keyFrameWanted?()
        }
    }

    package mutating func connectionChanged(
        _ state: ClientConnectionState, _ transport: inout ClientTransport, _ scene: inout ClientScene
    ) {
        reports.stateChanged(state, transport.connectionTimes)
    }

    package mutating func advance(_ transport: inout ClientTransport, _ scene: inout ClientScene) {
        for place in sent.indices {
            guard let feed = sent[place]?.feed, feed.nextDeadline <= scene.now else { continue }
            feed.advance(stream: place, &transport, &scene)
        }
    }
}
