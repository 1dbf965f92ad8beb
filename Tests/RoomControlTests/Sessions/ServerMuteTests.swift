import MediaContract
import MediaWire
import RoomControl
import RoomProtocol
import Testing

/// The server's mute of a track beside its publisher's own: who learns what.
@Suite struct ServerMuteTests {
    @Test func `the server's mute is told to the publisher, too`() async throws {
        var room = SignallingFixture()
        try room.join("user")
        try room.join("watcher")
        let track = try room.publish("user", ["a0"])[0]
        #expect(room.fixture.run { $0.muteByServer(track, true, now: $1, effects: &$2) })
        let mute = Notification.tracksMuted(MuteTracks(tracks: [TrackMute(trackID: track, muted: true)]))
        #expect(room.last("user") == mute && room.last("watcher") == mute)
        // What the publisher says itself changes nothing as long as the server's mute lasts.
        try room.fixture.run {
            try $0.mute(
                "user", link: room.links["user"]!, [TrackMute(trackID: track, muted: false)], now: $1, effects: &$2)
        }
        #expect(room.last("watcher") == mute)
        #expect(room.fixture.run { $0.muteByServer(track, false, now: $1, effects: &$2) })
        #expect(
            room.last("watcher") == .tracksMuted(MuteTracks(tracks: [TrackMute(trackID: track, muted: false)])))
        #expect(!room.fixture.run { $0.muteByServer("none", true, now: $1, effects: &$2) })
    }

    /// All orders of four words, two of each side: the others and the notices tell of every change of what both say together,
    /// and of nothing else; the publisher learns the server's word.
    @Test(arguments: 0..<256)
    func `two mutes are one for everybody else`(_ words: Int) throws {
        var room = SignallingFixture()
        try room.join("user")
        try room.join("watcher")
        let (link, watcher) = (try #require(room.links["user"]), try #require(room.links["watcher"]))
        let track = try room.publish("user", ["a0"])[0]
        var (own, server) = (false, false)
        var told: [Bool] = []
        var noticed: [RoomNotice] = []
        var toPublisher: [Bool] = []
        for step in 0..<4 {
            let (isServer, isMuted) = (words >> (2 * step) & 1 == 1, words >> (2 * step + 1) & 1 == 1)
            let (before, serverBefore) = (own || server, server)
            if isServer {
                server = isMuted
                #expect(room.fixture.run { $0.muteByServer(track, isMuted, now: $1, effects: &$2) })
            } else {
                own = isMuted
                try room.fixture.run {
                    try $0.mute("user", link: link, [TrackMute(trackID: track, muted: isMuted)], now: $1, effects: &$2)
                }
            }
            if (own || server) != before {
                told.append(own || server)
                noticed.append(.muted(user: "user", track: track, own || server, byServer: isServer))
            }
            if server != serverBefore { toPublisher.append(server) }
        }
        func mutes(_ link: LinkID) -> [Bool] {
            (room.fixture.inbox[link] ?? []).flatMap { notification -> [Bool] in
                if case .tracksMuted(let mutes) = notification { mutes.tracks.map(\.muted) } else { [] }
            }
        }
        #expect(mutes(watcher) == told)
        #expect(mutes(link) == toPublisher)
        let notices = room.fixture.notices.filter { if case .muted = $0 { true } else { false } }
        #expect(notices == noticed)
    }

    /// Tracks of a WHIP leg are none of its user's session: an unknown id in a `mute-tracks` stops the whole message there.
    @Test func `a session is not told of its user's legs`() throws {
        var room = SignallingFixture()
        let token = try room.join("user").reconnectToken
        try room.join("watcher")
        try room.fixture.join("user", .sending)
        let link = try #require(room.links["user"])
        let own = try room.publish("user", ["a0"])[0]
        let all = room.fixture.state.details.first { $0.user == "user" }?.tracks.map(\.info.trackID) ?? []
        #expect(all.count == 3)
        for track in all where track != own {
            for isMuted in [true, false, true] {
                #expect(room.fixture.run { $0.muteByServer(track, isMuted, now: $1, effects: &$2) })
                let mute = TrackMute(trackID: track, muted: isMuted)
                #expect(room.last("watcher") == .tracksMuted(MuteTracks(tracks: [mute])))
            }
        }
        // Over signalling its user may mute it all the same, and again nothing of the server's comes.
        let mutes = all.map { TrackMute(trackID: $0, muted: true) }
        try room.fixture.run { try $0.mute("user", link: link, mutes, now: $1, effects: &$2) }
        for track in all where track != own {
            #expect(room.fixture.run { $0.muteByServer(track, false, now: $1, effects: &$2) })
        }
        let heard = room.fixture.inbox[link] ?? []
        #expect(!heard.contains { if case .tracksMuted = $0 { true } else { false } })
        for track in all { _ = room.fixture.run { $0.muteByServer(track, true, now: $1, effects: &$2) } }
        let grant = try room.fixture.run {
            try $0.resume(
                "user", token: token, link: LinkID(99), messageSerial: nil, profile: nil, now: $1, effects: &$2)
        }
        #expect(grant.mutedByServer == [own] && grant.ownPublications == [own])
    }
}
