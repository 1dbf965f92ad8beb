import CNet
import MediaTransport
import MediaWire

/// ICE-TCP of clients: connections to passive candidates, for networks that let no UDP through.
extension ClientLoop {
    /// A connection that carries nothing this long after it was begun is given up for another one.
    static var streamTrial: MediaDuration { .seconds(10) }

    /// Does what the plan says.
    mutating func tendStreams(_ client: Client, _ slot: Int) {
        switch client.transport.takeStreamStep(now: scene.now) {
        case .none: break
        case .retire: closeStreams(client, slot)
        case .dial: dial(client, slot)
        }
    }

    /// Connects to the candidates to which there is no connection, or none that is of use.
    private mutating func dial(_ client: Client, _ slot: Int) {
        for place in client.streams.indices where client.streams[place].state != .closed {
            let isSelected = client.transport.selectedPath?.socket == client.sockets.count + place
            // A selected one that has fallen silent, too: the network may have forgotten it without a word.
            let isUseless =
                isSelected
                ? client.transport.state == .disconnected
                : scene.now - client.streams[place].began >= Self.streamTrial
            if isUseless { close(client, place) }
        }
        for candidate in client.transport.streamCandidates {
            let isOpen = client.streams.contains { $0.state != .closed && $0.remote == candidate.address }
            guard !isOpen,
                let stream = ClientStream(to: candidate.address, priority: candidate.priority, now: scene.now)
            else { continue }
            // No event of the connection that had the place can come any more: nothing was waited for since it was closed.
            let free = client.streams.firstIndex { $0.state == .closed }
            let place = free ?? client.streams.count
            let token = UInt64(slot) | UInt64(client.sockets.count + place) << 32
            guard parlor_epoll_add(epoll, stream.descriptor, token, PARLOR_WRITABLE) == 0 else {
                stream.close()
                continue
            }
            if let free { client.streams[free] = stream } else { client.streams.append(stream) }
        }
    }

    mutating func closeStreams(_ client: Client, _ slot: Int) {
        for place in client.streams.indices { close(client, place) }
        settle(client, slot)
    }

    mutating func serveStream(_ client: Client, _ slot: Int, place: Int, _ events: UInt32) {
        guard client.streams.indices.contains(place) else { return }
        let stream = client.streams[place]
        let path = ICEPath(socket: client.sockets.count + place, address: stream.remote)
        scene.now = MediaTime(nanoseconds: parlor_monotonic_time())
        switch stream.state {
        case .closed: return
        case .connecting:
            guard stream.finishConnecting() else { return drop(client, slot, place) }
            watch(stream, slot, path.socket)
            client.transport.add(
                stream: ClientConnectionSpec.Path(path, priority: stream.priority), now: scene.now,
                into: &scene.outbox)
        case .connected:
            if events & PARLOR_WRITABLE != 0, !stream.write() { return drop(client, slot, place) }
            watch(stream, slot, path.socket)
            if events & ~PARLOR_WRITABLE != 0, !stream.read({ handIn($0, from: path, client) }) {
                return drop(client, slot, place)
            }
        }
        finishReading(client, slot)
    }

    private func watch(_ stream: ClientStream, _ slot: Int, _ socket: Int) {
        let events = PARLOR_READABLE | (stream.isBlocked ? PARLOR_WRITABLE : 0)
        _ = parlor_epoll_modify(epoll, stream.descriptor, UInt64(slot) | UInt64(socket) << 32, events)
    }

    private mutating func drop(_ client: Client, _ slot: Int, _ place: Int) {
        close(client, place)
        settle(client, slot)
    }

    private mutating func close(_ client: Client, _ place: Int) {
        let stream = client.streams[place]
        guard stream.state != .closed else { return }
        _ = parlor_epoll_remove(epoll, stream.descriptor)
        stream.close()
        client.transport.remove(socket: client.sockets.count + place, now: scene.now, into: &scene.outbox)
    }

    /// Hands a run of datagrams of one connection to it; gives the place in the outbox after them.
    mutating func sendOverStream(_ client: Client, _ slot: Int, from first: Int) -> Int {
        let socket = scene.outbox[first].path.socket
        let place = socket - client.sockets.count
        var index = first
        while index < scene.outbox.count, scene.outbox[index].client == slot,
            scene.outbox[index].path.socket == socket
        {
            let entry = scene.outbox[index]
            let hasRoom =
                entry.isSealed && client.streams.indices.contains(place)
                && client.streams[place].append(scene.outbox.datagram(index))
            if !hasRoom { client.sendFailures &+= 1 }
            index += 1
        }
        guard client.streams.indices.contains(place), client.streams[place].state == .connected else { return index }
        if client.streams[place].write() {
            watch(client.streams[place], slot, socket)
        } else {
            brokenStreams.append((slot, place))
        }
        return index
    }

    mutating func dropBrokenStreams() {
        while let broken = brokenStreams.popLast() {
            if let client = clients[broken.slot] { drop(client, broken.slot, broken.place) }
        }
    }
}
