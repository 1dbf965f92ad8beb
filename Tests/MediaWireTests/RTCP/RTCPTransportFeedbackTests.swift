import MediaWire
import Testing

struct RTCPTransportFeedbackTests {
    /// Written feedback reads back as it was: losses, runs, gaps of thousands, times that go back, and the wrap.
    @Test(arguments: [51, 52, 53, 54] as [UInt64]) func roundTrip(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for round in 0..<1_000 {
            let base = random.uint16()
            var arrivals: [RTCPPacketArrival] = []
            var sequence = base &+ UInt16.random(in: 0...20, using: &random)
            var ticks: Int64 = 0
            let lossy = Int.random(in: 2...30, using: &random)
            for _ in 0..<Int.random(in: 1...200, using: &random) {
                ticks +=
                    random.chance(10)
                    ? .random(in: -32_768...32_767, using: &random) : .random(in: 0...255, using: &random)
                arrivals.append(RTCPPacketArrival(sequence: sequence, ticks: ticks))
                sequence &+= random.chance(lossy) ? .random(in: 1...60, using: &random) : 1
            }
            let referenceTime = random.uint32() & 0xFF_FFFF
            let found = Self.writeAndRead(base: base, referenceTime: referenceTime, arrivals)
            #expect(found?.arrivals == arrivals, "seed \(seed), round \(round)")
            #expect(found?.feedback.baseSequence == base && found?.feedback.referenceTime == referenceTime)
            #expect(found?.feedback.statusCount == arrivals[arrivals.count - 1].sequence &- base &+ 1)
        }
    }

    @Test func longRunsAndGaps() {
        let run = (0..<9_000).map { RTCPPacketArrival(sequence: UInt16($0), ticks: Int64($0) * 2) }
        let gap = [RTCPPacketArrival(sequence: 65_000, ticks: 1), RTCPPacketArrival(sequence: 30_000, ticks: 300)]
        for (base, arrivals) in [(UInt16(0), run), (65_000, gap)] {
            let found = Self.writeAndRead(base: base, referenceTime: 0, arrivals)
            #expect(found?.arrivals == arrivals)
        }
        // The run takes two chunks and a byte per packet.
        #expect(Self.writeAndRead(base: 0, referenceTime: 0, run)?.length == 20 + 4 + 9_000)
    }

    /// What the format cannot say is refused: nothing at all, disorder, repetition, more than 8 s between neighbours.
    @Test(
        arguments: [
            [], [(5, 0), (4, 0)], [(5, 0), (5, 0)], [(5, 32_768)], [(5, 0), (6, 32_768)], [(5, 0), (6, -32_769)],
            [(4, 0)], [(40_000, 0)], [(5, .min), (6, .max)],
        ] as [[(UInt16, Int64)]]) func refused(arrivals: [(UInt16, Int64)])
    {
        let found = Self.writeAndRead(
            base: 5, referenceTime: 0, arrivals.map { RTCPPacketArrival(sequence: $0.0, ticks: $0.1) })
        #expect(found == nil)
    }

    /// A053, A054: the reference time is compared modulo 2^24, over both its sign bit and its end.
    @Test(
        arguments: [
            (0x7F_FFFF, 0x80_0000, 1), (0xFF_FFFF, 0, 1), (0, 0xFF_FFFF, -1), (0xFF_FFFE, 1, 3), (5, 5, 0),
        ] as [(UInt32, UInt32, Int)]) func reference(earlier: UInt32, later: UInt32, distance: Int)
    {
        #expect(RTCPTransportFeedback.referenceDistance(from: earlier, to: later) == distance)
    }

    struct Found {
        var feedback: RTCPTransportFeedback
        var arrivals: [RTCPPacketArrival]
        var length: Int
    }

    static func writeAndRead(base: UInt16, referenceTime: UInt32, _ arrivals: [RTCPPacketArrival]) -> Found? {
        let bytes = written(40_000) { buffer in
            var writer = RTCPWriter(into: buffer)
            let done = arrivals.withUnsafeBufferPointer {
                writer.transportFeedback(
                    senderSSRC: 1, mediaSSRC: 2, baseSequence: base, referenceTime: referenceTime, feedbackCount: 3,
                    arrivals: $0)
            }
            #expect(done == (writer.count > 0))
            return done ? writer.count : nil
        }
        var reader = RTCPCompoundReader()
        guard let bytes, let block = reader.next(bytes.span.bytes),
            let feedback = RTCPTransportFeedback.parse(bytes.span.bytes, block)
        else { return nil }
        var result = Found(feedback: feedback, arrivals: [], length: bytes.count)
        var arrivalReader = RTCPTransportFeedbackReader(feedback, block)
        while let arrival = arrivalReader.next(bytes.span.bytes) { result.arrivals.append(arrival) }
        return result
    }
}
