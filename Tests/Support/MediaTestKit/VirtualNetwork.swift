package import MediaContract
package import MediaSwitch
package import MediaWire

/// What a link does to datagrams.
package struct LinkConditions: Sendable {
    /// 0...1
    package var loss = 0.0
    package var delay = MediaDuration.milliseconds(5)
    /// Added at random: what overtakes is reordered.
    package var jitter = MediaDuration.zero
    /// 0...1
    package var duplication = 0.0
    package init() {}

    package static let perfect = LinkConditions()
}

/// What stands at an address of the virtual network.
package protocol VirtualReceiver: AnyObject {
    func receive(_ datagram: [UInt8], from source: TransportAddress, network: VirtualNetwork)
}

/// A switchboard and peers around it, in virtual time: no thread, no socket, no clock. Time jumps to the next thing that happens.
package final class VirtualNetwork {
    private struct Delivery {
        var time: MediaTime
        var order: UInt64
        /// To the switchboard if set, else to the peer at `destination`.
        var socket: SocketID?
        var source: TransportAddress
        var destination: TransportAddress
        var bytes: [UInt8]
    }

    package var switchboard: Switchboard
    package private(set) var now = MediaTime(nanoseconds: 1_000_000_000)
    /// From peers to the switchboard, and back.
    package var uplink = LinkConditions.perfect
    package var downlink = LinkConditions.perfect
    package private(set) var events: [MediaEvent] = []
    package private(set) var closedSockets: [SocketID] = []
    /// Every datagram that left the switchboard, if set: (time, socket, destination, bytes).
    package var tap: ((MediaTime, SocketID, TransportAddress, UnsafeRawBufferPointer) -> Void)?
    /// What the "kernel" answers to each message; for tests of full sockets.
    package var sendOutcome: ((OutboundMessage) -> SendOutcome)?
    /// Of each datagram, whether the queue of its connection takes it, if set: messages may be taken in part.
    package var takes: ((UnsafeRawBufferPointer) -> Bool)?
    package var random: SeededRandom
    private var heap: [Delivery] = []
    private var order: UInt64 = 0
    private var peers: [TransportAddress: any VirtualReceiver] = [:]

    package init(seed: UInt64, configuration: Switchboard.Configuration = .init()) {
        random = SeededRandom(seed: seed)
        switchboard = Switchboard(configuration: configuration, seed: seed, now: now)
    }

    // MARK: Driving

    package func attach(_ peer: VirtualPeer) { peers[peer.address] = peer }
    package func detach(_ peer: VirtualPeer) { peers[peer.address] = nil }
    package func attach(_ receiver: any VirtualReceiver, at address: TransportAddress) { peers[address] = receiver }
    package func detach(_ address: TransportAddress) { peers[address] = nil }

    package func apply(_ command: MediaCommand) { switchboard.apply(command, now: now) }

    /// Applies a command and flushes, as a worker does before it looks at a batch.
    package func applyAndFlush(_ command: MediaCommand) {
        apply(command)
        flush()
    }

    /// A datagram from a peer, over the uplink.
    package func send(_ bytes: [UInt8], from source: TransportAddress, to socket: SocketID) {
        if random.chance(uplink.loss) { return }
        push(bytes, source: source, destination: .unspecified, socket: socket, conditions: uplink)
        if uplink.duplication > 0, random.chance(uplink.duplication) {
            push(bytes, source: source, destination: .unspecified, socket: socket, conditions: uplink)
        }
    }

    /// Hands datagrams to the switchboard at this very moment, as one batch.
    package func inject(_ datagrams: [(socket: SocketID, source: TransportAddress, bytes: [UInt8])]) {
        let storage = datagrams.map { datagram -> UnsafeMutableRawBufferPointer in
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(datagram.bytes.count, 1), alignment: 16)
            buffer.copyBytes(from: datagram.bytes)
            return UnsafeMutableRawBufferPointer(rebasing: buffer[..<datagram.bytes.count])
        }
        let batch = zip(datagrams, storage).map { InboundDatagram(socket: $0.socket, source: $0.source, bytes: $1) }
        batch.withUnsafeBufferPointer { batch in
            var cursor = 0
            var flushed = false
            while !switchboard.receive(batch, cursor: &cursor, flushed: flushed, now: now) {
                flush()
                flushed = true
            }
        }
        switchboard.advance(to: now)
        flush()
        for buffer in storage { buffer.baseAddress?.deallocate() }
    }

    /// Runs until nothing is left to happen before `end`, and sets the time to it.
    package func run(until end: MediaTime) {
        while true {
            let next = min(heap.first?.time ?? .distantFuture, switchboard.nextDeadline ?? .distantFuture)
            guard next <= end else { break }
            now = max(now, next)
            var batch: [(socket: SocketID, source: TransportAddress, bytes: [UInt8])] = []
            while let first = heap.first, first.time <= now {
                pop()
                if let socket = first.socket {
                    batch.append((socket, first.source, first.bytes))
                } else {
                    peers[first.destination]?.receive(first.bytes, from: first.source, network: self)
                }
            }
            inject(batch)
        }
        now = max(now, end)
    }

    package func run(for duration: MediaDuration) { run(until: now + duration) }

    package func flush() {
        switchboard.prepareFlush()
        for index in 0..<switchboard.outbox.messageCount {
            let message = switchboard.outbox.messages[index]
            if let takes {
                let segments = message.firstSegment..<message.firstSegment + message.segmentCount
                let taken = segments.map { takes(switchboard.outbox.segments[$0]) }
                deliver(message, where: { taken[$0 - message.firstSegment] })
                switchboard.complete(message: index, isTaken: { taken[$0 - message.firstSegment] })
                continue
            }
            let outcome = sendOutcome?(message) ?? .sent
            if outcome == .sent { deliver(message) }
            switchboard.complete(message: index, outcome)
        }
        switchboard.finishFlush()
        events += switchboard.takeEvents()
        closedSockets += switchboard.takeClosedSockets()
    }

    package func takeEvents() -> [MediaEvent] {
        defer { events = [] }
        return events
    }

    /// A snapshot of the figures, now.
    package func snapshot() -> MediaSnapshot {
        apply(.snapshot(0xFFFF))
        inject([])
        for event in events.reversed() { if case .snapshot(0xFFFF, let snapshot) = event { return snapshot } }
        preconditionFailure("the switchboard answers a snapshot at the next advance")
    }

    private func deliver(_ message: OutboundMessage, where isTaken: (Int) -> Bool = { _ in true }) {
        for segment in message.firstSegment..<message.firstSegment + message.segmentCount where isTaken(segment) {
            let bytes = switchboard.outbox.segments[segment]
            tap?(now, message.socket, message.destination, bytes)
            guard peers[message.destination] != nil, !random.chance(downlink.loss) else { continue }
            // The port of the source stands for the socket that sent.
            let source = TransportAddress(ipv4: 0x7F00_0001, port: UInt16(truncatingIfNeeded: message.socket.rawValue))
            push(Array(bytes), source: source, destination: message.destination, socket: nil, conditions: downlink)
        }
    }

    // MARK: The queue

    private func push(
        _ bytes: [UInt8], source: TransportAddress, destination: TransportAddress, socket: SocketID?,
        conditions: LinkConditions
    ) {
        var delay = conditions.delay
        if conditions.jitter > .zero {
            delay.nanoseconds += Int64.random(in: 0..<conditions.jitter.nanoseconds, using: &random)
        }
        order += 1
        heap.append(
            Delivery(
                time: now + delay, order: order, socket: socket, source: source, destination: destination, bytes: bytes)
        )
        var child = heap.count - 1
        while child > 0, Self.isBefore(heap[child], heap[(child - 1) / 2]) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private func pop() {
        let last = heap.removeLast()
        guard !heap.isEmpty else { return }
        heap[0] = last
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && Self.isBefore(heap[child], heap[least]) {
                least = child
            }
            if least == parent { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }

    private static func isBefore(_ a: Delivery, _ b: Delivery) -> Bool {
        a.time != b.time ? a.time < b.time : a.order < b.order
    }
}
