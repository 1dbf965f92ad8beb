import CAllocationCounter
import CCrypto
import CForwardingFloor
import CNet
import MediaContract
import MediaEngine
import MediaTransport
import MediaWire

/// Thread CPU time in nanoseconds.
@inline(__always) func cpuTime() -> Int64 { parlor_thread_cpu_time() }

/// The relay: a real worker with real sockets, driven a round at a time.
final class Ours {
    private var worker: SteppedWorker
    private var publisher: Publisher
    private let feeder: Feeder
    private let cell: Cell
    /// What the first destination opens with.
    let firstKey: SRTPMasterKey

    init(_ cell: Cell, _ sinks: [TransportAddress], outboxSlots: Int?) throws {
        var random = SeededRandom(seed: 7)
        var configuration = Engine.Configuration()
        configuration.mediaPort = 0
        configuration.collecting = .zero
        configuration.segmentation = cell.segmentation
        let feeder = try Feeder(segmentation: cell.segmentation)
        let scene = BenchScene(cell, source: feeder.address, sinks: sinks, &random)
        firstKey = scene.subscriberKeys[0]
        self.cell = cell
        self.feeder = feeder
        publisher = Publisher(cell, key: scene.publisherKey, ssrc: scene.ssrc)
        worker = try SteppedWorker(configuration, seed: 1, outboxSlots: outboxSlots)
        for command in scene.commands(codec: publisher.codec, payloadType: publisher.payloadType) {
            worker.post(command)
        }
        worker.round()
    }

    var sealingName: String { worker.sealingName }

    /// Turns that were not counted, of which some are allowed in a cell.
    private(set) var lostTurns: [String] = []

    /// CPU ns per copy over at least so many copies.
    func sample(copies: Int) throws -> Double {
        var cpu: Int64 = 0
        var done = 0
        while done < copies {
            do {
                let turn = try turn()
                cpu += turn.cpu
                done += turn.copies
            } catch let lost as LostTurn {
                lostTurns.append(lost.description)
                guard lostTurns.count <= 3 else { throw lost }
            }
        }
        return Double(cpu) / Double(done)
    }

    /// Heap allocations of one turn's rounds.
    func countAllocations() throws -> UInt64 {
        publisher.seal(Cell.batch)
        try feeder.send(publisher, to: worker.address)
        parlor_allocations_start()
        worker.round()
        return parlor_allocations_stop()
    }

    /// Feeds one batch, and runs rounds until all its copies have left. Returns the worker's CPU time.
    func turn() throws -> (cpu: Int64, copies: Int) {
        publisher.seal(Cell.batch)
        try feeder.send(publisher, to: worker.address)
        let before = worker.packetsOut
        let wanted = UInt64(Cell.batch * cell.fanOut)
        let start = cpuTime()
        var idle = 0
        worker.round()
        while worker.packetsOut &- before < wanted {
            let already = worker.packetsOut
            worker.round()
            idle = worker.packetsOut == already ? idle + 1 : 0
            // A round without a report or a packet lasts half a second.
            guard idle < 4 else {
                throw LostTurn(
                    description: "\(worker.packetsOut &- before) of \(wanted) copies left, \(worker.waiting) wait; "
                        + "drops: \(worker.drops)")
            }
        }
        return (cpuTime() - start, Int(wanted))
    }
}

/// The C floor, fed in the same way.
final class Floor {
    private let floor: OpaquePointer
    private let descriptor: Int32
    private let address: TransportAddress
    private var publisher: Publisher
    private let feeder: Feeder
    private let cell: Cell
    /// What the first destination opens with.
    let firstKey: SRTPMasterKey

    init(_ cell: Cell, _ sinks: [TransportAddress], slots: Int) throws {
        var random = SeededRandom(seed: 8)
        let key = random.key(cell.profile)
        self.cell = cell
        feeder = try Feeder(segmentation: cell.segmentation)
        publisher = Publisher(cell, key: key, ssrc: 0xF100)
        // The worker's own socket options.
        let configuration = Engine.Configuration()
        let (descriptor, address) = try Sinks.open(
            receiveBuffer: Int32(configuration.receiveBufferSize), sendBuffer: Int32(configuration.sendBufferSize),
            gro: true)
        self.descriptor = descriptor
        self.address = address
        guard let floor = Floor.create(cell, descriptor, key, slots: slots) else {
            throw BenchError("the floor found no memory")
        }
        self.floor = floor
        var keys: [SRTPMasterKey] = []
        for _ in 0..<cell.fanOut { keys.append(random.key(cell.profile)) }
        firstKey = keys[0]
        for place in 0..<cell.fanOut {
            guard Floor.add(place, to: sinks[place], floor, keys[place]) else {
                throw BenchError("the floor found no memory")
            }
        }
    }

