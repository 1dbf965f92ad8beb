import MediaContract
import MediaSwitch
import MediaTransport
import MediaWire

/// The switchboard in memory: packets in, planned messages out, no kernel. The cost of opening is measured on other copies of
/// the same packets, that of sealing on the very slots that were just planned; what is left is our own code.
final class OwnCode {
    private let cell: Cell
    private var board: Switchboard
    private var publisher: Publisher
    private let source = TransportAddress(ipv4: 0x0A00_0001, port: 5000)
    private static let firstSink: UInt32 = 0x0B00_0000
    private var opener: SRTPOpener
    /// Keys as good as the subscribers' own, to seal again with.
    private let sealers: UnsafeMutablePointer<SRTPSealer>
    private var sealing: SRTPBatch
    private let spare: UnsafeMutableRawPointer
    private let datagrams: UnsafeMutableBufferPointer<InboundDatagram>
    private var now = MediaTime(nanoseconds: 1)
    /// What reading the clock twice takes.
    private let clockCost: Int64

    struct Times {
        var receive: Int64 = 0
        var prepare: Int64 = 0
        var complete: Int64 = 0
        var open: Int64 = 0
        var seal: Int64 = 0
        var copies = 0
    }

    init(_ cell: Cell) throws(BenchError) {
        var random = SeededRandom(seed: 9)
        self.cell = cell
        var configuration = Switchboard.Configuration()
        configuration.segmentation = cell.segmentation
        board = Switchboard(configuration: configuration, seed: 1, now: MediaTime(nanoseconds: 1))
        let sinks = (0..<cell.fanOut).map {
            TransportAddress(ipv4: OwnCode.firstSink + UInt32(truncatingIfNeeded: $0), port: 5000)
        }
        let scene = BenchScene(cell, source: source, sinks: sinks, &random)
        publisher = Publisher(cell, key: scene.publisherKey, ssrc: scene.ssrc)
        guard let opener = SRTPOpener(key: scene.publisherKey) else { throw BenchError("no memory for a key") }
        self.opener = opener
        sealing = SRTPBatch(capacity: configuration.outboxSlots)
        sealers = .allocate(capacity: cell.fanOut)
        for place in 0..<cell.fanOut {
            guard let sealer = SRTPSealer(key: scene.subscriberKeys[place]) else {
                throw BenchError("no memory for a key")
            }
            (sealers + place).initialize(to: sealer)
        }
        spare = .allocate(byteCount: Publisher.slotSize * Cell.batch, alignment: 64)
        datagrams = .allocate(capacity: Cell.batch)
        for place in 0..<Cell.batch {
            datagrams.initializeElement(
                at: place, to: InboundDatagram(socket: .sharedIPv4, source: source, bytes: publisher.packet(place)))
        }
        var least = Int64.max
        for _ in 0..<100 {
            let start = cpuTime()
            least = min(least, cpuTime() - start)
        }
        clockCost = least
        for command in scene.commands(codec: publisher.codec, payloadType: publisher.payloadType) {
            board.apply(command, now: now)
        }
    }

    deinit {
        sealers.deinitialize(count: cell.fanOut)
        sealers.deallocate()
        spare.deallocate()
        datagrams.deallocate()
    }

    func turn(_ times: inout Times) {
        publisher.seal(Cell.batch)
        spare.copyMemory(from: publisher.slots, byteCount: Publisher.slotSize * Cell.batch)
        var start = cpuTime()
        for place in 0..<Cell.batch {
            let bytes = UnsafeMutableRawBufferPointer(
                start: spare + place * Publisher.slotSize, count: publisher.sealedLength)
            var header = RTPHeader()
            _ = RTPHeader.parse(UnsafeRawBufferPointer(bytes).bytes, into: &header)
            _ = opener.openRTP(
                bytes, ssrc: header.ssrc, sequenceNumber: header.sequenceNumber, headerLength: header.headerLength)
        }
        times.open += cpuTime() - start - clockCost

        now = now + .microseconds(100)
        var cursor = 0
        var isDone = false
        var isFlushed = false
        while !isDone {
            start = cpuTime()
            isDone = board.receive(UnsafeBufferPointer(datagrams), cursor: &cursor, flushed: isFlushed, now: now)
            times.receive += cpuTime() - start - clockCost
            flush(&times)
            isFlushed = true
        }
        start = cpuTime()
        board.advance(to: now)
        times.receive += cpuTime() - start - clockCost
        _ = board.takeEvents()
    }

    private func flush(_ times: inout Times) {
        var start = cpuTime()
        board.prepareFlush()
        times.prepare += cpuTime() - start - clockCost
        sealAgain(&times)
        let count = board.outbox.messageCount
        start = cpuTime()
        for message in 0..<count { board.complete(message: message, .sent) }
        board.finishFlush()
        times.complete += cpuTime() - start - clockCost
    }

    private func sealAgain(_ times: inout Times) {
        let tag = cell.profile.tagLength
        for index in 0..<board.outbox.messageCount {
            let message = board.outbox.messages[index]
            let place = Int(message.destination.low) - Int(OwnCode.firstSink)
            guard place >= 0, place < cell.fanOut else { continue }
            for segment in message.firstSegment..<message.firstSegment + message.segmentCount {
                let bytes = board.outbox.segments[segment]
                guard let base = UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count >= cell.size else {
                    continue
                }
                sealing.append(
                    sealers[place], packet: base, length: bytes.count - tag, headerLength: RTPHeader.fixedLength,
                    ssrc: UInt32(place + 1), index: UInt64(segment))
                times.copies += 1
            }
        }
        let start = cpuTime()
        sealing.seal()
        times.seal += cpuTime() - start - clockCost
    }

    /// Medians over `samples` of about `copies`.
    func measure(samples: Int, copies: Int, cell name: String) -> Results.OwnCode {
        var all: [Times] = []
        for sample in 0...samples {
            var times = Times()
            while times.copies < copies { turn(&times) }
            if sample > 0 { all.append(times) }
        }
        func part(_ value: (Times) -> Int64) -> Double { median(all.map { Double(value($0)) / Double($0.copies) }) }
        return Results.OwnCode(
            cell: name, fanOut: cell.fanOut,
            own: part { $0.receive + $0.prepare + $0.complete - $0.open - $0.seal },
            receive: part { $0.receive - $0.open }, plan: part { $0.prepare - $0.seal }, complete: part { $0.complete },
            crypto: part { $0.open + $0.seal })
    }
}
