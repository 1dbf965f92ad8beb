package import MediaWire

/// What a client sends: one line of its session.
package struct OutboundStreamSettings: Sendable {
    /// The stream that repairs it (RFC 4588): what is asked for again goes there.
    package struct Repair: Sendable, Hashable {
        package var ssrc: UInt32
        package var payloadType: UInt8

        package init(ssrc: UInt32, payloadType: UInt8) {
            self.ssrc = ssrc
            self.payloadType = payloadType
        }
    }

    /// Header extensions, by what they mean: ids of 1 to 14, `nil` for those that were not negotiated.
    package struct Extensions: Sendable, Hashable {
        package var mid: UInt8?
        package var rid: UInt8?
        package var repairedRID: UInt8?
        package var transportCC: UInt8?

        package init(mid: UInt8? = nil, rid: UInt8? = nil, repairedRID: UInt8? = nil, transportCC: UInt8? = nil) {
            self.mid = mid
            self.rid = rid
            self.repairedRID = repairedRID
            self.transportCC = transportCC
        }

        var isEmpty: Bool { mid == nil && rid == nil && repairedRID == nil && transportCC == nil }
    }

    package var ssrc: UInt32
    package var payloadType: UInt8
    package var codec: Codec
    /// Best in 0...32767 (RFC 3711, section 3.3.1: a receiver that misses the first packets must not meet a wrap at once).
    package var firstSequenceNumber: UInt16
    /// `nil`: packets are sent again as they were.
    package var repair: Repair?
    /// Written into the first packets, and all of repair, where there is an extension for it.
    package var mid: String?
    /// Of a layer that is known by its RTP stream id (RFC 8852); written as `mid` is.
    package var rid: String?
    package var extensions = Extensions()

    package init(ssrc: UInt32, payloadType: UInt8, codec: Codec, firstSequenceNumber: UInt16) {
        self.ssrc = ssrc
        self.payloadType = payloadType
        self.codec = codec
        self.firstSequenceNumber = firstSequenceNumber
    }
}

/// What one sent stream has counted, and what the node last said of it.
package struct SendingStatistics: Sendable, Equatable {
    /// Without those that were sent again.
    package var packets: UInt64 = 0
    /// Of payload.
    package var bytes: UInt64 = 0
    package var retransmitted: UInt64 = 0
    package var keyFrameRequests: UInt64 = 0
    /// In 1/256, of the last report.
    package var fractionLost: UInt8 = 0
    /// As the node counts: duplicates make it smaller.
    package var lost: Int32 = 0
    /// In seconds.
    package var jitter = 0.0

    package init() {}
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
        /// Kept, for a packet that is sent again under the same index must have the same bytes.
        var transportSequence: UInt16
        /// Whether it carries MID and RID.
        var isLabelled: Bool
    }

    /// Packets kept: a second of most streams.
    static var historyLength: Int { 256 }
    /// The packets that carry MID and RID (RFC 8843, section 15: until the receiver must have understood).
    static var labelledPackets: UInt64 { 64 }

    let settings: OutboundStreamSettings
    /// False: removed; its place can be taken.
    var isActive = true
    private(set) var nextIndex: UInt64
    private var history: [Sent] = []
    private(set) var packetCount: UInt32 = 0
    private(set) var octetCount: UInt32 = 0
    private(set) var lastTimestamp: UInt32 = 0
    private(set) var lastSent: MediaTime?
    private var nextRepairIndex: UInt64
    var statistics = SendingStatistics()

    init(_ settings: OutboundStreamSettings) {
        self.settings = settings
        nextIndex = UInt64(settings.firstSequenceNumber)
        nextRepairIndex = UInt64(settings.firstSequenceNumber)
        history.reserveCapacity(Self.historyLength)
    }

    /// A new packet, kept for repair.
    mutating func next(
        payload: [UInt8], timestamp: UInt32, marker: Bool, transportSequence: UInt16, now: MediaTime
    ) -> Sent {
        let sent = Sent(
            index: nextIndex, timestamp: timestamp, marker: marker, payload: payload,
            transportSequence: transportSequence, isLabelled: statistics.packets < Self.labelledPackets)
        let place = Int(nextIndex % UInt64(Self.historyLength))
        if history.count < Self.historyLength {
            // The ring starts anywhere: places are by number, so fill up to it once.
            while history.count <= place, history.count < Self.historyLength { history.append(sent) }
        }
        history[place] = sent
        nextIndex &+= 1
        packetCount &+= 1
        octetCount &+= UInt32(truncatingIfNeeded: payload.count)
        statistics.packets &+= 1
        statistics.bytes &+= UInt64(payload.count)
        lastTimestamp = timestamp
        lastSent = now
        return sent
    }

    /// The packet index of the next packet of the stream that repairs.
    mutating func takeRepairIndex() -> UInt64 {
        defer { nextRepairIndex &+= 1 }
        return nextRepairIndex
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
