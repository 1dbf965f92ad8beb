package import MediaWire

/// What a client sends: one line of its session.
package struct OutboundStreamSettings: Sendable {
    package var ssrc: UInt32
    package var payloadType: UInt8
    package var codec: Codec
    /// Best in 0...32767 (RFC 3711, section 3.3.1: a receiver that misses the first packets must not meet a wrap at once).
    package var firstSequenceNumber: UInt16

    package init(ssrc: UInt32, payloadType: UInt8, codec: Codec, firstSequenceNumber: UInt16) {
        self.ssrc = ssrc
        self.payloadType = payloadType
        self.codec = codec
        self.firstSequenceNumber = firstSequenceNumber
    }
}

/// A stream being sent: its numbers, and the last packets, should the node ask for them again. Payloads are shared with whoever
/// gave them, so that a thousand publishers of one encoder keep one copy.
struct OutboundStream {
    struct Sent {
        /// Rollover counter and sequence number (RFC 3711, section 3.3.1).
        var index: UInt64
        var timestamp: UInt32
        var marker: Bool
        var payload: [UInt8]
    }

    /// Packets kept: a second of most streams.
    static var historyLength: Int { 256 }

    let settings: OutboundStreamSettings
    private(set) var nextIndex: UInt64
    private var history: [Sent] = []
    private(set) var packetCount: UInt32 = 0
    private(set) var octetCount: UInt32 = 0
    private(set) var lastTimestamp: UInt32 = 0
    private(set) var lastSent: MediaTime?

    init(_ settings: OutboundStreamSettings) {
        self.settings = settings
        nextIndex = UInt64(settings.firstSequenceNumber)
        history.reserveCapacity(Self.historyLength)
    }

    /// A new packet, kept for repair.
    mutating func next(payload: [UInt8], timestamp: UInt32, marker: Bool, now: MediaTime) -> Sent {
        let sent = Sent(index: nextIndex, timestamp: timestamp, marker: marker, payload: payload)
        let place = Int(nextIndex % UInt64(Self.historyLength))
        if history.count < Self.historyLength {
            // The ring starts anywhere: places are by number, so fill up to it once.
            while history.count <= place, history.count < Self.historyLength { history.append(sent) }
        }
        history[place] = sent
        nextIndex &+= 1
        packetCount &+= 1
        octetCount &+= UInt32(truncatingIfNeeded: payload.count)
        lastTimestamp = timestamp
        lastSent = now
        return sent
    }

    /// A packet of the history.
    func sent(_ number: UInt16) -> Sent? {
        let back = UInt64(UInt16(truncatingIfNeeded: nextIndex &- 1) &- number)
        guard back < nextIndex, back < UInt64(Self.historyLength) else { return nil }
        let index = nextIndex &- 1 &- back
        let place = Int(index % UInt64(Self.historyLength))
        guard place < history.count, history[place].index == index else { return nil }
        return history[place]
    }
}
