import ClientEngine
import MediaContract
import MediaTestKit
import MediaTransport
import MediaWire
import Testing

/// WebRTC transports of clients against the node's switchboard, in virtual time.
@Suite struct WebRTCTests {
    /// A publisher and a subscriber that are connected, and a track between them.
    private struct Call {
        var room: VirtualRoom
        let publisher: VirtualClient
        let subscriber: VirtualClient
        let sent: Int
        let received: Int
    }

    /// The macro's own way takes no mutating call.
    private func unwrap<Value>(_ value: Value?) throws -> Value { try #require(value) }

    private func call(seed: UInt64, hasRepair: Bool = true) throws -> Call {
        var room = VirtualRoom(seed: seed)
        // As in a room: the node begins DTLS with publishers, and subscribers begin it.
        let publisher = try unwrap(room.client(.client))
        let subscriber = try unwrap(room.client(.server))
        let sent = try #require(publisher.addSending(VirtualRoom.settings(ssrc: 100, hasRepair: hasRepair)))
        room.publish(
            publisher, track: 1, encodings: [EncodingSpec(ssrcs: [100], rtxSSRC: hasRepair ? 101 : nil)])
        let received = try #require(
            room.subscribe(subscriber, track: 1, id: 1, ssrc: 200, hasRepair: hasRepair))
        let isUp = room.run(within: .seconds(20)) {
            publisher.state == .connected && subscriber.state == .connected
        }
        try #require(isUp, "seed \(seed): \(publisher.state), \(subscriber.state)")
        room.run(.milliseconds(100))
        return Call(room: room, publisher: publisher, subscriber: subscriber, sent: sent, received: received)
    }

    /// Sends so many frames, one each 10 ms, the first a key frame, and lets repair end.
    private func send(_ call: Call, _ numbers: Range<Int>) {
        for number in numbers {
            let wanted = call.publisher.keyFrameRequests.count
            call.publisher.send(
                VirtualRoom.frame(number, isKey: number == numbers.lowerBound || wanted > 0 && number % 50 == 0),
                stream: call.sent, timestamp: UInt32(number) &* 900, call.room.network)
            call.room.run(.milliseconds(10))
        }
        call.room.run(.milliseconds(600))
    }

    private func numbers(_ call: Call) -> [Int] { call.subscriber.delivered.map { VirtualRoom.number($0.payload) } }

    @Test func `media goes from client to client through the node`() throws {
        let call = try call(seed: 1)
        send(call, 0..<300)
        #expect(numbers(call) == Array(0..<300))
        let sequences = call.subscriber.delivered.map(\.sequence)
        #expect(sequences == (sequences.first.map { Array($0..<$0 + 300) } ?? []))
        #expect(call.subscriber.statistics.failures.isEmpty)
        #expect(call.publisher.statistics.failures.isEmpty)
        // The node answers the extension, and reports.
        #expect(call.publisher.statistics.transportFeedbackReceived > 10)
        #expect(call.publisher.statistics.receiverReportsReceived > 0)
        #expect(call.subscriber.statistics.senderReportsReceived > 0)
        #expect(call.publisher.statistics.retransmitted == 0)
        #expect(call.publisher.roundTrip == .milliseconds(10))
        #expect(call.publisher.states == [.securing, .connected] || call.publisher.states == [.connected])
        let times = try #require(call.subscriber.connectionTimes)
        #expect(times.pathFound.map { $0 - times.began } == .milliseconds(10))
    }

    @Test(arguments: [11, 12, 13, 14] as [UInt64], [true, false])
    func `loss on all ways is repaired, by RTX or as it was`(seed: UInt64, hasRepair: Bool) throws {
        let call = try call(seed: seed, hasRepair: hasRepair)
        call.room.network.uplink.loss = 0.08
        call.room.network.downlink.loss = 0.08
        call.room.network.downlink.jitter = .milliseconds(4)
        send(call, 0..<400)
        call.room.network.uplink.loss = 0
        call.room.network.downlink.loss = 0
        call.room.run(.milliseconds(600))
        let received = numbers(call)
        // What was lost on both ways in turn may be too late; the order is kept.
        #expect(received.count >= 392, "seed \(seed): \(received.count)")
        #expect(received == received.sorted(), "seed \(seed)")
        let (up, down) = (call.publisher.statistics, call.subscriber.statistics)
        #expect(up.retransmitted > 10 && up.nacksReceived > 5, "seed \(seed)")
        #expect(down.nacksSent > 5, "seed \(seed)")
        #expect(call.subscriber.reception[call.received].recovered > 10, "seed \(seed)")
        #expect((down.repairsReceived > 10) == hasRepair, "seed \(seed)")
        #expect(down.drops(.authenticationFailed) == 0 && up.drops(.authenticationFailed) == 0, "seed \(seed)")
    }

