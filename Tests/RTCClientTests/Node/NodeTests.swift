import Foundation
import MediaWire
import ParlorNode
import RTCClient
import RoomControl
import Testing
import WebTransport

/// The client against a real node.
@Suite(.timeLimit(.minutes(2)), .serialized)
struct NodeTests {
    @Test func `a loss is told to the others, and the client comes back with its tracks`() async throws {
        let scene = try NodeScene()
        let (alice, bob) = (try scene.client(), try scene.client())
        var (alices, bobs) = (Listening(alice), Listening(bob))
        alice.join(token: scene.token("alice"))
        try await alices.wait(for: .connected)
        bob.join(token: scene.token("bob"), userData: "b")
        try await bobs.wait(for: .connected)
        try await alices.wait(for: .userJoined(userID: "bob", userData: "b"))
        let (microphone, camera) = (LocalTrack(kind: .audio, tag: "mic"), LocalTrack(kind: .video, tag: "cam"))
        try await alice.publish([microphone, camera])
        try await subscription(&bobs, to: "alice", count: 2)
        let before = (microphone.trackID, camera.trackID)

        for loss in [SignallingConnection.Loss.noticed, .silent] {
            alice.loseConnection(loss)
            try await alices.wait(for: .reconnecting)
            // What happens meanwhile is told on the way back: a message, a track, a mute of her own.
            try bob.sendMessage("while away", messageID: "\(loss)")
            let extra = LocalTrack(kind: .audio, tag: "\(loss)")
            try await bob.publish([extra])
            try camera.updateMute(loss == .noticed)
            try await alices.wait(for: .reconnected)
            try await alices.wait { event in
                if case .tracksPublished(let tracks, userID: "bob") = event, tracks.map(\.tag) == ["\(loss)"] {
                    ()
                } else {
                    nil
                }
            }
            try await alices.wait { event in
                if case .messageReceived(let info) = event, info.identifier == "\(loss)" { () } else { nil }
            }
            try await subscription(&alices, to: "bob", count: 1)
            try await bobs.wait { event in
                if case .muteStateChanged(let track, _) = event, track.isMuted == (loss == .noticed) { () } else { nil }
            }
            #expect(alice.connectionState == .reconnected)
            #expect((microphone.trackID, camera.trackID) == before)
            #expect(bob.remoteUser("alice")?.audioTracks.first?.isSubscribed == true)
        }
        #expect(bob.remoteUser("alice")?.isReconnecting == false)
        alice.leave()
        try await bobs.wait { event in
            if case .tracksUnpublished(let tracks, userID: "alice") = event {
                tracks.count == 2 ? () : nil
            } else {
                nil
            }
        }
        try await bobs.wait(for: .userLeft(userID: "alice"))
        bob.leave()
        await scene.stop()
    }

    private func subscription(_ listening: inout Listening, to user: String, count: Int) async throws {
        var missing = count
        while missing > 0 {
            missing -= try await listening.wait { event in
                if case .tracksSubscribed(let video, let audio, user) = event { video.count + audio.count } else { nil }
            }
        }
    }

    @Test func `a newer join of the same user ends the older with 10022`() async throws {
        let scene = try NodeScene()
        let (old, new, other) = (try scene.client(), try scene.client(), try scene.client())
        var (olds, others) = (Listening(old), Listening(other))
        try await joinRoom(other, token: scene.token("other"))
        try await joinRoom(old, token: scene.token("alice"))
        try await others.wait { if case .userJoined(userID: "alice", _) = $0 { () } else { nil } }
        try await joinRoom(new, token: scene.token("alice"))
        let info = try await olds.end()
        #expect(info.reason == .error)
        #expect(info.error?.code == .userAlreadyExists)
        try await others.wait(for: .userLeft(userID: "alice"))
        try await others.wait { if case .userJoined(userID: "alice", _) = $0 { () } else { nil } }
        for client in [new, other] { client.leave() }
        await scene.stop()
    }

