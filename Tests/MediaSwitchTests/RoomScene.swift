import MediaContract
import MediaSwitch
import MediaTestKit
import MediaWire

/// A virtual network with named rooms, publishers and subscribers, so that a test reads as what happens.
final class RoomScene {
    let network: VirtualNetwork
    let seed: UInt64
    private var nextNumber: UInt64 = 100

    struct Publisher {
        let peer: VirtualPeer
        let peerID: PeerID
        let track: TrackID
        let ssrc: UInt32
        let payloadType: UInt8
        var index: UInt64
        var timestamp: UInt32 = 1000
    }

    struct Subscriber {
        let peer: VirtualPeer
        let peerID: PeerID
        let subscription: SubscriptionID
        let ssrc: UInt32
        let firstSequence: UInt16
        let timestampOffset: UInt32
    }

    init(seed: UInt64, configuration: Switchboard.Configuration = .init()) {
        self.seed = seed
        network = VirtualNetwork(seed: seed, configuration: configuration)
    }

    func number() -> UInt64 {
        nextNumber += 1
        return nextNumber
    }

    func address() -> TransportAddress {
        let n = UInt32(truncatingIfNeeded: number())
        return TransportAddress(ipv4: 0x0A00_0000 + n / 50_000, port: UInt16(10_000 + n % 50_000))
    }

    func publisher(
        room: UInt64, codec: Codec = .vp8, payloadType: UInt8 = 96, ssrc: UInt32 = 0x1111_1111,
        firstIndex: UInt64 = 1000,
        profile: SRTPProfile = .aeadAES128GCM, feedback: FeedbackSet = .all, mid: String? = nil,
        extensions: [HeaderExtensionMapping] = [], silenceLimit: MediaDuration? = nil
    ) -> Publisher {
        let peerID = PeerID(number())
        let transport = TransportID(number())
        let track = TrackID(number())
        let peer = VirtualPeer(
            transport: transport, peer: peerID, address: address(), socket: SocketID(number()), isPublishing: true,
            profile: profile, seed: seed, silenceLimit: silenceLimit)
        network.attach(peer)
        network.apply(.addPeer(peerID, isolation: IsolationKey(room)))
        network.apply(.addTransport(peer.spec))
        network.apply(
            .addTrack(
                TrackSpec(
                    id: track, transport: transport, codec: codec, payloadType: payloadType, mid: mid,
                    extensions: extensions,
                    feedback: feedback)))
        return Publisher(
            peer: peer, peerID: peerID, track: track, ssrc: ssrc, payloadType: payloadType, index: firstIndex)
    }

    func subscriber(
        room: UInt64, to track: TrackID, payloadType: UInt8 = 100, profile: SRTPProfile = .aeadAES128GCM,
        extensions: [HeaderExtensionMapping] = [], allowsMixedExtensions: Bool = false, mid: String? = nil,
        firstSequence: UInt16? = nil
    ) -> Subscriber {
        let peerID = PeerID(number())
        let transport = TransportID(number())
        let peer = VirtualPeer(
            transport: transport, peer: peerID, address: address(), socket: SocketID(number()), isPublishing: false,
            profile: profile, seed: seed)
        network.attach(peer)
        network.apply(.addPeer(peerID, isolation: IsolationKey(room)))
        network.apply(.addTransport(peer.spec))
        return subscribe(
            peer, peerID, to: track, payloadType: payloadType, extensions: extensions,
            allowsMixedExtensions: allowsMixedExtensions, mid: mid, firstSequence: firstSequence)
    }

    func subscribe(
        _ peer: VirtualPeer, _ peerID: PeerID, to track: TrackID, payloadType: UInt8 = 100,
        extensions: [HeaderExtensionMapping] = [], allowsMixedExtensions: Bool = false, mid: String? = nil,
        firstSequence: UInt16? = nil, ssrc: UInt32? = nil
    ) -> Subscriber {
        let subscription = SubscriptionID(number())
        let first = firstSequence ?? UInt16.random(in: 0...32767, using: &network.random)
        let offset = UInt32.random(in: 0...UInt32.max, using: &network.random)
        let ssrc = ssrc ?? UInt32(truncatingIfNeeded: 0x5000_0000 + number())
        network.apply(
            .subscribe(
                SubscriptionSpec(
                    id: subscription, track: track, transport: peer.spec.id, ssrc: ssrc, payloadType: payloadType,
                    firstSequence: first, timestampOffset: offset, extensions: extensions,
                    allowsMixedExtensions: allowsMixedExtensions, mid: mid, feedback: .all)))
        return Subscriber(
            peer: peer, peerID: peerID, subscription: subscription, ssrc: ssrc, firstSequence: first,
            timestampOffset: offset)
    }

    /// One packet of a VP8 frame, or of speech: its payload carries the index, so that a receiver knows which it got.
    static func payload(codec: Codec = .vp8, index: UInt64, keyFrame: Bool, size: Int = 40) -> [UInt8] {
        // VP8 descriptor with S set, then the frame tag whose lowest bit is 0 in key frames (RFC 7741, section 4.2 and 4.3).
        var bytes: [UInt8] = codec == .vp8 ? [0x10, keyFrame ? 0x10 : 0x11, 0, 0, 0x9D, 0x01, 0x2A] : [0xFC]
        bytes += (0..<8).map { UInt8(truncatingIfNeeded: index >> (56 - 8 * UInt64($0))) }
        bytes += [UInt8](repeating: UInt8(truncatingIfNeeded: index &* 31), count: max(0, size - bytes.count))
        return bytes
    }

    /// The index that `payload` carries.
    static func index(of payload: [UInt8], codec: Codec = .vp8) -> UInt64? {
        let start = codec == .vp8 ? 7 : 1
        guard payload.count >= start + 8 else { return nil }
        return payload[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Publishes the next packet.
    func publish(
        _ publisher: inout Publisher, codec: Codec = .vp8, keyFrame: Bool = false, size: Int = 40, step: UInt32 = 3000,
        extensions: [(id: UInt8, bytes: [UInt8])] = [], padding: UInt8 = 0, paddingOnly: Bool = false
    ) {
        publisher.peer.publish(
            network, ssrc: publisher.ssrc, index: publisher.index, timestamp: publisher.timestamp,
            payloadType: publisher.payloadType, marker: true,
            payload: paddingOnly
                ? [] : Self.payload(codec: codec, index: publisher.index, keyFrame: keyFrame, size: size),
            extensions: extensions, padding: padding)
        publisher.index += 1
        publisher.timestamp &+= step
    }
}
