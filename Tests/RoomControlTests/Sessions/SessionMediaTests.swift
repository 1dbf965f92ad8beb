import MediaContract
import MediaWire
import RoomControl
import RoomProtocol
import RoomTestKit
import Testing

/// What the worker is told of sessions, and what a session hears of its worker.
@Suite struct SessionMediaTests {
    /// A client with Opus, RED and VP8 with retransmission, whose numbers begin at `base`.
    static func capabilities(_ base: Int = 96, red: Bool = true) throws -> ClientMediaProfile {
        let lines = [
            "v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "t=0 0",
            "m=audio 9 UDP/TLS/RTP/SAVPF 111 63", "a=mid:0", "a=sendrecv", "a=rtcp-mux", "a=rtpmap:111 opus/48000/2",
            "a=rtcp-fb:111 transport-cc", red ? "a=rtpmap:63 red/48000/2" : "a=rtpmap:63 CN/48000",
            "a=fmtp:63 111/111", "a=extmap:1 \(HeaderExtensionKind.audioLevel.uri)",
            "a=extmap:3 \(HeaderExtensionKind.transportWideCC.uri)",
            "m=video 9 UDP/TLS/RTP/SAVPF \(base) \(base + 1)", "a=mid:1", "a=sendrecv", "a=rtcp-mux",
            "a=rtpmap:\(base) VP8/90000", "a=rtpmap:\(base + 1) rtx/90000", "a=fmtp:\(base + 1) apt=\(base)",
            "a=rtcp-fb:\(base) goog-remb", "a=rtcp-fb:\(base) transport-cc", "a=rtcp-fb:\(base) nack",
            "a=rtcp-fb:\(base) nack pli", "a=rtcp-fb:\(base) ccm fir",
            "a=extmap:2 \(HeaderExtensionKind.absoluteSendTime.uri)",
            "a=extmap:3 \(HeaderExtensionKind.transportWideCC.uri)", "a=extmap:4 \(HeaderExtensionKind.mid.uri)",
            "a=extmap:5 \(HeaderExtensionKind.playoutDelay.uri)",
            "a=extmap:6 \(HeaderExtensionKind.absoluteCaptureTime.uri)",
            "a=extmap:7 \(HeaderExtensionKind.dependencyDescriptor.uri)",
            "a=extmap:10 \(HeaderExtensionKind.rid.uri)",
        ]
        return try ClientCapabilities.capabilities(
            of: lines.joined(separator: "\r\n") + "\r\n", videoCodec: .vp8)
    }

    struct Client {
        let user: String
        let link: LinkID
        let token: Int
    }

    static func join(
        _ user: String, _ link: UInt64, _ room: inout RoomFixture, profile: ClientMediaProfile? = nil
    ) throws -> Client {
        let link = LinkID(link)
        let entry = SessionEntry(user: user, profile: try profile ?? capabilities())
        let grant = try room.run { try $0.join(entry, link: link, now: $1, effects: &$2) }
        room.inbox[link] = []
        return Client(user: user, link: link, token: grant.reconnectToken)
    }

    @discardableResult
    static func publish(
        _ client: Client, _ mids: [String], _ room: inout RoomFixture, offer: String = SampleOffers.publish
    ) throws -> (ConnectionGrant, [String]) {
        let tracks = mids.map { SampleOffers.track($0) }
        let offer = try PublishOfferReader.read(sdp: offer, tracks: tracks)
        let (grant, results) = try room.run {
            try $0.openPublishing(
                client.user, link: client.link, offer: offer, tracks: tracks, now: $1, effects: &$2)
        }
        return (grant, results.compactMap(\.trackID))
    }

    static func subscribe(
        _ client: Client, _ tracks: [WantedTrack], _ room: inout RoomFixture
    ) throws -> (ConnectionGrant, [SubscribedTrackResult]) {
        try room.run {
            try $0.openSubscribing(client.user, link: client.link, wanted: tracks, now: $1, effects: &$2)
        }
    }

    static func check(_ room: RoomFixture) {
        #expect(room.plane.violations.isEmpty)
        let inventory = room.state.inventory
        #expect(Set(room.plane.webRTC.keys).union(room.plane.transports.keys) == inventory.transports)
        #expect(Set(room.plane.tracks.keys) == inventory.tracks)
        #expect(Set(room.plane.subscriptions.keys) == Set(inventory.subscriptions.map(\.id)))
    }

