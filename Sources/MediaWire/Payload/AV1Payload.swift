/// What an AV1 payload carries ("RTP Payload Format For AV1" of the Alliance for Open Media, section 4).
package struct AV1Payload: Equatable, Sendable {
    /// Z: the first OBU element goes on from the packet before.
    package var continues = false
    /// Y: the last OBU element goes on in the next packet.
    package var isContinued = false
    /// N: the first packet of a coded video sequence.
    package var startsSequence = false
    /// The OBU types that begin in this packet: bit n stands for type n.
    package var obuTypes: UInt16 = 0
    /// Of the first OBU that names them; 0 if none does.
    package var temporalLayer: UInt8 = 0
    package var spatialLayer: UInt8 = 0

    package static let sequenceHeader: UInt8 = 1
    package static let frameHeader: UInt8 = 3
    package static let frame: UInt8 = 6

    package init() {}

    /// Whether an OBU of this type (0...15) begins in this packet.
    @inlinable package func contains(_ type: UInt8) -> Bool { obuTypes & (1 << UInt16(type & 0x0F)) != 0 }

    /// `nil`: an aggregation header alone or none at all, or an OBU element that reaches past the end.
    package static func parse(_ payload: RawSpan) -> AV1Payload? {
        let count = payload.byteCount
        guard count >= 2 else { return nil }
        let head = payload.octet(at: 0)
        var result = AV1Payload()
        result.continues = head & 0x80 != 0
        result.isContinued = head & 0x40 != 0
        result.startsSequence = head & 0x08 != 0
        // W: how many elements there are, the last without a length; 0: not said, and each has its length.
        let declared = Int(head >> 4 & 0x03)
        var cursor = 1
        var index = 0
        var hasLayers = false
        while cursor < count {
            index &+= 1
            var length = count &- cursor
            if index != declared {
                guard let field = lengthField(payload, at: cursor) else { return nil }
                cursor &+= field.size
                guard field.value <= count &- cursor else { return nil }
                length = field.value
            }
            if length > 0, !(result.continues && index == 1) {
                result.addOBU(payload, at: cursor, length: length, &hasLayers)
            }
            cursor &+= length
            if index == declared { break }
        }
        return declared == 0 || index == declared ? result : nil
    }

    private mutating func addOBU(_ payload: RawSpan, at offset: Int, length: Int, _ hasLayers: inout Bool) {
        // forbidden (1), type (4), extension flag, has_size, reserved (AV1 specification, section 5.3.2).
        let header = payload.octet(at: offset)
        obuTypes |= 1 << UInt16(header >> 3 & 0x0F)
        if header & 0x04 != 0, length >= 2, !hasLayers {
            hasLayers = true
            let layers = payload.octet(at: offset &+ 1)
            temporalLayer = layers >> 5
            spatialLayer = layers >> 3 & 0x03
        }
    }

    /// A leb128 number (AV1 specification, section 4.10.5) that fits in 32 bits, in at most 8 bytes.
    private static func lengthField(_ payload: RawSpan, at offset: Int) -> (value: Int, size: Int)? {
        var value: UInt64 = 0
        for index in 0..<8 {
            guard offset &+ index < payload.byteCount else { return nil }
            let byte = payload.octet(at: offset &+ index)
            value |= UInt64(byte & 0x7F) << UInt64(index &* 7)
            if byte & 0x80 == 0 {
                return value <= UInt64(UInt32.max) ? (Int(truncatingIfNeeded: value), index &+ 1) : nil
            }
        }
        return nil
    }

    /// A point to start at is the N bit together with the sequence header.
    package func facts(marker: Bool) -> PayloadFacts {
        let starting: UInt16 =
            1 << UInt16(Self.sequenceHeader) | 1 << UInt16(Self.frameHeader) | 1 << UInt16(Self.frame)
        return PayloadFacts(
            isKeyFrame: startsSequence && contains(Self.sequenceHeader), startsFrame: obuTypes & starting != 0,
            endsFrame: marker, spatialLayer: spatialLayer, temporalLayer: temporalLayer)
    }
}
