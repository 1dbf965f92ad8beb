import CNet
import MediaTransport
import MediaWire

/// ICE-TCP of clients: connections to passive candidates, for networks that let no UDP through.
extension ClientLoop {
    /// How long UDP may take to find a path before TCP is tried, too.
    static var streamPatience: MediaDuration { .seconds(1) }

    /// A path that is gone may come back over TCP.
    func considerStreams(_ client: Client, _ state: ClientConnectionState) {
        switch state {
        case .disconnected, .failed(.noPath), .failed(.consentLost):
            if !client.candidates.isEmpty { client.candidatesDue = scene.now }
        case .checking, .securing, .connected, .failed(.handshake): break
        }
    }

    /// Connects to the candidates, unless a path was found meanwhile.
    mutating func connectStreams(_ client: Client, _ slot: Int) {
        client.candidatesDue = .distantFuture
        guard client.transport.selectedPath == nil || client.transport.state == .disconnected else { return }
        for candidate in client.candidates {
            guard let stream = ClientStream(to: candidate.address, priority: candidate.priority) else { continue }
            let place = client.sockets.count + client.streams.count
            guard
                parlor_epoll_add(epoll, stream.descriptor, UInt64(slot) | UInt64(place) << 32, PARLOR_WRITABLE) == 0
            else {
                stream.close()
                continue
            }
            client.streams.append(stream)
        }
        client.candidates = []
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
                ClientConnectionSpec.Path(path, priority: stream.priority), now: scene.now, into: &scene.outbox)
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
        let stream = client.streams[place]
        guard stream.state != .closed else { return }
        _ = parlor_epoll_remove(epoll, stream.descriptor)
        stream.close()
        client.transport.remove(socket: client.sockets.count + place, now: scene.now, into: &scene.outbox)
        settle(client, slot)
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
