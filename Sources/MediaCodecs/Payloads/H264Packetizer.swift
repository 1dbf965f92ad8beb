/// H.264 access units as RTP payloads (RFC 6184, packetization mode 1): NAL units alone, or as FU-A when they are too long.
package struct H264Packetizer: Sendable {
    package let maximumPayloadSize: Int

    /// - Parameter maximumPayloadSize: in bytes; at least 64.
    package init(maximumPayloadSize: Int = RTPPayload.defaultMaximumSize) {
        precondition(maximumPayloadSize >= RTPPayload.smallestMaximumSize, "a payload has at least 64 bytes")
        self.maximumPayloadSize = maximumPayloadSize
    }

    /// The payloads of one access unit with start codes (H.264, annex B), in order; none when there is no NAL unit in it.
    /// Access unit delimiters and filler are left out. The last one has the marker.
    package func packetize(_ unit: [UInt8]) -> [RTPPayload] {
        var payloads: [RTPPayload] = []
        for range in H264AccessUnit.units(in: unit) {
            let header = unit[range.lowerBound]
            let type = header & 0x1F
            // 1 to 23 can stand alone; 9 and 12 say nothing to a decoder.
            guard 1...23 ~= type, type != 9, type != 12 else { continue }
            if range.count <= maximumPayloadSize {
                payloads.append(RTPPayload(bytes: Array(unit[range]), marker: false))
                continue
            }
            // FU-A (section 5.8): the NAL unit's header is split over indicator and FU header.
            var rest = unit[(range.lowerBound + 1)..<range.upperBound]
            var isFirst = true
            while !rest.isEmpty {
                let part = rest.prefix(maximumPayloadSize - 2)
                rest = rest.dropFirst(part.count)
                let flags: UInt8 = (isFirst ? 0x80 : 0) | (rest.isEmpty ? 0x40 : 0)
                payloads.append(RTPPayload(bytes: [header & 0xE0 | 28, flags | type] + part, marker: false))
                isFirst = false
            }
        }
        if !payloads.isEmpty { payloads[payloads.count - 1].marker = true }
        return payloads
    }
}

/// An access unit as a byte stream (H.264, annex B).
package enum H264AccessUnit {
    static let startCode: [UInt8] = [0, 0, 0, 1]

    /// Where its NAL units are, without start codes and the zeros before them.
    package static func units(in bytes: [UInt8]) -> [Range<Int>] {
        var units: [Range<Int>] = []
        var start: Int?
        var index = 0
        while index + 2 < bytes.count {
            guard bytes[index] == 0, bytes[index + 1] == 0, bytes[index + 2] == 1 else {
                index += 1
                continue
            }
            if let start { append(start..<index, bytes, &units) }
            start = index + 3
            index += 3
        }
        if let start { append(start..<bytes.count, bytes, &units) }
        return units
    }

    /// A NAL unit never ends with a zero byte (section 7.4.1): what is there belongs to the next start code.
    private static func append(_ range: Range<Int>, _ bytes: [UInt8], _ units: inout [Range<Int>]) {
        var end = range.upperBound
        while end > range.lowerBound, bytes[end - 1] == 0 { end -= 1 }
        if end > range.lowerBound { units.append(range.lowerBound..<end) }
    }

    /// Whether decoding can begin with it: an IDR picture with its parameter sets, which a late receiver has nowhere else from.
    package static func isKeyFrame(_ bytes: [UInt8]) -> Bool {
        let types = Set(units(in: bytes).map { bytes[$0.lowerBound] & 0x1F })
        return types.isSuperset(of: [5, 7, 8])
    }
}
