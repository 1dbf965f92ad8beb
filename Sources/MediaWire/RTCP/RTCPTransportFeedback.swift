/// When one packet arrived, as transport-wide feedback tells it.
package struct RTCPPacketArrival: Equatable, Sendable {
    /// The transport-wide sequence number.
    package var sequence: UInt16
    /// In ticks of 250 us since the feedback's reference time.
    package var ticks: Int64

    @inlinable package init(sequence: UInt16, ticks: Int64) {
        self.sequence = sequence
        self.ticks = ticks
    }
}

/// Transport-wide feedback: which packets of all streams arrived, and when
/// (draft-holmer-rmcat-transport-wide-cc-extensions-01, section 3.1). The arrivals are read by
/// `RTCPTransportFeedbackReader`.
package struct RTCPTransportFeedback: Equatable, Sendable {
    /// One tick of the arrival times, in microseconds.
    package static let tickMicroseconds = 250
    /// One unit of the reference time, in ticks: 64 ms.
    package static let ticksPerReference = 256

    package var senderSSRC: UInt32
    package var mediaSSRC: UInt32
    /// The first packet reported on.
    package var baseSequence: UInt16
    /// How many packets from `baseSequence` on are reported on, the missing ones included.
    package var statusCount: UInt16
    /// 24 bits, in 64 ms; wraps after 12.4 days, so compare with `referenceDistance(from:to:)`.
    package var referenceTime: UInt32
    /// Counts feedback messages, modulo 256.
    package var feedbackCount: UInt8
    /// Where the arrival times start in the datagram.
    var deltasOffset: Int

    static let firstChunk = 20

    /// How far `later` lies after `earlier`, in units of 64 ms, modulo 2^24: -2^23...2^23-1.
    package static func referenceDistance(from earlier: UInt32, to later: UInt32) -> Int {
        Int(Int32(bitPattern: (later &- earlier) << 8) >> 8)
    }

    /// `nil`: another type or format, chunks that end before the last status or name the reserved symbol, or fewer arrival
    /// times than packets.
    package static func parse(_ bytes: RawSpan, _ block: RTCPBlock) -> RTCPTransportFeedback? {
        guard
            block.holds(
                RTCPType.transportFeedback, format: RTCPFeedbackFormat.transportWideCC, atLeast: firstChunk, in: bytes)
        else { return nil }
        let start = block.offset
        let statusCount = bytes.bigEndian16(at: start &+ 14)
        var cursor = start &+ firstChunk
        var left = Int(statusCount)
        var deltaBytes = 0
        while left > 0 {
            guard cursor <= block.end &- 2 else { return nil }
            var chunk = RTCPStatusChunk(bytes.bigEndian16(at: cursor), limit: left)
            cursor &+= 2
            left &-= chunk.left
            guard let size = chunk.deltaBytes() else { return nil }
            deltaBytes &+= size
        }
        guard deltaBytes <= block.end &- cursor else { return nil }
        return RTCPTransportFeedback(
            senderSSRC: bytes.bigEndian32(at: start &+ 4), mediaSSRC: bytes.bigEndian32(at: start &+ 8),
            baseSequence: bytes.bigEndian16(at: start &+ 12), statusCount: statusCount,
            referenceTime: bytes.bigEndian24(at: start &+ 16), feedbackCount: bytes.octet(at: start &+ 19),
            deltasOffset: cursor)
    }
}

/// One packet status chunk: a run of one symbol, or a vector of 14 one-bit or 7 two-bit symbols.
///
/// Symbol: 0 not received, 1 received with a small delta (one byte), 2 received with a large or negative one (two bytes), 3
/// reserved. Of a one-bit vector: 0 and 1.
struct RTCPStatusChunk: Sendable {
    /// Symbols still to come.
    private(set) var left: Int
    private var bits: UInt16
    private let width: UInt16
    /// A run's symbol; `nil` for a vector.
    private let run: UInt8?

