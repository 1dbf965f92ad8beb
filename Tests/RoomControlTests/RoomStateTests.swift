import MediaContract
import MediaWire
import RoomControl
import RoomTestKit
import Testing

@Suite struct RoomStateTests {
    // MARK: Presence

    @Test func aUserIsPresentWhileAnyPartLives() throws {
        var room = RoomFixture()
        let sending = try room.join("alice", .sending)
        let receiving = try room.join("alice", .receiving)
        #expect(room.state.users == ["alice"])
        #expect(room.plane.peers.count == 1, "one member is one peer")
        room.remove(sending)
        #expect(room.state.users == ["alice"])
        #expect(room.plane.transports.count == 2)
        room.remove(receiving)
        #expect(room.state.users.isEmpty)
        #expect(room.plane.peers.isEmpty)
        room.remove(receiving, expecting: false)
        #expect(room.notices.filter { $0 == .joined(user: "alice") }.count == 1)
        #expect(room.notices.last == .left(user: "alice", .left))
        #expect(room.plane.violations.isEmpty)
    }

    @Test func aNewLegReplacesItsOwnKindOnly() throws {
        var room = RoomFixture()
        let first = try room.join("alice", .sending)
        let listening = try room.join("alice", .receiving)
        let second = try room.join("alice", .sending)
        #expect(room.tracks(of: first).isEmpty)
        #expect(room.tracks(of: second).count == 2)
        #expect(!room.transports(of: listening).isEmpty)
        #expect(room.plane.peers.count == 1)
        #expect(room.plane.tracks.count == 2)
        #expect(room.notices.contains(.legEnded(user: "alice", .sending, .replaced)))
        #expect(!room.notices.contains(.left(user: "alice", .replaced)))
    }

    @Test func noAutoKickUserRefusesTheNewer() throws {
        var settings = AppSettings()
        settings.noAutoKickUser = true
        var room = RoomFixture(settings)
        let first = try room.join("alice", .sending)
        #expect(throws: RoomRefusal.alreadyJoined) { try room.join("alice", .sending) }
        #expect(room.tracks(of: first).count == 2)
        // The other kind is another part, not a second session.
        try room.join("alice", .receiving)
    }

    @Test func maxUsersCountsUsersNotLegs() throws {
        var settings = AppSettings()
        settings.maxUsers = 2
        var room = RoomFixture(settings)
        try room.join("alice", .sending)
        try room.join("bob", .sending)
        #expect(throws: RoomRefusal.full) { try room.join("carol", .receiving) }
        try room.join("bob", .receiving)
        try room.join("alice", .sending)
        room.kick("bob")
        try room.join("carol", .receiving)
        #expect(room.state.users == ["alice", "carol"])
    }

    // MARK: Who gets what

    @Test func aWaitingLegStartsWhenTheTrackAppears() throws {
        var room = RoomFixture()
        let player = try room.join("bob", .receiving)
        #expect(room.heard(by: player) == [nil, nil])
        try room.join("alice", .sending)
        #expect(room.heard(by: player) == ["alice opus", "alice VP8"])
        #expect(room.plane.subscriptions.count == 2)
    }

    @Test func nobodyHearsItself() throws {
        var room = RoomFixture()
        let player = try room.join("alice", .receiving)
        try room.join("alice", .sending)
        #expect(room.heard(by: player) == [nil, nil])
    }

    @Test func theDefaultIsTheFirstTrackOfAnother() throws {
        var room = RoomFixture()
        try room.join("alice", .sending)
        try room.join("bob", .sending)
        let player = try room.join("carol", .receiving)
        #expect(room.heard(by: player) == ["alice opus", "alice VP8"])
        // A second line of a kind takes the next track.
        let two = try room.join(
            "dave", .receiving,
            [RoomFixture.video(.vp8, transport: 0), RoomFixture.video(.vp8), RoomFixture.video(.vp8)])
        #expect(room.heard(by: two) == ["alice VP8", "bob VP8", nil])
    }

