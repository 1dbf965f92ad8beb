import MediaWire

/// When the packets of a transport came, by their transport-wide numbers, until that is reported
/// (draft-holmer-rmcat-transport-wide-cc-extensions-01). Fixed in size: what is older than the ring is never reported.
struct ArrivalLog: ~Copyable {
    static var capacity: Int { 2048 }
    /// Arrivals in one message: as many as a temporary list of 1 KiB holds, which is taken from the stack.
    static var messageLimit: Int { 60 }
    /// An arrival tick is 250 µs.
    private static var tick: Int64 { 250_000 }

    private struct Entry {
        var sequence: Int64 = -1
        var ticks: Int64 = 0
    }

    /// There once feedback was negotiated: most transports have none.
    private var entries: UnsafeMutablePointer<Entry>?
    private var highest: Int64 = -1
    /// The first number that was not reported yet.
    private var first: Int64 = 0
    private var count: UInt8 = 0
    /// Of the packet noted last.
    private(set) var mediaSSRC: UInt32 = 0

    init() {}

    deinit { entries?.deallocate() }

    var isOn: Bool { entries != nil }

    /// From here on arrivals are noted. Called when a track is added, never per packet.
    mutating func turnOn() {
        guard entries == nil else { return }
        let new = UnsafeMutablePointer<Entry>.allocate(capacity: Self.capacity)
        new.initialize(repeating: Entry(), count: Self.capacity)
        entries = new
    }

    var hasNews: Bool { highest >= first }

    mutating func note(_ number: UInt16, ssrc: UInt32, now: MediaTime) {
        guard let entries else { return }
        mediaSSRC = ssrc
        let sequence: Int64
        if highest < 0 {
            sequence = 65_536 &+ Int64(number)
            first = sequence
        } else {
            sequence = highest &+ Int64(Int16(truncatingIfNeeded: number &- UInt16(truncatingIfNeeded: highest)))
        }
        guard sequence > highest &- Int64(Self.capacity), sequence >= 0 else { return }
        // A late one is reported with the next message, which may begin before the last one's end.
        if sequence < first { first = sequence }
        highest = max(highest, sequence)
        if highest &- first >= Int64(Self.capacity) { first = highest &- Int64(Self.capacity) &+ 1 }
        entries[place(sequence)] = Entry(sequence: sequence, ticks: (now - .zero).nanoseconds / Self.tick)
    }

    /// Writes what is not reported yet, or as much of it as one message takes. False: nothing was written.
    mutating func write(to writer: inout RTCPWriter, senderSSRC: UInt32) -> Bool {
        guard hasNews, let entries else { return false }
        return withUnsafeTemporaryAllocation(of: RTCPPacketArrival.self, capacity: Self.messageLimit) { arrivals in
            var taken = 0
            var base: Int64 = 0
            var reference: Int64 = 0
            var previous: Int64 = 0
            var sequence = first
            while sequence <= highest, taken < arrivals.count {
                let entry = entries[place(sequence)]
                defer { sequence &+= 1 }
                guard entry.sequence == sequence else { continue }
                if taken == 0 {
                    base = sequence
                    // 64 ms are 256 ticks.
                    reference = entry.ticks >> 8
                    previous = reference << 8
                } else if sequence &- base > 0x3FFF || Int16(exactly: entry.ticks &- previous) == nil {
                    sequence &-= 1
                    break
                }
                arrivals[taken] = RTCPPacketArrival(
                    sequence: UInt16(truncatingIfNeeded: sequence), ticks: entry.ticks &- (reference << 8))
                previous = entry.ticks
                taken &+= 1
                entries[place(sequence)].sequence = -1
            }
            first = sequence
            guard taken > 0 else { return false }
            count &+= 1
            return writer.transportFeedback(
                senderSSRC: senderSSRC, mediaSSRC: mediaSSRC, baseSequence: UInt16(truncatingIfNeeded: base),
                referenceTime: UInt32(truncatingIfNeeded: reference), feedbackCount: count &- 1,
                arrivals: UnsafeBufferPointer(rebasing: arrivals[..<taken]))
        }
    }

    @inline(__always) private func place(_ sequence: Int64) -> Int { Int(sequence % Int64(Self.capacity)) }
}
