/// A room as one client sees it: what auth-res showed, changed by every notification since.
///
/// `apply` says when a notification does not fit the view: a correct server never sends such a one.
public struct RoomView: Hashable, Sendable {
    public struct Player: Hashable, Sendable {
        public var playerData: String
        public var isReconnecting = false
        /// By track id.
        public var tracks: [String: TrackInfo] = [:]

        public init(playerData: String) { self.playerData = playerData }
    }

    /// The others, by user id.
    public private(set) var players: [String: Player] = [:]
    /// Whose track it is, by track id.
    private var owners: [String: String] = [:]
    /// Whose view it is.
    public let ownID: String
    /// Its own tracks, as far as whoever keeps the view wants to say: the server may mute them.
    public var ownTracks: Set<String> = []

    public init(ownID: String) { self.ownID = ownID }

    public func track(_ id: String) -> TrackInfo? { owners[id].flatMap { players[$0]?.tracks[id] } }

    /// Replaces everything by what auth-res shows.
    ///
    /// - Returns: what is wrong with it.
    public mutating func reset(_ answer: AuthAnswer) -> [String] {
        players = [:]
        owners = [:]
        var problems: [String] = []
        for player in answer.players ?? [] where player.playerID != ownID {
            problems += apply(.playerJoined(player))
        }
        for track in answer.tracks ?? [] where track.playerID != ownID {
            problems += apply(.tracksAdded(TracksAdded(tracks: [track])))
        }
        return problems
    }

    /// - Returns: what does not fit; empty when all is well.
    public mutating func apply(_ notification: Notification) -> [String] {
        switch notification {
        case .playerJoined(let player):
            if player.playerID == ownID { return ["\(ownID) was told of its own arrival"] }
            let isNew = players[player.playerID] == nil
            players[player.playerID] = Player(playerData: player.playerData ?? "")
            return isNew ? [] : ["\(player.playerID) came twice"]
        case .playerLeft(let reference):
            guard let player = players.removeValue(forKey: reference.playerID) else {
                return ["\(reference.playerID) left and was not there"]
            }
            for id in player.tracks.keys { owners[id] = nil }
            return player.tracks.isEmpty ? [] : ["\(reference.playerID) left before its tracks did"]
        case .playerReconnecting(let reference): return setReconnecting(reference.playerID, true)
        case .playerReconnected(let reference): return setReconnecting(reference.playerID, false)
        case .tracksAdded(let added): return added.tracks.flatMap { add($0) }
        case .tracksRemoved(let removed): return remove(removed.tracks)
        case .tracksMuted(let mute): return mute.tracks.flatMap { set($0) }
        default: return []
        }
    }

    private mutating func setReconnecting(_ id: String, _ value: Bool) -> [String] {
        guard players[id] != nil else { return ["\(id) reconnects and is not there"] }
        players[id]?.isReconnecting = value
        return []
    }

    private mutating func add(_ track: TrackInfo) -> [String] {
        if track.playerID == ownID { return ["\(ownID) was told of its own track"] }
        guard players[track.playerID] != nil else { return ["a track of \(track.playerID), who is not there"] }
        var problems: [String] = []
        if owners[track.trackID] != nil { problems.append("track \(track.trackID) came twice") }
        if track.mid.isEmpty { problems.append("track \(track.trackID) has no mid") }
        for player in players.values {
            for other in player.tracks.values where other.mid == track.mid && other.trackID != track.trackID {
                problems.append("two tracks have the mid \(track.mid)")
            }
        }
        players[track.playerID]?.tracks[track.trackID] = track
        owners[track.trackID] = track.playerID
        return problems
    }

    private mutating func remove(_ tracks: [TrackReference]) -> [String] {
        var problems: [String] = []
        var removedFrom: Set<String> = []
        for track in tracks {
            guard let owner = owners.removeValue(forKey: track.trackID) else {
                problems.append("track \(track.trackID) went and was not there")
                continue
            }
            players[owner]?.tracks[track.trackID] = nil
            removedFrom.insert(owner)
        }
        if removedFrom.count > 1 { problems.append("tracks of several players went in one message") }
        return problems
    }

    private mutating func set(_ mute: TrackMute) -> [String] {
        if ownTracks.contains(mute.trackID) { return [] }
        guard let owner = owners[mute.trackID] else { return ["mute of track \(mute.trackID), which is not there"] }
        players[owner]?.tracks[mute.trackID]?.muted = mute.muted
        return []
    }
}
