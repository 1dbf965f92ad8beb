/// Numbers what one subscriber gets. Packets that are left out on purpose leave no gap; packets lost on the way to us do.
///
/// Both sides are extended numbers. An interval says: from `firstIn` on, out = in - delta. Leaving a packet out opens an
/// interval with a delta one larger; starting anew at a key frame opens one that continues the numbering. A late packet is
/// numbered by the interval it belongs to, and one that had been left out has no number.
package struct SequenceRewriter {
    /// How far back late packets and requests can reach, in intervals.
    package static var depth: Int { 8 }

    private var firstIn = InlineArray<8, Int64>(repeating: 0)
    private var delta = InlineArray<8, Int64>(repeating: 0)
    private var count = 0
    /// `delta` of the newest interval, which nearly every packet belongs to: a subscript of an inline array copies the array.
    private var newestDelta: Int64 = 0
    /// The highest number seen, sent or left out.
    package private(set) var highestIn: Int64 = -1
    /// The highest number given; before the first, one less than the first.
    package private(set) var highestOut: Int64

    /// - Parameter first: the first number to give.
    package init(first: Int64) { highestOut = first &- 1 }

    package var hasStarted: Bool { count > 0 }

    /// From `sequence` on, numbers continue right after the highest given.
    ///
    /// - Parameter forgetting: what came before is another stream's, or would be written otherwise now: nothing of it has a
    ///   number any more. Its numbers are used up all the same.
    package mutating func start(at sequence: Int64, forgetting: Bool = false) {
        // Numbers of packets that are still missing stay theirs.
        if count > 0 { highestOut = max(highestOut, highestIn &- newestDelta) }
        if forgetting {
            count = 0
            highestIn = -1
        }
        open(first: sequence, delta: sequence &- (highestOut &+ 1))
        highestIn = max(highestIn, sequence &- 1)
    }

    /// The number under which a packet leaves; `nil` if it was left out, or is older than what we remember.
    @inline(__always) package mutating func map(_ sequence: Int64) -> Int64? {
        guard count > 0 else { return nil }
        if sequence > highestIn {
            highestIn = sequence
            let out = sequence &- newestDelta
            highestOut = max(highestOut, out)
            return out
        }
        // A gap before a packet that was left out: its number is reserved, and may be the highest given.
        guard let out = mapLate(sequence) else { return nil }
        highestOut = max(highestOut, out)
        return out
    }

    /// Leaves a packet out. Only one newer than all seen closes the numbering; a late one had its number reserved already.
    package mutating func skip(_ sequence: Int64) {
        guard count > 0, sequence > highestIn else { return }
        highestIn = sequence
        if firstIn[count &- 1] == sequence {
            firstIn[count &- 1] = sequence &+ 1
            newestDelta &+= 1
            delta[count &- 1] = newestDelta
        } else {
            open(first: sequence &+ 1, delta: newestDelta &+ 1)
        }
    }

    /// The number under which a packet came in that left as `out`.
    package func inverse(_ out: Int64) -> Int64? {
        var index = count &- 1
        while index >= 0 {
            if firstIn[index] &- delta[index] <= out {
                let sequence = out &+ delta[index]
                return sequence <= highestIn && out <= highestOut ? sequence : nil
            }
            index &-= 1
        }
        return nil
    }

    private func mapLate(_ sequence: Int64) -> Int64? {
        var index = count &- 1
        while index >= 0 {
            if firstIn[index] <= sequence {
                let out = sequence &- delta[index]
                if index == count &- 1 { return out }
                // What lies behind the last number of this interval was left out.
                return out < firstIn[index &+ 1] &- delta[index &+ 1] ? out : nil
            }
            index &-= 1
        }
        return nil
    }

    private mutating func open(first: Int64, delta newDelta: Int64) {
        if count == Self.depth {
            for index in 1..<Self.depth {
                firstIn[index &- 1] = firstIn[index]
                delta[index &- 1] = delta[index]
            }
            count &-= 1
        }
        firstIn[count] = first
        delta[count] = newDelta
        newestDelta = newDelta
        count &+= 1
    }
}
