import MediaWire
import Testing

struct RTCPWriterTests {
    /// A049: the first byte of everything written is version 2, P clear, and the count; and all of it fits RFC 3550, section 6.
    @Test func everyPacket() {
        for (name, expected, write) in Self.packets {
            let bytes = written(128) { buffer in
                var writer = RTCPWriter(into: buffer)
                let done = write(&writer)
                #expect(done, "\(name)")
                return writer.count
            }
            #expect(bytes == wireBytes(expected), "\(name)")
            #expect(bytes.map { (0x80...0x9F).contains($0[0]) } == true, "\(name)")
        }
    }

    /// With one byte less than it needs a packet is refused and leaves the count alone.
    @Test func noRoom() {
        for (name, expected, write) in Self.packets {
            for capacity in 0..<(8 + wireBytes(expected).count) where capacity >= 8 {
                _ = written(capacity) { buffer in
                    var writer = RTCPWriter(into: buffer)
                    let first = writer.receiverReport(ssrc: 1)
                    let second = write(&writer)
                    #expect(first && !second && writer.count == 8, "\(name) in \(capacity)")
                    return writer.count
                }
            }
        }
    }

    /// One behind the other they make a compound that reads back.
    @Test func compound() {
        let bytes = written(1500) { buffer in
            var writer = RTCPWriter(into: buffer)
            for (_, _, write) in Self.packets { _ = write(&writer) }
            return writer.count
        }
        guard let bytes else { return }
        var reader = RTCPCompoundReader()
        var types: [UInt8] = []
        while let block = reader.next(bytes.span.bytes) { types.append(block.type) }
        #expect(types == [200, 200, 201, 202, 205, 206, 206, 203, 206, 205] && !reader.malformed)
    }

    /// A039: the bit mask reaches to PID + 16, and 17 is another entry. A037: over the wrap.
    @Test(
        arguments: [
            ([100], "0064 0000"), ([100, 116], "0064 8000"), ([100, 117], "0064 0000 0075 0000"),
            ([0xFFFE, 0xFFFF, 0], "FFFE 0003"), ([65530, 10], "FFFA 8000"), ([65530, 11], "FFFA 0000 000B 0000"),
            ([5, 5, 6, 6], "0005 0001"), (Array(100...117), "0064 FFFF 0075 0000"), ([9, 8], "0009 0000 0008 0000"),
        ] as [([UInt16], String)]) func nackEntries(sequences: [UInt16], entries: String)
    {
        let bytes = written(64) { buffer in
            var writer = RTCPWriter(into: buffer)
            let done = sequences.withUnsafeBufferPointer { writer.nack(senderSSRC: 1, mediaSSRC: 2, sequences: $0) }
            #expect(done)
            return writer.count
        }
        #expect(bytes.map { Array($0.dropFirst(12)) } == wireBytes(entries))
    }

    @Test func emptyNack() {
        let bytes = written(64) { buffer in
            var writer = RTCPWriter(into: buffer)
            let done = writer.nack(senderSSRC: 1, mediaSSRC: 2, sequences: .init(start: nil, count: 0))
            #expect(done)
            return writer.count
        }
        #expect(bytes == [])
    }

    @Test func tooMany() {
        let blocks = [RTCPReportBlock](repeating: Self.block, count: 32)
        let ssrcs = [UInt32](repeating: 1, count: 32)
        _ = written(4000) { buffer in
            var writer = RTCPWriter(into: buffer)
            let results = blocks.withUnsafeBufferPointer { blocks in
                [
                    writer.senderReport(Self.report, blocks: blocks), writer.receiverReport(ssrc: 1, blocks: blocks),
                    writer.receiverReport(ssrc: 1, blocks: .init(rebasing: blocks[..<31])),
                ]
            }
            let goodbye = ssrcs.withUnsafeBufferPointer { writer.goodbye(ssrcs: $0) }
            let name = [UInt8](repeating: 65, count: 256).withUnsafeBytes {
                writer.sourceDescription(ssrc: 1, cname: $0)
            }
            #expect(results == [false, false, true] && !goodbye && !name)
            #expect(writer.count == 8 + 31 * 24)
            return writer.count
        }
    }

