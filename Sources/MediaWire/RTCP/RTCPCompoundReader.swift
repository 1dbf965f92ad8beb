/// Packet types (RFC 3550, section 12.1; RFC 4585, section 6.1; RFC 3611, section 2).
package enum RTCPType {
    package static let senderReport: UInt8 = 200
    package static let receiverReport: UInt8 = 201
    package static let sourceDescription: UInt8 = 202
    package static let goodbye: UInt8 = 203
    package static let application: UInt8 = 204
    package static let transportFeedback: UInt8 = 205
    package static let payloadFeedback: UInt8 = 206
    package static let extendedReport: UInt8 = 207
}

/// What the count field of a feedback message says (RFC 4585, section 6.2 and 6.3; RFC 5104, section 4.3.1).
package enum RTCPFeedbackFormat {
    /// Of transport feedback.
    package static let nack: UInt8 = 1
    /// Of transport feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01, section 3.1).
    package static let transportWideCC: UInt8 = 15
    /// Of payload-specific feedback.
    package static let pictureLossIndication: UInt8 = 1
    /// Of payload-specific feedback.
    package static let fullIntraRequest: UInt8 = 4
    /// Of payload-specific feedback: application layer feedback, used by REMB.
    package static let applicationLayer: UInt8 = 15
}

/// One packet of an RTCP compound: its common header, and where it lies in the datagram.
package struct RTCPBlock: Equatable, Sendable {
    /// See `RTCPType`; any value is possible.
    package var type: UInt8
    /// 0...31: report count, source count or feedback format, as the type has it.
    package var count: UInt8
    /// Where the block's 4-byte header starts.
    package var offset: Int
    /// In bytes, with the header, without padding.
    package var length: Int

    @inlinable package init(type: UInt8, count: UInt8, offset: Int, length: Int) {
        self.type = type
        self.count = count
        self.offset = offset
        self.length = length
    }

    /// The first byte behind the block.
    @inlinable package var end: Int { offset &+ length }

    /// Whether the block is of this type, has at least `minimum` bytes, and lies in `bytes`. Each parser asks this first:
    /// afterwards all reads below `length` are safe.
    @inlinable func holds(_ type: UInt8, atLeast minimum: Int, in bytes: RawSpan) -> Bool {
        self.type == type && length >= minimum && isInside(bytes)
    }

    /// The same for a feedback message of one format.
    @inlinable func holds(_ type: UInt8, format: UInt8, atLeast minimum: Int, in bytes: RawSpan) -> Bool {
        count == format && holds(type, atLeast: minimum, in: bytes)
    }

    @inlinable func isInside(_ bytes: RawSpan) -> Bool {
        offset >= 0 && length >= 4 && length <= bytes.byteCount && offset <= bytes.byteCount &- length
    }
}

/// Walks the packets of an RTCP datagram (RFC 3550, section 6.1), compound or of reduced size (RFC 5506).
///
/// Blocks of every type are handed out, unknown ones too: skip what you do not know. What follows the last valid block is
/// ignored, and noted in `malformed`.
package struct RTCPCompoundReader: Sendable {
    /// Whether the walk ended before the end of the datagram. Meaningful once `next` has returned `nil`.
    package private(set) var malformed = false
    private var cursor = 0

    package init() {}

    package mutating func next(_ bytes: RawSpan) -> RTCPBlock? {
        let rest = bytes.byteCount &- cursor
        guard !malformed, rest > 0 else { return nil }
        guard rest >= 4 else { return stop() }
        let first = bytes.octet(at: cursor)
        let total = (Int(bytes.bigEndian16(at: cursor &+ 2)) &+ 1) &* 4
        guard first >> 6 == 2, total <= rest else { return stop() }

        var length = total
        if first & 0x20 != 0 {
            // A count of 0 is against the RFC; it is taken as no padding, as in RTP.
            let padding = Int(bytes.octet(at: cursor &+ total &- 1))
            guard total > 4, padding <= total &- 4 else { return stop() }
            length &-= padding
        }
        let block = RTCPBlock(type: bytes.octet(at: cursor &+ 1), count: first & 0x1F, offset: cursor, length: length)
        cursor &+= total
        return block
    }

    private mutating func stop() -> RTCPBlock? {
        malformed = true
        return nil
    }
}
