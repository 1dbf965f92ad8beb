import ClientEngine
import MediaContract
import MediaSwitch
import MediaTestKit
import MediaTransport
import MediaWire

/// A client transport at an address of the virtual network, whose other end is a real switchboard.
final class VirtualClient: VirtualReceiver {
    /// A packet as a session would get it.
    struct Delivered: Equatable {
        var stream: Int
        var sequence: Int64
        var timestamp: UInt32
        var payload: [UInt8]
    }

    let transport: TransportID
    let peer: PeerID
    let address: TransportAddress
    let nodeRole: DTLSRole
    private(set) var credentials: ICECredentials
    var client: ClientTransport
    var outbox = ClientOutbox(capacity: 1024)
    private(set) var delivered: [Delivered] = []
    private(set) var keyFrameRequests: [UInt64] = []
    private(set) var states: [ClientConnectionState] = []
    /// Nothing leaves, nothing arrives; but for the stream.
    var isCut = false
    /// As if a TCP connection stood: the node knows its datagrams by another address.
    private(set) var streamEnd: StreamEnd?
    private(set) var dials: [MediaTime] = []
    private(set) var retirements: [MediaTime] = []
    /// In bit/s.
    private(set) var sendRates: [Double] = []
    private var random: SeededRandom

    /// Where the virtual network's node is, as its datagrams say.
    static let node = TransportAddress(
        ipv4: 0x7F00_0001, port: UInt16(truncatingIfNeeded: SocketID.sharedIPv4.rawValue))
    static let path = ICEPath(socket: 0, address: node)
    static let streamPath = ICEPath(socket: 1, address: node)
    static let candidate = ClientConnectionSpec.StreamCandidate(node, priority: 50)
    private static let certificate = VirtualBrowser.browserCertificate

    init?(
        number: UInt64, nodeRole: DTLSRole, network: VirtualNetwork, seed: UInt64, room: UInt64 = 1,
        nodeFingerprint: DTLSFingerprint = VirtualBrowser.fingerprint(VirtualBrowser.nodeCertificate),
        streams: [ClientConnectionSpec.StreamCandidate] = []
    ) {
        transport = TransportID(number)
        peer = PeerID(number)
        address = TransportAddress(ipv4: 0x0A00_0000 + UInt32(number), port: 40_000)
        self.nodeRole = nodeRole
        random = SeededRandom(seed: seed &+ number)
        credentials = ICECredentials(using: &random)
        guard let context = DTLSContext(certificate: Self.certificate) else { return nil }
        var spec = ClientConnectionSpec(
            context: context, role: nodeRole == .client ? .server : .client, fingerprints: [nodeFingerprint],
            localFragment: "me", remote: credentials, paths: [ClientConnectionSpec.Path(Self.path, priority: 100)],
            seed: seed &+ number)
        spec.streams = streams
        guard
            let client = ClientTransport(
                ClientTransport.Configuration(
                    connection: spec, reporterSSRC: UInt32(truncatingIfNeeded: number), cname: "client"),
                id: 0, now: network.now)
        else { return nil }
        self.client = client
        network.apply(.addPeer(peer, isolation: IsolationKey(room)))
        network.apply(
            .addWebRTCTransport(
                WebRTCTransportSpec(
                    id: transport, peer: peer, credentials: credentials, role: nodeRole,
                    fingerprints: [VirtualBrowser.fingerprint(Self.certificate)], localSSRC: 0x5000, cname: "node")))
        network.attach(self, at: address)
    }

    var state: ClientConnectionState { client.state }
    var statistics: ClientStatistics { client.statistics }
    var sending: [SendingStatistics] { client.sending }
    var reception: [ReceptionStatistics] { client.reception }
    var connectionTimes: ClientConnectionTimes? { client.connectionTimes }
    var roundTrip: MediaDuration? { client.roundTrip }
    var canSend: Bool { client.canSend }

    /// Has the node's feedback judged; `sendRates` gets what comes of it.
    func watchSendRate() { client.watchSendRate() }

    func addSending(_ settings: OutboundStreamSettings) -> Int? { client.addSending(settings) }
    func removeSending(_ stream: Int) { client.removeSending(stream, into: &outbox) }
    func removeReceiving(_ stream: Int) { client.removeReceiving(stream) }

    /// New credentials on both sides, as after a restart by signalling.
    func restart(_ network: VirtualNetwork) {
        credentials = ICECredentials(using: &random)
        network.apply(.restartICE(transport, credentials))
        client.restartICE(localFragment: "me", remote: credentials, now: network.now, into: &outbox)
        depart(network)
    }

