import ClientEngine
import MediaContract
import MediaWire
import Testing

/// Numbers that jump: a source that begins anew is followed, a stray packet is not (RFC 3550, appendix A.1).
@Suite struct NumberingTests {
    private func accept(
        _ stream: inout InboundStream, _ number: Int, isRepair: Bool = false
    ) -> InboundStream.Acceptance {
        stream.accept(
            UInt16(truncatingIfNeeded: number), timestamp: 0, payload: 1, isRepair: isRepair, now: .zero)
    }

    private func stream(from first: Int, count: Int = 10) -> InboundStream {
        var stream = InboundStream(InboundStreamSettings(ssrc: 1, codec: .vp8))
        for number in first..<first + count {
            #expect(accept(&stream, number) == .packet(Int64(number)))
        }
        return stream
    }

    /// Where the numbering stands, and how far it jumps: forward, backward, over the wrap both ways, by about half of all.
    @Test(arguments: [100, 32_760, 65_530], [3001, 5000, 20_000, 32_767, 32_768, -3010, -5000, -20_000, -32_768])
    func `two in a row begin anew`(first: Int, step: Int) {
        var stream = stream(from: first, count: 1)
        #expect(accept(&stream, first + step) == .implausible)
        let number = Int64(UInt16(truncatingIfNeeded: first + step + 1))
        #expect(accept(&stream, first + step + 1) == .restart(65_536 + number))
        #expect(accept(&stream, first + step + 2) == .packet(65_537 + number))
        // What is reported begins anew, too.
        #expect(accept(&stream, first + step + 4) == .packet(65_539 + number))
        let report = stream.makeReport(now: .zero)
        #expect(report?.cumulativeLost == 1)
        #expect(report?.highestSequence == UInt32(65_539 + number))
        // The old numbers are strays now.
        #expect(accept(&stream, first + 1) == .implausible)
    }

    @Test(arguments: [100, 65_530], [3001, 20_000, 32_768, -3001, -20_000])
    func `one stray packet changes nothing`(first: Int, step: Int) {
        var stream = stream(from: first)
        let statistics = stream.statistics
        for _ in 0..<3 { #expect(accept(&stream, first + 10 + step) == .implausible) }
        #expect(stream.statistics == statistics)
        #expect(accept(&stream, first + 10) == .packet(Int64(first) + 10))
        // With one of the stream between them, two strays are none in a row.
        #expect(accept(&stream, first + 11 + step) == .implausible)
        #expect(accept(&stream, first + 11) == .packet(Int64(first) + 11))
        #expect(stream.makeReport(now: .zero)?.cumulativeLost == 0)
    }

    @Test(arguments: [2, 100, 2999, 3000])
    func `a gap within the window is loss and nothing else`(step: Int) {
        var stream = stream(from: 1000, count: 1)
        #expect(accept(&stream, 1000 + step) == .packet(Int64(1000 + step)))
        #expect(accept(&stream, 1000 + step - 1) == .packet(Int64(1000 + step - 1)))
    }

    @Test func `packets of before the first are late, however many`() {
        var stream = stream(from: 1000)
        for number in 990..<1000 { #expect(accept(&stream, number) == .implausible) }
        #expect(accept(&stream, 1010) == .packet(1010))
    }

    @Test func `repairs begin nothing anew`() {
        var stream = stream(from: 1000)
        for number in 9000..<9010 { #expect(accept(&stream, number, isRepair: true) == .implausible) }
        #expect(accept(&stream, 1010) == .packet(1010))
    }

    @Test(arguments: [5000, 30_000, 33_000] as [UInt16])
    func `media goes on after a jump, from a key frame`(first: UInt16) throws {
        let pair = try #require(VirtualPair(first: 1000, seed: 7))
        for number in 0..<50 {
            pair.send([UInt8(number)], timestamp: UInt32(number) &* 180)
            pair.run(.milliseconds(2))
        }
        pair.run(.milliseconds(20))
        #expect(pair.delivered.count == 50)
        #expect(pair.renumber(first: first))
        for number in 50..<100 {
            pair.send([UInt8(number)], timestamp: UInt32(number) &* 180)
            pair.run(.milliseconds(2))
        }
        pair.run(.milliseconds(600))
        // One is taken for a stray packet; all others come, in order and at once.
        #expect(pair.delivered.map { $0.payload.first ?? 0 } == Array(0..<50) + Array(51..<100))
        let sequences = pair.delivered.map(\.packet.sequence)
        #expect(sequences == sequences.sorted() && Set(sequences).count == sequences.count)
        #expect(pair.keyFrameRequests == [1])
        #expect(pair.subscriber.statistics.drops(.implausibleSequence) == 1)
        #expect(pair.subscriber.statistics.nacksSent == 0)
        #expect(pair.subscriber.reception[0].lost == 0)
    }
}
