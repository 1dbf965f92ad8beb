import MediaContract
import MediaSwitch
import MediaTestKit
import MediaTransport
import MediaWire
import Testing

@Suite("WebRTC transports: checks, handshakes, restarts, ends")
struct WebRTCTransportTests {
    private func connections(_ events: [MediaEvent]) -> [TransportID] {
        events.compactMap { if case .transportConnected(let id, _) = $0 { id } else { nil } }
    }

    private func failures(_ events: [MediaEvent]) -> [TransportFailure] {
        events.compactMap { if case .transportFailed(_, let failure) = $0 { failure } else { nil } }
    }

    @Test("keys are agreed in both roles", arguments: [DTLSRole.client, .server])
    func bothRoles(_ role: DTLSRole) {
        let scene = BrowserScene(seed: 1)
        let browser = scene.browser(room: 1, nodeRole: role)
        browser.connect(scene.network)
        #expect(browser.media != nil)
        #expect(connections(scene.network.takeEvents()) == [browser.transport])
        #expect(browser.answers > 0)
        #expect(browser.errors == 0)
        #expect(browser.longestDatagram <= 1200)
    }

    @Test("a handshake survives loss, duplication and reordering", arguments: UInt64(1)...12)
    func lossyHandshake(_ seed: UInt64) {
        let scene = BrowserScene(seed: seed)
        let role: DTLSRole = seed % 2 == 0 ? .client : .server
        for link in [\VirtualNetwork.uplink, \.downlink] {
            scene.network[keyPath: link].loss = 0.3
            scene.network[keyPath: link].duplication = 0.3
            scene.network[keyPath: link].jitter = .milliseconds(20)
        }
        let browser = scene.browser(room: 1, nodeRole: role)
        browser.connect(scene.network, within: .seconds(25))
        scene.network.run(for: .seconds(5))
        #expect(connections(scene.network.takeEvents()) == [browser.transport], "seed \(seed)")
    }

    @Test("the wrong certificate fails before any key")
    func wrongFingerprint() {
        let scene = BrowserScene(seed: 2)
        let peer = PeerID(scene.number())
        scene.network.apply(.addPeer(peer, isolation: IsolationKey(1)))
        let browser = VirtualBrowser(
            transport: TransportID(scene.number()), peer: peer, address: scene.address(), nodeRole: .server, seed: 2,
            now: scene.network.now)
        scene.network.apply(
            .addWebRTCTransport(
                browser.spec(fingerprints: [VirtualBrowser.fingerprint(VirtualBrowser.nodeCertificate)])))
        browser.connect(scene.network, within: .seconds(2))
        let events = scene.network.takeEvents()
        #expect(connections(events).isEmpty)
        #expect(failures(events) == [.fingerprintMismatch])
    }

    @Test("nothing but a signed check opens a way in: no answer, no state")
    func strangers() {
        let scene = BrowserScene(seed: 3)
        let browser = scene.browser(room: 1, nodeRole: .server)
        let stranger = scene.address()
        var wrong = browser.credentials
        wrong.password = String(repeating: "0", count: 32)
        let unknown = ICECredentials(usernameFragment: "0123456789abcdef", password: browser.credentials.password)
        let hello = [22, 254, 255] + [UInt8](repeating: 0, count: 60)
        var sent = 0
        scene.network.tap = { _, _, _, _ in sent += 1 }
        for _ in 0..<100 {
            scene.network.inject([
                (.sharedIPv4, stranger, browser.makeCheck(nominates: true, credentials: wrong)),
                (.sharedIPv4, stranger, browser.makeCheck(nominates: true, credentials: unknown)),
                (.sharedIPv4, stranger, hello),
                (.sharedIPv4, stranger, [0x80, 96] + [UInt8](repeating: 1, count: 40)),
                (.sharedIPv4, stranger, [0x80, 200] + [UInt8](repeating: 1, count: 40)),
                (.sharedIPv4, stranger, [0, 1] + [UInt8](repeating: 9, count: 30)),
            ])
        }
        #expect(sent == 0)
        #expect(scene.network.switchboard.dropCount(.unauthenticCheck) == 100)
        #expect(scene.network.switchboard.dropCount(.unknownCheck) == 100)
        #expect(scene.network.switchboard.dropCount(.unverifiedSource) == 300)
        #expect(scene.network.switchboard.dropCount(.malformedCheck) == 100)
        browser.connect(scene.network)
        #expect(browser.media != nil)
    }

