#if canImport(MediaWire)
    import MediaWire
#endif

/// What must hold for any bytes that come as RTP. Run by the fuzzer, and by the unit tests on vectors and corpus.
enum RTPExercise {
    static func run(_ bytes: RawSpan) {
        var header = RTPHeader()
        guard RTPHeader.parse(bytes, into: &header) == .header else {
            precondition(header == RTPHeader(), "a refused packet leaves the header alone")
            return
        }
        precondition(header.headerLength >= 12 && header.headerLength <= bytes.byteCount)
        if let padding = header.paddingLength(in: bytes) {
            precondition(padding >= 0 && padding <= bytes.byteCount - header.headerLength)
        }
        // The elements lie in the block, in order, and apart.
        var end = header.extensionOffset
        var reader = HeaderExtensionReader(header)
        while let element = reader.next(bytes) {
            precondition(element.id != 0 && element.offset > end && element.length >= 0)
            end = element.offset + element.length
            precondition(end <= header.extensionOffset + header.extensionLength)
        }
        precondition(reader.next(bytes) == nil, "the end stays the end")
        rewrite(bytes, header)
    }

    /// What was read, written and read again is the same.
    private static func rewrite(_ bytes: RawSpan, _ header: RTPHeader) {
        let twoByte = header.extensionProfile & 0xFFF0 == HeaderExtensionReader.twoByteProfile
        var output = [UInt8](repeating: 0, count: bytes.byteCount + 4)
        let length = output.withUnsafeMutableBytes { buffer -> Int? in
            var writer = RTPHeaderWriter(
                into: buffer, marker: header.marker, payloadType: header.payloadType,
                sequenceNumber: header.sequenceNumber, timestamp: header.timestamp, ssrc: header.ssrc, twoByte: twoByte)
            var reader = HeaderExtensionReader(header)
            while let element = reader.next(bytes) {
                let data = bytes.extracting(element.offset..<(element.offset + element.length))
                precondition(writer.append(id: element.id, bytes: data))
            }
            return writer.finish()
        }
        guard let length else { preconditionFailure("a rewritten header is not longer than its packet") }

        let copy = output.span.bytes.extracting(0..<length)
        var read = RTPHeader()
        precondition(RTPHeader.parse(copy, into: &read) == .header)
        precondition(read.headerLength == length && !read.hasPadding && read.csrcCount == 0)
        precondition(
            read.marker == header.marker && read.payloadType == header.payloadType && read.ssrc == header.ssrc
                && read.sequenceNumber == header.sequenceNumber && read.timestamp == header.timestamp)
        var old = HeaderExtensionReader(header)
        var new = HeaderExtensionReader(read)
        while let element = old.next(bytes) {
            guard let again = new.next(copy), again.id == element.id, again.length == element.length else {
                preconditionFailure("an element was lost")
            }
            for index in 0..<element.length {
                precondition(
                    copy.octet(at: again.offset + index) == bytes.octet(at: element.offset + index), "data changed")
            }
        }
        precondition(new.next(copy) == nil, "an element was added")
    }
}
