import CNet
import MediaTransport
import MediaWire

/// Before anything is timed: what leaves is what should. One destination really receives, and opens with its own key.
struct Verification {
    let cell: Cell

    func run(_ sinks: [TransportAddress], _ options: Options) throws {
        let (descriptor, address) = try Sinks.open(receiveBuffer: 4 << 20, sendBuffer: 0, gro: false)
        defer { parlor_close(descriptor) }
        let targets = [address] + sinks
        let ours = try Ours(cell, targets, outboxSlots: options.outboxSlots)
        _ = try ours.turn()
        try expectBatch(descriptor, ours.firstKey, "the relay")
        let floor = try Floor(cell, targets, slots: options.floorSlots)
        _ = try floor.turn()
        try expectBatch(descriptor, floor.firstKey, "the floor")
    }

    /// Exactly one batch, in order, each packet authentic and of the right size.
    private func expectBatch(_ descriptor: Int32, _ key: SRTPMasterKey, _ side: String) throws(BenchError) {
        guard var opener = SRTPOpener(key: key),
            let receiver = parlor_receiver_create(UInt32(Cell.batch + 1), UInt32(Publisher.slotSize))
        else { throw BenchError("no memory to verify") }
        defer { parlor_receiver_destroy(receiver) }
        var count = 0
        var expected: UInt16?
        while true {
            let result = parlor_receiver_receive(receiver, descriptor)
            if result == PARLOR_WOULD_BLOCK { break }
            guard result > 0, let messages = parlor_receiver_messages(receiver) else {
                throw BenchError("the verifying socket fails: error \(-result)")
            }
            for place in 0..<Int(result) {
                let bytes = UnsafeMutableRawBufferPointer(
                    start: messages[place].bytes, count: Int(messages[place].length))
                var header = RTPHeader()
                // Reports share the socket: payload types 64...95 (RFC 5761, section 4).
                guard bytes.count >= 2, !(64...95).contains(bytes[1] & 0x7F) else { continue }
                guard case .header = RTPHeader.parse(UnsafeRawBufferPointer(bytes).bytes, into: &header),
                    case .opened(let length) = opener.openRTP(
                        bytes, ssrc: header.ssrc, sequenceNumber: header.sequenceNumber,
                        headerLength: header.headerLength),
                    length == cell.size, header.sequenceNumber == expected ?? header.sequenceNumber
                else { throw BenchError("\(cell.key): packet \(count) of \(side) is not what was to be sent") }
                expected = header.sequenceNumber &+ 1
                count += 1
            }
        }
        guard count == Cell.batch else {
            throw BenchError("\(cell.key): \(side) sent \(count) of \(Cell.batch) packets")
        }
    }
}
