package import MediaWire

/// One received RTP packet, as a session sees it: opened, its payload beside it.
package struct ClientPacket: Sendable, Equatable {
    /// Which of the transport's received streams.
    package var stream: Int
    /// Extended: it does not wrap.
    package var sequence: Int64
    package var timestamp: UInt32
    package var marker: Bool
    package var payloadType: UInt8
    package var arrival: MediaTime

    package init(
        stream: Int, sequence: Int64, timestamp: UInt32, marker: Bool, payloadType: UInt8, arrival: MediaTime
    ) {
        self.stream = stream
        self.sequence = sequence
        self.timestamp = timestamp
        self.marker = marker
        self.payloadType = payloadType
        self.arrival = arrival
    }

    /// As on the wire.
    package var sequenceNumber: UInt16 { UInt16(truncatingIfNeeded: sequence) }
}

/// Gives a stream's packets out in order: those that follow at once, the others when the gap before them is filled or no longer
/// waited for. As long as nothing is missing nothing is copied.
struct PacketOrderer {
    struct Held {
        var packet: ClientPacket
        var payload: [UInt8]
    }

    enum Step {
        case deliver, hold, late
    }

    /// How long a gap is waited for at most: several requests and round trips; a viewer would see it as a freeze.
    static var longestPatience: MediaDuration { .milliseconds(250) }
    /// Packets, over all gaps.
    static var limit: Int { 2048 }

    /// How long a gap is waited for.
    var patience = PacketOrderer.longestPatience
    private(set) var next: Int64?
    /// In ascending order.
    private var held: [Held] = []
    /// Numbers that were given up.
    private(set) var abandoned: UInt64 = 0

    /// What to do with a packet that came.
    mutating func accept(_ sequence: Int64) -> Step {
        guard let next else {
            self.next = sequence &+ 1
            return .deliver
        }
        if sequence == next, held.isEmpty || held[0].packet.sequence != sequence {
            self.next = sequence &+ 1
            return .deliver
        }
        return sequence < next ? .late : .hold
    }

    mutating func hold(_ packet: ClientPacket, payload: [UInt8]) {
        var place = held.count
        while place > 0, held[place &- 1].packet.sequence > packet.sequence { place &-= 1 }
        if place > 0, held[place &- 1].packet.sequence == packet.sequence { return }
        held.insert(Held(packet: packet, payload: payload), at: place)
    }

    /// The next one that can be given out now.
    mutating func take(now: MediaTime) -> Held? {
        guard let first = held.first, let next else { return nil }
        let sequence = first.packet.sequence
        if sequence > next {
            guard first.packet.arrival + patience <= now || held.count > Self.limit else { return nil }
            abandoned &+= UInt64(sequence &- next)
        }
        self.next = sequence &+ 1
        held.removeFirst()
        return first
    }

    /// When `take` gives something out though nothing more comes.
    var deadline: MediaTime { held.first.map { $0.packet.arrival + patience } ?? .distantFuture }

    /// The source began anew: what is held is given up.
    mutating func restart() {
        held.removeAll()
        next = nil
    }
}
