package import MediaContract
package import MediaWire

/// The whole media plane of one core as one value: every peer, track and subscription, without I/O and without a clock.
/// (Face only; the rooms behind it come next.)
package struct Switchboard: ~Copyable {
    package struct Configuration: Sendable {
        /// Datagrams the outbox holds between two flushes.
        package var outboxSlots = 1024
        /// Wall-clock time at `MediaTime.zero`.
        package var ntpOrigin = NTPTime(bits: 0)
        /// Plan runs to one destination as one UDP_SEGMENT message.
        package var segmentation = true
        package init() {}
    }

    package var outbox: Outbox
    /// What happened since the worker last took the events.
    private var events: [MediaEvent] = []
    private var pendingSnapshots: [UInt64] = []
    /// Whether a flush has anything to do: datagrams, or removals that wait for one.
    package private(set) var wantsFlush = false
    /// When `advance` has something to do; `nil`: never.
    package private(set) var nextDeadline: MediaTime?

    package init(configuration: Configuration, seed: UInt64, now: MediaTime) {
        outbox = Outbox()
    }

    package mutating func apply(_ command: MediaCommand, now: MediaTime) {
        switch command {
        case .removePeer(_, let ticket): events.append(.removed(ticket))
        case .snapshot(let number): pendingSnapshots.append(number)
        default: break
        }
    }

    /// Takes in the datagrams from `cursor` on.
    /// - Parameter flushed: a flush has just been tried; a copy that still finds no slot is dropped.
    /// - Returns: false when the outbox wants a flush first; then flush and call again with the same cursor.
    package mutating func receive(
        _ datagrams: UnsafeBufferPointer<InboundDatagram>, cursor: inout Int, flushed: Bool, now: MediaTime
    ) -> Bool {
        cursor = datagrams.count
        return true
    }

    /// Fires what is due. May leave something to be called again after a flush: then `nextDeadline` is not after `now`.
    package mutating func advance(to now: MediaTime) {
        for number in pendingSnapshots { events.append(.snapshot(number, MediaSnapshot(time: now))) }
        pendingSnapshots = []
    }

    /// ICMP said that nobody listens at the other end of this socket.
    package mutating func socketUnreachable(_ socket: SocketID, now: MediaTime) {}

    /// Seals what waits and plans it into `outbox.messages`.
    package mutating func prepareFlush() {}

    /// Says what became of message `index` of the plan; call for each message, in order, after the sends.
    package mutating func complete(message index: Int, _ outcome: SendOutcome) {}

    /// Ends the flush: frees what was sent or dropped, keeps what was blocked, and counts.
    package mutating func finishFlush() {}

    /// Hands over the events.
    package mutating func takeEvents() -> [MediaEvent] {
        defer { events = [] }
        return events
    }

    /// Plain sockets whose last transport is gone since the last call; the worker closes them after the flush that carried
    /// their BYE.
    package mutating func takeClosedSockets() -> [SocketID] { [] }

    /// Counted by the worker: drops that only the kernel's side sees.
    package mutating func countDrop(_ reason: DropReason, _ n: UInt64) {}
}