    func send(_ payload: [UInt8], stream: Int, timestamp: UInt32, marker: Bool = true, _ network: VirtualNetwork) {
        client.send(payload, stream: stream, timestamp: timestamp, marker: marker, now: network.now, into: &outbox)
        depart(network)
    }

    func requestKeyFrame(stream: Int, _ network: VirtualNetwork) {
        client.requestKeyFrame(stream: stream, now: network.now, into: &outbox)
        depart(network)
    }

    /// What time brings.
    func tick(_ network: VirtualNetwork) {
        if client.nextDeadline <= network.now {
            client.advance(
                to: network.now, wallTime: network.now.nanoseconds + 1_700_000_000_000_000_000, into: &outbox)
            for stream in 0..<client.receivedStreamCount { takeOrdered(stream, network) }
        }
        if client.streamDeadline <= network.now {
            switch client.takeStreamStep(now: network.now) {
            case .none: break
            case .dial:
                dials.append(network.now)
                openStream(network)
            case .retire:
                retirements.append(network.now)
                breakStream(network)
            }
        }
        settle()
        depart(network)
    }

    private func openStream(_ network: VirtualNetwork) {
        guard streamEnd == nil else { return }
        let port = UInt16(50_000 + dials.count)
        let end = StreamEnd(self, TransportAddress(ipv4: 0x0A00_0000 + UInt32(transport.rawValue), port: port))
        streamEnd = end
        network.attach(end, at: end.address)
        client.add(
            stream: ClientConnectionSpec.Path(Self.streamPath, priority: Self.candidate.priority), now: network.now,
            into: &outbox)
    }

    /// The stream closes.
    func breakStream(_ network: VirtualNetwork) {
        streamEnd = nil
        client.remove(socket: Self.streamPath.socket, now: network.now, into: &outbox)
        settle()
        depart(network)
    }

    func receive(_ datagram: [UInt8], from source: TransportAddress, network: VirtualNetwork) {
        guard !isCut else { return }
        _ = handIn(datagram, from: ICEPath(socket: 0, address: source), network)
        depart(network)
    }

    func receiveOverStream(_ datagram: [UInt8], _ network: VirtualNetwork) {
        _ = handIn(datagram, from: Self.streamPath, network)
        depart(network)
    }

    /// Hands it a datagram as if it had come from there.
    func handIn(_ datagram: [UInt8], from source: ICEPath, _ network: VirtualNetwork) -> ClientTransport.Arrival {
        var bytes = datagram
        let arrival = bytes.withUnsafeMutableBytes {
            client.receive($0, from: source, now: network.now, into: &outbox)
        }
        switch arrival {
        case .media(let packet, let payload):
            deliver(packet, Array(bytes[payload]))
            takeOrdered(packet.stream, network)
        case .notInOrder: for stream in 0..<client.receivedStreamCount { takeOrdered(stream, network) }
        case .late, .control, .connection, .dropped: break
        }
        let wanted = client.takeKeyFrameRequests()
        if wanted != 0 { keyFrameRequests.append(wanted) }
        if let rate = client.takeSendRate() { sendRates.append(rate) }
        settle()
        return arrival
    }

    private func settle() {
        if let state = client.takeStateChange() { states.append(state) }
    }

    private func takeOrdered(_ stream: Int, _ network: VirtualNetwork) {
        while let held = client.takeOrdered(stream: stream, now: network.now) { deliver(held.packet, held.payload) }
    }

    private func deliver(_ packet: ClientPacket, _ payload: [UInt8]) {
        delivered.append(
            Delivered(
                stream: packet.stream, sequence: packet.sequence, timestamp: packet.timestamp, payload: payload))
    }

    private func depart(_ network: VirtualNetwork) {
        outbox.seal()
        for index in 0..<outbox.count {
            if outbox[index].path.socket == 0 {
                if !isCut { network.send(Array(outbox.datagram(index)), from: address, to: .sharedIPv4) }
            } else if let streamEnd {
                network.send(Array(outbox.datagram(index)), from: streamEnd.address, to: .sharedIPv4)
            }
        }
        outbox.clear()
    }
}

/// The client's end of what stands for a TCP connection.
final class StreamEnd: VirtualReceiver {
    let address: TransportAddress
    private weak var owner: VirtualClient?

    init(_ owner: VirtualClient, _ address: TransportAddress) {
        self.owner = owner
        self.address = address
    }

