package import MediaContract
package import MediaTransport
package import MediaWire

/// The whole media plane of one core as one value: every peer, track and subscription, without I/O and without a clock.
///
///     in :  receive(datagrams)   apply(command)   advance(to: now)
///     out:  outbox.messages      events           nextDeadline
///
/// Its parts, a file each: `+Commands` (what the control plane asks), `+Media` (a packet in), `+FanOut` (its copies), `+Feedback` (RTCP in),
/// `+Reports` (what time brings), `+Flush` (sealing and leaving).
package struct Switchboard: ~Copyable {
    package struct Configuration: Sendable {
        /// Datagrams the outbox holds between two flushes.
        package var outboxSlots = 1024
        /// Wall-clock time at `MediaTime.zero`.
        package var ntpOrigin = NTPTime(bits: 0)
        /// Plan runs to one destination as one UDP_SEGMENT message.
        package var segmentation = true
        /// The most bytes of one such message: half a millisecond at 300 Mbit/s. To be replaced by each subscriber's own
        /// estimate once there is one.
        package var messageBytes = 20_000
        /// How packets are sealed.
        package var sealing = Sealing.automatic
        /// The node's end of DTLS; `nil`: there are no WebRTC transports.
        package var dtls: DTLSContext?
        package init() {}
    }

    /// The crypto behind the batch: multi-buffer where the processor has it, else OpenSSL.
    package enum Sealing: String, Sendable, CaseIterable {
        case automatic = "auto"
        case multiBuffer = "multibuffer"
        case openSSL = "evp"
    }

    package var outbox: Outbox
    /// What happened since the worker last took the events.
    var events: [MediaEvent] = []

    let configuration: Configuration
    let drops = DropCounters()
    var batch: SRTPBatch
    var timers = TimerQueue()
    var random: SeededRandom
    /// The latest time that came in.
    var clock: MediaTime

    // The things, and how they are found
    var peers = Slab<Peer>()
    var transports = Slab<Transport>()
    var tracks = Slab<Track>()
    var encodings = Slab<Encoding>()
    var subscriptions = Slab<Subscription>()
    /// ICE and DTLS of WebRTC transports.
    var connections = Slab<WebRTCConnection>()
    var peerPlaces: [PeerID: Int] = [:]
    var transportPlaces: [TransportID: Int] = [:]
    var trackPlaces: [TrackID: Int] = [:]
    var subscriptionPlaces: [SubscriptionID: Int] = [:]
    /// Twice a transport's place, plus one for its own RTCP socket.
    var sockets = FlatTable<SocketID>(anyKey: .sharedIPv4)
    /// Transports on the shared sockets, by where their peer is; of WebRTC transports each address that passed a check.
    var addresses = FlatTable<TransportAddress>(anyKey: .unspecified)
    /// WebRTC transports by our ICE user fragments.
    var fragments = FlatTable<ICEFragment>(anyKey: ICEFragment(number: 0))
    /// DTLS datagrams that wait to be worked off.
    var handshakes = HandshakeQueue()

    /// Encodings with packets that are not forwarded yet, in the order they came.
    var waitingEncodings = IndexList(capacity: 64)

    // Removals that end with the next flush
    var closingTransports: [Int] = []
    var closedSockets: [SocketID] = []
    var pendingRemovals: [RemovalTicket] = []
    var pendingSnapshots: [UInt64] = []

    // Figures
    var packetsIn: UInt64 = 0
    var bytesIn: UInt64 = 0
    package internal(set) var packetsOut: UInt64 = 0
    var bytesOut: UInt64 = 0
    var batchesIn: UInt64 = 0
    var batchesOut: UInt64 = 0

    package init(configuration: Configuration, seed: UInt64, now: MediaTime) {
        self.configuration = configuration
        outbox = Outbox(
            capacity: configuration.outboxSlots, segmentation: configuration.segmentation,
            messageBytes: configuration.messageBytes)
        let backend: SRTPBatch.Backend =
            switch configuration.sealing {
            case .automatic: .automatic
            case .multiBuffer: .multiBuffer
            case .openSSL: .evp
            }
        batch = SRTPBatch(capacity: configuration.outboxSlots, backend: backend)
        random = SeededRandom(seed: seed)
        clock = now
        timers.reserve(owners: 64)
    }

    /// Which crypto seals, for the start's print.
    package var sealingName: String { batch.backendName }

    /// When `advance` has something to do; `nil`: never.
    package var nextDeadline: MediaTime? { handshakes.isEmpty ? timers.next : clock }

    /// Hands over the events.
    package mutating func takeEvents() -> [MediaEvent] {
        guard !events.isEmpty else { return [] }
        defer { events = [] }
        return events
    }

    /// Sockets whose transports are gone: after the flush that carried their goodbye, the worker closes them.
    package mutating func takeClosedSockets() -> [SocketID] {
        guard !closedSockets.isEmpty else { return [] }
        defer { closedSockets = [] }
        return closedSockets
    }

    /// Counted by the worker: drops that only the kernel's side sees.
    package func countDrop(_ reason: DropReason, _ n: UInt64) { drops.count(reason, n) }

    /// Drops for this reason since the start.
    package func dropCount(_ reason: DropReason) -> UInt64 { drops.value(reason) }

    /// For load figures and tests.
    package var peerCount: Int { peers.count }
    package var subscriptionCount: Int { subscriptions.count }
}
