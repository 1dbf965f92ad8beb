import CNet
import MediaContract
import MediaSwitch
import MediaWire

/// The flush: the switchboard's plan becomes sendmmsg calls, one for each run of messages of the same socket.
extension WorkerLoop {
    mutating func flush(_ switchboard: inout Switchboard) {
        switchboard.prepareFlush()
        let count = switchboard.outbox.messageCount
        var index = 0
        while index < count {
            let socket = switchboard.outbox.messages[index].socket
            if socket.isStream {
                index += sendStream(from: index, of: socket, &switchboard)
                continue
            }
            guard let slot = sockets.slot(of: socket) else {
                switchboard.complete(message: index, .failed)
                index += 1
                continue
            }
            if sockets[slot].isBlocked {
                switchboard.complete(message: index, .blocked)
                index += 1
                continue
            }
            let run = fill(from: index, of: socket, switchboard.outbox)
            if run == 0 {
                // More segments than the kernel takes in one message.
                switchboard.complete(message: index, .failed)
                index += 1
            } else {
                send(run, from: index, slot, &switchboard)
                index += run
            }
        }
        switchboard.finishFlush()
    }

    /// Writes the headers of consecutive messages of one socket, as many as fit; returns their number.
    private func fill(from first: Int, of socket: SocketID, _ outbox: borrowing Outbox) -> Int {
        let planned = outbox.messages
        let plannedCount = outbox.messageCount
        let plannedSegments = outbox.segments
        let messages = sender.messages
        let segments = sender.segments
        var count = 0
        var used = 0
        while count < BatchSender.messageCapacity, first + count < plannedCount {
            let message = planned[first + count]
            let length = message.segmentCount
            guard message.socket.rawValue == socket.rawValue, used + length <= BatchSender.segmentCapacity else {
                break
            }
            messages[count] = parlor_outgoing(
                destination: parlor_address(message.destination), first_segment: UInt32(used),
                segment_count: UInt32(length), segment_size: length > 1 ? UInt32(message.segmentSize) : 0)
            for offset in 0..<length {
                let bytes = plannedSegments[message.firstSegment + offset]
                segments[used + offset] = parlor_segment(bytes: bytes.baseAddress, length: bytes.count)
            }
            used += length
            count += 1
        }
        return count
    }

    /// Sends the filled run, and says what became of each of its messages.
    private mutating func send(_ count: Int, from first: Int, _ slot: Int, _ switchboard: inout Switchboard) {
        let entry = sockets[slot]
        var done = 0
        var retried = false
        while done < count {
            let result = parlor_sender_send(sender.run, entry.descriptor, UInt32(done), UInt32(count - done))
            if result > 0 {
                for _ in 0..<result {
                    switchboard.complete(message: first + done, .sent)
                    done += 1
                }
                retried = false
                continue
            }
            precondition(result != PARLOR_BAD_DESCRIPTOR, "a socket in the table is closed")
            if result == PARLOR_WOULD_BLOCK {
                setBlocked(slot, true)
                while done < count {
                    switchboard.complete(message: first + done, .blocked)
                    done += 1
                }
                return
            }
            // With the error queue on, a send reports, once, what an earlier datagram met, and does not send.
            if entry.hasErrorQueue, !retried, sender.messages[done].segment_size == 0 || !isRefusal(result) {
                retried = true
                continue
            }
            var outcome = SendOutcome.failed
            var lost = (count: 0, bytes: 0)
            if sender.messages[done].segment_size != 0, isRefusal(result) {
                outcome = sendSingly(sender.messages[done], slot, &switchboard, &lost)
                // Where the pieces go through it was the segmenting, and not this one destination.
                if outcome == .sent { turnOffSegmentation(result, sender.messages[done], &switchboard) }
            }
            switchboard.complete(message: first + done, outcome, lost: lost)
            done += 1
            retried = false
            if outcome == .blocked {
                while done < count {
                    switchboard.complete(message: first + done, .blocked)
                    done += 1
                }
            }
        }
    }

    /// Errors with which a kernel or a device turns down a segmented message that it might take in pieces.
    private func isRefusal(_ result: Int32) -> Bool {
        result == PARLOR_INVALID || result == PARLOR_IO_ERROR || result == PARLOR_MESSAGE_TOO_LONG
    }

    /// EINVAL and EIO mean that UDP_SEGMENT does not work here; unless the segments may just be longer than the path takes,
    /// which is EMSGSIZE or, before Linux 6.14, also EINVAL. 1232 bytes fit every path: 1280 (RFC 8200, section 5)
    /// without the headers of IPv6 and UDP.
    private func turnOffSegmentation(_ result: Int32, _ message: parlor_outgoing, _ switchboard: inout Switchboard) {
        guard result == PARLOR_IO_ERROR || (result == PARLOR_INVALID && message.segment_size <= 1232),
            switchboard.outbox.segmentation
        else { return }
        switchboard.outbox.segmentation = false
        worker.setup.link.notice(.segmentationRefused(worker: worker.index, SystemError(result: result)))
    }

    /// Sends each segment of a refused message as a datagram of its own. Blocked only if none left: the message is planned
    /// again as a whole, and no datagram may leave twice. Of a sent one, `lost` is what did not leave.
    private mutating func sendSingly(
        _ message: parlor_outgoing, _ slot: Int, _ switchboard: inout Switchboard,
        _ lost: inout (count: Int, bytes: Int)
    ) -> SendOutcome {
        let descriptor = sockets[slot].descriptor
        let total = Int(message.segment_count)
        let capacity = BatchSender.messageCapacity
        var done = 0
        var sent = 0
        var bytesLeft = 0
        for offset in 0..<total { bytesLeft += sender.segments[Int(message.first_segment) + offset].length }
        while done < total {
            // Fill a set, then send all of it.
            let set = min(capacity, total - done)
            for offset in 0..<set {
                sender.singleMessages[offset] = parlor_outgoing(
                    destination: message.destination, first_segment: UInt32(offset), segment_count: 1, segment_size: 0)
                sender.singleSegments[offset] = sender.segments[Int(message.first_segment) + done + offset]
            }
            var tried = 0
            while tried < set {
                let result = parlor_sender_send(sender.single, descriptor, UInt32(tried), UInt32(set - tried))
                if result > 0 {
                    for offset in tried..<tried + Int(result) { bytesLeft -= sender.singleSegments[offset].length }
                    tried += Int(result)
                    sent += Int(result)
                } else if result == PARLOR_WOULD_BLOCK {
                    setBlocked(slot, true)
                    if sent == 0 { return .blocked }
                    lost = (total - sent, bytesLeft)
                    switchboard.countDrop(.sendFailed, UInt64(lost.count))
                    return .sent
                } else {
                    tried += 1
                }
            }
            done += set
        }
        guard sent > 0 else { return .failed }
        lost = (total - sent, bytesLeft)
        if lost.count > 0 { switchboard.countDrop(.sendFailed, UInt64(lost.count)) }
        return .sent
    }
}