    func receive(_ datagram: [UInt8], from source: TransportAddress, network: VirtualNetwork) {
        guard let owner, owner.streamEnd === self else { return }
        owner.receiveOverStream(datagram, network)
    }
}

/// Publishers and subscribers that are client transports, around a switchboard.
struct VirtualRoom {
    let network: VirtualNetwork
    var clients: [VirtualClient] = []
    let seed: UInt64

    init(seed: UInt64) {
        self.seed = seed
        network = VirtualNetwork(seed: seed, configuration: VirtualBrowser.configuration())
    }

    mutating func client(
        _ nodeRole: DTLSRole, streams: [ClientConnectionSpec.StreamCandidate] = []
    ) -> VirtualClient? {
        let client = VirtualClient(
            number: UInt64(clients.count + 1), nodeRole: nodeRole, network: network, seed: seed, streams: streams)
        if let client { clients.append(client) }
        return client
    }

    /// Goes on by so much, in steps of a millisecond.
    func run(_ duration: MediaDuration) {
        let end = network.now + duration
        while network.now < end {
            for client in clients { client.tick(network) }
            network.run(for: .milliseconds(1))
        }
    }

    /// Until the condition holds; false: it does not within the time.
    func run(within limit: MediaDuration, until condition: () -> Bool) -> Bool {
        let end = network.now + limit
        while !condition() {
            guard network.now < end else { return false }
            run(.milliseconds(1))
        }
        return true
    }

    static let extensions = OutboundStreamSettings.Extensions(mid: 4, rid: 10, repairedRID: 11, transportCC: 3)
    static let mappings = [
        HeaderExtensionMapping(id: 4, kind: .mid), HeaderExtensionMapping(id: 10, kind: .rid),
        HeaderExtensionMapping(id: 11, kind: .repairedRid), HeaderExtensionMapping(id: 3, kind: .transportWideCC),
    ]
    static let feedback: FeedbackSet = [.nack, .pli, .fir, .transportCC, .remb]

    /// A stream of the publisher's, as its client sends it.
    static func settings(ssrc: UInt32, rid: String? = nil, hasRepair: Bool = true) -> OutboundStreamSettings {
        var settings = OutboundStreamSettings(ssrc: ssrc, payloadType: 96, codec: .vp8, firstSequenceNumber: 65_500)
        if hasRepair { settings.repair = OutboundStreamSettings.Repair(ssrc: ssrc + 1, payloadType: 97) }
        settings.mid = "2"
        settings.rid = rid
        settings.extensions = extensions
        return settings
    }

    /// The same to the switchboard.
    func publish(
        _ publisher: VirtualClient, track: UInt64, encodings: [EncodingSpec],
        feedback: FeedbackSet = VirtualRoom.feedback
    ) {
        network.apply(
            .addTrack(
                TrackSpec(
                    id: TrackID(track), transport: publisher.transport, codec: .vp8, payloadType: 96,
                    rtxPayloadType: 97, encodings: encodings, mid: "2", extensions: Self.mappings,
                    feedback: feedback)))
    }

    func subscribe(
        _ subscriber: VirtualClient, track: UInt64, id: UInt64, ssrc: UInt32, hasRepair: Bool = true,
        layer: LayerPreference = .high
    ) -> Int? {
        network.apply(
            .subscribe(
                SubscriptionSpec(
                    id: SubscriptionID(id), track: TrackID(track), transport: subscriber.transport, ssrc: ssrc,
                    payloadType: 96, rtx: hasRepair ? .init(ssrc: ssrc + 1, payloadType: 97) : nil,
                    firstSequence: 500, timestampOffset: 0x1000, feedback: Self.feedback, layer: layer)))
        return subscriber.client.addReceiving(
            InboundStreamSettings(
                ssrc: ssrc, codec: .vp8, repair: hasRepair ? .init(ssrc: ssrc + 1, payloadType: 97) : nil))
    }

    /// A VP8 frame of one packet: its number stands in its last four bytes.
    static func frame(_ number: Int, isKey: Bool) -> [UInt8] {
        let id = UInt16(truncatingIfNeeded: number) & 0x7FFF | 0x8000
        let counter = UInt32(truncatingIfNeeded: number)
        return [0x90, 0x80, UInt8(id >> 8), UInt8(truncatingIfNeeded: id), isKey ? 0x10 : 0x11, 0, 0]
            + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: counter >> $0) }
    }

    static func number(_ payload: [UInt8]) -> Int { payload.suffix(4).reduce(0) { $0 << 8 | Int($1) } }
}