    /// RFC 3550, section 6.5: each chunk ends with one to four zero bytes, on a word.
    @Test func canonicalNames() {
        for length in 0...255 {
            let name = [UInt8](repeating: 0x61, count: length)
            let bytes = written(300) { buffer in
                var writer = RTCPWriter(into: buffer)
                let done = name.withUnsafeBytes { writer.sourceDescription(ssrc: 77, cname: $0) }
                #expect(done)
                return writer.count
            }
            guard let bytes else { continue }
            var reader = RTCPCompoundReader()
            guard let block = reader.next(bytes.span.bytes) else {
                Issue.record("length \(length)")
                continue
            }
            let range = RTCPSourceDescription.canonicalName(of: 77, bytes.span.bytes, block)
            #expect(range.map { Array(bytes[$0]) } == name)
            #expect((1...4).contains(bytes.count - 10 - length) && bytes.count % 4 == 0)
            #expect(RTCPSourceDescription.canonicalName(of: 78, bytes.span.bytes, block) == nil)
        }
    }

    /// Cumulative loss is a signed number of 24 bits and clamps at both ends (RFC 3550, section 6.4.1).
    @Test(
        arguments: [
            (0, 0), (-1, -1), (8_388_607, 8_388_607), (8_388_608, 8_388_607), (-8_388_608, -8_388_608),
            (-8_388_609, -8_388_608), (.max, 8_388_607), (.min, -8_388_608),
        ] as [(Int32, Int32)]) func cumulativeLoss(value: Int32, read: Int32)
    {
        var block = Self.block
        block.cumulativeLost = value
        let bytes = written(64) { buffer in
            withUnsafePointer(to: block) { pointer in
                var writer = RTCPWriter(into: buffer)
                _ = writer.receiverReport(ssrc: 1, blocks: .init(start: pointer, count: 1))
                return writer.count
            }
        }
        guard let bytes else { return }
        var reader = RTCPCompoundReader()
        let found = reader.next(bytes.span.bytes).flatMap { RTCPReportBlock.parse(bytes.span.bytes, $0, index: 0) }
        block.cumulativeLost = read
        #expect(found == block)
    }

    /// REMB keeps 18 significant bits, rounds down, and says any number exactly that has no more.
    @Test func estimates() {
        var random = SeededRandom(seed: 31)
        var values: [UInt64] = [0, 1, 0x3_FFFF, 0x4_0000, 0x7_FFFF, 1_000_000, .max]
        values += (0..<2_000).map { _ in
            UInt64.random(in: 0 ... .max, using: &random) >> UInt64.random(in: 0...63, using: &random)
        }
        for value in values {
            let bytes = written(64) { buffer in
                var writer = RTCPWriter(into: buffer)
                _ = writer.receiverEstimate(senderSSRC: 1, bitrate: value, ssrcs: .init(start: nil, count: 0))
                return writer.count
            }
            guard let bytes else { continue }
            var reader = RTCPCompoundReader()
            let found = reader.next(bytes.span.bytes).flatMap { RTCPReceiverEstimate.parse(bytes.span.bytes, $0) }
            let dropped = max(0, 64 - 18 - value.leadingZeroBitCount)
            #expect(found?.bitrate == (value >> dropped) << dropped, "\(value)")
        }
    }

    /// Reports with random contents read back as they were.
    @Test(arguments: [41, 42] as [UInt64]) func reports(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for round in 0..<1_000 {
            let report = RTCPSenderReport(
                ssrc: random.uint32(), ntp: NTPTime(bits: random.next()), rtpTimestamp: random.uint32(),
                packetCount: random.uint32(), octetCount: random.uint32())
            let blocks = (0..<Int.random(in: 0...31, using: &random)).map { _ in
                RTCPReportBlock(
                    ssrc: random.uint32(), fractionLost: random.uint8(),
                    cumulativeLost: .random(in: -8_388_608...8_388_607, using: &random),
                    highestSequence: random.uint32(), jitter: random.uint32(), lastSenderReport: random.uint32(),
                    delaySinceLastSenderReport: random.uint32())
            }
            let bytes = written(1500) { buffer in
                var writer = RTCPWriter(into: buffer)
                let done = blocks.withUnsafeBufferPointer { writer.senderReport(report, blocks: $0) }
                #expect(done, "seed \(seed), round \(round)")
                return writer.count
            }
            var reader = RTCPCompoundReader()
            guard let bytes, let block = reader.next(bytes.span.bytes) else { continue }
            #expect(RTCPSenderReport.parse(bytes.span.bytes, block) == report, "seed \(seed), round \(round)")
            let read = (0..<RTCPReportBlock.count(block)).map {
                RTCPReportBlock.parse(bytes.span.bytes, block, index: $0)
            }
            #expect(read == blocks, "seed \(seed), round \(round)")
        }
    }