    @Test("a ClientHello race is lost by who has no password", arguments: UInt64(1)...20)
    func clientHelloRace(_ seed: UInt64) {
        let scene = BrowserScene(seed: seed)
        let browser = scene.browser(room: 1, nodeRole: .server)
        let stranger = scene.address()
        let other = BrowserScene(seed: seed &+ 1000).browser(room: 1, nodeRole: .server)
        scene.network.attach(browser, at: browser.address)
        for _ in 0..<20 {
            scene.network.send(
                other.makeCheck(nominates: true, credentials: other.credentials), from: stranger, to: .sharedIPv4)
            for kind: UInt8 in [20, 21, 22, 23] {
                scene.network.send(
                    [kind, 254, 253] + [UInt8](repeating: 7, count: 80), from: stranger, to: .sharedIPv4)
            }
            browser.check(scene.network)
            scene.network.run(for: .milliseconds(10))
        }
        browser.connect(scene.network)
        #expect(connections(scene.network.takeEvents()) == [browser.transport], "seed \(seed)")
        #expect(scene.remote(of: browser) == browser.address)
    }

    @Test("checks that were read on their way and sent again from elsewhere change nothing", arguments: UInt64(1)...10)
    func replayedChecks(_ seed: UInt64) {
        let scene = BrowserScene(seed: seed)
        let browser = scene.browser(room: 1, nodeRole: .server)
        let stranger = scene.address()
        var answered = 0
        scene.network.tap = { _, _, destination, _ in answered += destination == stranger ? 1 : 0 }
        browser.connect(scene.network)
        let first = scene.network.switchboard.dropCount(.replayed)
        for number in 0..<40 {
            let check = browser.makeCheck(nominates: true, credentials: browser.credentials)
            // The browser's own comes first, and once more, as a retransmission does.
            for source in [browser.address, browser.address, stranger, stranger] {
                scene.network.inject([(.sharedIPv4, source, check)])
            }
            #expect(scene.network.switchboard.dropCount(.replayed) == first + UInt64(2 * number + 2), "seed \(seed)")
            #expect(scene.remote(of: browser) == browser.address)
        }
        // Not heard from there, either: no ClientHello of the stranger's is looked at.
        let strange = scene.network.switchboard.dropCount(.unverifiedSource)
        scene.network.inject([(.sharedIPv4, stranger, [22, 254, 255] + [UInt8](repeating: 0, count: 60))])
        #expect(scene.network.switchboard.dropCount(.unverifiedSource) == strange + 1)
        #expect(answered == 0)
        // A peer that moves makes checks of its own.
        let moved = scene.address()
        scene.network.inject([
            (.sharedIPv4, moved, browser.makeCheck(nominates: true, credentials: browser.credentials))
        ])
        #expect(scene.remote(of: browser) == moved)
    }

    @Test("media flows between browsers, under the subscriber's numbers")
    func media() throws {
        let scene = BrowserScene(seed: 4)
        let (alice, bob, camera) = scene.call()
        camera.send(alice, scene.network, isKey: true)
        for _ in 0..<20 {
            camera.send(alice, scene.network)
            scene.network.run(for: .milliseconds(33))
        }
        let received = try #require(bob.media).received
        #expect(received.count == 21)
        #expect(received.allSatisfy { $0.ssrc == 0xAAAA && $0.payloadType == 120 })
        #expect(received.map(\.sequence) == Array(500..<521))
    }

    @Test("what was subscribed before the transport is up starts with it, at a key frame")
    func subscribedEarly() throws {
        let scene = BrowserScene(seed: 5)
        let alice = scene.publisher(room: 1)
        let track = scene.track(of: alice, encodings: [EncodingSpec(ssrcs: [11])])
        let bob = scene.browser(room: 1, nodeRole: .server)
        _ = scene.subscribe(bob, to: track)
        let camera = VirtualEncoding(ssrc: 11, content: 1, seed: 5)
        camera.send(alice, scene.network, isKey: true)
        for _ in 0..<10 {
            camera.send(alice, scene.network)
            scene.network.run(for: .milliseconds(33))
        }
        bob.connect(scene.network)
        scene.network.run(for: .milliseconds(20))
        let asked = try #require(alice.media).keyFrameRequests
        #expect(asked.contains(11))
        camera.send(alice, scene.network, isKey: true)
        camera.send(alice, scene.network)
        scene.network.run(for: .milliseconds(20))
        #expect(try #require(bob.media).received.count == 2)
    }

