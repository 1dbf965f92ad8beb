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
