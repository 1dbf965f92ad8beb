import Foundation
import MediaCodecs
import MediaWire
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

    /// Pictures with a counter, one each 40 ms, until the task is cancelled.
    private static func pictures() -> AsyncStream<RTCVideoFrame> {
        AsyncStream { continuation in
            let task = Task {
                var counter: UInt32 = 0
                var picture = VideoFrame(width: 320, height: 240)
                while !Task.isCancelled {
                    let mark = TestPicture.Mark(counter: counter, captureMicroseconds: 0, publisher: 3)
                    TestPicture.draw(into: &picture, mark)
                    let time = Duration.milliseconds(40) * Int(counter)
                    continuation.yield(RTCVideoFrame(width: 320, height: 240, i420: picture.bytes, time: time))
                    counter += 1
                    try? await Task.sleep(for: .milliseconds(40))
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    @Test func `send pictures, encoded here or by the app, and watch them`() async throws {
        let scene = try NodeScene()
        let (alice, bob) = (try scene.client(), try scene.client())
        var bobs = Listening(bob)
        try await joinRoom(alice, token: scene.token("alice"))
        try await joinRoom(bob, token: scene.token("bob"))
        let filming = [
            Task { try await film(alice, Self.pictures()) },
            Task {
                let encoder = try VPXEncoder(VPXEncoder.Settings(codec: .vp8))
                let source = EncodedSource(encoder, Self.pictures())
                try await film(alice) { await source.next(keyFrame: $0) }
            },
        ]
        for _ in 0..<2 {
            let track = try await bobs.wait { event in
                if case .tracksSubscribed(let video, _, "alice") = event { video.first } else { nil }
            }
            let marks = try await Seen.pictures(5, of: 3, in: bob.videoFrames(of: track))
            #expect(marks.count == 5)
            #expect(await describe(bob, track).contains("packets lost"))
        }
        let user = try #require(bob.remoteUser("alice"))
        let (seen, continuation) = AsyncStream.makeStream(of: Void.self)
        let showing = Task { try await show(bob, user, picture: { _ in continuation.yield() }, sound: { _ in }) }
        for await _ in seen { break }
        for task in filming { task.cancel() }
        alice.leave()
        // The tracks have gone, and so it ends.
        try await showing.value
        bob.leave()
        await scene.stop()
    }
}

/// An app's own encoder.
private actor EncodedSource {
    private let encoder: VPXEncoder
    private var pictures: AsyncStream<RTCVideoFrame>.Iterator
    init(_ encoder: sending VPXEncoder, _ pictures: AsyncStream<RTCVideoFrame>) {
        self.encoder = encoder
        self.pictures = pictures.makeAsyncIterator()
    }

    func next(keyFrame: Bool) async -> RTCEncodedFrame? {
        var pictures = pictures
        guard let frame = await pictures.next(isolation: self) else { return nil }
        self.pictures = pictures
        if keyFrame { encoder.requestKeyFrame() }
        var picture = VideoFrame(width: frame.width, height: frame.height)
        picture.bytes = frame.i420
        guard let encoded = try? encoder.encode(picture, time: Int64(frame.time / .milliseconds(1)) * 90)
        else { return nil }
        return RTCEncodedFrame(codec: .vp8, data: encoded.bytes, time: frame.time, isKeyFrame: encoded.isKeyFrame)
    }
}
