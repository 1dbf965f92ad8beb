import MediaWire
import Testing

struct RTPHeaderTests {
    /// Written without an extension, the header is the 12 bytes of the fixed part.
    @Test func fixedPart() {
        let bytes = written(12) { buffer in
            var writer = RTPHeaderWriter(
                into: buffer, marker: true, payloadType: 96, sequenceNumber: 0x1234, timestamp: 0x0102_0304,
                ssrc: 0xDEAD_BEEF)
            return writer.finish()
        }
        #expect(bytes == wireBytes("80E0 1234 01020304 DEADBEEF"))
    }

    @Test func noRoom() {
        for capacity in 0..<12 {
            let bytes = written(capacity) { buffer in
                var writer = RTPHeaderWriter(
                    into: buffer, marker: false, payloadType: 0, sequenceNumber: 0, timestamp: 0, ssrc: 0)
                let appended = writer.append(id: 1, uint16: 1)
                #expect(!appended)
                return writer.finish()
            }
            #expect(bytes == nil)
        }
    }

    /// Payload types have seven bits: a larger one cannot turn the marker on.
    @Test func payloadTypeIsMasked() {
        let bytes = written(12) { buffer in
            var writer = RTPHeaderWriter(
                into: buffer, marker: false, payloadType: 0xFF, sequenceNumber: 0, timestamp: 0, ssrc: 0)
            return writer.finish()
        }
        #expect(bytes?[1] == 0x7F)
    }

    /// RFC 8285, section 4.2: length minus one in the low four bits; the block padded to whole words (A011).
    @Test func oneByteForm() {
        let bytes = written(64) { buffer in
            var writer = Self.writer(buffer)
            let a = writer.append(id: 1, bytes: wireBytes("AABBCC").span.bytes)
            let b = writer.append(id: 3, uint16: 0x0102)
            let c = writer.append(id: 14, uint24: 0xFF01_0203)
            #expect(a && b && c)
            return writer.finish()
        }
        #expect(bytes == wireBytes("9000 0000 00000000 00000000 BEDE0003 12AABBCC 310102E2 01020300"))
    }

    @Test func twoByteForm() {
        let bytes = written(64) { buffer in
            var writer = Self.writer(buffer, twoByte: true)
            let a = writer.append(id: 15, bytes: wireBytes("AA").span.bytes)
            let b = writer.append(id: 255, bytes: [UInt8]().span.bytes)
            #expect(a && b)
            return writer.finish()
        }
        #expect(bytes == wireBytes("9000 0000 00000000 00000000 10000002 0F01AAFF 00000000"))
    }

    /// A008: what the one-byte form cannot carry is refused and leaves no trace.
    @Test func oneByteFormRefuses() {
        let bytes = written(64) { buffer in
            var writer = Self.writer(buffer)
            let refused = [
                writer.append(id: 15, uint16: 1), writer.append(id: 20, uint16: 1), writer.append(id: 0, uint16: 1),
                writer.append(id: 1, bytes: [UInt8](repeating: 1, count: 17).span.bytes),
                writer.append(id: 1, bytes: [UInt8]().span.bytes),
            ]
            #expect(!refused.contains(true))
            return writer.finish()
        }
        #expect(bytes?.count == 12 && bytes?[0] == 0x80)
    }

    @Test(arguments: [
        (UInt8(1), 1, false), (14, 16, false), (15, 1, true), (1, 17, true), (1, 0, true), (20, 2, true),
    ]) func whichForm(id: UInt8, length: Int, twoByte: Bool) {
        #expect(RTPHeaderWriter.needsTwoByteForm(id: id, length: length) == twoByte)
    }

    @Test func twoByteFormRefuses() {
        let bytes = written(600) { buffer in
            var writer = Self.writer(buffer, twoByte: true)
            let zero = writer.append(id: 0, uint16: 1)
            let long = writer.append(id: 1, bytes: [UInt8](repeating: 1, count: 256).span.bytes)
            let longest = writer.append(id: 1, bytes: [UInt8](repeating: 1, count: 255).span.bytes)
            #expect(!zero && !long && longest)
            return writer.finish()
        }
        #expect(bytes?.count == 16 + 260)
    }

    /// An element that does not fit is left out; what was written before stays, padded within the buffer.
    @Test(arguments: 12...40) func elementDoesNotFit(capacity: Int) {
        var fitting = 0
        let bytes = written(capacity) { buffer in
            var writer = Self.writer(buffer)
            while fitting < 10, writer.append(id: UInt8(fitting + 1), uint24: 0x010203) { fitting += 1 }
            return writer.finish()
        }
        #expect(fitting == max(0, (capacity - 16) / 4))
        #expect(bytes?.count == (fitting == 0 ? 12 : 16 + fitting * 4))
    }

