extension RTCPWriter {
    /// Transport-wide feedback on the packets from `baseSequence` to the last of `arrivals`, which are in ascending order
    /// modulo 2^16 and span less than half of it.
    ///
    /// `referenceTime` is in 64 ms and is taken modulo 2^24. `false` as well when the list is empty or out of order, or when
    /// two neighbours lie more than 8 s (32767 ticks) apart: the caller then starts another message.
    package mutating func transportFeedback(
        senderSSRC: UInt32, mediaSSRC: UInt32, baseSequence: UInt16, referenceTime: UInt32, feedbackCount: UInt8,
        arrivals: UnsafeBufferPointer<RTCPPacketArrival>
    ) -> Bool {
        guard let last = arrivals.last, RTCPWriter.areOrdered(arrivals, from: baseSequence),
            var packet = beginOpenEnded(
                RTCPType.transportFeedback, count: Int(RTCPFeedbackFormat.transportWideCC))
        else { return false }
        let statusCount = last.sequence &- baseSequence &+ 1
        packet.put(senderSSRC)
        packet.put(mediaSSRC)
        packet.put(baseSequence)
        packet.put(statusCount)
        packet.put(referenceTime << 8 | UInt32(feedbackCount))
        var symbols = StatusSymbols(arrivals, from: baseSequence)
        while let chunk = symbols.takeChunk() { packet.put(chunk) }
        var previous: Int64 = 0
        for arrival in arrivals {
            let delta = arrival.ticks &- previous
            if StatusSymbols.isSmall(delta) {
                packet.put(UInt8(truncatingIfNeeded: delta))
            } else {
                packet.put(UInt16(truncatingIfNeeded: delta))
            }
            previous = arrival.ticks
        }
        return endOpenEnded(packet)
    }

    private static func areOrdered(_ arrivals: UnsafeBufferPointer<RTCPPacketArrival>, from base: UInt16) -> Bool {
        var position = -1
        var ticks: Int64 = 0
        for arrival in arrivals {
            let next = Int(arrival.sequence &- base)
            let (delta, overflow) = arrival.ticks.subtractingReportingOverflow(ticks)
            guard next > position, next < 0x8000, !overflow, Int16(exactly: delta) != nil else { return false }
            position = next
            ticks = arrival.ticks
        }
        return true
    }
}

/// The status symbols of a list of arrivals, cut into chunks.
private struct StatusSymbols {
    private let arrivals: UnsafeBufferPointer<RTCPPacketArrival>
    private let base: UInt16
    /// The next arrival that has no chunk yet.
    private var index = 0
    /// The position after `base` of the next status that has no chunk yet.
    private var position = 0
    private let count: Int

    /// `arrivals` is not empty and in order.
    init(_ arrivals: UnsafeBufferPointer<RTCPPacketArrival>, from base: UInt16) {
        self.arrivals = arrivals
        self.base = base
        count = arrivals.last.map { Int($0.sequence &- base) &+ 1 } ?? 0
    }

    static func isSmall(_ delta: Int64) -> Bool { delta >= 0 && delta <= 255 }

    private func symbol(ofArrival index: Int) -> UInt16 {
        let previous = index > 0 ? arrivals[index &- 1].ticks : 0
        return Self.isSmall(arrivals[index].ticks &- previous) ? 1 : 2
    }

    private func place(ofArrival index: Int) -> Int { Int(arrivals[index].sequence &- base) }

    /// The next chunk: a run where that says at least as much as a vector, else a vector.
    mutating func takeChunk() -> UInt16? {
        guard position < count else { return nil }
        let (symbol, length) = run()
        if length >= (symbol == 2 ? 7 : 14) || position &+ length == count {
            let taken = min(length, 0x1FFF)
            if symbol != 0 { index &+= taken }
            position &+= taken
            return symbol << 13 | UInt16(truncatingIfNeeded: taken)
        }
        return vector()
    }

    /// The symbol at `position`, and how often it is repeated.
    private func run() -> (symbol: UInt16, length: Int) {
        let gap = place(ofArrival: index) &- position
        if gap > 0 { return (0, gap) }
        let first = symbol(ofArrival: index)
        var length = 1
        while index &+ length < arrivals.count, place(ofArrival: index &+ length) == position &+ length,
            symbol(ofArrival: index &+ length) == first
        {
            length &+= 1
        }
        return (first, length)
    }

    private mutating func vector() -> UInt16 {
        var oneBit: UInt16 = 0
        var twoBit: UInt16 = 0
        var hasLarge = false
        var cursor = index
        var indexAfterSeven = index
        for slot in 0..<14 {
            if slot == 7 { indexAfterSeven = cursor }
            guard cursor < arrivals.count, place(ofArrival: cursor) == position &+ slot else { continue }
            let symbol = symbol(ofArrival: cursor)
            cursor &+= 1
            if symbol == 2 { hasLarge = true }
            oneBit |= 1 << UInt16(13 &- slot)
            if slot < 7 { twoBit |= symbol << UInt16(12 &- 2 &* slot) }
        }
        index = hasLarge ? indexAfterSeven : cursor
        position &+= hasLarge ? 7 : 14
        return hasLarge ? 0xC000 | twoBit : 0x8000 | oneBit
    }
}
