import MediaContract
import MediaSwitch
import MediaTestKit
import MediaTransport
import MediaWire
import Testing

/// Which of a peer's addresses media goes to, and which packets can change that.
@Suite("The path to a peer: nominations, media elsewhere, other addresses")
struct PathFollowingTests {
    @Test("the last nomination is followed, and only an authentic one")
    func nominations() {
        let scene = BrowserScene(seed: 6)
        let browser = scene.subscriber(room: 1)
        let first = browser.address
        let other = scene.address()
        #expect(scene.remote(of: browser) == first)
        browser.check(scene.network, nominates: false, from: other)
        scene.network.run(for: .milliseconds(20))
        #expect(scene.remote(of: browser) == first)
        browser.check(scene.network, nominates: true, from: other)
        scene.network.run(for: .milliseconds(20))
        #expect(scene.remote(of: browser) == other)
        var wrong = browser.credentials
        wrong.password = String(repeating: "1", count: 32)
        browser.check(scene.network, nominates: true, credentials: wrong, from: scene.address())
        scene.network.run(for: .milliseconds(20))
        #expect(scene.remote(of: browser) == other)
    }

    @Test("a NAT that gives another port is followed, without a nomination when the old one is silent")
    func rebinding() {
        let scene = BrowserScene(seed: 7)
        let browser = scene.subscriber(room: 1)
        let other = scene.address()
        browser.move(to: other, scene.network)
        scene.network.run(for: .seconds(7))
        browser.check(scene.network, nominates: false)
        scene.network.run(for: .milliseconds(20))
        #expect(scene.remote(of: browser) == other)
    }

