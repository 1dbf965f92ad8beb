import MediaContract
import MediaSwitch
import MediaTestKit
import MediaWire
import Testing

/// A room's packets stay in the room, whatever comes and goes.
@Suite struct IsolationTests {
    @Test func aSubscriptionBetweenTwoRoomsIsNotMade() {
        let scene = RoomScene(seed: 1)
        var alice = scene.publisher(room: 1)
        let mallory = scene.subscriber(room: 2, to: alice.track)
        scene.network.inject([])
        let refused = scene.network.takeEvents().contains {
            if case .subscriptionRefused(let id) = $0 { id == mallory.subscription } else { false }
        }
        #expect(refused)
        scene.publish(&alice, keyFrame: true)
        scene.network.run(for: .milliseconds(50))
        #expect(mallory.peer.receivedCount == 0)
        #expect(scene.network.switchboard.subscriptionCount == 0)
    }

    /// Two thousand users in two hundred rooms, the same SSRCs everywhere, a million packets at the subscribers, and joins, leaves and
    /// kicks between. Every payload carries its room; the tap sees every datagram, and none may carry another room's.
    @Test func noByteCrossesInAMillionPackets() {
        let seed: UInt64 = 7
        var random = SeededRandom(seed: seed)
        let scene = RoomScene(seed: seed)
        let network = scene.network
        struct Member {
            var peer: VirtualPeer
            var id: PeerID
            var publisher: RoomScene.Publisher?
        }
        let roomCount = 200
        var rooms = [[Member]](repeating: [], count: roomCount)
        var roomOfSocket: [UInt64: Int] = [:]
        var roomOfAddress: [TransportAddress: Int] = [:]
        var delivered = 0
        var crossed = 0
        var unreadable = 0

        // A subscriber's key is its own, so the tap opens nothing: it checks who sends to whom; the payload is checked where it is opened.
        network.tap = { _, socket, destination, _ in
            if roomOfSocket[socket.rawValue] != roomOfAddress[destination] { crossed += 1 }
        }

        func join(room: Int) {
            let isPublisher = rooms[room].filter { $0.publisher != nil }.count < 2
            let key = UInt64(room + 1)
            if isPublisher {
                let publisher = scene.publisher(
                    room: key, codec: .opus, payloadType: 111, ssrc: 0xAAAA_0000, firstIndex: 100, feedback: [])
                roomOfSocket[publisher.peer.socket.rawValue] = room
                roomOfAddress[publisher.peer.address] = room
                for member in rooms[room] where member.publisher == nil {
                    _ = scene.subscribe(member.peer, member.id, to: publisher.track)
                }
                rooms[room].append(Member(peer: publisher.peer, id: publisher.peerID, publisher: publisher))
                return
            }
            let tracks = rooms[room].compactMap { $0.publisher?.track }
            guard let first = tracks.first else { return }
            let subscriber = scene.subscriber(room: key, to: first)
            subscriber.peer.keepsPackets = true
            roomOfSocket[subscriber.peer.socket.rawValue] = room
            roomOfAddress[subscriber.peer.address] = room
            for track in tracks.dropFirst() { _ = scene.subscribe(subscriber.peer, subscriber.peerID, to: track) }
            // Somebody always tries the neighbour's track too.
            if let foreign = rooms[(room + 1) % roomCount].compactMap({ $0.publisher?.track }).first {
                _ = scene.subscribe(subscriber.peer, subscriber.peerID, to: foreign)
            }
            rooms[room].append(Member(peer: subscriber.peer, id: subscriber.peerID))
        }

        func check(_ peer: VirtualPeer, room: Int) {
            for packet in peer.received {
                delivered += 1
                if packet.payload.count < 3 || Int(packet.payload[1]) << 8 | Int(packet.payload[2]) != room {
                    crossed += 1
                }
            }
            unreadable += peer.failures.values.reduce(0, +)
            peer.forgetReceived()
        }

        for room in 0..<roomCount { for _ in 0..<10 { join(room: room) } }
        var ticket: UInt64 = 0
        while delivered < 1_000_000 {
            for room in 0..<roomCount {
                for place in rooms[room].indices {
                    guard var publisher = rooms[room][place].publisher else { continue }
                    for _ in 0..<3 {
                        publisher.peer.publish(
                            network, ssrc: publisher.ssrc, index: publisher.index, timestamp: publisher.timestamp,
                            payloadType: 111, payload: [0xFC, UInt8(room >> 8), UInt8(room & 0xFF), 1, 2, 3])
                        publisher.index += 1
                        publisher.timestamp &+= 960
                    }
                    rooms[room][place].publisher = publisher
                }
            }
            network.run(for: .milliseconds(20))
            for _ in 0..<20 {
                let room = Int.random(in: 0..<roomCount, using: &random)
                if rooms[room].count > 4, random.chance(0.5) {
                    let gone = rooms[room].remove(at: Int.random(in: 0..<rooms[room].count, using: &random))
                    check(gone.peer, room: room)
                    ticket += 1
                    network.applyAndFlush(.removePeer(gone.id, ticket: RemovalTicket(ticket)))
                } else {
                    join(room: room)
                }
            }
            for room in 0..<roomCount {
                for member in rooms[room] where member.publisher == nil { check(member.peer, room: room) }
            }
        }
        #expect(crossed == 0, "seed \(seed)")
        #expect(unreadable == 0, "seed \(seed)")
        #expect(ticket > 100)
        #expect(network.switchboard.peerCount == rooms.map(\.count).reduce(0, +))
    }
}
