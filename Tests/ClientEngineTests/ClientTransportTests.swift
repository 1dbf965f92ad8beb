import ClientEngine
import MediaContract
import MediaTransport
import MediaWire
import Testing

/// One transport against another, in virtual time.
@Suite struct ClientTransportTests {
    private func payload(_ number: Int) -> [UInt8] {
        (0..<(20 + number % 900)).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ number) }
    }

    /// Sends so many packets, one each 2 ms, and lets all repair end.
    private func exchange(_ pair: VirtualPair, packets: Int) {
        for number in 0..<packets {
            pair.send(payload(number), timestamp: UInt32(number) &* 180, marker: number % 5 == 4)
            pair.run(.milliseconds(2))
        }
        pair.run(.milliseconds(600))
    }

    private func expectAll(_ pair: VirtualPair, packets: Int, first: UInt16, _ comment: Comment) {
        #expect(pair.delivered.count == packets, comment)
        for (number, delivered) in pair.delivered.enumerated() {
            #expect(delivered.packet.sequence == Int64(first) + Int64(number), comment)
            #expect(delivered.packet.timestamp == UInt32(number) &* 180, comment)
            #expect(delivered.packet.marker == (number % 5 == 4), comment)
            guard delivered.payload == payload(number) else {
                Issue.record("packet \(number) has other bytes; \(comment)")
                return
            }
        }
    }

    @Test(arguments: SRTPProfile.allCases)
    func whatIsSentArrives(profile: SRTPProfile) throws {
        let pair = try #require(VirtualPair(profile: profile, seed: 1))
        exchange(pair, packets: 300)
        expectAll(pair, packets: 300, first: 1000, "\(profile)")
        #expect(pair.publisher.statistics.packetsSent == 300)
        #expect(pair.subscriber.statistics.packetsReceived == 300)
        #expect(pair.subscriber.statistics.bytesReceived == pair.publisher.statistics.bytesSent)
        #expect(pair.subscriber.statistics.nacksSent == 0)
        #expect(pair.subscriber.statistics.failures.isEmpty)
    }

    @Test(arguments: [11, 12, 13, 14] as [UInt64])
    func lossIsRepairedInOrder(seed: UInt64) throws {
        // The numbers wrap on the way: 65,536 lies 36 packets after the first.
        let link = VirtualPair.Link(lost: 80, doubled: 30, reordered: 60)
        let pair = try #require(VirtualPair(first: 65_500, link: link, seed: seed))
        exchange(pair, packets: 400)
        let reception = pair.subscriber.reception[0]
        // A first packet that is lost is before the stream's beginning.
        let missing = 400 - pair.delivered.count
        #expect(missing <= 1, "seed \(seed)")
        #expect(reception.lost == 0, "seed \(seed)")
        #expect(reception.recovered > 10, "seed \(seed)")
        #expect(pair.publisher.statistics.retransmitted >= reception.recovered, "seed \(seed)")
        #expect(pair.subscriber.statistics.drops(.replayed) > 0, "seed \(seed)")
        for (number, delivered) in pair.delivered.enumerated() {
            #expect(delivered.packet.sequence == 65_500 + Int64(number + missing), "seed \(seed)")
            #expect(delivered.payload == payload(number + missing), "seed \(seed)")
        }
    }

    @Test func reorderingAloneAsksForNothing() throws {
        let link = VirtualPair.Link(reordered: 200, reorderDelay: .milliseconds(4))
        let pair = try #require(VirtualPair(link: link, seed: 21))
        exchange(pair, packets: 300)
        expectAll(pair, packets: 300, first: 1000, "reordered")
        #expect(pair.subscriber.statistics.nacksSent == 0)
        #expect(pair.subscriber.reception[0].reordered > 10)
        #expect(pair.subscriber.reception[0].lost == 0)
    }

    @Test func anOutageIsCountedAndPassedOver() throws {
        let pair = try #require(VirtualPair(seed: 31))
        for number in 0..<600 {
            pair.send(payload(number), timestamp: UInt32(number))
            // More packets than the publisher keeps.
            pair.link.lost = (40..<400).contains(number) ? 1000 : 0
            pair.run(.milliseconds(2))
        }
        pair.run(.milliseconds(600))
        let reception = pair.subscriber.reception[0]
        let missing = 600 - pair.delivered.count
        #expect(missing >= 360 - 256 && missing < 360)
        #expect(reception.lost == UInt64(missing))
        #expect(reception.recovered == UInt64(360 - missing))
        #expect(pair.publisher.statistics.retransmissionGone > 0)
        #expect(pair.delivered.last?.packet.sequence == 1599)
        let numbers = pair.delivered.map(\.packet.sequence)
        #expect(numbers == numbers.sorted())
        #expect(Set(numbers).count == numbers.count)
        // Nothing is asked for once it is given up.
        let asked = pair.subscriber.statistics.nacksSent
        pair.run(.seconds(3))
        #expect(pair.subscriber.statistics.nacksSent == asked)
    }

    /// The report blocks that came to the publisher, in order.
    private func reportBlocks(_ pair: VirtualPair) -> [RTCPReportBlock] {
        guard var opener = SRTPOpener(key: pair.subscriberKey) else {
            Issue.record("the key cannot be used")
            return []
        }
        var blocks: [RTCPReportBlock] = []
        for datagram in pair.controlToPublisher {
            var bytes = datagram
            let opened = bytes.withUnsafeMutableBytes { opener.openRTCP($0) }
            guard case .opened(let length) = opened else {
                Issue.record("a report cannot be opened: \(opened)")
                continue
            }
            let span = bytes.span.bytes.extracting(0..<length)
            var reader = RTCPCompoundReader()
            while let block = reader.next(span) {
                if let report = RTCPReportBlock.parse(span, block, index: 0) { blocks.append(report) }
            }
        }
        return blocks
    }

    @Test func reportsSayWhatWasLost() throws {
        let pair = try #require(VirtualPair(seed: 41))
        // Each tenth packet is lost, and so is all repair, for two and a half seconds; then all comes.
        for number in 0..<500 {
            pair.link.lost = number % 10 == 9 && number < 250 ? 1000 : 0
            pair.send(payload(number), timestamp: UInt32(number) &* 900)
            pair.run(.milliseconds(1))
            pair.link.lost = number < 250 ? 1000 : 0
            pair.run(.milliseconds(9))
        }
        let blocks = reportBlocks(pair)
        #expect(blocks.allSatisfy { $0.ssrc == 100 })
        #expect(pair.publisher.statistics.receiverReportsReceived == UInt64(blocks.count))
        let last = try #require(blocks.last)
        // The number of each that never came, and no share of the last second.
        #expect(last.cumulativeLost == Int32(clamping: pair.subscriber.reception[0].lost))
        #expect(last.cumulativeLost > 0)
        #expect(last.fractionLost == 0)
        #expect(last.highestSequence > 1000 + 380)
    }

    @Test func receiverReportsCarryTheSenderReportBack() throws {
        let pair = try #require(VirtualPair(seed: 51))
        for number in 0..<60 {
            pair.send(payload(number), timestamp: UInt32(number) &* 1800)
            pair.run(.milliseconds(20))
        }
        pair.run(.seconds(2))
        let last = try #require(reportBlocks(pair).last)
        #expect(last.highestSequence == 1059)
        #expect(last.cumulativeLost == 0)
        #expect(last.lastSenderReport != 0)
        // At most the second between two sender reports, in 1/65536 s.
        #expect(last.delaySinceLastSenderReport > 0 && last.delaySinceLastSenderReport <= 65_536)
        // Jitter of a steady stream is next to nothing: below 1 ms at 90 kHz.
        #expect(last.jitter < 90)
    }

    @Test func keyFrameRequestsAreSpacedAndReachTheirStream() throws {
        let pair = try #require(VirtualPair(codecs: [.opus, .vp8], seed: 61))
        for _ in 0..<1000 {
            pair.subscriber.requestKeyFrame(stream: 1, now: pair.now, into: &pair.outbox)
            pair.run(.milliseconds(1))
        }
        pair.run(.milliseconds(50))
        #expect(pair.keyFrameRequests == [2, 2])
        #expect(pair.subscriber.statistics.keyFrameRequestsSent == 2)
        pair.subscriber.requestKeyFrame(stream: 7, now: pair.now, into: &pair.outbox)
        pair.subscriber.requestKeyFrame(stream: -1, now: pair.now, into: &pair.outbox)
        #expect(pair.outbox.count == 0)
    }

    @Test func goodbyeIsHeard() throws {
        let pair = try #require(VirtualPair(seed: 71))
        pair.send(payload(1), timestamp: 0)
        pair.publisher.sendGoodbye(into: &pair.outbox)
        pair.run(.milliseconds(20))
        #expect(pair.subscriber.statistics.goodbyesReceived == 1)
    }

    @Test func whatIsNotOursIsDroppedUnderItsName() throws {
        let pair = try #require(VirtualPair(seed: 81))
        let stranger = try #require(VirtualPair(seed: 82))
        pair.send(payload(1), timestamp: 0)
        let good = try #require(pair.takeDatagrams().first)
        stranger.send(payload(1), timestamp: 0)
        let foreign = try #require(stranger.takeDatagrams().first)

        #expect(pair.inject(foreign) == .dropped(.authenticationFailed))
        var other = good
        other[8] ^= 1
        #expect(pair.inject(other) == .dropped(.unknownSSRC))
        var flipped = good
        flipped[20] ^= 1
        #expect(pair.inject(flipped) == .dropped(.authenticationFailed))
        #expect(pair.inject([]) == .dropped(.notMedia))
        #expect(pair.inject([0x80]) == .dropped(.notMedia))
        #expect(pair.inject([0x00, 0x01, 0x00, 0x00]) == .dropped(.notMedia))
        #expect(pair.inject(Array(good.prefix(11))) == .dropped(.malformedHeader))
        #expect(pair.inject(Array(good.prefix(20))) == .dropped(.tooShort))
        #expect(pair.inject([0x80, 201, 0, 1]) == .dropped(.tooShort))
        guard case .media(let packet, _) = pair.inject(good) else {
            Issue.record("the good packet is not taken")
            return
        }
        #expect(packet.sequence == 1000)
        #expect(pair.inject(good) == .dropped(.replayed))
        #expect(pair.subscriber.statistics.drops(.authenticationFailed) == 2)
        #expect(pair.subscriber.statistics.drops(.replayed) == 1)
    }

    /// Any bytes, and real packets with any bytes changed: nothing traps, and nothing of it is delivered.
    @Test func hostileDatagramsChangeNothing() throws {
        let pair = try #require(VirtualPair(seed: 91))
        var random = SeededRandom(seed: 92)
        pair.send(payload(500), timestamp: 9)
        pair.publisher.sendGoodbye(into: &pair.outbox)
        let good = pair.takeDatagrams()
        for round in 0..<20_000 {
            var bytes: [UInt8]
            if round % 2 == 0 {
                bytes = (0..<Int(random.next() % 80)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
                if !bytes.isEmpty, round % 4 == 0 { bytes[0] = 0x80 | bytes[0] & 0x3F }
            } else {
                bytes = good[Int(random.next() % UInt64(good.count))]
                let place = Int(random.next() % UInt64(bytes.count))
                bytes[place] ^= UInt8(truncatingIfNeeded: random.next() % 255 + 1)
                if round % 8 == 1 { bytes.removeLast(Int(random.next() % UInt64(bytes.count))) }
            }
            switch pair.inject(bytes) {
            case .dropped: break
            case let other: Issue.record("round \(round): \(other)")
            }
        }
        #expect(pair.delivered.isEmpty)
        guard case .media = pair.inject(good[0]) else {
            Issue.record("the good packet is not taken any more")
            return
        }
    }

    @Test func aFullOutboxIsCountedNotTrapped() throws {
        let pair = try #require(VirtualPair(seed: 95))
        for number in 0..<5000 { pair.send([1, 2, 3], timestamp: UInt32(number)) }
        #expect(pair.publisher.statistics.sendRefused == 5000 - 4096)
        pair.send([UInt8](repeating: 0, count: 4000), timestamp: 0)
        #expect(pair.publisher.statistics.sendRefused == 5000 - 4096 + 1)
        pair.publisher.advance(to: MediaTime(nanoseconds: 5_000_000_000), wallTime: 0, into: &pair.outbox)
        #expect(pair.publisher.statistics.sendRefused > 5000 - 4096 + 1)
    }
}
