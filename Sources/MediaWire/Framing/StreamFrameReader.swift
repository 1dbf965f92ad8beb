/// Finds the datagrams in a byte stream (RFC 4571, section 2): two bytes of length, then the datagram.
///
/// The reader holds no bytes. Its owner keeps a buffer, appends what comes to it, asks for the next frame until there is none, and
/// may then drop the first `consumed` bytes and start over with a new reader. What is left is never longer than a frame.
package struct StreamFrameReader: Sendable {
    package enum Step: Equatable, Sendable {
        /// A whole datagram, at this offset of the buffer; never empty.
        case frame(offset: Int, length: Int)
        /// What is left is the beginning of a frame, or nothing.
        case incomplete
        /// The next frame is longer than allowed: the stream is not what we take it for, and there is no way on.
        case tooLong(Int)
    }

    /// Bytes of length before each datagram.
    package static var headerLength: Int { 2 }
    /// What the media plane takes; a longer one is no packet of a path whose MTU is an Ethernet's.
    package static var maximumDatagram: Int { 1500 }

    /// Bytes of the buffer that are behind us.
    package private(set) var consumed = 0
    private let maximum: Int

    /// - Parameter maximum: the longest datagram to accept, in bytes.
    package init(maximum: Int = StreamFrameReader.maximumDatagram) { self.maximum = maximum }

    /// - Parameter bytes: the buffer from its start; it may have grown since the last call, nothing else.
    package mutating func next(_ bytes: RawSpan) -> Step {
        while bytes.byteCount &- consumed >= Self.headerLength {
            let length = Int(bytes.bigEndian16(at: consumed))
            guard length <= maximum else { return .tooLong(length) }
            let start = consumed &+ Self.headerLength
            guard length <= bytes.byteCount &- start else { return .incomplete }
            consumed = start &+ length
            // A null packet is legal and says nothing (RFC 4571, section 2).
            if length > 0 { return .frame(offset: start, length: length) }
        }
        return .incomplete
    }
}