    // MARK: Numbers

    @Test func `a publication comes under the numbers of the client's capabilities`() throws {
        var room = RoomFixture()
        let ann = try Self.join("ann", 1, &room)
        let (grant, ids) = try Self.publish(ann, ["a0", "v0", "v2", "v3"], &room)
        let transport = try #require(room.plane.webRTC.values.first)
        #expect(transport.role == .client)
        #expect(transport.fingerprints == [DTLSFingerprint(hash: .sha256, bytes: [UInt8](repeating: 0xAB, count: 32))])
        #expect(transport.credentials == grant.credentials)
        #expect(transport.silenceLimit == .seconds(30))
        let tracks = room.plane.tracks.values.sorted { $0.id.rawValue < $1.id.rawValue }
        #expect(ids.count == 4 && tracks.map(\.mid) == ["a0", "v0", "v2", "v3"])
        #expect(tracks.map(\.payloadType) == [111, 96, 96, 96] && tracks.map(\.codec) == [.opus, .vp8, .vp8, .vp8])
        #expect(tracks.map(\.redPayloadType) == [63, nil, nil, nil])
        #expect(tracks.map(\.rtxPayloadType) == [nil, 97, 97, 97])
        #expect(tracks[0].encodings == [EncodingSpec(ssrcs: [100])])
        #expect(tracks[0].feedback == [.transportCC])
        #expect(tracks[1].feedback == [.nack, .pli, .fir, .remb, .transportCC])
        // From the smallest picture to the largest.
        #expect(tracks[2].encodings.map(\.rid) == ["lo", "hi"])
        #expect(tracks[3].encodings.map(\.rid) == ["lo", "mid", "hi"])
        #expect(tracks[1].extensions.contains(HeaderExtensionMapping(id: 10, kind: .rid)))
        #expect(tracks[1].extensions.contains(HeaderExtensionMapping(id: 3, kind: .transportWideCC)))
        Self.check(room)
    }

