import MediaContract
import MediaSwitch
import MediaTestKit
import MediaTransport
import MediaWire
import Testing

@Suite("WebRTC transports: signs of life, and their absence")
struct TransportLifeTests {
    @Test("a dead peer is told of once, after its silence limit; checks or SRTP alone are life")
    func consent() {
        let scene = BrowserScene(seed: 10)
        let checking = scene.subscriber(room: 1)
        let sending = scene.publisher(room: 1)
        let dead = scene.subscriber(room: 1)
        scene.track(of: sending, encodings: [EncodingSpec(ssrcs: [11])])
        let camera = VirtualEncoding(ssrc: 11, content: 1, seed: 5)
        for _ in 0..<40 {
            checking.check(scene.network)
            camera.send(sending, scene.network)
            scene.network.run(for: .seconds(1))
        }
        let silent = scene.network.takeEvents().compactMap { event in
            if case .transportSilent(let id) = event { id } else { nil }
        }
        #expect(silent == [dead.transport])
    }

    @Test("a snapshot says when a transport was last heard: by a check, or a packet")
    func lastHeard() {
        let scene = BrowserScene(seed: 18)
        let alice = scene.browser(room: 1, nodeRole: .server)
        func lastHeard() -> MediaTime? { scene.network.snapshot().transports.first?.lastHeard }
        #expect(lastHeard() == nil)
        var wrong = alice.credentials
        wrong.password = String(repeating: "0", count: 32)
        alice.check(scene.network, credentials: wrong)
        scene.network.run(for: .seconds(1))
        #expect(lastHeard() == nil)
        alice.connect(scene.network)
        alice.check(scene.network)
        scene.network.run(for: .milliseconds(5))
        let checked = scene.network.now
        scene.network.run(for: .seconds(1))
        #expect(lastHeard() == checked)
        scene.track(of: alice, encodings: [EncodingSpec(ssrcs: [11])])
        VirtualEncoding(ssrc: 11, content: 1, seed: 5).send(alice, scene.network, isKey: true)
        scene.network.run(for: .milliseconds(5))
        let sent = scene.network.now
        scene.network.run(for: .seconds(1))
        #expect(lastHeard() == sent)
    }

    @Test("a path that goes quiet is told of once for each silence, before the limit, and its end at once")
    func quiet() {
        let scene = BrowserScene(seed: 17)
        let browser = scene.subscriber(room: 1)
        let neverUp = scene.browser(room: 1, nodeRole: .server)
        neverUp.check(scene.network)
        scene.network.run(for: .milliseconds(20))
        _ = scene.network.takeEvents()
        let start = scene.network.now
        var told: [String] = []
        func run(_ seconds: Int, checks: Bool) {
            for _ in 0..<seconds {
                if checks { browser.check(scene.network) }
                scene.network.run(for: .seconds(1))
                for event in scene.network.takeEvents() {
                    let second = Int((scene.network.now - start).seconds)
                    switch event {
                    case .transportQuiet(browser.transport): told.append("quiet \(second)")
                    case .transportHeard(browser.transport): told.append("heard \(second)")
                    case .transportSilent(browser.transport): told.append("silent \(second)")
                    case .transportQuiet: told.append("quiet, but was never connected")
                    default: break
                    }
                }
            }
        }
        run(5, checks: true)
        run(20, checks: false)
        run(1, checks: true)
        // Between two looks at the last silence it is quiet again.
        run(45, checks: false)
        #expect(told == ["quiet 15", "heard 26", "quiet 36", "silent 56"])
    }
}