    private static func create(_ cell: Cell, _ descriptor: Int32, _ key: SRTPMasterKey, slots: Int) -> OpaquePointer? {
        key.key.withUnsafeBufferPointer { bytes in
            key.salt.withUnsafeBufferPointer { salt in
                var setup = parlor_floor_setup(
                    descriptor: descriptor, profile: Int32(cell.profile.rawValue), backend: PARLOR_SRTP_AUTOMATIC,
                    key: bytes.baseAddress, salt: salt.baseAddress, batch: UInt32(Cell.batch), slots: UInt32(slots),
                    segmentation: cell.segmentation, message_bytes: UInt32(Cell.messageBytes))
                return parlor_floor_create(&setup)
            }
        }
    }

    private static func add(
        _ place: Int, to sink: TransportAddress, _ floor: OpaquePointer, _ key: SRTPMasterKey
    ) -> Bool {
        key.key.withUnsafeBufferPointer { bytes in
            key.salt.withUnsafeBufferPointer { salt in
                parlor_floor_add(
                    floor, bytes.baseAddress, salt.baseAddress, UInt32(place + 1), UInt16(place),
                    UInt32(truncatingIfNeeded: sink.low), sink.port)
            }
        }
    }

    deinit {
        parlor_floor_destroy(floor)
        parlor_close(descriptor)
    }

    /// Turns that were not counted, of which some are allowed in a cell.
    private(set) var lostTurns: [String] = []

    /// CPU ns per copy over at least so many copies.
    func sample(copies: Int) throws -> Double {
        var cpu: Int64 = 0
        var done = 0
        while done < copies {
            do {
                let turn = try turn()
                cpu += turn.cpu
                done += turn.copies
            } catch let lost as LostTurn {
                lostTurns.append(lost.description)
                guard lostTurns.count <= 3 else { throw lost }
            }
        }
        return Double(cpu) / Double(done)
    }

    func turn() throws -> (cpu: Int64, copies: Int) {
        publisher.seal(Cell.batch)
        try feeder.send(publisher, to: address)
        let wanted = Cell.batch * cell.fanOut
        let start = cpuTime()
        var copies = 0
        while copies < wanted {
            let result = parlor_floor_turn(floor)
            guard result > 0 else {
                throw LostTurn(description: "the floor stopped after \(copies) of \(wanted): \(result)")
            }
            copies += Int(result)
        }
        return (cpuTime() - start, copies)
    }
}

/// A turn in which not every copy left: the kernel lost a datagram, or refused a send for want of memory.
struct LostTurn: Error, CustomStringConvertible {
    let description: String
}

/// One publisher and its subscribers, as the control plane would set them up.
struct BenchScene {
    let cell: Cell
    let source: TransportAddress
    let sinks: [TransportAddress]
    let ssrc: UInt32 = 0xA11CE
    let publisherKey: SRTPMasterKey
    private let unusedKey: SRTPMasterKey
    let subscriberKeys: [SRTPMasterKey]

    init(_ cell: Cell, source: TransportAddress, sinks: [TransportAddress], _ random: inout SeededRandom) {
        self.cell = cell
        self.source = source
        self.sinks = sinks
        publisherKey = random.key(cell.profile)
        unusedKey = random.key(cell.profile)
        var keys: [SRTPMasterKey] = []
        for _ in 0..<cell.fanOut { keys.append(random.key(cell.profile)) }
        subscriberKeys = keys
    }

    func commands(codec: Codec, payloadType: UInt8) -> [MediaCommand] {
        let room = IsolationKey(1)
        var commands: [MediaCommand] = [
            .addPeer(PeerID(0), isolation: room),
            .addTransport(
                TransportSpec(
                    id: TransportID(0), peer: PeerID(0), socket: .sharedIPv4, rtcpSocket: .sharedIPv4,
                    inbound: publisherKey, outbound: unusedKey, remote: .known(rtp: source, rtcp: source), localSSRC: 1,
                    cname: "bench")),
            .addTrack(
                TrackSpec(
                    id: TrackID(0), transport: TransportID(0), codec: codec, payloadType: payloadType, ssrcs: [ssrc],
                    feedback: codec == .opus ? [] : .all)),
        ]
        for place in 0..<cell.fanOut {
            let number = UInt64(place + 1)
            commands.append(.addPeer(PeerID(number), isolation: room))
            commands.append(
                .addTransport(
                    TransportSpec(
                        id: TransportID(number), peer: PeerID(number), socket: .sharedIPv4, rtcpSocket: .sharedIPv4,
                        inbound: unusedKey, outbound: subscriberKeys[place],
                        remote: .known(rtp: sinks[place], rtcp: sinks[place]), localSSRC: 1, cname: "bench")))
            commands.append(
                .subscribe(
                    SubscriptionSpec(
                        id: SubscriptionID(number), track: TrackID(0), transport: TransportID(number),
                        ssrc: UInt32(number), payloadType: payloadType, firstSequence: UInt16(place),
                        timestampOffset: UInt32(truncatingIfNeeded: place &* 7919))))
        }
        return commands
    }
}
