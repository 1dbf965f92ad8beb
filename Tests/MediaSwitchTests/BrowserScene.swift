import MediaContract
import MediaSwitch
import MediaTestKit
import MediaTransport
import MediaWire
import Testing

/// Browsers in rooms of a virtual network: each with a publishing and a subscribing transport as it likes.
final class BrowserScene {
    let network: VirtualNetwork
    let seed: UInt64
    private var nextNumber: UInt64 = 100
    static let extensions = [
        HeaderExtensionMapping(id: 4, kind: .mid), HeaderExtensionMapping(id: 10, kind: .rid),
        HeaderExtensionMapping(id: 11, kind: .repairedRid), HeaderExtensionMapping(id: 3, kind: .transportWideCC),
        HeaderExtensionMapping(id: 1, kind: .audioLevel),
    ]
    static let feedback: FeedbackSet = [.nack, .pli, .fir, .transportCC, .remb]

    init(seed: UInt64) {
        self.seed = seed
        network = VirtualNetwork(seed: seed, configuration: VirtualBrowser.configuration())
    }

    func number() -> UInt64 {
        nextNumber += 1
        return nextNumber
    }

    func address() -> TransportAddress {
        let n = UInt32(truncatingIfNeeded: number())
        return TransportAddress(ipv4: 0x0A00_0000 + n, port: UInt16(20_000 + n % 40_000))
    }

    func browser(room: UInt64, nodeRole: DTLSRole, socket: SocketID = .sharedIPv4) -> VirtualBrowser {
        let peer = PeerID(number())
        network.apply(.addPeer(peer, isolation: IsolationKey(room)))
        let browser = VirtualBrowser(
            transport: TransportID(number()), peer: peer, address: address(), nodeRole: nodeRole, socket: socket,
            seed: seed, now: network.now)
        network.apply(.addWebRTCTransport(browser.spec()))
        return browser
    }

    /// A browser whose publishing connection is up.
    func publisher(room: UInt64) -> VirtualBrowser {
        let browser = browser(room: room, nodeRole: .client)
        browser.connect(network)
        return browser
    }

    func subscriber(room: UInt64) -> VirtualBrowser {
        let browser = browser(room: room, nodeRole: .server)
        browser.connect(network)
        return browser
    }

    /// Where the browser's packets are sent to.
    func remote(of browser: VirtualBrowser) -> TransportAddress? {
        network.snapshot().transports.first { $0.id == browser.transport }?.remote
    }

    /// Alice publishes one VP8 encoding of SSRC 11, repaired by 12, from a camera; Bob gets it.
    func call(content: UInt8 = 1, rtx: UInt32? = 0xBBBB) -> (
        alice: VirtualBrowser, bob: VirtualBrowser, camera: VirtualEncoding
    ) {
        let alice = publisher(room: 1)
        let bob = subscriber(room: 1)
        let track = track(of: alice, encodings: [EncodingSpec(ssrcs: [11], rtxSSRC: 12)])
        _ = subscribe(bob, to: track, rtx: rtx)
        return (alice, bob, VirtualEncoding(ssrc: 11, content: content, seed: 5))
    }

    @discardableResult
    func track(
        of browser: VirtualBrowser, codec: Codec = .vp8, mid: String = "2", encodings: [EncodingSpec],
        feedback: FeedbackSet = BrowserScene.feedback
    ) -> TrackID {
        let id = TrackID(number())
        network.apply(
            .addTrack(
                TrackSpec(
                    id: id, transport: browser.transport, codec: codec, payloadType: codec == .opus ? 111 : 96,
                    rtxPayloadType: codec == .opus ? nil : 97, redPayloadType: codec == .opus ? 63 : nil,
                    encodings: encodings, mid: mid, extensions: BrowserScene.extensions, feedback: feedback)))
        return id
    }

    func subscribe(
        _ browser: VirtualBrowser, to track: TrackID, ssrc: UInt32 = 0xAAAA, rtx: UInt32? = 0xBBBB,
        codec: Codec = .vp8, red: Bool = false, layer: LayerPreference = .high
    ) -> SubscriptionID {
        let id = SubscriptionID(number())
        network.apply(
            .subscribe(
                SubscriptionSpec(
                    id: id, track: track, transport: browser.transport, ssrc: ssrc,
                    payloadType: codec == .opus ? 109 : 120,
                    rtx: rtx.map { SubscriptionSpec.Retransmission(ssrc: $0, payloadType: 124) },
                    redPayloadType: red ? 35 : nil, firstSequence: 500, timestampOffset: 0x1000,
                    extensions: [HeaderExtensionMapping(id: 7, kind: .audioLevel)],
                    feedback: BrowserScene.feedback, layer: layer)))
        return id
    }

    /// A VP8 frame of one packet, with a 15-bit picture id and TL0PICIDX.
    static func frame(picture: UInt16, level: UInt8, isKey: Bool, content: UInt8) -> [UInt8] {
        let id = picture & 0x7FFF | 0x8000
        return [
            0x90, 0xC0, UInt8(id >> 8), UInt8(truncatingIfNeeded: id), level, isKey ? 0x10 : 0x11, content, content,
        ]
    }
}

/// One encoding of a publisher: sends frames of one packet, in its own numbers.
final class VirtualEncoding {
    let ssrc: UInt32
    let rid: String?
    let content: UInt8
    var index: UInt64
    var timestamp: UInt32
    var picture: UInt16
    var level: UInt8
    var wide: UInt16 = 0

    init(ssrc: UInt32, rid: String? = nil, content: UInt8, seed: UInt32) {
        self.ssrc = ssrc
        self.rid = rid
        self.content = content
        index = UInt64(1000 + seed * 77 % 20_000)
        timestamp = seed &* 0x1234_5679
        picture = UInt16(truncatingIfNeeded: seed &* 911) & 0x7FFF
        level = UInt8(truncatingIfNeeded: seed &* 13)
    }

    /// - Parameter named: with MID and RID, as a browser does until it was reported on.
    func send(
        _ browser: VirtualBrowser, _ network: VirtualNetwork, isKey: Bool = false, named: Bool = false,
        mid: String = "2", isLost: Bool = false
    ) {
        index += 1
        timestamp &+= 3000
        picture = (picture + 1) & 0x7FFF
        level &+= 1
        guard !isLost else { return }
        browser.media?.publish(
            network, ssrc: ssrc, index: index, timestamp: timestamp, payloadType: 96, marker: true,
            payload: BrowserScene.frame(picture: picture, level: level, isKey: isKey, content: content),
            extensions: named ? names(mid) : [])
    }

    func names(_ mid: String) -> [(id: UInt8, bytes: [UInt8])] {
        var result: [(id: UInt8, bytes: [UInt8])] = [(4, Array(mid.utf8))]
        if let rid { result.append((10, Array(rid.utf8))) }
        return result
    }
}
