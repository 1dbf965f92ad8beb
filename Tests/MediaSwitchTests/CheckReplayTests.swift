import MediaContract
import MediaSwitch
import MediaTestKit
import MediaTransport
import MediaWire
import Testing

/// An observer on the path reads authentic checks, and sends them again later: from its own address, or under the peer's. It cannot hold
/// them up.
@Suite("Checks that were read on their way and are sent again")
struct CheckReplayTests {
    private func remote(_ scene: BrowserScene) -> TransportAddress? {
        scene.network.snapshot().transports.first?.remote
    }

    private func inject(_ check: [UInt8], from source: TransportAddress, _ scene: BrowserScene) {
        scene.network.inject([(.sharedIPv4, source, check)])
    }

    /// A connected browser that has made so many checks, a nominating one each 2.5 s, and all of them.
    private func observed(_ count: Int, _ scene: BrowserScene) -> (VirtualBrowser, [[UInt8]]) {
        let browser = scene.subscriber(room: 1)
        var checks: [[UInt8]] = []
        for _ in 0..<count {
            let check = browser.makeCheck(nominates: true, credentials: browser.credentials)
            checks.append(check)
            inject(check, from: browser.address, scene)
            scene.network.run(for: .milliseconds(2500))
        }
        return (browser, checks)
    }

    @Test("of eight hours none moves the transport or counts as life, whatever address they come from")
    func oldChecks() {
        let scene = BrowserScene(seed: 51)
        let (browser, checks) = observed(11_520, scene)
        let stranger = scene.address()
        let home = browser.address
        let moved = scene.address()
        browser.move(to: moved, scene.network)
        let moving = browser.makeCheck(nominates: true, credentials: browser.credentials)
        inject(moving, from: moved, scene)
        scene.network.run(for: .milliseconds(20))
        #expect(remote(scene) == moved, "a nomination is followed at once")
        let lastHeard = scene.network.snapshot().transports.first?.lastHeard
        let replayed = scene.network.switchboard.dropCount(.replayed)
        scene.network.run(for: .seconds(1))
        var toStranger = 0
        scene.network.tap = { _, _, destination, _ in toStranger += destination == stranger ? 1 : 0 }
        for check in checks {
            inject(check, from: stranger, scene)
            // Its earlier address is a way that is known: answered, as a retransmission, and no more.
            inject(check, from: home, scene)
            inject(check, from: moved, scene)
        }
        // The one that has moved it is no better, from where it was before.
        inject(moving, from: home, scene)
        #expect(remote(scene) == moved)
        #expect(toStranger == 0)
        #expect(scene.network.switchboard.dropCount(.replayed) == replayed + UInt64(checks.count))
        #expect(scene.network.snapshot().transports.first?.lastHeard == lastHeard)
        _ = scene.network.takeEvents()
        scene.network.run(for: .seconds(10))
        for check in checks.suffix(100) { inject(check, from: moved, scene) }
        let quiet = scene.network.takeEvents().contains { if case .transportQuiet = $0 { true } else { false } }
        #expect(quiet, "replays keep nobody alive")
    }

    @Test("a copy that overtakes its check moves the transport until the check itself is there")
    func fasterCopies() {
        let scene = BrowserScene(seed: 52)
        let browser = scene.subscriber(room: 1)
        let stranger = scene.address()
        for _ in 0..<50 {
            let check = browser.makeCheck(nominates: true, credentials: browser.credentials)
            inject(check, from: stranger, scene)
            inject(check, from: browser.address, scene)
            #expect(remote(scene) == browser.address)
            // The way of the copy is forgotten: nothing from there is looked at.
            let before = scene.network.switchboard.dropCount(.unverifiedSource)
            inject([22, 254, 255] + [UInt8](repeating: 0, count: 60), from: stranger, scene)
            #expect(scene.network.switchboard.dropCount(.unverifiedSource) == before + 1)
            scene.network.run(for: .milliseconds(2500))
        }
    }

    @Test("checks with the credentials before a restart are known, too, and those with new ones are followed")
    func afterRestart() {
        let scene = BrowserScene(seed: 53)
        let (browser, checks) = observed(50, scene)
        browser.restart(scene.network)
        let moved = scene.address()
        browser.move(to: moved, scene.network)
        browser.check(scene.network)
        scene.network.run(for: .milliseconds(20))
        #expect(remote(scene) == moved)
        for check in checks { inject(check, from: scene.address(), scene) }
        #expect(remote(scene) == moved)
        browser.restart(scene.network)
        for check in checks { inject(check, from: scene.address(), scene) }
        #expect(remote(scene) == moved)
    }

    @Test("a peer may move at any time in a long call: nominations and new ports are followed", arguments: [3000])
    func moves(_ count: Int) {
        let scene = BrowserScene(seed: 54)
        let (browser, _) = observed(count, scene)
        var followed = 0
        for _ in 0..<200 {
            let other = scene.address()
            inject(browser.makeCheck(nominates: true, credentials: browser.credentials), from: other, scene)
            followed += remote(scene) == other ? 1 : 0
            scene.network.run(for: .milliseconds(100))
        }
        // Now and then a new check is taken for a known one; the next one is not.
        #expect(followed >= 197)
    }

    @Test("a call that has outlived the memory of its checks is still moved by nobody else, and by silence")
    func memoryUsedUp() {
        let scene = BrowserScene(seed: 55)
        // More than it has room for: one in a hundred or so is taken for known, and takes none.
        let (browser, checks) = observed(35_000, scene)
        let stranger = scene.address()
        for check in checks { inject(check, from: stranger, scene) }
        #expect(remote(scene) == browser.address)
        // A new address, while the old one was heard a moment ago: not yet.
        let moved = scene.address()
        browser.check(scene.network)
        scene.network.run(for: .milliseconds(20))
        inject(browser.makeCheck(nominates: true, credentials: browser.credentials), from: moved, scene)
        #expect(remote(scene) == browser.address)
        scene.network.run(for: .seconds(7))
        inject(browser.makeCheck(nominates: true, credentials: browser.credentials), from: moved, scene)
        #expect(remote(scene) == moved)
    }
}
