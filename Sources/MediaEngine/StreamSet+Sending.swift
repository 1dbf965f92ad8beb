import CNet
package import MediaContract
import MediaWire

/// Datagrams become frames: to the kernel as many as it takes, the rest into the connection's queue, which keeps the order and the
/// frames whole.
extension StreamSet {
    package enum Sent: Equatable {
        case all
        /// Those that `taken` says.
        case some
        /// None: the connection is gone.
        case gone
    }

    /// Up to this many bytes a datagram is speech, feedback or a check, and not a part of a picture.
    private static var smallDatagram: Int { 400 }

    /// Sends datagrams to one connection, with one system call; at most `sendCapacity`. When the queue is full, the newest are dropped; its
    /// last eighth is for small ones, so that speech and feedback go on where pictures do not fit through.
    package mutating func send(_ id: SocketID, _ datagrams: UnsafeBufferPointer<UnsafeRawBufferPointer>) -> Sent {
        guard let place = place(of: id) else { return .gone }
        precondition(datagrams.count <= Self.sendCapacity, "more datagrams than one send takes")
        guard !datagrams.isEmpty else { return .all }
        var left = 0
        if !connections[place].isBlocked {
            let (result, total) = write(datagrams, connections[place].descriptor)
            if result == Int64(total) { return .all }
            guard result >= 0 || result == Int64(PARLOR_WOULD_BLOCK) else {
                precondition(result != Int64(PARLOR_BAD_DESCRIPTOR), "a connection of the set is closed")
                end(place)
                return .gone
            }
            left = max(0, Int(result))
            block(place)
        }
        return queue(datagrams, behind: left, place) ? .all : .some
    }

    /// Writes all frames by one call; what it said, and what it was to say.
    private func write(
        _ datagrams: UnsafeBufferPointer<UnsafeRawBufferPointer>, _ descriptor: Int32
    ) -> (result: Int64, total: Int) {
        var total = 0
        for index in datagrams.indices {
            let datagram = datagrams[index]
            header(index, of: datagram.count)
            vectors[2 * index] = parlor_segment(
                bytes: headers + 2 * index, length: StreamFrameReader.headerLength)
            vectors[2 * index + 1] = parlor_segment(bytes: datagram.baseAddress, length: datagram.count)
            total += StreamFrameReader.headerLength + datagram.count
        }
        return (parlor_stream_send(descriptor, vectors, UInt32(2 * datagrams.count)), total)
    }

    private func header(_ index: Int, of length: Int) {
        headers.storeBytes(of: UInt16(length).bigEndian, toByteOffset: 2 * index, as: UInt16.self)
    }

    /// Queues what comes behind the first `left` bytes of the frames, which have left. False: not all had room.
    private mutating func queue(
        _ datagrams: UnsafeBufferPointer<UnsafeRawBufferPointer>, behind left: Int, _ place: Int
    ) -> Bool {
        var left = left
        var all = true
        let headerLength = StreamFrameReader.headerLength
        let reserve = limits.queueBytes / 8
        for index in datagrams.indices {
            let datagram = datagrams[index]
            let size = headerLength + datagram.count
            guard left < size else {
                left -= size
                taken[index] = true
                continue
            }
            // The rest of a frame that has begun always has room: the queue is empty then.
            let room = connections[place].queue.room - (datagram.count > Self.smallDatagram ? reserve : 0)
            guard left > 0 || size <= room else {
                taken[index] = false
                all = false
                continue
            }
            header(index, of: datagram.count)
            if left < headerLength {
                connections[place].queue.append(
                    UnsafeRawBufferPointer(start: headers + 2 * index + left, count: headerLength - left))
            }
            connections[place].queue.append(UnsafeRawBufferPointer(rebasing: datagram[max(0, left - headerLength)...]))
            taken[index] = true
            left = 0
        }
        return all
    }

    /// Sends what waits, as far as the kernel takes it now.
    package mutating func drain(_ place: Int) {
        while connections[place].isBlocked {
            let (first, second) = connections[place].queue.regions
            vectors[0] = parlor_segment(bytes: first.baseAddress, length: first.count)
            vectors[1] = parlor_segment(bytes: second.baseAddress, length: second.count)
            let result =
                first.isEmpty
                ? 0 : parlor_stream_send(connections[place].descriptor, vectors, second.isEmpty ? 1 : 2)
            guard result >= 0 else {
                precondition(result != Int64(PARLOR_BAD_DESCRIPTOR), "a connection of the set is closed")
                if result != Int64(PARLOR_WOULD_BLOCK) { end(place) }
                return
            }
            connections[place].queue.remove(Int(result))
            guard connections[place].queue.count == 0 else {
                // The kernel took a part, so it is full.
                return
            }
            unblock(place)
        }
    }
}
