import MediaWire
import RTCClient
import RoomProtocol
import Testing

/// What an app knows that only listens to the events.
private struct Listener: Equatable {
    struct User: Equatable {
        var data: String
        var isReconnecting = false
        var tracks: [String: RemoteTrack] = [:]
    }

    var users: [String: User] = [:]
    var problems: [String] = []

    mutating func hear(_ event: RTCClientEvent) {
        switch event {
        case .userJoined(let id, let data):
            if users[id] != nil { problems.append("\(id) joined twice") }
            users[id] = User(data: data)
        case .userLeft(let id):
            if users[id]?.tracks.isEmpty != true { problems.append("\(id) left, unknown or with tracks") }
            users[id] = nil
        case .userReconnecting(let id), .userReconnected(let id):
            if users[id] == nil { problems.append("\(id) is unknown") }
            if case .userReconnecting = event {
                users[id]?.isReconnecting = true
            } else {
                users[id]?.isReconnecting = false
            }
        case .tracksPublished(let tracks, let id):
            if tracks.isEmpty || users[id] == nil { problems.append("published nothing or by nobody") }
            for track in tracks {
                if users[id]?.tracks[track.trackID] != nil { problems.append("\(track.trackID) came twice") }
                users[id]?.tracks[track.trackID] = track
            }
        case .tracksUnpublished(let tracks, let id):
            if tracks.isEmpty { problems.append("unpublished nothing") }
            for track in tracks where users[id]?.tracks.removeValue(forKey: track.trackID) == nil {
                problems.append("\(track.trackID) went and was not there")
            }
        case .muteStateChanged(let track, let id):
            if users[id]?.tracks[track.trackID]?.isMuted != !track.isMuted { problems.append("no change of mute") }
            users[id]?.tracks[track.trackID] = track
        default: problems.append("\(event) was not expected")
        }
    }
}

@Suite struct RoomMirrorTests {
    /// What a room shows of a user, to everybody alike.
    private struct Shown: Equatable {
        var data: String
        var isReconnecting: Bool
        var mutes: [String: Bool]
    }

    /// Random rooms, seen by notifications and by the lists of a resume: what the events told is what can be asked, and
    /// what is there.
    @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
    func `events and lists agree with the room`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var mirror = RoomMirror(ownID: "me")
        var view = RoomView(ownID: "me")
        var listener = Listener()
        var version = 1
        let names = ["u0", "u1", "u2", "u3", "me"]
        let ids = (0..<8).map { "t\($0)" }

        func compare(_ step: Int) {
            let told = mirror.remoteUsers.map { user in
                (
                    user.userID,
                    Listener.User(
                        data: user.userData, isReconnecting: user.isReconnecting,
                        tracks: Dictionary(
                            (user.audioTracks + user.videoTracks).map { ($0.trackID, $0) }, uniquingKeysWith: { $1 }))
                )
            }
            #expect(Dictionary(told, uniquingKeysWith: { $1 }) == listener.users, "seed \(seed), step \(step)")
            #expect(listener.problems.isEmpty, "seed \(seed), step \(step)")
            let real = view.players.mapValues { player in
                Shown(
                    data: player.playerData, isReconnecting: player.isReconnecting,
                    mutes: player.tracks.mapValues { $0.muted })
            }
            let shown = listener.users.mapValues { user in
                Shown(
                    data: user.data, isReconnecting: user.isReconnecting, mutes: user.tracks.mapValues { $0.isMuted })
            }
            #expect(shown == real, "seed \(seed), step \(step)")
        }

