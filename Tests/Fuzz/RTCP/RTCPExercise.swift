#if canImport(MediaWire)
    import MediaWire
#endif

/// What must hold for any bytes that come as RTCP. Run by the fuzzer, and by the unit tests on vectors and corpus.
enum RTCPExercise {
    static func run(_ bytes: RawSpan) {
        var reader = RTCPCompoundReader()
        var end = 0
        while let block = reader.next(bytes) {
            precondition(block.offset >= end && block.length >= 4 && block.end <= bytes.byteCount)
            precondition(block.count <= 31)
            end = block.end
            walk(bytes, block)
            reports(bytes, block)
            nack(bytes, block)
            transportFeedback(bytes, block)
        }
        precondition(reader.next(bytes) == nil, "the end stays the end")
        // Blocks that do not lie in the bytes are refused, not read.
        for block in [
            RTCPBlock(type: 200, count: 1, offset: 4, length: bytes.byteCount),
            RTCPBlock(type: 205, count: 15, offset: Int.max - 3, length: 64),
            RTCPBlock(type: 202, count: 31, offset: -8, length: 64),
            RTCPBlock(type: 205, count: 1, offset: 0, length: Int.max),
            RTCPBlock(type: 206, count: 4, offset: 1, length: -4),
        ] { walk(bytes, block) }
    }

    /// All readers on one block, of its type or not.
    private static func walk(_ bytes: RawSpan, _ block: RTCPBlock) {
        var items = RTCPSourceDescriptionReader(block)
        while let item = items.next(bytes) {
            precondition(item.offset > block.offset && item.offset + item.length <= block.end)
        }
        _ = RTCPSourceDescription.canonicalName(of: 1, bytes, block)
        _ = RTCPPictureLossIndication.parse(bytes, block)
        if let goodbye = RTCPGoodbye.parse(bytes, block) {
            for index in 0..<goodbye.count {
                precondition(RTCPGoodbye.ssrc(bytes, block, index: index) != nil)
            }
        }
        if RTCPFullIntraRequest.parse(bytes, block) != nil {
            precondition(RTCPFullIntraRequest.entryCount(block) > 0)
            for index in 0..<RTCPFullIntraRequest.entryCount(block) {
                precondition(RTCPFullIntraRequest.entry(bytes, block, index: index) != nil)
            }
        }
        if let estimate = RTCPReceiverEstimate.parse(bytes, block) {
            for index in 0..<estimate.ssrcCount {
                precondition(RTCPReceiverEstimate.ssrc(bytes, block, index: index) != nil)
            }
            precondition(RTCPReceiverEstimate.ssrc(bytes, block, index: estimate.ssrcCount) == nil)
        }
        var sequences = RTCPNackReader(block)
        while sequences.next(bytes) != nil {}
        precondition(RTCPReportBlock.parse(bytes, block, index: RTCPReportBlock.count(block)) == nil)
        precondition(RTCPReportBlock.parse(bytes, block, index: -1) == nil)
    }

    /// Reports, written again, are the same bytes.
    private static func reports(_ bytes: RawSpan, _ block: RTCPBlock) {
        let count = RTCPReportBlock.count(block)
        var blocks: [RTCPReportBlock] = []
        for index in 0..<count {
            guard let report = RTCPReportBlock.parse(bytes, block, index: index) else {
                preconditionFailure("a counted report block is there")
            }
            blocks.append(report)
        }
        let sender = RTCPSenderReport.parse(bytes, block)
        let receiver = RTCPReceiverReport.parse(bytes, block)
        guard sender != nil || receiver != nil else { return precondition(count == 0) }
        var output = [UInt8](repeating: 0xEE, count: block.length)
        let length = output.withUnsafeMutableBytes { buffer in
            blocks.withUnsafeBufferPointer { blocks in
                var writer = RTCPWriter(into: buffer)
                if let sender { precondition(writer.senderReport(sender, blocks: blocks)) }
                if let receiver { precondition(writer.receiverReport(ssrc: receiver.ssrc, blocks: blocks)) }
                return writer.count
            }
        }
        // The first four bytes may differ: P bit and length with a profile's extension behind the report.
        for index in 4..<length {
            precondition(output[index] == bytes.octet(at: block.offset + index), "byte \(index) changed")
        }
    }

