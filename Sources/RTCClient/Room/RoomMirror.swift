package import RoomProtocol

/// The others and their tracks, as the server's messages show them, and what the app is told of each change.
package struct RoomMirror: Sendable {
    private struct Track: Sendable {
        var info: TrackInfo
        var isSubscribed = false
        /// A subscription was tried, or made by the app.
        var isTried = false
        /// Counts up: the order of arrival.
        var place: Int
    }

    private struct User: Sendable {
        var data: String
        var isReconnecting = false
        var place: Int
        var tracks: [String: Track] = [:]
    }

    private let ownID: String
    private var users: [String: User] = [:]
    /// Whose it is, by track id.
    private var owners: [String: String] = [:]
    private var nextPlace = 0

    package init(ownID: String) { self.ownID = ownID }

    // MARK: What the app can ask

    /// In the order in which this client heard of them.
    package var remoteUsers: [RemoteUser] {
        users.sorted { $0.value.place < $1.value.place }.map { RoomMirror.user($0.key, $0.value) }
    }

    package func remoteUser(_ userID: String) -> RemoteUser? { users[userID].map { RoomMirror.user(userID, $0) } }

    package func remoteTrack(_ trackID: String) -> RemoteTrack? {
        owners[trackID].flatMap { users[$0]?.tracks[trackID] }.map(RoomMirror.track)
    }

    /// Ids of the tracks that are, or are not, subscribed, in the order of arrival.
    package func trackIDs(subscribed: Bool) -> [String] {
        users.values.flatMap { $0.tracks.values }.filter { $0.isSubscribed == subscribed }
            .sorted { $0.place < $1.place }.map(\.info.trackID)
    }

    private static func user(_ id: String, _ user: User) -> RemoteUser {
        let tracks = user.tracks.values.sorted { $0.place < $1.place }.map(track)
        return RemoteUser(
            userID: id, userData: user.data, isReconnecting: user.isReconnecting,
            audioTracks: tracks.filter { $0.kind == .audio }, videoTracks: tracks.filter { $0.kind == .video })
    }

    private static func track(_ track: Track) -> RemoteTrack {
        RemoteTrack(
            trackID: track.info.trackID, userID: track.info.playerID, kind: track.info.kind == .audio ? .audio : .video,
            tag: track.info.tag, isSubscribed: track.isSubscribed, isMuted: track.info.muted)
    }

    // MARK: What the server says

    /// Takes the lists of an auth-res: all that is there at a first join; after a loss, what was missed. Of a user or a
    /// track that went and came meanwhile as the same, only the difference is told; a track with another versionid was
    /// published anew.
    package mutating func synchronize(_ answer: AuthAnswer) -> [RTCClientEvent] {
        let players = (answer.players ?? []).filter { $0.playerID != ownID }
        let tracks = (answer.tracks ?? []).filter { $0.playerID != ownID }
        let newVersions = Dictionary(tracks.map { ($0.trackID, $0) }, uniquingKeysWith: { $1 })
        var events: [RTCClientEvent] = []

        for user in remoteUsers {
            let gone = (user.audioTracks + user.videoTracks).filter { track in
                guard let new = newVersions[track.trackID], new.playerID == user.userID else { return true }
                return new.versionID != users[user.userID]?.tracks[track.trackID]?.info.versionID
            }
            events += remove(gone.map { TrackReference($0.trackID) })
        }
        let present = Set(players.map(\.playerID))
        for user in remoteUsers where !present.contains(user.userID) {
            events += apply(.playerLeft(PlayerReference(user.userID)))
        }
        for player in players {
            // With other data it has left and joined meanwhile, perhaps without tracks before and after.
            if users[player.playerID]?.data != player.playerData ?? "" {
                events += apply(.playerJoined(player))
            } else if users[player.playerID]?.isReconnecting == true {
                // Whether it is cut off now, auth-res does not say: the news comes by itself.
                users[player.playerID]?.isReconnecting = false
                events.append(.userReconnected(userID: player.playerID))
            }
        }
        events += apply(.tracksAdded(TracksAdded(tracks: tracks.filter { owners[$0.trackID] == nil })))
        events += apply(
            .tracksMuted(MuteTracks(tracks: tracks.map { TrackMute(trackID: $0.trackID, muted: $0.muted) })))
        return events
    }

    /// Takes a notification. What does not fit (an unknown user or track, one's own) changes nothing.
    package mutating func apply(_ notification: Notification) -> [RTCClientEvent] {
        switch notification {
        case .playerJoined(let player): return join(player)
        case .playerLeft(let reference): return leave(reference.playerID)
        case .playerReconnecting(let reference):
            guard users[reference.playerID] != nil else { return [] }
            users[reference.playerID]?.isReconnecting = true
            return [.userReconnecting(userID: reference.playerID)]
        case .playerReconnected(let reference):
            guard users[reference.playerID] != nil else { return [] }
            users[reference.playerID]?.isReconnecting = false
            return [.userReconnected(userID: reference.playerID)]
        case .tracksAdded(let added): return add(added.tracks)
        case .tracksRemoved(let removed): return remove(removed.tracks)
        case .tracksMuted(let mute): return mute.tracks.flatMap { set($0) }
        default: return []
        }
    }

    private mutating func join(_ player: PlayerInfo) -> [RTCClientEvent] {
        guard player.playerID != ownID else { return [] }
        var events: [RTCClientEvent] = []
        // A newer join of the same user, whose end was not heard.
        if users[player.playerID] != nil { events += leave(player.playerID) }
        users[player.playerID] = User(data: player.playerData ?? "", place: place())
        events.append(.userJoined(userID: player.playerID, userData: player.playerData ?? ""))
        return events
    }

    private mutating func leave(_ userID: String) -> [RTCClientEvent] {
        guard let user = users[userID] else { return [] }
        var events: [RTCClientEvent] = []
        if !user.tracks.isEmpty { events += remove(user.tracks.keys.map { TrackReference($0) }) }
        users[userID] = nil
        events.append(.userLeft(userID: userID))
        return events
    }

    private mutating func add(_ tracks: [TrackInfo]) -> [RTCClientEvent] {
        var order: [String] = []
        var added: [String: [RemoteTrack]] = [:]
        for info in tracks where users[info.playerID] != nil && owners[info.trackID] == nil {
            let track = Track(info: info, place: place())
            users[info.playerID]?.tracks[info.trackID] = track
            owners[info.trackID] = info.playerID
            if added[info.playerID] == nil { order.append(info.playerID) }
            added[info.playerID, default: []].append(RoomMirror.track(track))
        }
        return order.map { .tracksPublished(added[$0] ?? [], userID: $0) }
    }

    private mutating func remove(_ tracks: [TrackReference]) -> [RTCClientEvent] {
        var order: [String] = []
        var removed: [String: [Track]] = [:]
        for reference in tracks {
            guard let owner = owners.removeValue(forKey: reference.trackID),
                let track = users[owner]?.tracks.removeValue(forKey: reference.trackID)
            else { continue }
            if removed[owner] == nil { order.append(owner) }
            removed[owner, default: []].append(track)
        }
        return order.map { owner in
            .tracksUnpublished(
                (removed[owner] ?? []).sorted { $0.place < $1.place }.map(RoomMirror.track), userID: owner)
        }
    }

    private mutating func set(_ mute: TrackMute) -> [RTCClientEvent] {
        guard let owner = owners[mute.trackID], var track = users[owner]?.tracks[mute.trackID],
            track.info.muted != mute.muted
        else { return [] }
        track.info.muted = mute.muted
        users[owner]?.tracks[mute.trackID] = track
        return [.muteStateChanged(RoomMirror.track(track), userID: owner)]
    }

    private mutating func place() -> Int {
        nextPlace += 1
        return nextPlace
    }

    // MARK: Subscriptions

    package mutating func subscribed(_ trackID: String) {
        guard let owner = owners[trackID] else { return }
        users[owner]?.tracks[trackID]?.isSubscribed = true
        users[owner]?.tracks[trackID]?.isTried = true
    }

    package mutating func unsubscribed(_ trackID: String) {
        guard let owner = owners[trackID] else { return }
        users[owner]?.tracks[trackID]?.isSubscribed = false
    }

    /// Tracks for which no subscription was tried, which it then was; in the order of arrival.
    package mutating func takeUntried(limit: Int) -> [String] {
        let untried = users.values.flatMap { $0.tracks.values }.filter { !$0.isTried }
            .sorted { $0.place < $1.place }.prefix(limit).map(\.info.trackID)
        for id in untried { setTried(id, true) }
        return untried
    }

    package mutating func setUntried(_ trackIDs: [String]) { for id in trackIDs { setTried(id, false) } }

    private mutating func setTried(_ trackID: String, _ isTried: Bool) {
        guard let owner = owners[trackID] else { return }
        users[owner]?.tracks[trackID]?.isTried = isTried
    }

    /// The events for tracks that are subscribed now, one for each user.
    package func subscribedEvents(_ trackIDs: [String]) -> [RTCClientEvent] {
        var order: [String] = []
        var tracks: [String: [RemoteTrack]] = [:]
        for track in trackIDs.compactMap({ remoteTrack($0) }) {
            if tracks[track.userID] == nil { order.append(track.userID) }
            tracks[track.userID, default: []].append(track)
        }
        return order.map { user in
            let all = tracks[user] ?? []
            return .tracksSubscribed(
                videoTracks: all.filter { $0.kind == .video }, audioTracks: all.filter { $0.kind == .audio },
                userID: user)
        }
    }
}