    /// The place of a reserved element is zero until it is filled.
    @Test func reserve() {
        let bytes = written(32) { buffer in
            var writer = Self.writer(buffer)
            let offset = writer.reserve(id: 5, length: 2)
            #expect(offset == 17)
            return writer.finish()
        }
        #expect(bytes?.suffix(8) == wireBytes("BEDE0001 51000000")[...])
    }

    /// Written headers read back as they were, in both forms, and cut ones never do.
    @Test(arguments: [1, 2, 3, 4] as [UInt64]) func roundTrip(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for round in 0..<2_000 {
            let twoByte = random.chance(2)
            let count = Int.random(in: 0...6, using: &random)
            let elements: [(id: UInt8, data: [UInt8])] = (0..<count).map { _ in
                twoByte
                    ? (.random(in: 1...255, using: &random), random.bytes(Int.random(in: 0...40, using: &random)))
                    : (.random(in: 1...14, using: &random), random.bytes(Int.random(in: 1...16, using: &random)))
            }
            let marker = random.chance(2)
            let payloadType = random.uint8() & 0x7F
            let (sequence, timestamp, ssrc) = (random.uint16(), random.uint32(), random.uint32())
            let bytes = written(400) { buffer in
                var writer = RTPHeaderWriter(
                    into: buffer, marker: marker, payloadType: payloadType, sequenceNumber: sequence,
                    timestamp: timestamp, ssrc: ssrc, twoByte: twoByte)
                for element in elements {
                    let appended = element.data.withUnsafeBytes { writer.append(id: element.id, bytes: $0) }
                    #expect(appended)
                }
                return writer.finish()
            }
            guard let bytes else {
                Issue.record("no header: seed \(seed), round \(round)")
                return
            }
            var header = RTPHeader()
            let parsed = RTPHeader.parse(bytes.span.bytes, into: &header)
            #expect(parsed == .header, "seed \(seed), round \(round)")
            #expect(
                header.marker == marker && header.payloadType == payloadType && header.sequenceNumber == sequence
                    && header.timestamp == timestamp && header.ssrc == ssrc && header.headerLength == bytes.count
                    && !header.hasPadding, "seed \(seed), round \(round)")
            var reader = HeaderExtensionReader(header)
            var read: [[UInt8]] = []
            while let element = reader.next(bytes.span.bytes) {
                read.append([element.id] + bytes[element.offset..<(element.offset + element.length)])
            }
            #expect(read == elements.map { [$0.id] + $0.data }, "seed \(seed), round \(round)")
            for length in 0..<bytes.count {
                let cut = RTPHeader.parse(bytes.span.bytes.extracting(0..<length), into: &header)
                #expect(cut != .header, "seed \(seed), round \(round), cut to \(length)")
            }
        }
    }

    /// A packet's padding, for every count byte on payloads of 0...4 bytes: RFC 3550, section 5.1, and A003.
    @Test func paddingTable() {
        for payload in 0...4 {
            for count in 0...255 {
                var bytes = wireBytes("A060 0001 00000001 00000002") + [UInt8](repeating: 0xAA, count: payload)
                if payload > 0 { bytes[bytes.count - 1] = UInt8(count) }
                var header = RTPHeader()
                _ = RTPHeader.parse(bytes.span.bytes, into: &header)
                let padding = header.paddingLength(in: bytes.span.bytes)
                #expect(padding == (payload == 0 || count > payload ? nil : count))
            }
        }
    }

    /// Without the P bit the last byte is payload. A header that belongs to another packet is refused, not read.
    @Test func noPadding() {
        let bytes = wireBytes("8060 0001 00000001 00000002 FF")
        var header = RTPHeader()
        _ = RTPHeader.parse(bytes.span.bytes, into: &header)
        let none = header.paddingLength(in: bytes.span.bytes)
        #expect(none == 0)
        header.hasPadding = true
        let foreign = header.paddingLength(in: bytes.span.bytes.extracting(0..<4))
        #expect(foreign == nil)
    }

    private static func writer(_ buffer: UnsafeMutableRawBufferPointer, twoByte: Bool = false) -> RTPHeaderWriter {
        RTPHeaderWriter(
            into: buffer, marker: false, payloadType: 0, sequenceNumber: 0, timestamp: 0, ssrc: 0, twoByte: twoByte)
    }
}