    /// The packets of a NACK, sorted and written again, are the same packets.
    private static func nack(_ bytes: RawSpan, _ block: RTCPBlock) {
        guard let nack = RTCPNack.parse(bytes, block) else { return }
        let before = sequences(bytes, block)
        precondition(before.count <= (block.length - 12) / 4 * 17)
        let sorted = Set(before).sorted()
        var output = [UInt8](repeating: 0xEE, count: 12 + sorted.count * 4)
        let length = output.withUnsafeMutableBytes { buffer in
            sorted.withUnsafeBufferPointer { sorted in
                var writer = RTCPWriter(into: buffer)
                precondition(
                    writer.nack(senderSSRC: nack.senderSSRC, mediaSSRC: nack.mediaSSRC, sequences: sorted))
                return writer.count
            }
        }
        let copy = output.span.bytes.extracting(0..<length)
        var reader = RTCPCompoundReader()
        guard let again = reader.next(copy) else { preconditionFailure("what was written can be read") }
        precondition(RTCPNack.parse(copy, again) == nack && sequences(copy, again) == sorted)
    }

    private static func sequences(_ bytes: RawSpan, _ block: RTCPBlock) -> [UInt16] {
        var result: [UInt16] = []
        var reader = RTCPNackReader(block)
        while let sequence = reader.next(bytes) { result.append(sequence) }
        return result
    }

    /// Arrivals are bounded by the message's length, lie in the announced range, and survive being written again.
    private static func transportFeedback(_ bytes: RawSpan, _ block: RTCPBlock) {
        guard let feedback = RTCPTransportFeedback.parse(bytes, block) else { return }
        let arrivals = arrivals(bytes, feedback, block)
        precondition(arrivals.count <= block.length - 20)
        var previous = -1
        for arrival in arrivals {
            let position = Int(arrival.sequence &- feedback.baseSequence)
            precondition(position > previous && position < Int(feedback.statusCount))
            previous = position
        }
        guard let last = arrivals.last, last.sequence &- feedback.baseSequence < 0x8000 else { return }
        var output = [UInt8](repeating: 0xEE, count: 64 + Int(feedback.statusCount) * 4)
        let length = output.withUnsafeMutableBytes { buffer in
            arrivals.withUnsafeBufferPointer { arrivals in
                var writer = RTCPWriter(into: buffer)
                precondition(
                    writer.transportFeedback(
                        senderSSRC: feedback.senderSSRC, mediaSSRC: feedback.mediaSSRC,
                        baseSequence: feedback.baseSequence, referenceTime: feedback.referenceTime,
                        feedbackCount: feedback.feedbackCount, arrivals: arrivals))
                return writer.count
            }
        }
        let copy = output.span.bytes.extracting(0..<length)
        var reader = RTCPCompoundReader()
        guard let again = reader.next(copy), let read = RTCPTransportFeedback.parse(copy, again) else {
            preconditionFailure("what was written can be read")
        }
        precondition(read.baseSequence == feedback.baseSequence && read.referenceTime == feedback.referenceTime)
        precondition(self.arrivals(copy, read, again) == arrivals)
    }

    private static func arrivals(
        _ bytes: RawSpan, _ feedback: RTCPTransportFeedback, _ block: RTCPBlock
    ) -> [RTCPPacketArrival] {
        var result: [RTCPPacketArrival] = []
        var reader = RTCPTransportFeedbackReader(feedback, block)
        while let arrival = reader.next(bytes) { result.append(arrival) }
        return result
    }
}
