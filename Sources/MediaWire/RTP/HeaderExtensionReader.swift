/// One element of a header extension: its negotiated id, and where its data lies in the packet.
package struct HeaderExtensionElement: Equatable, Sendable {
    package var id: UInt8
    package var offset: Int
    /// In bytes: 1...16 in the one-byte form, 0...255 in the two-byte form.
    package var length: Int

    @inlinable package init(id: UInt8, offset: Int, length: Int) {
        self.id = id
        self.offset = offset
        self.length = length
    }
}

/// Walks the elements of a header extension in the one-byte and the two-byte form (RFC 8285, sections 4.2 and 4.3).
///
/// An element that is cut off, and everything behind it, is left out; so is everything from id 15 (or id 0 with a length) of
/// the one-byte form on. An extension of another profile has no elements.
package struct HeaderExtensionReader: Sendable {
    package static let oneByteProfile: UInt16 = 0xBEDE
    /// The lowest four bits are "appbits" and carry no meaning (RFC 8285, section 4.3).
    package static let twoByteProfile: UInt16 = 0x1000

    @usableFromInline var cursor: Int
    @usableFromInline var end: Int
    @usableFromInline let isTwoByte: Bool

    @inlinable package init(_ header: RTPHeader) {
        isTwoByte = header.extensionProfile & 0xFFF0 == Self.twoByteProfile
        cursor = header.extensionOffset
        let known = isTwoByte || header.extensionProfile == Self.oneByteProfile
        end = known ? header.extensionOffset &+ header.extensionLength : 0
    }

    /// The next element, or `nil` at the end. `bytes` is the packet the header was read from.
    @inlinable package mutating func next(_ bytes: RawSpan) -> HeaderExtensionElement? {
        guard end <= bytes.byteCount, cursor >= 0 else { return nil }
        while cursor < end {
            let first = bytes.octet(at: cursor)
            // A zero byte is padding wherever it stands, not only at the end.
            if first == 0 {
                cursor &+= 1
                continue
            }
            let element: HeaderExtensionElement
            if isTwoByte {
                guard cursor &+ 1 < end else { break }
                element = HeaderExtensionElement(
                    id: first, offset: cursor &+ 2, length: Int(bytes.octet(at: cursor &+ 1)))
            } else {
                guard first >> 4 != 0, first >> 4 != 15 else { break }
                element = HeaderExtensionElement(
                    id: first >> 4, offset: cursor &+ 1, length: Int(first & 0x0F) &+ 1)
            }
            guard element.length <= end &- element.offset else { break }
            cursor = element.offset &+ element.length
            return element
        }
        cursor = end
        return nil
    }
}