    @Test func `a full room, an unwanted second, a bad and an old token, and a node that stops`() async throws {
        let scene = try NodeScene { configuration in
            configuration.apps[0].settings.maxUsers = 1
            configuration.apps[0].settings.noAutoKickUser = true
        }
        let (alice, second) = (try scene.client(), try scene.client())
        var (alices, seconds) = (Listening(alice), Listening(second))
        try await joinRoom(alice, token: scene.token("alice"))
        second.join(token: scene.token("bob"))
        #expect(try await seconds.end().reason == .roomFull)
        second.join(token: scene.token("alice"))
        #expect(try await seconds.end().error?.code == .userAlreadyExists)
        let stranger = RoomToken(
            app: scene.app.id, room: "meeting", user: "eve", expiresAt: Int64.max
        ).signed(by: AccessKey(id: scene.key.id, secret: "guessed"))
        second.join(token: stranger)
        let refused = try await seconds.end().error
        #expect(refused?.code == .authFailed)
        #expect(refused?.message.contains("10001") == true, "\(refused?.message ?? "")")
        second.join(
            token: RoomToken(app: scene.app.id, room: "meeting", user: "eve", expiresAt: 1).signed(by: scene.key))
        let old = try await seconds.end().error
        #expect(old?.code == .authFailed)
        #expect(old?.message.contains("10002") == true, "\(old?.message ?? "")")

        await scene.stop()
        let closed = try await alices.end()
        #expect(closed.reason == .roomClosed)
        #expect(closed.error?.code == .roomClosed)
    }

    @Test func `messages reach those they are for, and not the sender`() async throws {
        let scene = try NodeScene()
        let clients = try (0..<3).map { _ in try scene.client() }
        var listenings = clients.map { Listening($0) }
        for (number, client) in clients.enumerated() { try await joinRoom(client, token: scene.token("user\(number)")) }
        try clients[0].sendMessage("only two", toUsers: ["user2"], messageID: "a")
        try clients[0].sendMessage("all = {\"x\":\"你好\"}", messageID: "b")
        func received(_ number: Int) async throws -> MessageInfo {
            try await listenings[number].wait { if case .messageReceived(let info) = $0 { info } else { nil } }
        }
        let first = try await received(2)
        #expect(first.identifier == "a")
        #expect(first.userID == "user0")
        #expect(first.content == "only two")
        #expect(abs(Double(first.timestamp) / 1000 - Date().timeIntervalSince1970) < 60)
        #expect(try await received(2).content == "all = {\"x\":\"你好\"}")
        #expect(try await received(1).identifier == "b")
        try clients[1].sendMessage("end", messageID: "c")
        #expect(try await received(0).identifier == "c", "not its own")

        try clients[0].sendMessage(String(repeating: "x", count: 65_537), messageID: "long")
        let refusal = try await listenings[0].wait {
            if case .messageRefused(messageID: "long", let error) = $0 { error } else { nil }
        }
        #expect(refusal.code == .invalidParameter)
        for client in clients { client.leave() }
        await scene.stop()
    }

    @Test func `a client of live mode listens until it is a broadcaster`() async throws {
        let scene = try NodeScene()
        var configuration = RTCConfiguration(servers: [scene.base])
        configuration.mode = .live
        let client = try RTCClient(configuration: configuration)
        try await joinRoom(client, token: scene.token("alice"))
        let track = LocalTrack(kind: .audio)
        let early = await #expect(throws: RTCError.self) { try await client.publish([track]) }
        #expect(early?.code == .wrongRole)
        try await client.setClientRole(.broadcaster)
        try await client.publish([track])
        let busy = await #expect(throws: RTCError.self) { try await client.setClientRole(.audience) }
        #expect(busy?.code == .wrongState)
        try await client.unpublish([track])
        try await client.setClientRole(.audience)
        client.leave()
        await scene.stop()
    }

    private func isIn(_ client: RTCClient) -> Bool { [.connected, .reconnected].contains(client.connectionState) }

