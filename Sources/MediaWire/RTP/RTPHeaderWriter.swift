/// Writes an RTP header: the fixed part at once, then extension elements one by one, then `finish`.
///
/// Never writes padding or contributing sources: the P bit and the CSRC count are 0. Without an element the header is the 12
/// bytes of the fixed part.
package struct RTPHeaderWriter {
    /// Longest data of one element in the one-byte form, in bytes (RFC 8285, section 4.2).
    package static let oneByteMaxLength = 16
    /// Largest id of the one-byte form; 15 is reserved.
    package static let oneByteMaxID: UInt8 = 14

    @usableFromInline let buffer: UnsafeMutableRawBufferPointer
    @usableFromInline let isTwoByte: Bool
    /// Bytes written; 0 when not even the fixed part fitted.
    @usableFromInline var count: Int

    /// `twoByte`: elements are written in the two-byte form. Only for a receiver that agreed to it (`a=extmap-allow-mixed`,
    /// RFC 8285, section 6), and only when an element needs it: `needsTwoByteForm(id:length:)`.
    @inlinable @inline(__always) package init(
        into buffer: UnsafeMutableRawBufferPointer, marker: Bool, payloadType: UInt8, sequenceNumber: UInt16,
        timestamp: UInt32, ssrc: UInt32, twoByte: Bool = false
    ) {
        self.buffer = buffer
        isTwoByte = twoByte
        guard buffer.count >= RTPHeader.fixedLength else {
            count = 0
            return
        }
        let second = (marker ? 0x80 : 0) | payloadType & 0x7F
        buffer.storeBigEndian(0x8000 | UInt16(second), at: 0)
        buffer.storeBigEndian(sequenceNumber, at: 2)
        buffer.storeBigEndian(timestamp, at: 4)
        buffer.storeBigEndian(ssrc, at: 8)
        count = RTPHeader.fixedLength
    }

    /// Whether an element can only be written in the two-byte form.
    @inlinable package static func needsTwoByteForm(id: UInt8, length: Int) -> Bool {
        id > oneByteMaxID || length < 1 || length > oneByteMaxLength
    }

    /// Appends an element and leaves its data to the caller: returns where the `length` bytes belong (they are zero until
    /// then). `nil`: the form cannot carry this id or length, or it does not fit; then nothing was written.
    @inlinable package mutating func reserve(id: UInt8, length: Int) -> Int? {
        guard let data = place(id: id, length: length) else { return nil }
        for offset in data..<count { buffer.storeBytes(of: 0, toByteOffset: offset, as: UInt8.self) }
        return data
    }

    /// Writes an element's own header and claims the room behind it, whose bytes are still the buffer's old ones.
    @inlinable mutating func place(id: UInt8, length: Int) -> Int? {
        guard count >= RTPHeader.fixedLength, id != 0, length >= 0, length <= 255 else { return nil }
        guard isTwoByte || !Self.needsTwoByteForm(id: id, length: length) else { return nil }
        // The block's own header comes with the first element; `finish` fills it in.
        let start = count == RTPHeader.fixedLength ? count &+ 4 : count
        let data = start &+ (isTwoByte ? 2 : 1)
        let end = data &+ length
        // Room for the final padding is claimed here, so that `finish` cannot fail. The length field counts words in 16 bits.
        let paddedEnd = (end &+ 3) & ~3
        guard paddedEnd <= buffer.count, paddedEnd <= 0xFFFF &* 4 else { return nil }
        if isTwoByte {
            buffer.storeBytes(of: id, toByteOffset: start, as: UInt8.self)
            buffer.storeBytes(of: UInt8(truncatingIfNeeded: length), toByteOffset: start &+ 1, as: UInt8.self)
        } else {
            let head = id << 4 | UInt8(truncatingIfNeeded: length &- 1)
            buffer.storeBytes(of: head, toByteOffset: start, as: UInt8.self)
        }
        count = end
        return data
    }

    /// Appends an element. `false`: the form cannot carry it, or it does not fit; then nothing was written.
    @inlinable package mutating func append(id: UInt8, bytes: UnsafeRawBufferPointer) -> Bool {
        guard let offset = place(id: id, length: bytes.count) else { return false }
        if let source = bytes.baseAddress, let target = buffer.baseAddress {
            target.advanced(by: offset).copyMemory(from: source, byteCount: bytes.count)
        }
        return true
    }

    /// Appends an element. `false`: the form cannot carry it, or it does not fit; then nothing was written.
    @inlinable package mutating func append(id: UInt8, bytes: RawSpan) -> Bool {
        bytes.withUnsafeBytes { append(id: id, bytes: $0) }
    }

    /// Appends a 16-bit element, such as the transport-wide sequence number.
    @inlinable package mutating func append(id: UInt8, uint16 value: UInt16) -> Bool {
        guard let offset = place(id: id, length: 2) else { return false }
        buffer.storeBigEndian(value, at: offset)
        return true
    }

    /// Appends the low 24 bits of `value`, such as the absolute send time (6.18 fixed point seconds).
    @inlinable package mutating func append(id: UInt8, uint24 value: UInt32) -> Bool {
        guard let offset = place(id: id, length: 3) else { return false }
        buffer.storeBigEndian(UInt16(truncatingIfNeeded: value >> 8), at: offset)
        buffer.storeBytes(of: UInt8(truncatingIfNeeded: value), toByteOffset: offset &+ 2, as: UInt8.self)
        return true
    }

    /// Ends the header and returns its length, where the payload belongs. `nil`: the fixed part did not fit.
    @inlinable @inline(__always) package mutating func finish() -> Int? {
        if count == RTPHeader.fixedLength { return count }
        return finishExtension()
    }

    @usableFromInline mutating func finishExtension() -> Int? {
        guard count > RTPHeader.fixedLength else { return nil }
        while count & 3 != 0 {
            buffer.storeBytes(of: 0, toByteOffset: count, as: UInt8.self)
            count &+= 1
        }
        let elements = count &- RTPHeader.fixedLength &- 4
        let profile = isTwoByte ? HeaderExtensionReader.twoByteProfile : HeaderExtensionReader.oneByteProfile
        buffer.storeBigEndian(profile, at: RTPHeader.fixedLength)
        buffer.storeBigEndian(UInt16(truncatingIfNeeded: elements >> 2), at: RTPHeader.fixedLength &+ 2)
        buffer.storeBytes(of: 0x90, toByteOffset: 0, as: UInt8.self)
        return count
    }
}
