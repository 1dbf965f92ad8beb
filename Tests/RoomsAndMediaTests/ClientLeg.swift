import MediaContract
import MediaTestKit
import MediaTransport
import MediaWire
import RoomControl

/// A client's leg: the peer in the network, and beside it what the test knows of it and checks on the wire.
final class ClientLeg {
    /// One stream that a sending leg publishes.
    struct Outgoing {
        let codec: Codec
        let ssrc: UInt32
        let payloadType: UInt8
        var index: UInt64
        var timestamp: UInt32
        var sinceKeyFrame: Int
        var requestsSeen = 0
    }

    /// What a receiving leg is subscribed to under one SSRC, by the commands.
    struct Feed {
        let subscription: SubscriptionID
        let track: TrackID
    }

    /// Every datagram that ever left under one SSRC of the leg's key.
    struct Stream {
        let ssrc: UInt32
        var highest: Int64
        /// Packet index to the hash of the whole datagram.
        var hashes: [Int64: Int] = [:]
        /// Since the last look.
        var fresh = 0
    }

    let serial: UInt32
    let key: RoomKey
    let instance: RoomInstance
    let user: String
    let kind: LegKind
    let peer: VirtualPeer
    let picks: [LegPick]
    /// Opens on the wire what leaves for this leg, before the network loses any of it.
    var opener: SRTPOpener
    var id: LegID?
    var transport: TransportID?

    // What the control plane has said so far
    /// The worker has been told that the leg is over: no more media, at most the goodbye.
    var hasEnded = false
    /// The removal's ticket has come back: nothing at all any more.
    var isRemoved = false
    var feeds: [UInt32: Feed] = [:]
    /// Of the tracks it publishes.
    var publicIDs: [String] = []
    var tracks: [TrackID] = []

    // What it does
    var outgoing: [Outgoing] = []
    var isMute = false
    /// Rounds for which it goes on sending after its end.
    var afterlife = 3

    // What left for it
    var media: [Stream] = []
    var control: [Stream] = []
    /// Datagrams that left a second time, each the same bytes.
    var repeats = 0

    init?(
        serial: UInt32, key: RoomKey, instance: RoomInstance, user: String, kind: LegKind, peer: VirtualPeer,
        picks: [LegPick]
    ) {
        guard let opener = SRTPOpener(key: peer.spec.outbound, maximumSSRCs: 64) else { return nil }
        self.serial = serial
        self.key = key
        self.instance = instance
        self.user = user
        self.kind = kind
        self.peer = peer
        self.picks = picks
        self.opener = opener
    }

    /// Publishes the next packet of each stream; a key frame when one was asked for.
    func publish(_ network: VirtualNetwork, keyFrameEvery: Int) {
        for line in outgoing.indices {
            var keyFrame = false
            if outgoing[line].codec == .vp8 {
                let requests = peer.pictureLossIndications.count
                keyFrame =
                    outgoing[line].sinceKeyFrame >= keyFrameEvery || requests > outgoing[line].requestsSeen
                outgoing[line].requestsSeen = requests
                outgoing[line].sinceKeyFrame = keyFrame ? 0 : outgoing[line].sinceKeyFrame + 1
            }
            send(network, line, keyFrame: keyFrame, startsFrame: true)
            if keyFrame { send(network, line, keyFrame: true, startsFrame: false) }
            outgoing[line].timestamp &+= outgoing[line].codec == .vp8 ? 1800 : 960
        }
    }

    private func send(_ network: VirtualNetwork, _ line: Int, keyFrame: Bool, startsFrame: Bool) {
        let stream = outgoing[line]
        let label = PayloadLabel(
            room: key, instance: instance.rawValue, leg: serial, line: UInt8(line),
            index: UInt32(truncatingIfNeeded: stream.index))
        peer.publish(
            network, ssrc: stream.ssrc, index: stream.index, timestamp: stream.timestamp,
            payloadType: stream.payloadType, marker: !keyFrame || !startsFrame,
            payload: label.payload(codec: stream.codec, keyFrame: keyFrame, startsFrame: startsFrame))
        outgoing[line].index += 1
    }
}

/// What every payload says of itself: where it is from.
struct PayloadLabel: Equatable {
    var room: RoomKey
    var instance: UInt32
    var leg: UInt32
    var line: UInt8
    var index: UInt32

    /// Before it: a VP8 descriptor with the start of a frame (RFC 7741, section 4.2 and 4.3), or the TOC byte of Opus.
    static let offset = 8

    func payload(codec: Codec, keyFrame: Bool, startsFrame: Bool) -> [UInt8] {
        var bytes: [UInt8] =
            codec == .vp8
            ? [startsFrame ? 0x10 : 0, keyFrame ? 0x10 : 0x11, 0, 0, 0x9D, 0x01, 0x2A, 0]
            : [0xFC, 0, 0, 0, 0, 0, 0, 0]
        bytes.append(contentsOf: room.app.utf8.prefix(1))
        bytes.append(line)
        for number in [UInt32(room.room.dropFirst()) ?? .max, instance, leg, index] {
            for shift in [24, 16, 8, 0] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
        }
        // Not all of one length, so that messages break where runs do.
        bytes.append(contentsOf: repeatElement(UInt8(truncatingIfNeeded: leg), count: Int(index % 5) * 4))
        return bytes
    }

    init(room: RoomKey, instance: UInt32, leg: UInt32, line: UInt8, index: UInt32) {
        self.room = room
        self.instance = instance
        self.leg = leg
        self.line = line
        self.index = index
    }

    init?(payload: UnsafeRawBufferPointer) {
        guard payload.count >= Self.offset + 18 else { return nil }
        func number(_ n: Int) -> UInt32 {
            UInt32(bigEndian: payload.loadUnaligned(fromByteOffset: Self.offset + 2 + n * 4, as: UInt32.self))
        }
        room = RoomKey(app: payload[Self.offset] == UInt8(ascii: "a") ? "a" : "b", room: "r\(number(0))")
        line = payload[Self.offset + 1]
        instance = number(1)
        leg = number(2)
        index = number(3)
    }
}