        /// A change of the room as a correct server tells it; possible in this state, else nil.
        func change() -> RoomProtocol.Notification? {
            let name = names[Int(random.next() % 4)]
            let id = ids[Int(random.next() % 8)]
            switch random.next() % 8 {
            case 0, 1:
                // Some say nothing of themselves; on the wire that is no data, or an empty text.
                let data = random.next() % 4 == 0 ? nil : id
                return view.players[name] == nil ? .playerJoined(PlayerInfo(playerID: name, playerData: data)) : nil
            case 2: return view.players[name]?.tracks.isEmpty == true ? .playerLeft(PlayerReference(name)) : nil
            case 3, 4:
                guard view.players[name] != nil, view.track(id) == nil else { return nil }
                version += 1
                return .tracksAdded(
                    TracksAdded(tracks: [
                        track(id, of: name, random.next() % 2 == 0 ? .audio : .video, version: version)
                    ]))
            case 5: return view.track(id) != nil ? .tracksRemoved(TracksRemoved(tracks: [TrackReference(id)])) : nil
            case 6:
                return view.track(id).map {
                    .tracksMuted(MuteTracks(tracks: [TrackMute(trackID: id, muted: !$0.muted)]))
                }
            default:
                guard let player = view.players[name] else { return nil }
                return player.isReconnecting
                    ? .playerReconnected(PlayerReference(name)) : .playerReconnecting(PlayerReference(name))
            }
        }

        for step in 0..<3000 {
            if random.next() % 16 == 0 {
                // Cut off: the room goes on unseen, then its lists come. An own entry is passed over.
                for _ in 0..<(random.next() % 20) { if let change = change() { _ = view.apply(change) } }
                var answer = AuthAnswer(rpcid: nil)
                answer.players =
                    view.players.map { name, player in
                        let isSaid = !player.playerData.isEmpty || random.next() % 2 == 0
                        return PlayerInfo(playerID: name, playerData: isSaid ? player.playerData : nil)
                    }
                    + [PlayerInfo(playerID: "me")]
                answer.tracks = view.players.values.flatMap { $0.tracks.values } + [track("mine", of: "me")]
                // The lists do not say who is cut off.
                _ = view.reset(answer)
                for event in mirror.synchronize(answer) { listener.hear(event) }
            } else if let change = change() {
                _ = view.apply(change)
                for event in mirror.apply(change) { listener.hear(event) }
            }
            compare(step)
        }
    }

    /// Whatever a broken server says: nothing traps, and the events still tell what can be asked.
    @Test(arguments: [11, 12, 13, 14] as [UInt64])
    func `notifications that do not fit do no harm`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var mirror = RoomMirror(ownID: "u0")
        var listener = Listener()
        for _ in 0..<5000 {
            let name = "u\(random.next() % 4)"
            let id = "t\(random.next() % 6)"
            let notification: RoomProtocol.Notification =
                switch random.next() % 8 {
                case 0: .playerJoined(PlayerInfo(playerID: name))
                case 1: .playerLeft(PlayerReference(name))
                case 2: .playerReconnecting(PlayerReference(name))
                case 3: .playerReconnected(PlayerReference(name))
                case 4: .tracksAdded(TracksAdded(tracks: [track(id, of: name), track("t1", of: "u1")]))
                case 5: .tracksRemoved(TracksRemoved(tracks: [TrackReference(id), TrackReference("t2")]))
                case 6: .tracksMuted(MuteTracks(tracks: [TrackMute(trackID: id, muted: random.next() % 2 == 0)]))
                default: .ping
                }
            for event in mirror.apply(notification) { listener.hear(event) }
            #expect(listener.problems.isEmpty, "seed \(seed), \(notification)")
            #expect(Set(mirror.remoteUsers.map(\.userID)) == Set(listener.users.keys))
            #expect(mirror.remoteUser("u0") == nil)
        }
    }

    @Test func `a track is tried once, unless it is said anew`() {
        var mirror = RoomMirror(ownID: "me")
        _ = mirror.apply(.playerJoined(PlayerInfo(playerID: "bob")))
        _ = mirror.apply(.tracksAdded(TracksAdded(tracks: ["a", "b", "c"].map { track($0, of: "bob") })))
        mirror.subscribed("b")
        #expect(mirror.takeUntried(limit: 1) == ["a"])
        #expect(mirror.takeUntried(limit: 10) == ["c"])
        #expect(mirror.takeUntried(limit: 10).isEmpty)
        mirror.setUntried(["c", "nobody's"])
        #expect(mirror.takeUntried(limit: 10) == ["c"])
        #expect(mirror.trackIDs(subscribed: true) == ["b"])
        #expect(mirror.trackIDs(subscribed: false) == ["a", "c"])
        mirror.unsubscribed("b")
        #expect(mirror.takeUntried(limit: 10).isEmpty)
    }
}
