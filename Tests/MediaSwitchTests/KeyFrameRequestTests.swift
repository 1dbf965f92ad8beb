import MediaContract
import MediaSwitch
import MediaTestKit
import MediaWire
import Testing

/// When a publisher is asked for a key frame.
@Suite struct KeyFrameRequestTests {
    @Test func keyFrameRequestsAreLimitedPerTrackAndRepeatedUntilOneComes() {
        let scene = RoomScene(seed: 60)
        var alice = scene.publisher(room: 1)
        scene.publish(&alice, keyFrame: true)
        scene.network.run(for: .milliseconds(20))
        let listeners = (0..<200).map { _ in scene.subscriber(room: 1, to: alice.track) }
        scene.network.inject([])
        for _ in 0..<10 {
            for listener in listeners {
                listener.peer.sendRTCP(scene.network) {
                    $0.pictureLossIndication(senderSSRC: 1, mediaSSRC: listener.ssrc)
                }
            }
            scene.network.run(for: .milliseconds(1))
        }
        scene.network.run(for: .milliseconds(100))
        #expect(alice.peer.pictureLossIndications.count == 1)
        // Nobody answers: again with growing pauses.
        scene.network.run(for: .seconds(12))
        let times = alice.peer.pictureLossIndications
        #expect(times.count == 5)
        let pauses = zip(times, times.dropFirst()).map { Int((($1 - $0).seconds * 10).rounded()) }
        #expect(pauses == [10, 20, 40, 40])
        scene.publish(&alice, keyFrame: true)
        scene.network.run(for: .seconds(20))
        #expect(alice.peer.pictureLossIndications.count == 5)
        #expect(scene.network.snapshot().drops(.keyFrameRequestLimited) > 1000)
    }

    /// A second joiner's request in the quiet time after a first one's is kept, and sent at its end: once, whenever it came.
    @Test(arguments: [1, 40, 80, 200, 333, 480, 499, 510, 900])
    func aRequestInTheQuietTimeIsSentAtItsEnd(after milliseconds: Int) throws {
        let scene = RoomScene(seed: 61)
        var alice = scene.publisher(room: 1)
        var answered = 0
        func run(_ duration: Int) {
            // 30 frames a second; a request is answered by the next one.
            for _ in 0..<duration {
                if Int(scene.network.now.nanoseconds / 1_000_000) % 33 == 0 {
                    let asked = alice.peer.pictureLossIndications.count
                    scene.publish(&alice, keyFrame: asked > answered)
                    answered = asked
                }
                scene.network.run(for: .milliseconds(1))
            }
        }
        scene.publish(&alice, keyFrame: true)
        run(2000)
        let start = scene.network.now
        let bob = scene.subscriber(room: 1, to: alice.track)
        scene.network.inject([])
        run(milliseconds)
        let joined = scene.network.now
        let carol = scene.subscriber(room: 1, to: alice.track)
        scene.network.inject([])
        run(2000)
        let first = try #require(bob.peer.received.first).time
        let second = try #require(carol.peer.received.first).time
        #expect(first - start <= .milliseconds(60))
        // Carol came before or after the key frame that Bob was waiting for.
        let due = max(joined, start + .milliseconds(500))
        #expect(second == first || second - due <= .milliseconds(60), "\((second - joined).seconds) s")
        #expect(alice.peer.pictureLossIndications.count == (second == first ? 1 : 2))
    }
}