    @Test(arguments: [21, 22, 23, 24, 25] as [UInt64])
    func `a connection comes up though a third of all datagrams is lost`(seed: UInt64) throws {
        var room = VirtualRoom(seed: seed)
        room.network.uplink.loss = 0.3
        room.network.downlink.loss = 0.3
        room.network.downlink.duplication = 0.1
        room.network.downlink.jitter = .milliseconds(20)
        let clients = [try unwrap(room.client(.client)), try unwrap(room.client(.server))]
        let isUp = room.run(within: .seconds(29)) { clients.allSatisfy { $0.state == .connected } }
        #expect(isUp, "seed \(seed): \(clients.map(\.state))")
    }

    @Test func `a restart changes the credentials and not the media`() throws {
        let call = try call(seed: 31)
        send(call, 0..<50)
        for round in 1...4 {
            let first = round * 50
            for number in first..<first + 50 {
                if number == first + 10 { call.publisher.restart(call.room.network) }
                if number == first + 20 { call.subscriber.restart(call.room.network) }
                call.publisher.send(
                    VirtualRoom.frame(number, isKey: false), stream: call.sent, timestamp: UInt32(number) &* 900,
                    call.room.network)
                call.room.run(.milliseconds(10))
            }
        }
        call.room.run(.milliseconds(300))
        #expect(numbers(call) == Array(0..<250))
        #expect(call.publisher.state == .connected)
        #expect(call.publisher.statistics.nacksReceived == 0)
        #expect(call.publisher.states.last == .connected && !call.publisher.states.contains(.disconnected))
    }

    @Test func `silence is noticed after eight seconds, and a restart heals it`() throws {
        let call = try call(seed: 41)
        send(call, 0..<20)
        let cut = call.room.network.now
        call.publisher.isCut = true
        let isNoticed = call.room.run(within: .seconds(20)) { call.publisher.state == .disconnected }
        #expect(isNoticed)
        #expect(call.room.network.now - cut <= .seconds(9))
        // It is one's own way back, too: the first authentic packet heals it.
        call.publisher.isCut = false
        call.publisher.restart(call.room.network)
        #expect(call.room.run(within: .seconds(1)) { call.publisher.state == .connected })
        send(call, 20..<40)
        #expect(numbers(call) == Array(0..<40))

        call.publisher.isCut = true
        let isLost = call.room.run(within: .seconds(40)) { call.publisher.state == .failed(.consentLost) }
        #expect(isLost)
        #expect(!call.publisher.canSend)
        call.publisher.isCut = false
        call.publisher.restart(call.room.network)
        #expect(call.room.run(within: .seconds(1)) { call.publisher.state == .connected })
        send(call, 40..<60)
        #expect(numbers(call) == Array(0..<60))
    }