    @Test func `repair streams come with their layers`() throws {
        let groups = [
            "a=ssrc-group:SIM 10 11 12", "a=ssrc-group:FID 10 20", "a=ssrc-group:FID 11 21", "a=ssrc-group:FID 12 22",
            "a=ssrc:10 cname:c",
        ]
        let offer = SampleOffers.publish.replacing("a=ssrc:200 cname:c", with: groups.joined(separator: "\r\n"))
        var room = RoomFixture()
        let ann = try Self.join("ann", 1, &room)
        try Self.publish(ann, ["v0"], &room, offer: offer)
        #expect(
            room.plane.tracks.values.first?.encodings == [
                EncodingSpec(ssrcs: [10], rtxSSRC: 20), EncodingSpec(ssrcs: [11], rtxSSRC: 21),
                EncodingSpec(ssrcs: [12], rtxSSRC: 22),
            ])
        Self.check(room)
    }

    @Test func `a subscription comes under the subscriber's numbers`() throws {
        var room = RoomFixture()
        let ann = try Self.join("ann", 1, &room)
        let bob = try Self.join("bob", 2, &room, profile: try Self.capabilities(120, red: false))
        let (_, ids) = try Self.publish(ann, ["a0", "v2"], &room)
        let wanted = [WantedTrack(trackID: ids[0]), WantedTrack(trackID: ids[1], profile: "low")]
        let (grant, results) = try Self.subscribe(bob, wanted, &room)
        let connection = room.state.inventory.connections.first { !$0.isPublishing }
        let transport = try #require(connection.flatMap { room.plane.webRTC[$0.transport] })
        #expect(connection?.id == grant.id && transport.role == .server && transport.fingerprints.isEmpty)
        let specs = room.plane.subscriptions.values.sorted { $0.id.rawValue < $1.id.rawValue }
        #expect(specs.map(\.payloadType) == [111, 120])
        #expect(specs.map(\.redPayloadType) == [nil, nil])
        let encodings = results.compactMap(\.rtpParameters?.encodings.first)
        #expect(specs.map(\.ssrc) == encodings.map(\.ssrc))
        #expect(specs[0].rtx == nil && specs[1].rtx?.payloadType == 121)
        #expect(specs[1].rtx?.ssrc == encodings[1].rtx.ssrc)
        #expect(specs.map(\.layer) == [.high, .low])
        #expect(specs[0].extensions == [HeaderExtensionMapping(id: 1, kind: .audioLevel)])
        #expect(specs[1].extensions.map(\.kind) == [.playoutDelay, .absoluteCaptureTime])
        Self.check(room)
    }

    @Test func `who has RED gets it`() throws {
        var room = RoomFixture()
        let ann = try Self.join("ann", 1, &room)
        let bob = try Self.join("bob", 2, &room)
        let (_, ids) = try Self.publish(ann, ["a0"], &room)
        _ = try Self.subscribe(bob, [WantedTrack(trackID: ids[0])], &room)
        #expect(room.plane.subscriptions.values.first?.redPayloadType == 63)
        let codecs = try Self.capabilities().rtpCapabilities.codecs
        #expect(codecs.map(\.name) == ["opus", "VP8", "red"])
        #expect(codecs[2].sendPayloadType == 63 && codecs[2].parameters.isEmpty && codecs[2].channels == 2)
    }

    // MARK: Changes

    @Test func `another layer is asked for once, and told when it comes`() throws {
        var room = RoomFixture()
        let ann = try Self.join("ann", 1, &room)
        let bob = try Self.join("bob", 2, &room)
        let (_, ids) = try Self.publish(ann, ["v3"], &room)
        _ = try Self.subscribe(bob, [WantedTrack(trackID: ids[0])], &room)
        let id = try #require(room.plane.subscriptions.keys.first)
        for profile in ["medium", "medium", "low"] {
            try room.run {
                try $0.setProfiles(
                    "bob", link: bob.link, [WantedTrack(trackID: ids[0], profile: profile)], now: $1, effects: &$2)
            }
        }
        let asked = room.commands.compactMap { if case .setLayer(_, let layer) = $0 { layer } else { nil } }
        #expect(asked == [.medium, .low])
        room.event(.layerChanged(id, .low))
        #expect(
            room.inbox[bob.link]?.last
                == .subscribeProfileChanged(SubscribeProfileChanged(trackID: ids[0], profile: "low")))
        Self.check(room)
    }

    @Test func `the server's mute ends what is sent, and the same numbers go on after it`() throws {
        var room = RoomFixture()
        let ann = try Self.join("ann", 1, &room)
        let bob = try Self.join("bob", 2, &room)
        let (_, ids) = try Self.publish(ann, ["v0"], &room)
        let (_, results) = try Self.subscribe(bob, [WantedTrack(trackID: ids[0])], &room)
        let before = try #require(room.plane.subscriptions.values.first)
        _ = room.run { $0.muteByServer(ids[0], true, now: $1, effects: &$2) }
        #expect(room.plane.subscriptions.isEmpty)
        // Asking again changes nothing, and gives the same numbers.
        let again = try room.run {
            try $0.subscribeTracks(
                "bob", link: bob.link, wanted: [WantedTrack(trackID: ids[0], profile: "low")], now: $1, effects: &$2)
        }
        #expect(room.plane.subscriptions.isEmpty && again[0].rtpParameters == results[0].rtpParameters)
        _ = room.run { $0.muteByServer(ids[0], false, now: $1, effects: &$2) }
        let after = try #require(room.plane.subscriptions.values.first)
        #expect(after.id != before.id && after.ssrc == before.ssrc && after.rtx == before.rtx && after.layer == .low)
        Self.check(room)
    }

    @Test func `a restart changes the credentials and nothing else`() throws {
        var room = RoomFixture()
        let ann = try Self.join("ann", 1, &room)
        let (grant, _) = try Self.publish(ann, ["a0"], &room)
        let before = try #require(room.plane.webRTC.values.first)
        let restarted = try room.run {
            try $0.restartPublishing("ann", link: ann.link, id: grant.id, now: $1, effects: &$2)
        }
        let after = try #require(room.plane.webRTC.values.first)
        #expect(restarted.id == grant.id && restarted.credentials != grant.credentials)
        #expect(after.id == before.id && after.credentials == restarted.credentials)
    }

    @Test func `sections and SSRCs have one meaning on a connection`() throws {
        var room = RoomFixture()
        let ann = try Self.join("ann", 1, &room)
        try Self.publish(ann, ["a0", "v0"], &room)
        func add(_ mid: String, _ ssrc: String) throws {
            let sdp = SampleOffers.publish.replacing("a=ssrc:100 cname:c", with: "a=ssrc:999 cname:c")
                .replacing("a=ssrc:101 cname:c", with: "a=ssrc:\(ssrc) cname:c")
            let track = SampleOffers.track(mid, localID: "another")
            let offer = try PublishOfferReader.read(sdp: sdp, tracks: [track])
            _ = try room.run {
                try $0.addTracks("ann", link: ann.link, offer: offer, tracks: [track], now: $1, effects: &$2)
            }
        }
        for (mid, ssrc) in [("a0", "101"), ("a1", "100")] {
            #expect(throws: Refused.self) { try add(mid, ssrc) }
        }
        try add("a1", "101")
        #expect(room.plane.tracks.count == 3)
        Self.check(room)
    }

    // MARK: Legs and sessions

    @Test func `legs get the tracks of sessions, and sessions those of legs`() throws {
        var room = RoomFixture()
        let ann = try Self.join("ann", 1, &room)
        let player = try room.join("player", .receiving)
        #expect(room.heard(by: player) == [nil, nil])
        let (_, ids) = try Self.publish(ann, ["a0", "v0"], &room)
        #expect(room.heard(by: player) == ["ann opus", "ann VP8"])
        let sender = try room.join("sender", .sending)
        let (_, results) = try Self.subscribe(
            ann, room.tracks(of: sender).map { WantedTrack(trackID: $0) }, &room)
        #expect(results.count == 2 && results.allSatisfy(\.status))
        #expect(room.plane.subscriptions.count == 4)
        // What goes is replaced by what is left.
        _ = try room.run { try $0.removeTracks("ann", link: ann.link, ids: [ids[0]], now: $1, effects: &$2) }
        #expect(room.heard(by: player) == ["sender opus", "ann VP8"])
        Self.check(room)
        room.remove(sender)
        #expect(room.heard(by: player) == [nil, "ann VP8"])
        #expect(room.plane.subscriptions.count == 1)
        Self.check(room)
    }

    // MARK: What is heard of connections

    @Test func `a connection that is up is told once`() throws {
        var room = RoomFixture()
        let ann = try Self.join("ann", 1, &room)
        let (grant, _) = try Self.publish(ann, ["a0"], &room)
        let id = try #require(room.plane.webRTC.keys.first)
        let address = TransportAddress(ipv4: 1, port: 2)
        room.event(.transportConnected(id, address))
        room.event(.transportConnected(id, address))
        #expect(room.inbox[ann.link] == [.publishConnected(ConnectionNotice(connectionID: grant.id))])
    }

    /// The socket was gone, or nobody was behind it any more.
    @Test(arguments: [true, false])
    func `a word that may not have come is said again after a resume`(isLossKnown: Bool) throws {
        var room = RoomFixture()
        let ann = try Self.join("ann", 1, &room)
        let (grant, _) = try Self.publish(ann, ["a0"], &room)
        let id = try #require(room.plane.webRTC.keys.first)
        if isLossKnown { room.run { $0.lost("ann", link: ann.link, now: $1, effects: &$2) } }
        room.advance(to: 1)
        room.event(.transportConnected(id, TransportAddress(ipv4: 1, port: 2)))
        func resume(_ link: UInt64) throws -> SessionGrant {
            try room.run {
                try $0.resume(
                    "ann", token: ann.token, link: LinkID(link), messageSerial: nil, profile: nil, now: $1,
                    effects: &$2)
            }
        }
        room.advance(to: 2)
        let word = Notification.publishConnected(ConnectionNotice(connectionID: grant.id))
        #expect(try resume(5).connections == [word])
        // A frame so much later came behind an answered ping.
        room.advance(to: 6)
        _ = room.run { $0.heard("ann", link: LinkID(5), now: $1, effects: &$2) }
        #expect(try resume(6).connections == [])
        // The end of the connection while nobody listens.
        room.run { $0.lost("ann", link: LinkID(6), now: $1, effects: &$2) }
        room.event(.transportSilent(id))
        #expect(room.plane.tracks.isEmpty && room.plane.webRTC.isEmpty)
        guard case .publishDisconnected(let notice)? = try resume(7).connections.first else {
            return #expect(Bool(false), "nothing was said")
        }
        #expect(notice.connectionID == grant.id && notice.error != nil)
        Self.check(room)
    }

    @Test func `a connection that failed goes with its tracks, and a new one takes its place`() throws {
        var room = RoomFixture()
        let ann = try Self.join("ann", 1, &room)
        let bob = try Self.join("bob", 2, &room)
        let (grant, ids) = try Self.publish(ann, ["a0"], &room)
        let (subscribing, _) = try Self.subscribe(bob, [WantedTrack(trackID: ids[0])], &room)
        let transports = room.state.inventory.connections
        let published = try #require(transports.first { $0.isPublishing }?.transport)
        let subscribed = try #require(transports.first { !$0.isPublishing }?.transport)
        room.inbox[ann.link] = []
        room.inbox[bob.link] = []
        room.event(.transportFailed(published, .fingerprintMismatch))
        #expect(room.inbox[bob.link] == [.tracksRemoved(TracksRemoved(tracks: [TrackReference(ids[0])]))])
        guard case .publishDisconnected(let notice)? = room.inbox[ann.link]?.first else {
            return #expect(Bool(false), "ann is told nothing")
        }
        #expect(notice.connectionID == grant.id)
        Self.check(room)
        room.inbox[bob.link] = []
        room.event(.transportSilent(subscribed))
        guard case .subscribeDisconnected(let other)? = room.inbox[bob.link]?.first else {
            return #expect(Bool(false), "bob is told nothing")
        }
        #expect(other.connectionID == subscribing.id)
        #expect(throws: Refused.self) {
            try room.run {
                try $0.restartPublishing("ann", link: ann.link, id: grant.id, now: $1, effects: &$2)
            }
        }
        let (_, again) = try Self.publish(ann, ["a0"], &room)
        _ = try Self.subscribe(bob, [WantedTrack(trackID: again[0])], &room)
        #expect(room.plane.subscriptions.count == 1)
        Self.check(room)
    }

    @Test func `a subscription that the worker refused can be asked for again`() throws {
        var room = RoomFixture()
        let ann = try Self.join("ann", 1, &room)
        let bob = try Self.join("bob", 2, &room)
        let (_, ids) = try Self.publish(ann, ["a0"], &room)
        _ = try Self.subscribe(bob, [WantedTrack(trackID: ids[0])], &room)
        let id = try #require(room.plane.subscriptions.keys.first)
        room.plane.subscriptions[id] = nil
        room.event(.subscriptionRefused(id))
        #expect(room.notices.contains(.subscriptionRefused(user: "bob", id)))
        Self.check(room)
        _ = try room.run {
            try $0.subscribeTracks(
                "bob", link: bob.link, wanted: [WantedTrack(trackID: ids[0])], now: $1, effects: &$2)
        }
        #expect(room.plane.subscriptions.count == 1)
        Self.check(room)
    }

    @Test func `a session that ends beside a leg takes its own transports along`() throws {
        var room = RoomFixture()
        let ann = try Self.join("ann", 1, &room)
        let bob = try Self.join("bob", 2, &room)
        let leg = try room.join("ann", .sending)
        let (_, ids) = try Self.publish(ann, ["a0"], &room)
        let (_, theirs) = try Self.publish(bob, ["v0"], &room)
        _ = try Self.subscribe(
            bob, [WantedTrack(trackID: ids[0]), WantedTrack(trackID: room.tracks(of: leg)[0])], &room)
        _ = try Self.subscribe(ann, theirs.map { WantedTrack(trackID: $0) }, &room)
        #expect(room.plane.subscriptions.count == 3)
        room.run { $0.leaveSession("ann", link: ann.link, now: $1, effects: &$2) }
        #expect(room.plane.peers.count == 2 && room.plane.subscriptions.count == 1)
        Self.check(room)
        room.kick("bob")
        Self.check(room)
        room.remove(leg)
        #expect(room.plane.peers.isEmpty && room.plane.webRTC.isEmpty && room.plane.tracks.isEmpty)
        Self.check(room)
    }
}
