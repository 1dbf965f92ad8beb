import FoundationEssentials
import MediaWire
import RoomControl
import RoomProtocol
import RoomTestKit
import Testing

/// What one user's frames can do to the others, and to the node, is bounded; and whatever is refused is answered.
@Suite struct BoundedEffectTests {
    private func mutes(_ connection: SignallingConnection) -> [TrackMute] {
        connection.notifications.flatMap { notification -> [TrackMute] in
            if case .tracksMuted(let mute) = notification { mute.tracks } else { [] }
        }
    }

    @Test func `of many words about one track the last is told, once`() async throws {
        let kit = SignallingKit()
        let (alice, bob) = (try await kit.join("alice"), try await kit.join("bob"))
        let track = try #require(await alice.publish(["v0"]).first)
        let flapping = (0..<255).map { TrackMute(trackID: track, muted: $0 % 2 == 0) }
        await alice.send("mute-tracks", MuteTracks(tracks: flapping))
        #expect(mutes(bob) == [TrackMute(trackID: track, muted: true)])
        #expect(alice.code("mute-tracks") == nil)
        await alice.send("mute-tracks", MuteTracks(tracks: flapping + flapping))
        #expect(alice.code("mute-tracks") == .tooManyOperations)
        #expect(mutes(bob).count == 1)
    }

    @Test func `changes have a rate of their own`() async throws {
        var limits = RoomLimits()
        limits.changesPerSecond = 2
        let kit = SignallingKit(limits: limits)
        let (alice, bob) = (try await kit.join("alice"), try await kit.join("bob"))
        let track = try #require(await alice.publish(["a0"]).first)
        for index in 0..<10 {
            await alice.send("mute-tracks", MuteTracks(tracks: [TrackMute(trackID: track, muted: index % 2 == 0)]))
        }
        // Twice a second's worth at once, the publishing among it.
        #expect(mutes(bob).count == 3)
        #expect(alice.code("mute-tracks") == .tooManyOperations)
        await kit.clock.advance(by: .seconds(1))
        await alice.send("unpub-tracks", TracksRequest(tracks: [TrackReference(track)], rpcid: "9"))
        #expect(alice.code("unpub-tracks") == .ok)
    }

    @Test func `a message to people who are not there leaves nothing behind`() async throws {
        let kit = SignallingKit()
        let (alice, bob) = (try await kit.join("alice"), try await kit.join("bob"))
        let crowd = (0..<4000).map { "nobody-\($0)" }
        await alice.send("send-message", SendMessage(messageID: "m", target: crowd, text: "x"))
        await alice.send("send-message", SendMessage(messageID: "n", target: crowd + ["bob"], text: "y"))
        let got = bob.notifications.compactMap { notification -> RoomMessages? in
            if case .messages(let messages) = notification { messages } else { nil }
        }
        #expect(got.flatMap(\.messages).map(\.text) == ["y"])
        #expect(got.first?.messages.first?.serial == 1)
    }

    @Test func `a join that is refused makes no room`() async throws {
        let kit = SignallingKit()
        var tokens: [String: String] = [:]
        for user in ["alice", "mallory"] { tokens[user] = try await kit.accessToken(user, "hall") }
        let until = kit.clock.clock.unixTime() + 60
        _ = try await kit.ban("mallory", "hall", until: until)
        for (user, capabilities) in [("alice", SampleOffers.capabilitiesWithoutVP8), ("mallory", nil)] {
            let connection = await kit.connect()
            var request = AuthRequest(token: try #require(tokens[user]), rpcid: "1")
            request.capabilitiesSDP = capabilities
            await connection.send("auth", request)
            #expect(connection.auth?.code == (user == "alice" ? .mediaNotSupported : .noPermission))
        }
        #expect(kit.notices.of("hall") == [])
    }

    @Test func `a long replay comes in pieces, in order`() async throws {
        let kit = SignallingKit()
        let (alice, bob) = (try await kit.join("alice"), try await kit.join("bob"))
        let welcome = try #require(bob.auth)
        await bob.session.closed()
        let text = String(repeating: "x", count: 60_000)
        for number in 0..<10 { await alice.send("send-message", SendMessage(messageID: "\(number)", text: text)) }
        let back = try await kit.resume("bob", with: welcome)
        let pieces = back.notifications.compactMap { notification -> [RoomMessage]? in
            if case .messages(let messages) = notification { messages.messages } else { nil }
        }
        #expect(pieces.count > 1 && pieces.allSatisfy { $0.count <= 3 })
        #expect(pieces.flatMap { $0 }.map(\.messageID) == (0..<10).map(String.init))
    }

    @Test func `a mute by the server is known after a resume, too`() async throws {
        let kit = SignallingKit()
        let alice = try await kit.join("alice")
        let track = try #require(await alice.publish(["v0"]).first)
        let welcome = try #require(alice.auth)
        await alice.session.closed()
        let room = try #require(await kit.room())
        _ = await room.mute(track: track, true)
        let back = try await kit.resume("alice", with: welcome)
        #expect(mutes(back) == [TrackMute(trackID: track, muted: true)])
    }

    @Test func `who kicks itself is answered first`() async throws {
        let kit = SignallingKit()
        let admin = try await kit.join("admin", permission: .admin)
        await admin.send("control", ControlRequest(command: "kickplayer", playerID: "admin", rpcid: "7"))
        #expect(admin.code("control") == .ok)
        #expect(admin.disconnectCode == .kickedOut)
        #expect(await kit.users().isEmpty)
    }

    @Test(arguments: [
        #"pubpc={"rpcid":"ab12","sdp":"#, #"subpc={"rpcid":"ab12","tracks":NaN}"#,
        "sub-tracks={\"rpcid\":\"ab12\",\"tracks\":" + String(repeating: "[", count: 2000),
    ])
    func `a broken body is answered under its rpcid`(_ frame: String) async throws {
        let kit = SignallingKit()
        let alice = try await kit.join("alice")
        await alice.send(frame)
        let answer = try #require(alice.texts.last)
        #expect(answer.contains("\"rpcid\":\"ab12\"") && answer.contains("10053"), "\(answer.prefix(200))")
    }
}