    @Test func theNthLineOfAKindTakesTheNthPick() throws {
        var room = RoomFixture()
        let a = try room.join("alice", .sending)
        try room.join("bob", .sending)
        let lines = [
            RoomFixture.video(.vp8, transport: 0), RoomFixture.audio, RoomFixture.video(.vp8, transport: 0),
            RoomFixture.audio,
        ]
        let byUser = try room.join("carol", .receiving, lines, picks: [.user("bob"), .user("alice")])
        #expect(room.heard(by: byUser) == ["bob VP8", "bob opus", "alice VP8", "alice opus"])
        // A track is a pick for lines of its own kind.
        let tracks = room.tracks(of: a)
        let byTrack = try room.join("dave", .receiving, lines, picks: [.track(tracks[0]), .track(tracks[1])])
        #expect(room.heard(by: byTrack) == ["alice VP8", "alice opus", nil, nil])
        // Lines beyond the picks go on with the last one if it is a user.
        let one = try room.join("erin", .receiving, lines, picks: [.user("bob")])
        #expect(room.heard(by: one) == ["bob VP8", "bob opus", nil, nil])
        try room.join("bob", .sending, [RoomFixture.video(.vp8, transport: 0), RoomFixture.video(.vp8)])
        #expect(room.heard(by: one) == ["bob VP8", nil, "bob VP8", nil])
    }

    @Test func linesTakeOnlyCodecsThatTheyOffered() throws {
        var room = RoomFixture()
        try room.join("alice", .sending, [RoomFixture.video(.vp9, transport: 0)])
        try room.join("bob", .sending, [RoomFixture.video(.h264, transport: 0)])
        let any = try room.join("carol", .receiving, [RoomFixture.video(.h264, .vp8, transport: 0)])
        #expect(room.heard(by: any) == ["bob H264"])
        let spec = try #require(room.plane.subscriptions.values.first)
        #expect(spec.payloadType == 96 + Codec.h264.rawValue)
        #expect(spec.feedback == [.pli])
        let picky = try room.join(
            "dave", .receiving, [RoomFixture.video(.h264, transport: 0)], picks: [.user("alice")])
        #expect(room.heard(by: picky) == [nil])
    }