    // MARK: - One of each

    static let report = RTCPSenderReport(
        ssrc: 0x1111_1111, ntp: NTPTime(bits: 0xE000_0000_8000_0000), rtpTimestamp: 100, packetCount: 2, octetCount: 800
    )
    static let block = RTCPReportBlock(
        ssrc: 0x2222_2222, fractionLost: 64, cumulativeLost: -2, highestSequence: 0x10007, jitter: 9,
        lastSenderReport: 0x0102_0304, delaySinceLastSenderReport: 65536)

    typealias Write = @Sendable (inout RTCPWriter) -> Bool

    static let packets: [(name: String, bytes: String, write: Write)] = [
        ("SR", "80C80006 11111111 E000000080000000 00000064 00000002 00000320", { $0.senderReport(report) }),
        (
            "SR with a block",
            "81C8000C 11111111 E000000080000000 00000064 00000002 00000320 22222222 40FFFFFE 00010007 00000009 01020304 00010000",
            { writer in
                withUnsafePointer(to: block) { writer.senderReport(report, blocks: .init(start: $0, count: 1)) }
            }
        ),
        ("RR", "80C90001 11111111", { $0.receiverReport(ssrc: 0x1111_1111) }),
        (
            "SDES", "81CA0003 11111111 01036162 63000000",
            { writer in
                [UInt8]([0x61, 0x62, 0x63]).withUnsafeBytes { writer.sourceDescription(ssrc: 0x1111_1111, cname: $0) }
            }
        ),
        (
            "NACK", "81CD0003 11111111 22222222 FFFE0003",
            { writer in
                [UInt16]([65534, 65535, 0]).withUnsafeBufferPointer {
                    writer.nack(senderSSRC: 0x1111_1111, mediaSSRC: 0x2222_2222, sequences: $0)
                }
            }
        ),
        (
            "PLI", "81CE0002 11111111 22222222",
            { $0.pictureLossIndication(senderSSRC: 0x1111_1111, mediaSSRC: 0x2222_2222) }
        ),
        (
            "FIR", "84CE0004 11111111 00000000 22222222 07000000",
            { $0.fullIntraRequest(senderSSRC: 0x1111_1111, mediaSSRC: 0x2222_2222, sequence: 7) }
        ),
        (
            "BYE", "82CB0002 11111111 22222222",
            { writer in
                [UInt32]([0x1111_1111, 0x2222_2222]).withUnsafeBufferPointer { writer.goodbye(ssrcs: $0) }
            }
        ),
        (
            "REMB", "8FCE0005 11111111 00000000 52454D42 010BD090 22222222",
            { writer in
                [UInt32]([0x2222_2222]).withUnsafeBufferPointer {
                    writer.receiverEstimate(senderSSRC: 0x1111_1111, bitrate: 1_000_000, ssrcs: $0)
                }
            }
        ),
        (
            "TWCC", "8FCD0006 11111111 22222222 00010003 00000A03 D900 04FFFE01 0000",
            { writer in
                [RTCPPacketArrival](
                    [.init(sequence: 1, ticks: 4), .init(sequence: 2, ticks: 2), .init(sequence: 3, ticks: 3)]
                ).withUnsafeBufferPointer {
                    writer.transportFeedback(
                        senderSSRC: 0x1111_1111, mediaSSRC: 0x2222_2222, baseSequence: 1, referenceTime: 10,
                        feedbackCount: 3, arrivals: $0)
                }
            }
        ),
    ]
}
