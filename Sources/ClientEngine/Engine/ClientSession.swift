import CNet
package import MediaWire

/// What stands behind a client's transport: it gets the packets, and says what to send. All calls come on the engine's thread.
package protocol ClientSession {
    /// A packet of a received stream, opened and in order.
    mutating func receive(
        _ packet: ClientPacket, payload: RawSpan, _ transport: inout ClientTransport, _ scene: inout ClientScene)
    /// The node wants key frames of the sent streams in the bit mask.
    mutating func keyFramesWanted(_ streams: UInt64, _ transport: inout ClientTransport, _ scene: inout ClientScene)
    /// A packet of a received stream, not of repair, came when it was no longer waited for.
    mutating func receivedLate(_ packet: ClientPacket)
    /// The node's feedback was judged, for a transport that was told to watch it.
    ///
    /// - Parameter bitrate: how much may be sent, in bit/s of RTP.
    mutating func sendRateJudged(_ bitrate: Double, _ transport: inout ClientTransport, _ scene: inout ClientScene)
    /// A WebRTC connection stands elsewhere than before.
    mutating func connectionChanged(
        _ state: ClientConnectionState, _ transport: inout ClientTransport, _ scene: inout ClientScene)
    /// `nextDeadline` has passed.
    mutating func advance(_ transport: inout ClientTransport, _ scene: inout ClientScene)
    var nextDeadline: MediaTime { get }
}

extension ClientSession {
    package mutating func receivedLate(_ packet: ClientPacket) {}

    package mutating func sendRateJudged(
        _ bitrate: Double, _ transport: inout ClientTransport, _ scene: inout ClientScene
    ) {}

    package mutating func connectionChanged(
        _ state: ClientConnectionState, _ transport: inout ClientTransport, _ scene: inout ClientScene
    ) {}
}

/// What a session works with besides its transport.
package struct ClientScene: ~Copyable {
    package var outbox: ClientOutbox
    /// Monotonic time of this round.
    package var now: MediaTime
    private let clock: ClientClock

    package init(outbox: consuming ClientOutbox, now: MediaTime, clock: ClientClock) {
        self.outbox = outbox
        self.now = now
        self.clock = clock
    }

    /// This very moment, in nanoseconds since 1970.
    package var wallTime: Int64 { clock.wallTime(now) }
}

/// Where wall-clock time comes from.
package enum ClientClock: Sendable {
    case system
    /// For tests: the monotonic time plus so many nanoseconds.
    case virtual(offset: Int64)

    /// The engine's time at this very moment.
    package static var monotonic: MediaTime { MediaTime(nanoseconds: parlor_monotonic_time()) }

    func wallTime(_ now: MediaTime) -> Int64 {
        switch self {
        case .system: parlor_wall_time()
        case .virtual(let offset): now.nanoseconds &+ offset
        }
    }
}
