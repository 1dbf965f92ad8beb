/// The payload of one RTP packet to send, and its marker bit.
package struct RTPPayload: Hashable, Sendable {
    package var bytes: [UInt8]
    package var marker: Bool

    package init(bytes: [UInt8], marker: Bool) {
        self.bytes = bytes
        self.marker = marker
    }

    /// What a payload may measure by default: it leaves room in a datagram of 1,200 bytes for the RTP header with
    /// extensions and for the authentication tag.
    package static let defaultMaximumSize = 1_150
    /// Below this, descriptors would take a large part of each payload.
    package static let smallestMaximumSize = 64
}

extension RTPPayload {
    /// Cuts `frame` into the fewest payloads of at most `maximumSize` bytes, of equal size but for the last: equal sizes
    /// leave in one segmented send call.
    ///
    /// - Parameters:
    ///   - first: descriptor of the first payload; the others have `next`, which is not longer.
    ///   - last: is applied to the descriptor's first byte in the last payload.
    static func split(
        _ frame: [UInt8], first: [UInt8], next: [UInt8], maximumSize: Int, last: (UInt8) -> UInt8 = { $0 }
    ) -> [RTPPayload] {
        let capacity = maximumSize - next.count
        let extra = first.count - next.count
        let total = frame.count + extra
        let count = max((total + capacity - 1) / capacity, 1)
        let share = (total + count - 1) / count
        var payloads: [RTPPayload] = []
        payloads.reserveCapacity(count)
        var offset = 0
        while offset < frame.count {
            let isFirst = offset == 0
            let end = min(offset + (isFirst ? share - extra : share), frame.count)
            var bytes: [UInt8] = []
            bytes.reserveCapacity(maximumSize)
            bytes += isFirst ? first : next
            bytes += frame[offset..<end]
            if end == frame.count { bytes[0] = last(bytes[0]) }
            payloads.append(RTPPayload(bytes: bytes, marker: end == frame.count))
            offset = end
        }
        return payloads
    }
}
