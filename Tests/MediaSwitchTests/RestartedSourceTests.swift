import MediaContract
import MediaTestKit
import MediaWire
import Testing

/// A publisher that begins anew under the same SSRC, as FFmpeg and GStreamer do with one that was set.
@Suite struct RestartedSourceTests {
    /// How far its clock is off then, in ticks of 90 kHz.
    @Test(arguments: [-1_000_000_000, 1_000_000_000, -1_000_000, 1_000_000, 0])
    func timestampsGoOnByTheTimeThatPassed(jump: Int) throws {
        let scene = BrowserScene(seed: 70)
        let (alice, bob, camera) = scene.call()
        func send(_ frames: Int) {
            for _ in 0..<frames {
                camera.send(alice, scene.network, isKey: true)
                scene.network.run(for: MediaDuration(nanoseconds: 33_333_333))
            }
        }
        send(30)
        camera.index += 20_000
        camera.timestamp &+= UInt32(truncatingIfNeeded: jump)
        send(30)
        let received = try #require(bob.media).received
        #expect(received.count == 60)
        let steps = zip(received, received.dropFirst()).map { $1.timestamp &- $0.timestamp }
        #expect(steps.allSatisfy { abs(Int($0) - 3000) < 900 }, "\(steps)")
        let numbers = zip(received, received.dropFirst()).map { $1.sequence &- $0.sequence }
        #expect(numbers.allSatisfy { $0 == 1 })
    }

    /// A publisher that only could not send for long keeps its clock, and its timestamps are passed on as they are.
    @Test func aClockThatGoesOnIsKept() throws {
        let scene = BrowserScene(seed: 71)
        let (alice, bob, camera) = scene.call()
        camera.send(alice, scene.network, isKey: true)
        scene.network.run(for: .seconds(20))
        camera.index += 20_000
        camera.timestamp &+= 20 * 90_000 + 4321
        camera.send(alice, scene.network, isKey: true)
        scene.network.run(for: .milliseconds(50))
        let received = try #require(bob.media).received
        #expect(received.count == 2 && received[1].timestamp &- received[0].timestamp == 20 * 90_000 + 4321 + 3000)
    }
}