    /// One user's random doings; gives how many tracks it published, and how often it was cut off.
    private func live(
        _ client: RTCClient, token: String, userData: String, seed: UInt64
    ) async throws -> (publications: Int, losses: Int) {
        var random = SeededRandom(seed: seed)
        var (publications, losses) = (0, 0)
        for _ in 0..<60 {
            guard client.connectionState != .disconnected else {
                var listening = Listening(client)
                client.join(token: token, userData: userData)
                try await listening.wait(for: .connected)
                continue
            }
            switch random.next() % 13 {
            case 0: client.leave()
            case 11:
                guard client.publishedTracks.count < 3 else { continue }
                // Given up at some moment: nobody may see it as published afterwards.
                let track = LocalTrack(kind: .audio, tag: "given up")
                let publishing = Task { try await client.publish([track]) }
                for _ in 0..<(random.next() % 8) { await Task.yield() }
                publishing.cancel()
                _ = try? await publishing.value
            case 1...4:
                guard client.publishedTracks.count < 3 else { continue }
                let track = LocalTrack(kind: random.next() % 2 == 0 ? .audio : .video, tag: "tag\(random.next() % 100)")
                // It may be cut off.
                if (try? await client.publish([track])) != nil { publications += 1 }
            case 5, 6:
                if let track = client.publishedTracks.first { try? await client.unpublish([track]) }
            case 7...9: for track in client.publishedTracks { try? track.updateMute(random.next() % 2 == 0) }
            case 10: try? await client.unsubscribe(client.remoteUserList.flatMap(\.audioTracks))
            default:
                var listening = Listening(client)
                let wasIn = isIn(client)
                client.loseConnection(random.next() % 2 == 0 ? .noticed : .silent)
                if wasIn { losses += 1 }
                // Half of them go on while they are cut off.
                if wasIn, random.next() % 2 == 0 { try await listening.wait(for: .reconnected) }
            }
        }
        return (publications, losses)
    }

    /// Forty users come, go, publish, mute, take back and lose their connections at random; when it is quiet, each
    /// client shows the same room.
    @Test(arguments: [1, 2] as [UInt64])
    func `in the end everybody sees the same room`(seed: UInt64) async throws {
        let scene = try NodeScene()
        let clients = try (0..<40).map { _ in try scene.client() }
        let counts = try await withThrowingTaskGroup(of: (Int, Int).self) { group in
            for (number, client) in clients.enumerated() {
                let token = scene.token("user\(number)")
                group.addTask {
                    try await live(client, token: token, userData: "data\(number)", seed: seed &+ UInt64(number))
                }
            }
            return try await group.reduce(into: (0, 0)) {
                $0.0 += $1.0
                $0.1 += $1.1
            }
        }
        // So that nobody takes silence for agreement.
        #expect(counts.0 > 200 && counts.1 > 50, "seed \(seed): \(counts)")
        // Quiet: all come in, and what is under way arrives.
        for (number, client) in clients.enumerated() {
            client.join(token: scene.token("user\(number)"), userData: "data\(number)")
        }
        func truth(of number: Int) -> [String: String] {
            Dictionary(
                clients[number].publishedTracks.compactMap { track in
                    track.trackID.map { ($0, "\(track.kind) \(track.tag) \(track.isMuted)") }
                }, uniquingKeysWith: { $1 })
        }
        func differences() -> [String] {
            var texts: [String] = []
            for (number, client) in clients.enumerated() {
                guard isIn(client) else {
                    texts.append("user\(number) is \(client.connectionState)")
                    continue
                }
                let users = client.remoteUserList
                if users.count != clients.count - 1 { texts.append("user\(number) sees \(users.count) others") }
                for user in users {
                    guard let other = Int(user.userID.dropFirst(4)) else { continue }
                    let shown = Dictionary(
                        (user.audioTracks + user.videoTracks).map {
                            ($0.trackID, "\($0.kind) \($0.tag) \($0.isMuted)")
                        }, uniquingKeysWith: { $1 })
                    if shown != truth(of: other) || user.userData != "data\(other)" || user.isReconnecting {
                        texts.append("user\(number) sees \(user.userID) with \(shown), not \(truth(of: other))")
                    }
                    for track in user.videoTracks where !track.isSubscribed {
                        texts.append("user\(number) is not subscribed to \(track.trackID)")
                    }
                }
            }
            return texts
        }
        // The suite's time limit cancels the task.
        while !Task.isCancelled, !differences().isEmpty { try? await Task.sleep(for: .milliseconds(50)) }
        let left = differences()
        #expect(left.isEmpty, "seed \(seed): \(left.count) differences, such as \(left.prefix(5))")
        for client in clients { client.leave() }
        await scene.stop()
    }
}
