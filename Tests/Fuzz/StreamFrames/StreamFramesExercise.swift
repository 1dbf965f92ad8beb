#if canImport(MediaWire)
    import MediaWire
#endif

/// What must hold for any bytes that come over a TCP connection, however they are cut. Run by the fuzzer, and by the unit tests on its
/// corpus.
///
/// The input's first byte chooses the longest datagram that is accepted, the second how the rest comes in.
enum StreamFramesExercise {
    enum End: Equatable { case waiting, tooLong }

    static func run(_ input: RawSpan) {
        guard input.byteCount >= 2 else { return }
        let maximum = [0, 1, 5, 100, 1500, 65_535][Int(input.octet(at: 0)) % 6]
        let seed = input.octet(at: 1)
        let stream = (2..<input.byteCount).map { input.octet(at: $0) }
        let expected = reference(stream, maximum)
        precondition(feed(stream, maximum, sizes: [stream.count]) == expected, "in one piece")
        precondition(feed(stream, maximum, sizes: [1]) == expected, "byte by byte")
        precondition(feed(stream, maximum, sizes: sizes(seed)) == expected, "in pieces")
    }

    /// By the letter of RFC 4571, over the whole stream.
    static func reference(_ stream: [UInt8], _ maximum: Int) -> (frames: [[UInt8]], end: End) {
        var frames: [[UInt8]] = []
        var rest = stream[...]
        while rest.count >= 2 {
            let length = Int(rest[rest.startIndex]) * 256 + Int(rest[rest.startIndex + 1])
            if length > maximum { return (frames, .tooLong) }
            if rest.count < 2 + length { break }
            if length > 0 { frames.append(Array(rest.dropFirst(2).prefix(length))) }
            rest = rest.dropFirst(2 + length)
        }
        return (frames, .waiting)
    }

    /// What the reader makes of the stream when it comes in pieces of these sizes, over and over.
    static func feed(_ stream: [UInt8], _ maximum: Int, sizes: [Int]) -> (frames: [[UInt8]], end: End) {
        var frames: [[UInt8]] = []
        var buffer: [UInt8] = []
        var position = 0
        var piece = 0
        while position < stream.count {
            let size = max(1, sizes[piece % sizes.count])
            piece += 1
            buffer += stream[position..<min(position + size, stream.count)]
            position += size
            var reader = StreamFrameReader(maximum: maximum)
            reading: while true {
                switch reader.next(buffer.span.bytes) {
                case .frame(let offset, let length):
                    precondition(length > 0 && length <= maximum && offset >= 2 && offset + length == reader.consumed)
                    precondition(reader.consumed <= buffer.count)
                    frames.append(Array(buffer[offset..<offset + length]))
                case .incomplete:
                    precondition(buffer.count - reader.consumed < StreamFrameReader.headerLength + max(maximum, 1))
                    precondition(reader.next(buffer.span.bytes) == .incomplete, "nothing came in between")
                    break reading
                case .tooLong(let length):
                    precondition(length > maximum && reader.next(buffer.span.bytes) == .tooLong(length))
                    return (frames, .tooLong)
                }
            }
            buffer.removeFirst(reader.consumed)
        }
        return (frames, .waiting)
    }

    private static func sizes(_ seed: UInt8) -> [Int] {
        var state = UInt32(seed) &+ 1
        return (0..<7).map { _ in
            state = state &* 1_664_525 &+ 1_013_904_223
            return Int(state >> 24) % 40 + 1
        }
    }
}
