import ClientEngine
import MediaWire

/// Two client transports that face each other over a link in virtual time: a publisher, and a subscriber that receives its
/// streams. The link delays, loses, doubles and reorders by a seed.
final class VirtualPair {
    struct Link {
        /// Of 1000 datagrams.
        var lost = 0
        var doubled = 0
        /// Of 1000; these come `reorderDelay` later.
        var reordered = 0
        var delay = MediaDuration.milliseconds(5)
        var reorderDelay = MediaDuration.milliseconds(6)
    }

    private struct Flight {
        var due: MediaTime
        var order: Int
        var toPublisher: Bool
        var bytes: [UInt8]
    }

    /// A packet as the subscriber's session would get it.
    struct Delivered: Equatable {
        var packet: ClientPacket
        var payload: [UInt8]
    }

    static let publisherID = 0
    static let subscriberID = 1

    var publisher: ClientTransport
    var subscriber: ClientTransport
    /// What the subscriber seals with.
    let subscriberKey: SRTPMasterKey
    private let publisherKey: SRTPMasterKey
    var outbox = ClientOutbox(capacity: 4096)
    var link: Link
    var now = MediaTime.zero
    private(set) var delivered: [Delivered] = []
    private(set) var keyFrameRequests: [UInt64] = []
    /// Every RTCP datagram that came to the publisher, still sealed.
    private(set) var controlToPublisher: [[UInt8]] = []
    private var flights: [Flight] = []
    private var order = 0
    private var random: SeededRandom

    init?(
        profile: SRTPProfile = .aeadAES128GCM, codecs: [Codec] = [.vp8], first: UInt16 = 1000, link: Link = Link(),
        seed: UInt64
    ) {
        random = SeededRandom(seed: seed)
        guard let up = SRTPMasterKey.random(profile: profile, using: &random),
            let down = SRTPMasterKey.random(profile: profile, using: &random)
        else { return nil }
        let remote = TransportAddress(ipv4: 0x7F00_0001, port: 9)
        let sending = codecs.enumerated().map { index, codec in
            OutboundStreamSettings(
                ssrc: 100 + UInt32(index), payloadType: 96 + UInt8(index), codec: codec, firstSequenceNumber: first)
        }
        let receiving = codecs.enumerated().map { InboundStreamSettings(ssrc: 100 + UInt32($0), codec: $1) }
        guard
            let publisher = ClientTransport(
                ClientTransport.Configuration(
                    remote: remote, sendKey: up, receiveKey: down, sending: sending, reporterSSRC: 7, cname: "pub"),
                id: Self.publisherID, now: .zero),
            let subscriber = ClientTransport(
                ClientTransport.Configuration(
                    remote: remote, sendKey: down, receiveKey: up, receiving: receiving, reporterSSRC: 8, cname: "sub"),
                id: Self.subscriberID, now: .zero)
        else { return nil }
        self.publisher = publisher
        self.subscriber = subscriber
        self.link = link
        subscriberKey = down
        publisherKey = up
    }

    /// The publisher begins anew: the same keys and SSRC, another number.
    func renumber(first: UInt16) -> Bool {
        let settings = OutboundStreamSettings(ssrc: 100, payloadType: 96, codec: .vp8, firstSequenceNumber: first)
        let remote = TransportAddress(ipv4: 0x7F00_0001, port: 9)
        guard
            let again = ClientTransport(
                ClientTransport.Configuration(
                    remote: remote, sendKey: publisherKey, receiveKey: subscriberKey, sending: [settings],
                    reporterSSRC: 7, cname: "pub"),
                id: Self.publisherID, now: now)
        else { return false }
        publisher = again
        return true
    }

    func send(_ payload: [UInt8], stream: Int = 0, timestamp: UInt32, marker: Bool = false) {
        publisher.send(payload, stream: stream, timestamp: timestamp, marker: marker, now: now, into: &outbox)
    }

    /// Goes on by so much, in steps of a millisecond.
    func run(_ duration: MediaDuration) {
        let end = now + duration
        while now < end {
            depart()
            now = now + .milliseconds(1)
            arrive()
            if publisher.nextDeadline <= now { publisher.advance(to: now, wallTime: wallTime, into: &outbox) }
            if subscriber.nextDeadline <= now {
                subscriber.advance(to: now, wallTime: wallTime, into: &outbox)
                for stream in 0..<subscriber.receivedStreamCount { takeOrdered(stream) }
            }
        }
    }

    /// An origin that no test may mistake for the monotonic one.
    var wallTime: Int64 { now.nanoseconds + 1_700_000_000_000_000_000 }

    /// Hands the subscriber a datagram as it is.
    func inject(_ datagram: [UInt8]) -> ClientTransport.Arrival {
        var bytes = datagram
        return bytes.withUnsafeMutableBytes { subscriber.receive($0, now: now, into: &outbox) }
    }

    /// Seals what waits and gives it to the caller instead of the link.
    func takeDatagrams() -> [[UInt8]] {
        outbox.seal()
        let datagrams = (0..<outbox.count).map { [UInt8](outbox.datagram($0)) }
        outbox.clear()
        return datagrams
    }

    private func depart() {
        outbox.seal()
        for index in 0..<outbox.count {
            let bytes = [UInt8](outbox.datagram(index))
            let toPublisher = outbox[index].client == Self.subscriberID
            for _ in 0..<(hits(link.doubled) ? 2 : 1) where !hits(link.lost) {
                var due = now + link.delay
                if hits(link.reordered) { due = due + link.reorderDelay }
                order += 1
                flights.append(Flight(due: due, order: order, toPublisher: toPublisher, bytes: bytes))
            }
        }
        outbox.clear()
    }

    private func hits(_ share: Int) -> Bool { share > 0 && Int(random.next() % 1000) < share }

    private func arrive() {
        let due = flights.filter { $0.due <= now }.sorted { ($0.due, $0.order) < ($1.due, $1.order) }
        flights.removeAll { $0.due <= now }
        for flight in due {
            var bytes = flight.bytes
            if flight.toPublisher {
                controlToPublisher.append(bytes)
                _ = bytes.withUnsafeMutableBytes { publisher.receive($0, now: now, into: &outbox) }
                let wanted = publisher.takeKeyFrameRequests()
                if wanted != 0 { keyFrameRequests.append(wanted) }
                continue
            }
            let arrival = bytes.withUnsafeMutableBytes { subscriber.receive($0, now: now, into: &outbox) }
            guard case .media(let packet, let payload) = arrival else { continue }
            delivered.append(Delivered(packet: packet, payload: Array(bytes[payload])))
            takeOrdered(packet.stream)
        }
    }

    private func takeOrdered(_ stream: Int) {
        while let held = subscriber.takeOrdered(stream: stream, now: now) {
            delivered.append(Delivered(packet: held.packet, payload: held.payload))
        }
    }
}
