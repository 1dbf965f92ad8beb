import MediaContract
import MediaSwitch
import MediaTestKit
import MediaTransport
import MediaWire
import Testing

/// A publisher whose path dies, and who nominates another one some time later: what that costs its subscribers beyond that time.
@Suite("A publisher changes its path")
struct PathChangeTests {
    private static let frameInterval = 33
    /// Four ways of 5 ms (the nomination, a request, what was asked for, and that on to the subscriber), the next frame, and the 10 ms
    /// for which a missing packet may just be late; rounded up.
    private static let limit = MediaDuration.milliseconds(70)

    private final class Call {
        let scene: BrowserScene
        let alice: VirtualBrowser
        let track: TrackID
        let camera: VirtualEncoding
        private var requests = 0

        init(seed: UInt64) {
            scene = BrowserScene(seed: seed)
            alice = scene.publisher(room: 1)
            track = scene.track(of: alice, encodings: [EncodingSpec(ssrcs: [11])])
            camera = VirtualEncoding(ssrc: 11, content: 1, seed: UInt32(seed))
            alice.media?.answersNacks = true
        }

        func subscriber() -> VirtualBrowser {
            let browser = scene.subscriber(room: 1)
            _ = scene.subscribe(browser, to: track)
            return browser
        }

        func run(_ milliseconds: Int) {
            for _ in 0..<milliseconds {
                if scene.network.now.nanoseconds / 1_000_000 % Int64(PathChangeTests.frameInterval) == 0 {
                    let asked = alice.media?.keyFrameRequests.count ?? 0
                    camera.send(alice, scene.network, isKey: asked > requests)
                    requests = asked
                }
                scene.network.run(for: .milliseconds(1))
            }
        }
    }

    /// When a decoder had everything again that it needs for the newest frame.
    private func recovery(_ received: [VirtualPeer.Received], after start: MediaTime) -> MediaTime? {
        var waiting: Set<UInt16> = []
        var last: UInt16?
        var newest: UInt16?
        for packet in received {
            waiting.insert(packet.sequence)
            let isKey = packet.payload[5] & 1 == 0
            if last == nil || (isKey && Int16(bitPattern: packet.sequence &- (last ?? 0)) > 0) {
                last = packet.sequence
            }
            while let next = last.map({ $0 &+ 1 }), waiting.contains(next) { last = next }
            if newest == nil || Int16(bitPattern: packet.sequence &- (newest ?? 0)) > 0 { newest = packet.sequence }
            if packet.time > start, last == newest { return packet.time }
        }
        return nil
    }

    @Test("subscribers have a picture again a request and a frame after the nomination", arguments: UInt64(1)...4)
    func outages(_ seed: UInt64) throws {
        for outage in [0, 50, 150, 400, 600, 1000, 3000, 8000] {
            let call = Call(seed: seed &* 100 &+ UInt64(outage))
            let bob = call.subscriber()
            call.camera.send(call.alice, call.scene.network, isKey: true)
            call.run(1500 + Int(seed) * 7)
            call.alice.move(to: call.scene.address(), call.scene.network)
            call.scene.network.uplink.loss = 1
            call.run(outage)
            call.scene.network.uplink.loss = 0
            let nominated = call.scene.network.now
            call.alice.check(call.scene.network)
            call.run(1500)
            let media = try #require(bob.media)
            let back = try #require(recovery(media.received, after: nominated), "seed \(seed), outage \(outage) ms")
            #expect(
                back - nominated <= Self.limit, "seed \(seed), outage \(outage) ms: \((back - nominated).seconds) s")
        }
    }

    @Test(
        "what was asked for on the dead path is asked again on the new one, at once", arguments: [100, 300, 700, 2900])
    func asksAgain(_ outage: Int) throws {
        let call = Call(seed: 7)
        _ = call.subscriber()
        call.camera.send(call.alice, call.scene.network, isKey: true)
        call.run(1500)
        // Joins as the path dies: its request goes nowhere.
        let carol = call.scene.subscriber(room: 1)
        call.alice.move(to: call.scene.address(), call.scene.network)
        _ = call.scene.subscribe(carol, to: call.track)
        call.scene.network.inject([])
        call.scene.network.uplink.loss = 1
        call.run(outage)
        call.scene.network.uplink.loss = 0
        let before = try #require(call.alice.media).keyFrameRequests.count
        #expect(before == 0)
        let nominated = call.scene.network.now
        call.alice.check(call.scene.network)
        call.run(11)
        #expect(try #require(call.alice.media).keyFrameRequests.count == 1)
        call.run(300)
        let first = try #require(carol.media?.received.first)
        #expect(first.time - nominated <= Self.limit)
    }
}