    /// `limit`: no more symbols than this count, 1 or more.
    init(_ chunk: UInt16, limit: Int) {
        if chunk & 0x8000 == 0 {
            run = UInt8(truncatingIfNeeded: chunk >> 13 & 0x03)
            // A run of 0 would be no progress, but is harmless: chunks are bounded by the packet.
            left = min(Int(chunk & 0x1FFF), limit)
            width = 0
            bits = 0
        } else {
            run = nil
            width = chunk & 0x4000 == 0 ? 1 : 2
            left = min(width == 1 ? 14 : 7, limit)
            bits = chunk << 2
        }
    }

    /// The next received symbol and how many packets before it were not received; the symbol is 0 when only missing ones
    /// were left. Takes a run of missing packets in one step.
    mutating func next() -> (missing: Int, symbol: UInt8) {
        if let run {
            guard run == 0 else {
                guard left > 0 else { return (0, 0) }
                left &-= 1
                return (0, run)
            }
            defer { left = 0 }
            return (left, 0)
        }
        var missing = 0
        while left > 0 {
            let symbol = UInt8(truncatingIfNeeded: bits >> (16 &- width))
            bits <<= width
            left &-= 1
            if symbol != 0 { return (missing, symbol) }
            missing &+= 1
        }
        return (missing, 0)
    }

    /// How many bytes of arrival times belong to the chunk; `nil` if it names the reserved symbol.
    mutating func deltaBytes() -> Int? {
        if let run { return run == 3 && left > 0 ? nil : Int(run) &* left }
        var sum = 0
        while left > 0 {
            let symbol = next().symbol
            if symbol == 3 { return nil }
            sum &+= Int(symbol)
        }
        return sum
    }
}

/// Yields the packets that arrived, in ascending order; those between and behind them, up to the last status, did not.
///
/// Every arrival takes at least a byte of the message, so the walk is bounded by its length, not by `statusCount`.
package struct RTCPTransportFeedbackReader: Sendable {
    private var chunkCursor: Int
    private var deltaCursor: Int
    private let chunksEnd: Int
    private let end: Int
    private var chunk = RTCPStatusChunk(0, limit: 0)
    private var left: Int
    private var sequence: UInt16
    private var ticks: Int64 = 0

    /// `feedback` was parsed from `block`.
    package init(_ feedback: RTCPTransportFeedback, _ block: RTCPBlock) {
        chunkCursor = block.offset &+ RTCPTransportFeedback.firstChunk
        chunksEnd = feedback.deltasOffset
        deltaCursor = feedback.deltasOffset
        end = block.end
        left = Int(feedback.statusCount)
        sequence = feedback.baseSequence
    }

    package mutating func next(_ bytes: RawSpan) -> RTCPPacketArrival? {
        guard end <= bytes.byteCount, chunkCursor >= 0, chunksEnd <= end else { return nil }
        while true {
            if chunk.left == 0 {
                guard left > 0, chunkCursor <= chunksEnd &- 2 else { return nil }
                chunk = RTCPStatusChunk(bytes.bigEndian16(at: chunkCursor), limit: left)
                chunkCursor &+= 2
                left &-= chunk.left
            }
            let (missing, symbol) = chunk.next()
            sequence &+= UInt16(truncatingIfNeeded: missing)
            switch symbol {
            case 0:
                continue
            case 1:
                guard deltaCursor < end else { return nil }
                ticks &+= Int64(bytes.octet(at: deltaCursor))
                deltaCursor &+= 1
            default:
                guard deltaCursor <= end &- 2 else { return nil }
                ticks &+= Int64(Int16(bitPattern: bytes.bigEndian16(at: deltaCursor)))
                deltaCursor &+= 2
            }
            defer { sequence &+= 1 }
            return RTCPPacketArrival(sequence: sequence, ticks: ticks)
        }
    }
}
