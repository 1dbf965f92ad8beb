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
