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
    package private(set) var events: [MediaEvent] = []
    /// When `advance` has something to do; `nil`: never.
    package private(set) var nextDeadline: MediaTime?

    package init(configuration: Configuration, seed: UInt64, now: MediaTime) {
        outbox = Outbox()
    }

    package mutating func apply(_ command: MediaCommand, now: MediaTime) {}

    /// Takes in the datagrams from `cursor` on. Returns with `cursor` short of the end when the outbox wants a flush
    /// first; the worker flushes and calls again. `flushed`: a flush has just been tried, so a full outbox now drops.
    package mutating func receive(
        _ datagrams: UnsafeBufferPointer<InboundDatagram>, cursor: inout Int, flushed: Bool, now: MediaTime
    ) { cursor = datagrams.count }

    /// Fires what is due. May leave something to be called again after a flush: then `nextDeadline` is not after `now`.
    package mutating func advance(to now: MediaTime) {}

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
