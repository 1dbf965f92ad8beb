import Foundation
import ParlorNode
import RTCClient
import RoomControl
import Testing
import WebTransport

/// The examples of docs/client-sdk.md, which are the files beside, against a real node.
@Suite(.timeLimit(.minutes(2)), .serialized)
struct ExampleTests {
    /// What a delegate said, in order.
    private struct Sayings {
        let say: @Sendable (String) -> Void
        private var iterator: AsyncStream<String>.Iterator

        init() {
            let (stream, continuation) = AsyncStream.makeStream(of: String.self)
            say = { continuation.yield($0) }
            iterator = stream.makeAsyncIterator()
        }

        mutating func next() async -> String? { await iterator.next(isolation: nil) }
    }

    @Test func `join, states, users, leave`() async throws {
        let scene = try NodeScene()
        var sayings = Sayings()
        let reporter = RoomReporter(say: sayings.say)
        let alice = try scene.client()
        alice.delegate = reporter
        try await joinRoom(alice, token: scene.token("alice"))
        #expect(await sayings.next() == "joining")
        #expect(await sayings.next() == "in the room")
        #expect(describeUsers(alice).isEmpty)

        let bob = try scene.client()
        var bobs = Listening(bob)
        try await joinRoom(bob, token: scene.token("bob"))
        #expect(await sayings.next() == "bob is here")
        #expect(describeUsers(alice) == ["bob: 0 audio, 0 video"])
        #expect(alice.remoteUser("bob")?.userData == "{\"name\":\"Alice\"}")
        #expect(!isListening(alice, to: "bob"))
        #expect(!isListening(alice, to: "nobody"))

        leaveRoom(bob)
        #expect(try await bobs.end() == DisconnectedInfo(reason: .leave))
        #expect(await sayings.next() == "bob has left")
        leaveRoom(alice)
        #expect(await sayings.next() == "left")
        let refused = await #expect(throws: RTCError.self) { try await joinRoom(alice, token: "no token") }
        #expect(refused?.code == .tokenInvalid)
        await scene.stop()
    }

    @Test func `kick by message`() async throws {
        let scene = try NodeScene()
        let (alice, bob) = (try scene.client(), try scene.client())
        let obedient = Obedient()
        bob.delegate = obedient
        var bobs = Listening(bob)
        var alices = Listening(alice)
        try await joinRoom(alice, token: scene.token("alice"))
        try await joinRoom(bob, token: scene.token("bob"))
        try askToLeave(alice, "bob")
        #expect(try await bobs.end() == DisconnectedInfo(reason: .leave))
        try await alices.wait(for: .userLeft(userID: "bob"))
        leaveRoom(alice)
        await scene.stop()
    }

    @Test func `kick by an admin, and by the back end`() async throws {
        let scene = try NodeScene()
        let (admin, bob) = (try scene.client(), try scene.client())
        var sayings = Sayings()
        let kicked = Kicked(say: sayings.say)
        bob.delegate = kicked
        try await joinRoom(admin, token: scene.token("admin", permission: .admin))
        try await joinRoom(bob, token: scene.token("bob"))
        let refused = await #expect(throws: RTCError.self) { try await kick(bob, "admin") }
        #expect(refused?.code == .noPermission)
        try await kick(admin, "bob")
        #expect(await sayings.next() == "the server has put us out")
        let unknown = await #expect(throws: RTCError.self) { try await kick(admin, "bob") }
        #expect(unknown?.code == .userNotExist)

        var bobs = Listening(bob)
        try await joinRoom(bob, token: scene.token("bob"))
        let response = try await scene.call("DELETE", "/v3/apps/\(scene.app.id)/rooms/meeting/users/bob")
        #expect(response.status == 200)
        #expect(await sayings.next() == "the server has put us out")
        #expect(try await bobs.end().error?.code == .kickedOut)
        leaveRoom(admin)
        await scene.stop()
    }

    @Test func `publish, mute, subscribe`() async throws {
        let scene = try NodeScene()
        let (alice, bob) = (try scene.client(), try scene.client(autoSubscribe: false))
        var bobs = Listening(bob)
        try await joinRoom(alice, token: scene.token("alice"))
        try await joinRoom(bob, token: scene.token("bob"))
        let microphone = try await publishMicrophone(alice)
        let id = try #require(microphone.trackID)
        let published = try await bobs.wait { event in
            if case .tracksPublished(let tracks, userID: "alice") = event { tracks } else { nil }
        }
        #expect(published.map(\.trackID) == [id])
        #expect(published.map(\.tag) == ["microphone"])
        let muted = try await bobs.wait { event in
            if case .muteStateChanged(let track, userID: "alice") = event { track } else { nil }
        }
        #expect(muted.isMuted)
        #expect(try await watch(bob, "alice").isEmpty)

        let camera = LocalTrack(kind: .video, tag: "camera")
        try await alice.publish([camera])
        _ = try await bobs.wait { event in
            if case .tracksPublished(let tracks, _) = event, tracks.first?.kind == .video { () } else { nil }
        }
        #expect(try await watch(bob, "alice").map(\.trackID) == [try #require(camera.trackID)])
        #expect(bob.remoteUser("alice")?.videoTracks.first?.isSubscribed == true)
        try await alice.unpublish([microphone])
        let gone = try await bobs.wait { event in
            if case .tracksUnpublished(let tracks, _) = event { tracks } else { nil }
        }
        #expect(gone.map(\.trackID) == [id])
        leaveRoom(alice)
        leaveRoom(bob)
        await scene.stop()
    }

    @Test func `an authority of one's own`() throws {
        let error = #expect(throws: RTCError.self) {
            try makeClient(servers: ["https://localhost:7880"], authority: "no PEM")
        }
        #expect(error?.code == .invalidParameter)
    }

    /// The page's Swift blocks are the files beside this one, in whole, each once.
    @Test func `the page shows these files`() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let root = folder.deletingLastPathComponent().deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "docs/client-sdk.md"), encoding: .utf8)
        var blocks: [String: String] = [:]
        var name: String?
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```swift") {
                let label = line.dropFirst("```swift example=".count)
                #expect(line.hasPrefix("```swift example="), "a block without a file: \(line)")
                name = String(label)
                blocks[String(label)] = ""
            } else if line == "```" {
                name = nil
            } else if let name {
                blocks[name, default: ""] += line + "\n"
            }
        }
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.appending(path: "Examples").path)
        #expect(Set(blocks.keys) == Set(files))
        for (file, block) in blocks {
            let text = try String(contentsOf: folder.appending(path: "Examples/\(file)"), encoding: .utf8)
            #expect(block == text, "\(file)")
        }
    }
}
