/// The header of an RTP packet (RFC 3550, section 5.1), as values and offsets into the packet it was read from.
package struct RTPHeader: Equatable, Sendable {
    /// The fixed part in bytes.
    package static let fixedLength = 12

    package var marker = false
    /// The P bit. How much padding there is can only be read from the opened packet: `paddingLength(in:)`.
    package var hasPadding = false
    /// 0...127.
    package var payloadType: UInt8 = 0
    package var sequenceNumber: UInt16 = 0
    package var timestamp: UInt32 = 0
    package var ssrc: UInt32 = 0
    /// 0...15 contributing sources follow the fixed part.
    package var csrcCount: UInt8 = 0
    /// The "defined by profile" word of the header extension; 0 without one.
    package var extensionProfile: UInt16 = 0
    /// Where the extension's elements start, after its 4-byte header; 0 without an extension.
    package var extensionOffset = 0
    /// Length of the elements in bytes, a multiple of 4.
    package var extensionLength = 0
    /// Where the payload starts.
    package var headerLength = 0

    @inlinable package init() {}

    package enum Parsed: Sendable {
        case header
        /// Fewer bytes than the fixed part.
        case tooShort
        /// Not version 2.
        case badVersion
        /// CSRC list or header extension reach past the end of the packet.
        case malformed
    }

    /// Reads the header. Structural only: the padding count is the last byte of the payload, and before the packet is opened
    /// that byte is encrypted. Unless the result is `.header`, `header` is left as it was.
    @inlinable package static func parse(_ bytes: RawSpan, into header: inout RTPHeader) -> Parsed {
        let count = bytes.byteCount
        guard count >= fixedLength else { return .tooShort }
        let first = bytes.octet(at: 0)
        guard first >> 6 == 2 else { return .badVersion }

        var result = RTPHeader()
        result.hasPadding = first & 0x20 != 0
        result.csrcCount = first & 0x0F
        var offset = fixedLength &+ Int(first & 0x0F) &* 4
        guard offset <= count else { return .malformed }
        if first & 0x10 != 0 {
            guard offset &+ 4 <= count else { return .malformed }
            result.extensionProfile = bytes.bigEndian16(at: offset)
            result.extensionLength = Int(bytes.bigEndian16(at: offset &+ 2)) &* 4
            offset &+= 4
            guard result.extensionLength <= count &- offset else { return .malformed }
            result.extensionOffset = offset
            offset &+= result.extensionLength
        }
        result.headerLength = offset

        let second = bytes.octet(at: 1)
        result.marker = second & 0x80 != 0
        result.payloadType = second & 0x7F
        result.sequenceNumber = bytes.bigEndian16(at: 2)
        result.timestamp = bytes.bigEndian32(at: 4)
        result.ssrc = bytes.bigEndian32(at: 8)
        header = result
        return .header
    }

    /// The padding at the end of the opened packet, in bytes, its count byte included (RFC 3550, section 5.1).
    ///
    /// `nil` means malformed: the P bit with nothing behind the header, or a count larger than the payload. A count byte of 0
    /// is against the RFC but sent by real devices, and is taken as no padding.
    @inlinable package func paddingLength(in packet: RawSpan) -> Int? {
        guard hasPadding else { return 0 }
        let payload = packet.byteCount &- headerLength
        guard payload > 0, headerLength >= 0 else { return nil }
        let padding = Int(packet.octet(at: packet.byteCount &- 1))
        return padding <= payload ? padding : nil
    }
}