    @Test("the first to go to a new path is the answer to its check, whatever waits for the peer")
    func answersFirst() throws {
        let scene = BrowserScene(seed: 19)
        let (alice, bob, camera) = scene.call()
        camera.send(alice, scene.network, isKey: true)
        scene.network.run(for: .seconds(8))
        let other = scene.address()
        var first: [UInt8] = []
        scene.network.tap = { _, _, destination, bytes in
            if destination == other { first.append(bytes.first ?? 255) }
        }
        // Not heard for long: it is asked for a key frame with this check.
        alice.check(scene.network, nominates: true, from: other)
        scene.network.run(for: .milliseconds(50))
        #expect(first.count >= 2 && first.first == 1, "\(first)")
        // Something waits for it already when the check comes, in one batch.
        camera.send(alice, scene.network, isKey: true)
        scene.network.run(for: .seconds(2))
        let next = scene.address()
        var second: [UInt8] = []
        scene.network.tap = { _, _, destination, bytes in
            if destination == next { second.append(bytes.first ?? 255) }
        }
        let request = try #require(bob.media).sealRTCP {
            $0.pictureLossIndication(senderSSRC: 1, mediaSSRC: 0xAAAA)
        }
        scene.network.inject([
            (.sharedIPv4, bob.address, request),
            (.sharedIPv4, next, alice.makeCheck(nominates: true, credentials: alice.credentials)),
        ])
        scene.network.run(for: .milliseconds(50))
        #expect(second.count >= 2 && second.first == 1, "\(second)")
    }

    /// The next check, which nominates, may come seconds after the media.
    @Test("media by another verified path is followed when the path in use is silent, and no sooner")
    func mediaMoves() throws {
        let scene = BrowserScene(seed: 17)
        let (alice, _, camera) = scene.call()
        let media = try #require(alice.media)
        let first = alice.address
        func send(_ packets: Int, isLost: Bool = false) {
            for _ in 0..<packets {
                camera.send(alice, scene.network, isLost: isLost)
                scene.network.run(for: .milliseconds(30))
            }
        }
        camera.send(alice, scene.network, isKey: true)
        send(120)
        let before = media.keyFrameRequests.count
        let stranger = scene.address()
        let other = scene.address()
        alice.check(scene.network, nominates: false, from: other)
        send(20)
        // One packet astray while the path is alive.
        alice.move(to: other, scene.network)
        send(1)
        alice.move(to: first, scene.network)
        send(1)
        #expect(scene.remote(of: alice) == first)
        send(20, isLost: true)
        // Never verified: not even looked at.
        let unverified = scene.network.switchboard.dropCount(.unverifiedSource)
        alice.move(to: stranger, scene.network)
        send(1)
        #expect(scene.network.switchboard.dropCount(.unverifiedSource) == unverified + 1)
        #expect(scene.remote(of: alice) == first)
        alice.move(to: other, scene.network)
        send(1)
        #expect(scene.remote(of: alice) == other)
        scene.network.run(for: .milliseconds(20))
        #expect(media.keyFrameRequests.count == before + 1, "what was lost is not waited for")
        // A nomination is the peer's word, and counts: what is still under way elsewhere does not undo it.
        alice.check(scene.network, nominates: true, from: first)
        scene.network.run(for: .seconds(1))
        #expect(scene.remote(of: alice) == first)
        send(1)
        #expect(scene.remote(of: alice) == first)
    }

    @Test("a subscriber's reports by another verified path move it as well")
    func reportsMove() throws {
        let scene = BrowserScene(seed: 18)
        let (alice, bob, camera) = scene.call()
        camera.send(alice, scene.network, isKey: true)
        let other = scene.address()
        let home = bob.address
        func report() throws {
            try #require(bob.media).sendRTCP(scene.network) {
                $0.pictureLossIndication(senderSSRC: 1, mediaSSRC: 0xAAAA)
            }
            scene.network.run(for: .milliseconds(20))
        }
        bob.check(scene.network, nominates: false, from: other)
        scene.network.run(for: .seconds(31))
        bob.check(scene.network)
        scene.network.run(for: .seconds(4))
        bob.move(to: other, scene.network)
        try report()
        #expect(scene.remote(of: bob) == home, "what was verified there has lapsed")
        bob.check(scene.network, nominates: false)
        try #require(bob.media).sendRTCP(scene.network) {
            $0.pictureLossIndication(senderSSRC: 1, mediaSSRC: 0xAAAA)
        }
        scene.network.run(for: .milliseconds(20))
        #expect(scene.remote(of: bob) == other)
    }

    @Test("an address of a live transport is not taken over by another one's check")
    func takeover() {
        let scene = BrowserScene(seed: 8)
        let victim = scene.subscriber(room: 1)
        let attacker = scene.subscriber(room: 1)
        attacker.check(scene.network, nominates: true, from: victim.address)
        scene.network.run(for: .milliseconds(20))
        #expect(scene.network.switchboard.dropCount(.wrongSource) == 1)
        #expect(Set(scene.network.snapshot().transports.map(\.remote)) == [victim.address, attacker.address])
        // One who was silent for long gets it back with its next check.
        scene.network.run(for: .seconds(11))
        attacker.check(scene.network, nominates: true, from: victim.address)
        scene.network.run(for: .milliseconds(20))
        #expect(scene.network.snapshot().transports.map(\.remote) == [victim.address, victim.address])
        let answers = victim.answers
        victim.check(scene.network)
        scene.network.run(for: .milliseconds(20))
        #expect(victim.answers == answers + 1)
        #expect(scene.network.switchboard.dropCount(.wrongSource) == 1)
    }

    @Test("one address of a peer at two of our sockets is two ways: media goes where it nominates, and comes from both")
    func twoSockets() throws {
        let scene = BrowserScene(seed: 19)
        let (alice, bob, camera) = scene.call()
        var sockets: [UInt64] = []
        scene.network.tap = { _, socket, destination, bytes in
            if destination == bob.address, bytes[0] >> 6 == 2, bytes[1] & 0x7F == 120 {
                sockets.append(socket.rawValue)
            }
        }
        func check(_ socket: UInt64, from source: TransportAddress, nominates: Bool) {
            let check = bob.makeCheck(nominates: nominates, credentials: bob.credentials)
            scene.network.inject([(SocketID(socket), source, check)])
        }
        camera.send(alice, scene.network, isKey: true)
        scene.network.run(for: .milliseconds(20))
        for socket: UInt64 in [2, 0, 31, 2] {
            check(socket, from: bob.address, nominates: true)
            camera.send(alice, scene.network)
            scene.network.run(for: .milliseconds(20))
        }
        #expect(sockets == [0, 2, 0, 31, 2])
        // Ways that were not used for long make room, and the address stays the peer's as long as one of them is its.
        for _ in 0..<7 { check(2, from: scene.address(), nominates: false) }
        check(2, from: bob.address, nominates: true)
        let before = scene.network.switchboard.dropCount(.unverifiedSource)
        let media = try #require(bob.media)
        scene.network.inject([
            (SocketID(5), bob.address, media.sealRTCP { $0.pictureLossIndication(senderSSRC: 1, mediaSSRC: 0xAAAA) })
        ])
        #expect(scene.network.switchboard.dropCount(.unverifiedSource) == before)
        #expect(scene.network.snapshot().transports.last?.remote == bob.address)
        scene.network.applyAndFlush(.removeTransport(bob.transport))
        #expect(scene.network.closedSockets.isEmpty, "shared sockets stay open")
        scene.network.inject([(SocketID(2), bob.address, [0x80, 96] + [UInt8](repeating: 0, count: 40))])
        #expect(scene.network.switchboard.dropCount(.unverifiedSource) == before + 1)
    }
}
