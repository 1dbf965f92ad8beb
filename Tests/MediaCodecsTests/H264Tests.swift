import MediaCodecs
import Testing

/// H.264 access units to payloads and back (RFC 6184).
@Suite struct H264Tests {
    private static let parameters: [[UInt8]] = [[0x67, 0x42, 0xE0, 0x1F, 0x8C, 0x8D], [0x68, 0xCE, 0x3C, 0x80]]

    /// NAL units without zero bytes, which need no escaping.
    private func slice(_ header: UInt8, _ length: Int) -> [UInt8] {
        [header] + (0..<length).map { UInt8(truncatingIfNeeded: $0 % 255 + 1) }
    }

    private func stream(_ units: [[UInt8]], _ startCode: [UInt8] = [0, 0, 0, 1]) -> [UInt8] {
        units.flatMap { startCode + $0 }
    }

    private func frames(_ payloads: [RTPPayload], losing lost: Set<Int> = []) -> [VideoReception] {
        var depacketizer = H264Depacketizer()
        var timestamp: UInt32 = 0
        return payloads.enumerated().compactMap { number, payload in
            defer { if payload.marker { timestamp += 3000 } }
            guard !lost.contains(number) else { return nil }
            return depacketizer.receive(
                payload.bytes.span.bytes, sequenceNumber: UInt16(truncatingIfNeeded: 65_530 + number),
                timestamp: timestamp,
                marker: payload.marker)
        }
    }

    @Test(arguments: [1, 50, 1149, 1150, 1151, 5000])
    func whatIsPacketizedComesBack(size: Int) throws {
        let unit = stream(Self.parameters + [slice(0x65, size)])
        let payloads = H264Packetizer().packetize(unit)
        #expect(payloads.allSatisfy { $0.bytes.count <= RTPPayload.defaultMaximumSize })
        #expect(payloads.map(\.marker) == Array(repeating: false, count: payloads.count - 1) + [true])
        var depacketizer = H264Depacketizer()
        #expect(depacketizer.needsKeyFrame)
        var found: AssembledFrame?
        for (number, payload) in payloads.enumerated() {
            let reception = depacketizer.receive(
                payload.bytes.span.bytes, sequenceNumber: UInt16(truncatingIfNeeded: 65_534 + number), timestamp: 9,
                marker: payload.marker)
            if case .frame(let frame) = reception { found = frame }
        }
        let frame = try #require(found)
        #expect(frame.bytes == unit)
        #expect(frame.isKeyFrame && !depacketizer.needsKeyFrame)
    }

    @Test func startCodesOfBothLengthsAndDelimitersAreLeftOut() {
        let units = [[0x09, 0xF0] as [UInt8]] + Self.parameters + [slice(0x65, 10)]
        let payloads = H264Packetizer().packetize(stream(units, [0, 0, 1]) + [0, 0])
        #expect(payloads.map(\.bytes) == Array(units.dropFirst()))
        #expect(H264Packetizer().packetize([]).isEmpty)
        #expect(H264Packetizer().packetize([0, 0, 0, 1]).isEmpty)
        #expect(H264Packetizer().packetize([1, 2, 3]).isEmpty)
    }

    @Test func anAccessUnitWithoutParametersIsNoKeyFrame() {
        #expect(H264AccessUnit.isKeyFrame(stream(Self.parameters + [slice(0x65, 10)])))
        #expect(!H264AccessUnit.isKeyFrame(stream([slice(0x65, 10)])))
        #expect(!H264AccessUnit.isKeyFrame(stream(Self.parameters + [slice(0x41, 10)])))
    }

    @Test func afterALossNothingComesBeforeTheNextKeyFrame() {
        let packetizer = H264Packetizer()
        let key = packetizer.packetize(stream(Self.parameters + [slice(0x65, 3000)]))
        let picture = packetizer.packetize(stream([slice(0x41, 2000)]))
        let all = key + picture + picture + key + picture
        // Of the second picture's two packets the first.
        let receptions = frames(all, losing: [key.count + picture.count])
        let kinds: [Bool] = receptions.compactMap { if case .frame(let frame) = $0 { frame.isKeyFrame } else { nil } }
        #expect(kinds == [true, false, true, false])
        #expect(receptions.contains(.dropped(.malformed)), "the rest of a NAL unit without its beginning")
    }
}