    @Test func `another certificate than the one that was told is no node`() throws {
        let room = VirtualRoom(seed: 51)
        let stranger = VirtualBrowser.fingerprint(VirtualBrowser.browserCertificate)
        let client = try #require(
            VirtualClient(
                number: 9, nodeRole: .server, network: room.network, seed: 51, nodeFingerprint: stranger))
        var all = room
        all.clients = [client]
        let hasFailed = all.run(within: .seconds(5)) {
            client.state == .failed(.handshake(.fingerprintMismatch))
        }
        #expect(hasFailed, "\(client.state)")
        #expect(!client.canSend)
        #expect(!client.states.contains(.connected))
    }

    @Test func `nobody there is no path`() throws {
        var room = VirtualRoom(seed: 61)
        let client = try unwrap(room.client(.server))
        client.isCut = true
        #expect(room.run(within: .seconds(31)) { client.state == .failed(.noPath) })
    }

    @Test func `a stranger's datagrams change nothing`() throws {
        let call = try call(seed: 71)
        let network = call.room.network
        let elsewhere = ICEPath(socket: 0, address: TransportAddress(ipv4: 0x0102_0304, port: 5))
        // ClientHellos, alerts and STUN from elsewhere, and STUN with a wrong key from the node's address.
        for first in [20, 21, 22, 23, 25, 63] as [UInt8] {
            let datagram: [UInt8] = [first, 0xFE, 0xFD] + [UInt8](repeating: 1, count: 60)
            #expect(call.publisher.handIn(datagram, from: elsewhere, network) == .dropped(.unverifiedSource))
        }
        let stun: [UInt8] = [1, 1, 0, 0, 0x21, 0x12, 0xA4, 0x42] + [UInt8](repeating: 7, count: 12)
        for source in [elsewhere, VirtualClient.path] {
            #expect(call.publisher.handIn(stun, from: source, network) == .dropped(.unknownCheck))
        }
        for first in [5, 70, 127, 200] as [UInt8] {
            let datagram = [UInt8](repeating: first, count: 40)
            guard case .dropped = call.publisher.handIn(datagram, from: elsewhere, network) else {
                Issue.record("a datagram that begins with \(first) was taken")
                continue
            }
        }
        send(call, 0..<20)
        #expect(numbers(call) == Array(0..<20))
        #expect(call.publisher.state == .connected)
    }

    @Test func `a subscriber's wish for a key frame reaches the publisher`() throws {
        let call = try call(seed: 81)
        send(call, 0..<20)
        call.room.run(.seconds(2))
        let before = call.publisher.keyFrameRequests.count
        call.subscriber.requestKeyFrame(stream: call.received, call.room.network)
        call.room.run(.milliseconds(100))
        #expect(call.publisher.keyFrameRequests.count == before + 1)
        #expect(call.publisher.keyFrameRequests.last == 1)
        #expect(call.publisher.sending[call.sent].keyFrameRequests >= 1)
    }

    @Test func `layers that only their RIDs tell apart are found`() throws {
        var room = VirtualRoom(seed: 91)
        let publisher = try unwrap(room.client(.client))
        let subscriber = try unwrap(room.client(.server))
        let layers = try ["lo", "hi"].enumerated().map { place, rid in
            try #require(publisher.addSending(VirtualRoom.settings(ssrc: 100 + UInt32(place) * 10, rid: rid)))
        }
        room.publish(publisher, track: 1, encodings: [EncodingSpec(rid: "lo"), EncodingSpec(rid: "hi")])
        _ = try #require(room.subscribe(subscriber, track: 1, id: 1, ssrc: 200, layer: .low))
        #expect(
            room.run(within: .seconds(5)) {
                publisher.state == .connected && subscriber.state == .connected
            })
        room.run(.milliseconds(100))
        for number in 0..<100 {
            for (place, layer) in layers.enumerated() {
                publisher.send(
                    VirtualRoom.frame(number + place * 1000, isKey: number % 25 == 0), stream: layer,
                    timestamp: UInt32(number) &* 900, room.network)
            }
            room.run(.milliseconds(10))
        }
        room.run(.milliseconds(300))
        #expect(subscriber.delivered.map { VirtualRoom.number($0.payload) } == Array(0..<100))
        room.network.apply(.setLayer(SubscriptionID(1), .high))
        for number in 100..<200 {
            for (place, layer) in layers.enumerated() {
                publisher.send(
                    VirtualRoom.frame(number + place * 1000, isKey: number % 25 == 0), stream: layer,
                    timestamp: UInt32(number) &* 900, room.network)
            }
            room.run(.milliseconds(10))
        }
        room.run(.milliseconds(300))
        #expect(subscriber.delivered.last.map { VirtualRoom.number($0.payload) } == 1199)
        let numbers = subscriber.delivered.map { VirtualRoom.number($0.payload) % 1000 }
        #expect(numbers == numbers.sorted())
    }

    @Test func `streams come and go, and no SSRC comes twice`() throws {
        let call = try call(seed: 101)
        send(call, 0..<10)
        call.publisher.removeSending(call.sent)
        #expect(call.publisher.addSending(VirtualRoom.settings(ssrc: 100)) == nil)
        #expect(call.publisher.addSending(VirtualRoom.settings(ssrc: 99)) == nil, "its repair is 100")
        let place = try #require(call.publisher.addSending(VirtualRoom.settings(ssrc: 300)))
        #expect(place == call.sent)
        call.room.network.apply(.removeTrack(TrackID(1)))
        call.room.publish(call.publisher, track: 2, encodings: [EncodingSpec(ssrcs: [300], rtxSSRC: 301)])
        #expect(call.room.subscribe(call.subscriber, track: 2, id: 2, ssrc: 200) == nil, "taken")
        call.subscriber.removeReceiving(call.received)
        call.room.network.apply(.unsubscribe(SubscriptionID(2)))
        #expect(call.room.subscribe(call.subscriber, track: 2, id: 3, ssrc: 400) == call.received)
        send(call, 10..<30)
        #expect(numbers(call) == Array(0..<30))
        var count = 1
        while call.publisher.addSending(VirtualRoom.settings(ssrc: 1000 + 2 * UInt32(count))) != nil {
            count += 1
        }
        #expect(count == ClientTransport.sentStreamLimit)
    }
}
