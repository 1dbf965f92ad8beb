/// What an H.264 payload carries (RFC 6184, section 5): a single NAL unit, a STAP-A, or a piece of one as FU-A. The other
/// packet types (STAP-B, MTAP, FU-B) belong to the interleaved mode, which Parlor does not negotiate.
package struct H264Payload: Equatable, Sendable {
    /// The NAL unit types that begin in this packet: bit n stands for type n.
    package var nalTypes: UInt32 = 0
    /// A slice with the first macroblock of a picture begins in this packet.
    package var startsPicture = false

    package static let idrSlice: UInt8 = 5
    package static let sequenceParameterSet: UInt8 = 7
    package static let pictureParameterSet: UInt8 = 8

    package init() {}

    /// Whether a NAL unit of this type (0...31) begins in this packet.
    @inlinable package func contains(_ type: UInt8) -> Bool { nalTypes & (1 << UInt32(type & 0x1F)) != 0 }

    /// `nil`: no NAL unit can be made out. Of a STAP-A that is cut off, the NAL units before the cut count.
    package static func parse(_ payload: RawSpan) -> H264Payload? {
        let count = payload.byteCount
        guard count >= 1 else { return nil }
        var result = H264Payload()
        switch payload.octet(at: 0) & 0x1F {
        case 1...23:
            result.addNAL(header: payload.octet(at: 0), payload, body: 1)
        case 24:
            var cursor = 1
            // Each NAL unit has its length in two bytes before it.
            while cursor <= count &- 2 {
                let length = Int(payload.bigEndian16(at: cursor))
                cursor &+= 2
                guard length > 0, length <= count &- cursor else { break }
                result.addNAL(header: payload.octet(at: cursor), payload, body: cursor &+ 1)
                cursor &+= length
            }
            guard result.nalTypes != 0 else { return nil }
        case 28:
            guard count >= 2 else { return nil }
            let header = payload.octet(at: 1)
            // S: the NAL unit begins here; later pieces say nothing.
            if header & 0x80 != 0 { result.addNAL(header: header, payload, body: 2) }
        default:
            return nil
        }
        return result
    }

    private mutating func addNAL(header: UInt8, _ payload: RawSpan, body: Int) {
        let type = header & 0x1F
        nalTypes |= 1 << UInt32(type)
        // first_mb_in_slice comes first in the slice header, as ue(v): a leading 1 bit is 0 (H.264, section 7.3.3).
        if type == 1 || type == Self.idrSlice, body < payload.byteCount, payload.octet(at: body) & 0x80 != 0 {
            startsPicture = true
        }
    }

    /// A point to start or switch at is the SPS, wherever it stands: alone, in a STAP-A, or as the start of an FU-A. An IDR
    /// without it is none: the receiver would lack the parameter sets that went before.
    package func facts(marker: Bool) -> PayloadFacts {
        // SEI, SPS, PPS, access unit delimiter: they come before the slices of their picture (H.264, section 7.4.1.2.3).
        let leading: UInt32 = 1 << 6 | 1 << 7 | 1 << 8 | 1 << 9
        return PayloadFacts(
            isKeyFrame: contains(Self.sequenceParameterSet), startsFrame: startsPicture || nalTypes & leading != 0,
            endsFrame: marker)
    }
}
