package import RoomProtocol

/// A room as it must be, by what the load itself has done in it. Compared with what clients were told, in quiet.
///
/// Where the load cannot know (a frame may have been lost with its socket, a timer of the node may have fired or not),
/// the truth allows both.
package struct RoomTruth: Sendable, Equatable {
    package struct Track: Sendable, Equatable {
        package var kind: TrackKind
        package var tag: String
        /// `nil`: either.
        package var isMuted: Bool?

        package init(kind: TrackKind, tag: String, isMuted: Bool?) {
            self.kind = kind
            self.tag = tag
            self.isMuted = isMuted
        }
    }

    package enum Presence: Sendable, Equatable {
        case connected
        /// Its socket is gone. Silently: the node need not know it yet.
        case away(isSilent: Bool)
        /// Its 30 s may be over: there with everything, or without its tracks, or not there at all.
        case vanishing
    }

    package struct User: Sendable, Equatable {
        package var data: String
        package var presence = Presence.connected
        /// By track id.
        package var tracks: [String: Track] = [:]
        /// False: a request that changes them was cut off unanswered.
        package var hasKnownTracks = true

        package init(data: String) { self.data = data }
    }

    package var users: [String: User] = [:]

    package init() {}

    /// What is wrong with a client's view.
    package func differences(to view: RoomView) -> [String] {
        var result: [String] = []
        for (name, user) in users.sorted(by: { $0.key < $1.key }) where name != view.ownID {
            guard let seen = view.players[name] else {
                if user.presence != .vanishing { result.append("\(name) is missing") }
                continue
            }
            if seen.playerData != user.data { result.append("\(name) has other user data") }
            result += RoomTruth.presence(of: name, user, seen)
            // The node may be about to take it out: first its tracks, then itself.
            if user.presence == .vanishing, seen.tracks.isEmpty { continue }
            if user.hasKnownTracks { result += RoomTruth.tracks(of: name, user, seen) }
        }
        for name in view.players.keys.sorted() where users[name] == nil { result.append("\(name) is not there") }
        return result
    }

    /// What is wrong with the server API's list of users.
    package func differences(toListed names: [String]) -> [String] {
        var result: [String] = []
        let listed = Set(names)
        if listed.count != names.count { result.append("a user is listed twice") }
        for (name, user) in users.sorted(by: { $0.key < $1.key })
        where user.presence != .vanishing && !listed.contains(name) {
            result.append("\(name) is not listed")
        }
        for name in listed.sorted() where users[name] == nil { result.append("\(name) is listed and not there") }
        return result
    }

    private static func presence(
        of name: String, _ user: User, _ seen: RoomView.Player
    ) -> [String] {
        switch user.presence {
        case .connected: seen.isReconnecting ? ["\(name) is shown as reconnecting"] : []
        case .away(let isSilent):
            !seen.isReconnecting && !isSilent ? ["\(name) is not shown as reconnecting"] : []
        case .vanishing: []
        }
    }

    private static func tracks(of name: String, _ user: User, _ seen: RoomView.Player) -> [String] {
        var result: [String] = []
        for (id, track) in user.tracks.sorted(by: { $0.key < $1.key }) {
            guard let shown = seen.tracks[id] else {
                result.append("the track \(id) of \(name) is missing")
                continue
            }
            if shown.kind != track.kind || shown.tag != track.tag {
                result.append(
                    "the track \(id) of \(name) is \(shown.kind) \(shown.tag), not \(track.kind) \(track.tag)")
            }
            if let isMuted = track.isMuted, shown.muted != isMuted {
                result.append(
                    "the track \(id) of \(name) is \(isMuted ? "muted, and not shown so" : "shown as muted, and is not")"
                )
            }
        }
        for id in seen.tracks.keys.sorted() where user.tracks[id] == nil {
            result.append("the track \(id) of \(name) is not there")
        }
        return result
    }
}