    @Test("ICE restarts with new credentials while media flows; the old ones count until the next restart")
    func restart() throws {
        let scene = BrowserScene(seed: 9)
        let (alice, bob, camera) = scene.call()
        camera.send(alice, scene.network, isKey: true)
        let old = bob.credentials
        bob.restart(scene.network)
        let answers = bob.answers
        bob.check(scene.network, credentials: old)
        camera.send(alice, scene.network)
        scene.network.run(for: .milliseconds(20))
        #expect(bob.errors == 1, "an answer signed with the old password")
        let other = scene.address()
        bob.move(to: other, scene.network)
        bob.check(scene.network)
        scene.network.run(for: .milliseconds(20))
        #expect(bob.answers == answers + 1)
        camera.send(alice, scene.network)
        scene.network.run(for: .milliseconds(20))
        #expect(try #require(bob.media).received.count == 3)
        bob.restart(scene.network)
        let unknown = scene.network.switchboard.dropCount(.unknownCheck)
        bob.check(scene.network, credentials: old)
        scene.network.run(for: .milliseconds(20))
        #expect(scene.network.switchboard.dropCount(.unknownCheck) == unknown + 1)
    }

    @Test("close_notify ends the transport, and a removed one says it")
    func closing() {
        let scene = BrowserScene(seed: 11)
        let leaving = scene.subscriber(room: 1)
        leaving.closeDTLS(scene.network)
        scene.network.run(for: .milliseconds(20))
        #expect(failures(scene.network.takeEvents()) == [.closedByPeer])
        let removed = scene.subscriber(room: 1)
        scene.network.applyAndFlush(.removeTransport(removed.transport))
        scene.network.run(for: .milliseconds(20))
        #expect(removed.handshakeState == .failed(.closedByPeer))
        let before = scene.network.switchboard.dropCount(.unknownCheck)
        removed.check(scene.network)
        scene.network.run(for: .milliseconds(20))
        #expect(scene.network.switchboard.dropCount(.unknownCheck) == before + 1)
    }

    @Test("an ICE-TCP connection carries a call, and its end moves it to another way")
    func streams() throws {
        let scene = BrowserScene(seed: 12)
        let stream = SocketID(SocketID.streamBit | 77)
        func isBound() -> Bool { scene.network.switchboard.isBound(stream) }
        let alice = scene.publisher(room: 1)
        let bob = scene.browser(room: 1, nodeRole: .server, socket: stream)
        #expect(isBound() == false)
        bob.connect(scene.network)
        #expect(isBound() == true)
        let track = scene.track(of: alice, encodings: [EncodingSpec(ssrcs: [11])])
        _ = scene.subscribe(bob, to: track)
        let camera = VirtualEncoding(ssrc: 11, content: 1, seed: 5)
        var sockets: Set<UInt64> = []
        scene.network.tap = { _, socket, destination, _ in
            if destination == bob.address { sockets.insert(socket.rawValue) }
        }
        camera.send(alice, scene.network, isKey: true)
        scene.network.run(for: .milliseconds(20))
        #expect(try #require(bob.media).received.count == 1)
        #expect(sockets == [stream.rawValue])
        scene.network.inject([
            (.sharedIPv4, bob.address, bob.makeCheck(nominates: false, credentials: bob.credentials))
        ])
        sockets = []
        scene.network.switchboard.socketClosed(stream, now: scene.network.now)
        camera.send(alice, scene.network)
        scene.network.run(for: .milliseconds(20))
        #expect(sockets == [SocketID.sharedIPv4.rawValue])
        #expect(isBound() == false)
        scene.network.applyAndFlush(.removeTransport(bob.transport))
        #expect(!scene.network.closedSockets.contains(stream))
    }

    @Test("a stream that is in use is closed with its transport")
    func streamsClose() {
        let scene = BrowserScene(seed: 13)
        let stream = SocketID(SocketID.streamBit | 78)
        let bob = scene.browser(room: 1, nodeRole: .server, socket: stream)
        bob.connect(scene.network)
        scene.network.applyAndFlush(.removePeer(bob.peer, ticket: RemovalTicket(1)))
        #expect(scene.network.closedSockets == [stream])
    }