    @Test func aRepublishingUserIsHeardAgain() throws {
        var room = RoomFixture()
        try room.join("alice", .sending)
        try room.join("bob", .sending)
        let player = try room.join("carol", .receiving, picks: [.user("bob")])
        let anyone = try room.join("dave", .receiving)
        let before = room.plane.subscriptions
        try room.join("bob", .sending)
        #expect(room.heard(by: player) == ["bob opus", "bob VP8"])
        // Replacing alice's leg must not make the player move to bob, who was there before her new tracks.
        try room.join("alice", .sending)
        #expect(room.heard(by: anyone) == ["alice opus", "alice VP8"])
        for spec in room.plane.subscriptions.values {
            #expect(before[spec.id] == nil)
            #expect(
                before.values.contains { $0.ssrc == spec.ssrc && $0.transport == spec.transport },
                "a line keeps its SSRC")
        }
        #expect(room.plane.violations.isEmpty)
    }

    @Test func whoeverLosesATrackTakesAnother() throws {
        var room = RoomFixture()
        let a = try room.join("alice", .sending)
        try room.join("bob", .sending)
        let anyone = try room.join("carol", .receiving)
        let picky = try room.join("dave", .receiving, picks: [.user("alice")])
        room.remove(a)
        #expect(room.heard(by: anyone) == ["bob opus", "bob VP8"])
        #expect(room.heard(by: picky) == [nil, nil])
        try room.join("alice", .sending)
        #expect(room.heard(by: anyone) == ["bob opus", "bob VP8"], "what is heard stays")
        #expect(room.heard(by: picky) == ["alice opus", "alice VP8"])
    }

    @Test func theAnswersSSRCIsKept() throws {
        var room = RoomFixture()
        try room.join("alice", .sending, [RoomFixture.audio])
        var line = RoomFixture.audio
        line.promisedSSRC = 77
        try room.join("bob", .receiving, [line])
        #expect(room.plane.subscriptions.values.map(\.ssrc) == [77])
        try room.join("alice", .sending, [RoomFixture.audio])
        #expect(room.plane.subscriptions.count == 1)
        #expect(room.plane.subscriptions.values.first?.ssrc == 77)
    }

    @Test func firstCodecsAreWhatTheLegThenGets() throws {
        var room = RoomFixture()
        try room.join("alice", .sending, [RoomFixture.audio, RoomFixture.video(.h264)])
        let lines = [RoomFixture.audio, RoomFixture.video(.vp8, .h264), RoomFixture.video(.vp8)]
        let plan = room.plan(.receiving, lines)
        #expect(room.state.firstCodecs(of: plan, for: "bob") == [.opus, .h264, nil])
        let leg = try room.join("bob", .receiving, lines)
        #expect(room.heard(by: leg) == ["alice opus", "alice H264", nil])
        #expect(room.state.firstCodecs(of: plan, for: "alice") == [nil, nil, nil])
    }

    @Test func publicTrackIDs() throws {
        var room = RoomFixture()
        var seen: Set<String> = []
        for _ in 0..<100 {
            let leg = try room.join("alice", .sending)
            let ids = room.tracks(of: leg)
            #expect(ids.allSatisfy { $0.utf8.count == 16 && Names.isRoomName($0) })
            #expect(ids[0].hasPrefix("a") && ids[1].hasPrefix("v"))
            for id in ids { #expect(seen.insert(id).inserted) }
        }
    }

    // MARK: Kick

    @Test func aKickTakesEverythingOfTheUser() throws {
        var room = RoomFixture()
        try room.join("alice", .sending)
        try room.join("alice", .receiving)
        try room.join("bob", .sending)
        let player = try room.join("bob", .receiving)
        let peers = room.kick("alice") ?? []
        #expect(peers.count == 1)
        #expect(room.state.users == ["bob"])
        #expect(room.heard(by: player) == [nil, nil])
        #expect(room.plane.subscriptions.isEmpty)
        #expect(room.notices.contains(.left(user: "alice", .kicked)))
        room.kick("nobody", expecting: nil)
        #expect(room.plane.violations.isEmpty)
    }

    @Test func aRepeatedKickWaitsForTheSamePeer() throws {
        var room = RoomFixture()
        try room.join("alice", .sending)
        let first = room.kick("alice") ?? []
        room.kick("alice", expecting: first)
        // It may come back with its token: that is another peer, and a third kick is about both.
        try room.join("alice", .sending)
        let both = room.kick("alice") ?? []
        #expect(both.count == 2 && both.isSuperset(of: first))
        for peer in both { room.state.removalDone(peer, of: "alice") }
        room.kick("alice", expecting: nil)
    }

    // MARK: Time

    @Test func anEmptyRoomClosesAfterTenSeconds() throws {
        var room = RoomFixture()
        let leg = try room.join("alice", .sending)
        room.advance(to: 100)
        room.remove(leg)
        #expect(room.state.nextDeadline == MediaTime(nanoseconds: 110_000_000_000))
        room.advance(to: 109)
        #expect(!room.isClosed)
        // A return in time keeps the room.
        let again = try room.join("alice", .sending)
        room.advance(to: 200)
        #expect(!room.isClosed)
        room.remove(again)
        // At the very instant of closing the room is closed: a join finds it so, whether or not the timer ran.
        room.now = MediaTime(nanoseconds: 210_000_000_000)
        #expect(throws: RoomRefusal.closed) { try room.join("alice", .sending) }
        #expect(room.isClosed)
    }

    @Test func anAppMayKeepItsRooms() throws {
        var settings = AppSettings()
        settings.noAutoCloseRoom = true
        var room = RoomFixture(settings)
        let leg = try room.join("alice", .sending)
        room.remove(leg)
        room.advance(to: 100_000)
        #expect(!room.isClosed)
        #expect(room.state.nextDeadline == nil)
    }

    @Test func aRoomThatNobodyEnteredGoesWithTheFailedJoin() throws {
        var room = RoomFixture()
        room.run { state, _, effects in state.joinFailed(effects: &effects) }
        #expect(room.isClosed)
        var used = RoomFixture()
        let leg = try used.join("alice", .sending)
        used.remove(leg)
        used.run { state, _, effects in state.joinFailed(effects: &effects) }
        #expect(!used.isClosed, "an empty room keeps its ten seconds")
    }

    @Test func aReceivingLegLivesByItsLease() throws {
        var room = RoomFixture()
        let leg = try room.join("bob", .receiving)
        let transport = room.transports(of: leg)[1]
        room.advance(to: 3000)
        room.event(.transportHeard(transport))
        room.advance(to: 6599)
        #expect(room.state.users == ["bob"])
        // A look at it renews it, too.
        room.visit(leg, expecting: true)
        room.advance(to: 10_198)
        #expect(room.state.users == ["bob"])
        room.advance(to: 10_199)
        #expect(room.state.users.isEmpty)
        #expect(room.notices.contains(.left(user: "bob", .leaseEnded)))
        room.visit(leg, expecting: false)
        room.advance(to: 10_208)
        #expect(!room.isClosed)
        room.advance(to: 10_209)
        #expect(room.isClosed)
    }

    @Test func lateTimersChangeNothing() throws {
        // The lease ends at 3600, so the room closes at 3610, however late anyone looks.
        var room = RoomFixture()
        try room.join("bob", .receiving)
        room.now = MediaTime(nanoseconds: 3_610_000_000_000)
        #expect(throws: RoomRefusal.closed) { try room.join("carol", .sending) }
        var other = RoomFixture()
        try other.join("bob", .receiving)
        other.now = MediaTime(nanoseconds: 3_609_999_999_999)
        try other.join("carol", .sending)
        #expect(other.state.users == ["carol"])
    }

    @Test func aSendingLegIsGoneWhenAllItsTransportsAreSilent() throws {
        var room = RoomFixture()
        let leg = try room.join("alice", .sending)
        let limits = room.plane.transports.values.map(\.silenceLimit)
        #expect(limits.allSatisfy { $0 == .seconds(30) })
        let transports = room.transports(of: leg)
        room.event(.transportSilent(transports[0]))
        #expect(room.state.users == ["alice"])
        room.event(.transportHeard(transports[0]))
        room.event(.transportSilent(transports[1]))
        #expect(room.state.users == ["alice"])
        room.event(.transportSilent(transports[0]))
        #expect(room.state.users.isEmpty)
        #expect(room.notices.contains(.left(user: "alice", .silent)))
    }

    @Test func aReceivingLegHasNoSilenceLimit() throws {
        var room = RoomFixture()
        let leg = try room.join("bob", .receiving)
        #expect(room.plane.transports.values.allSatisfy { $0.silenceLimit == nil })
        for transport in room.transports(of: leg) { room.event(.transportSilent(transport)) }
        #expect(room.state.users == ["bob"])
    }

    @Test func anUnreachablePlayerIsGone() throws {
        var room = RoomFixture()
        try room.join("alice", .sending, [RoomFixture.video(.vp8, transport: 0)])
        let leg = try room.join("bob", .receiving)
        let transports = room.transports(of: leg)
        // The audio transport carries nothing: what is said about it does not count yet.
        room.event(.transportUnreachable(transports[0]))
        #expect(room.state.users == ["alice", "bob"])
        // With audio to carry it does, until something is heard.
        try room.join("carol", .sending, [RoomFixture.audio])
        room.event(.transportHeard(transports[0]))
        #expect(room.state.users == ["alice", "bob", "carol"])
        room.event(.transportUnreachable(transports[1]))
        #expect(room.state.users == ["alice", "bob", "carol"])
        room.event(.transportUnreachable(transports[0]))
        #expect(room.state.users == ["alice", "carol"])
        #expect(room.notices.contains(.left(user: "bob", .unreachable)))
    }

    @Test func closingEndsEverybody() throws {
        var room = RoomFixture()
        try room.join("alice", .sending)
        try room.join("bob", .receiving)
        room.run { $0.close(now: $1, effects: &$2) }
        #expect(room.isClosed)
        #expect(room.plane.peers.isEmpty)
        room.kick("alice", expecting: nil)
        #expect(room.state.nextDeadline == nil)
        #expect(room.plane.violations.isEmpty)
    }

    @Test func reportsOfThingsThatAreGoneDoNothing() throws {
        var room = RoomFixture()
        try room.join("alice", .sending)
        let before = room.commands.count
        for n in [0, 1, 999, UInt64.max] {
            room.event(.transportSilent(TransportID(n)))
            room.event(.transportUnreachable(TransportID(n)))
            room.event(.transportHeard(TransportID(n)))
            room.event(.trackStarted(TrackID(n)))
            room.event(.subscriptionRefused(SubscriptionID(n)))
        }
        #expect(room.commands.count == before)
        #expect(room.state.users == ["alice"])
    }

    @Test func aRefusedSubscriptionIsTriedAgainWithTheNextTrack() throws {
        var room = RoomFixture()
        try room.join("alice", .sending, [RoomFixture.audio])
        let leg = try room.join("bob", .receiving, [RoomFixture.audio])
        let subscription = try #require(room.plane.subscriptions.keys.first)
        room.plane.subscriptions[subscription] = nil
        room.event(.subscriptionRefused(subscription))
        #expect(room.heard(by: leg) == [nil])
        try room.join("carol", .sending, [RoomFixture.audio])
        #expect(room.heard(by: leg) == ["alice opus"])
        #expect(room.notices.contains(.subscriptionRefused(user: "bob", subscription)))
    }
}
