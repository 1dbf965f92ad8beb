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
    /// A packet came when it was no longer waited for.
    func receiveLate(_ packet: ClientPacket)
    /// How long a missing packet is to be waited for; `nil`: as long as usual.
    var patience: MediaDuration? { get }
}

extension TrackSink {
    package func receiveLate(_ packet: ClientPacket) {}
    package var patience: MediaDuration? { nil }
}

/// A sent track that keeps to what the network takes. Called on the engine's thread: it must not wait for anything.
protocol BitrateFollower: AnyObject, Sendable {
    var demand: BitrateDemand { get }
    /// - Parameters:
    ///   - targets: of each of its encodings, in bit/s.
    ///   - estimate: of the connection, in bit/s.
    func follow(_ targets: [Int], estimate: Int)
}

/// What stands behind the transport of a publishing or subscribing connection.
package struct MediaSession: ClientSession {
    /// What a session tells, on the engine's thread.
    package struct Reports: Sendable {
        /// With whether anything can be sent.
        var stateChanged: @Sendable (ClientConnectionState, ClientConnectionTimes?, Bool) -> Void
        var firstPacket: @Sendable (MediaTime) -> Void
    }

    private struct Sent {
        var ssrc: UInt32
        var feed: (any TrackFeed)?
        var keyFrameWanted: (@Sendable () -> Void)?
        weak var follower: (any BitrateFollower)?
        /// Of the follower's encodings this one, 0 the smallest picture.
        var layer = 0
        var usage = SentUsage()
        /// Whether it may send.
        var isOn = true
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

    /// - Parameters:
    ///   - follower: the whole track.
    ///   - layer: which of its encodings this is.
    ///   - keyFrameWanted: the server wants a key frame.
    mutating func addSending(
        _ settings: OutboundStreamSettings, feed: (any TrackFeed)?, follower: (any BitrateFollower)?,
        layer: Int, keyFrameWanted: (@Sendable () -> Void)?, _ transport: inout ClientTransport
    ) {
        guard let place = transport.addSending(settings) else { return }
        while sent.count <= place { sent.append(nil) }
        sent[place] = Sent(
            ssrc: settings.ssrc, feed: feed, keyFrameWanted: keyFrameWanted, follower: follower, layer: layer)
        if follower != nil { transport.watchSendRate() }
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
        if let patience = line.sink.patience { transport.setPatience(patience, stream: packet.stream) }
    }

    package mutating func receivedLate(_ packet: ClientPacket) {
        guard packet.stream < received.count else { return }
        received[packet.stream]?.sink.receiveLate(packet)
    }

    package mutating func sendRateJudged(
        _ bitrate: Double, _ transport: inout ClientTransport, _ scene: inout ClientScene
    ) {
        let followers = sent.compactMap { line in line?.layer == 0 ? line?.follower : nil }
        let places = followers.map { self.places(of: $0) }
        var demands = followers.map(\.demand)
        let statistics = transport.sending
        for (track, places) in places.enumerated() {
            demands[track].sent = places.map { place in
                guard let line = sent[place], statistics.indices.contains(place) else { return nil }
                sent[place]?.usage.note(bytes: statistics[place].bytes, isOn: line.isOn, now: scene.now)
                return sent[place]?.usage.rate
            }
        }
        let targets = BitrateAllocation.allocate(bitrate, among: demands)
        for (track, targets) in targets.enumerated() {
            followers[track].follow(targets, estimate: Int(bitrate))
            for (place, target) in zip(places[track], targets) { sent[place]?.isOn = target > 0 }
        }
        transport.setNextSendStep(BitrateAllocation.nextStep(above: bitrate, among: demands))
    }

    /// The transport's places of a track's encodings, from the smallest picture to the largest.
    private func places(of follower: any BitrateFollower) -> [Int] {
        sent.indices.filter { sent[$0]?.follower === follower }
            .sorted { (sent[$0]?.layer ?? 0) < (sent[$1]?.layer ?? 0) }
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
        reports.stateChanged(state, transport.connectionTimes, transport.canSend)
    }

    package mutating func advance(_ transport: inout ClientTransport, _ scene: inout ClientScene) {
        for place in sent.indices {
            guard let feed = sent[place]?.feed, feed.nextDeadline <= scene.now else { continue }
            feed.advance(stream: place, &transport, &scene)
        }
    }
}