    @Test("handshakes of a storm are worked off a few at a time, and all come up")
    func storm() {
        let scene = BrowserScene(seed: 14)
        let browsers = (0..<40).map { _ in scene.browser(room: 1, nodeRole: .server) }
        for browser in browsers {
            scene.network.attach(browser, at: browser.address)
            browser.check(scene.network)
        }
        for _ in 0..<60 {
            scene.network.run(for: .milliseconds(50))
            for browser in browsers { browser.tick(scene.network) }
        }
        #expect(Set(connections(scene.network.takeEvents())).count == 40)
    }

    @Test("the peer's Opus, RED where it is taken and bare where not")
    func redundancy() throws {
        let scene = BrowserScene(seed: 15)
        let alice = scene.publisher(room: 1)
        let bob = scene.subscriber(room: 1)
        let carol = scene.subscriber(room: 1)
        let track = scene.track(of: alice, codec: .opus, encodings: [EncodingSpec(ssrcs: [21])])
        _ = scene.subscribe(bob, to: track, rtx: nil, codec: .opus, red: true)
        _ = scene.subscribe(carol, to: track, rtx: nil, codec: .opus)
        let media = try #require(alice.media)
        // One redundant block of 3 bytes, 960 ticks earlier, then the primary one.
        let offset: UInt32 = 960 << 10 | 3
        let block: [UInt8] = [UInt8(offset >> 16), UInt8(offset >> 8 & 0xFF), UInt8(offset & 0xFF)]
        let blocks: [UInt8] = [1, 2, 3, 7, 8, 9, 10]
        let red: [UInt8] = [0x80 | 111] + block + [111] + blocks
        let renamed: [UInt8] = [0x80 | 109] + block + [109] + blocks
        media.publish(scene.network, ssrc: 21, index: 100, timestamp: 960, payloadType: 111, payload: [5, 6])
        media.publish(scene.network, ssrc: 21, index: 101, timestamp: 1920, payloadType: 63, payload: red)
        media.publish(scene.network, ssrc: 21, index: 102, timestamp: 2880, payloadType: 63, payload: [0x80 | 111, 0])
        media.publish(scene.network, ssrc: 21, index: 103, timestamp: 3840, payloadType: 111, payload: [4])
        scene.network.run(for: .milliseconds(20))
        let atBob = try #require(bob.media).received
        let atCarol = try #require(carol.media).received
        #expect(atBob.map(\.payloadType) == [109, 35, 109])
        #expect(atBob[1].payload == renamed)
        #expect(atCarol.map(\.payloadType) == [109, 109, 109])
        #expect(atCarol.map(\.payload) == [[5, 6], [7, 8, 9, 10], [4]])
        #expect(atCarol.map(\.sequence) == [500, 501, 502])
        #expect(scene.network.switchboard.dropCount(.malformedRedundancy) == 1)
    }

    @Test("whose path comes back gets a key frame asked for, on both legs")
    func keyFramesAfterHoles() throws {
        let scene = BrowserScene(seed: 16)
        let (alice, bob, camera) = scene.call()
        func run(_ seconds: Int, checks: Bool = true, isLost: Bool = false) {
            for _ in 0..<seconds {
                for _ in 0..<10 {
                    camera.send(alice, scene.network, isLost: isLost)
                    scene.network.run(for: .milliseconds(100))
                }
                alice.check(scene.network)
                if checks { bob.check(scene.network) }
                scene.network.run(for: .milliseconds(20))
            }
        }
        camera.send(alice, scene.network, isKey: true)
        run(3)
        let media = try #require(alice.media)
        let before = media.keyFrameRequests.count
        run(8, checks: false)
        #expect(media.keyFrameRequests.count == before)
        // The subscriber's path is back, at another address.
        bob.move(to: scene.address(), scene.network)
        run(1)
        #expect(media.keyFrameRequests.count > before)
        camera.send(alice, scene.network, isKey: true)
        run(2)
        let after = media.keyFrameRequests.count
        run(2, isLost: true)
        run(1)
        #expect(media.keyFrameRequests.count > after)
    }
}
