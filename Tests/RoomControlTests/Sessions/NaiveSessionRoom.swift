import MediaWire
import RoomControl
import RoomProtocol

/// A room in the slowest words: lists that are searched from end to end, no timers, no indexes. When time passes, it looks
/// at everything to find what is due first, does that, and looks again.
struct NaiveSessionRoom {
    struct Session {
        /// `nil`: its socket is known to be lost.
        var link: LinkID?
        let token: Int
        var lastHeard: Int64
        /// When its socket broke, if it was not silent before.
        var lostAt: Int64?
        var isAway = false
        var isAdmin: Bool
        var wanted: Set<Privilege>
        var privileges: Set<Privilege>
        let hasMedia: Bool
        let isMulticodec: Bool
        var publishing: String?
        var subscribing: String?
        /// Track ids.
        var subscriptions: Set<String> = []
        /// What became of its connections last; true: of the publishing one.
        var words: [Bool: Word] = [:]
        /// Messages that it has to get, in order.
        var messages: [Int] = []
        /// When it sent messages that were taken.
        var sent: [Int64] = []

        mutating func endConnection(_ isPublishing: Bool) {
            words[isPublishing] = nil
            if isPublishing {
                publishing = nil
            } else {
                subscribing = nil
                subscriptions = []
            }
        }
    }

    struct Word: Hashable {
        var id: String
        var isConnected: Bool
    }

    struct User {
        let name: String
        var data: String
        var granted: Set<Privilege> = [.publish, .subscribe]
        var session: Session?
        var sending: LegID?
        var receiving: LegID?
        var leaseEnd: Int64 = 0

        var isPresent: Bool { session != nil || sending != nil || receiving != nil }
    }

    struct Track {
        var info: TrackInfo
        var localID = ""
        let codec: Codec
        /// `nil`: it is published by signalling.
        let leg: LegID?
        var isMutedByUser = false
        var isMutedByServer = false
    }

    struct Left: Hashable, Comparable {
        var user: String
        var reason: EndReason
        static func < (a: Left, b: Left) -> Bool { (a.user, a.reason.rawValue) < (b.user, b.reason.rawValue) }
    }

    let settings: AppSettings
    let limits: RoomLimits
    let origin: RoomState.RoomOrigin
    /// In order of arrival.
    var users: [User] = []
    /// In order of publishing.
    var tracks: [Track] = []
    var bans: [(user: String, until: Int64)] = []
    var emptySince: Int64? = 0
    var wasEntered = false
    var closed: CloseReason?
    var lastMessage = 0
    /// What happened in this step.
    var left: [Left] = []
    var released: [LinkID: LinkEnd] = [:]
    /// Whether anything changed that others see.
    var isDirty = true

    static let second: Int64 = 1_000_000_000

    func place(_ user: String) -> Int? { users.firstIndex { $0.name == user } }
    func session(_ user: String) -> Session? { users.first { $0.name == user }?.session }
    func tracks(of user: String) -> [Track] { tracks.filter { $0.info.playerID == user } }

    mutating func change(_ user: String, _ body: (inout Session) -> Void) {
        guard let place = place(user), users[place].session != nil else { return }
        body(&users[place].session!)
    }
}

// MARK: - Time

extension NaiveSessionRoom {
    /// When the next thing happens by itself.
    var nextDue: Int64? {
        if closed != nil { return nil }
        var times: [Int64] = []
        if let time = closingTime { times.append(time) }
        for user in users {
            if user.receiving != nil, user.leaseEnd < .max { times.append(user.leaseEnd) }
            if let session = user.session { times.append(deadline(session)) }
        }
        return times.min()
    }

    private var closingTime: Int64? {
        guard users.isEmpty, !settings.noAutoCloseRoom, let emptySince else { return nil }
        let isUnused = !wasEntered && origin == .server
        return emptySince + (isUnused ? settings.noEnterTtl : settings.autoCloseTtl).nanoseconds
    }

    private func deadline(_ session: Session) -> Int64 {
        let timeout = settings.userTimeout.nanoseconds
        if session.isAway { return (session.lostAt ?? session.lastHeard) + timeout }
        return session.lastHeard + min(timeout, 9 * Self.second)
    }

    mutating func pass(to now: Int64) {
        while closed == nil, let time = nextDue, time <= now {
            if closingTime == time {
                finish(wasEntered ? .empty : .unused)
                continue
            }
            for user in users where user.receiving != nil && user.leaseEnd == time {
                endLeg(user.name, .receiving, .leaseEnded, at: time)
            }
            for user in users {
                guard let session = user.session, deadline(session) == time else { continue }
                if (session.lostAt ?? session.lastHeard) + settings.userTimeout.nanoseconds <= time {
                    if let link = session.link { released[link] = .silent }
                    endSession(user.name, .silent, at: time)
                } else {
                    change(user.name) { $0.isAway = true }
                    isDirty = true
                }
            }
        }
    }
}

// MARK: - Coming and going

extension NaiveSessionRoom {
    func refusal(of user: String, at now: Int64) -> RoomRefusal? {
        if closed != nil { return .closed }
        if bans.contains(where: { $0.user == user && now < $0.until }) { return .banned }
        if place(user) != nil { return nil }
        if settings.maxUsers > 0, users.count >= settings.maxUsers { return .full }
        return users.count >= limits.usersPerRoom ? .full : nil
    }

    mutating func enter(_ user: String) {
        isDirty = true
        wasEntered = true
        emptySince = nil
        if place(user) == nil { users.append(User(name: user, data: "")) }
    }

    mutating func join(_ entry: SessionEntry, link: LinkID, token: Int, at now: Int64) {
        if let old = session(entry.user) {
            if let link = old.link {
                released[link] = .out(DisconnectNotice(.userAlreadyExists, "the same user has joined elsewhere"))
            }
            endSession(entry.user, .replaced, at: now)
        }
        let isNew = place(entry.user) == nil
        enter(entry.user)
        guard let place = place(entry.user) else { return }
        if !isNew, !entry.userData.isEmpty, entry.userData != users[place].data {
            // Shown anew: whoever had its tracks has them no more.
            let shown = tracks(of: entry.user).map(\.info.trackID)
            for other in users.map(\.name) { change(other) { $0.subscriptions.subtract(shown) } }
        }
        if isNew || !entry.userData.isEmpty { users[place].data = entry.userData }
        users[place].session = Session(
            link: link, token: token, lastHeard: now, isAdmin: entry.permission == .admin,
            wanted: entry.privileges, privileges: entry.privileges.intersection(users[place].granted),
            hasMedia: entry.profile != nil,
            isMulticodec: entry.isMulticodec)
    }

    mutating func hear(_ user: String, at now: Int64) {
        change(user) {
            $0.lastHeard = now
            $0.lostAt = nil
            $0.isAway = false
        }
        isDirty = true
    }

    mutating func endSession(_ user: String, _ reason: EndReason, at now: Int64) {
        isDirty = true
        remove { $0.leg == nil && $0.info.playerID == user }
        if let place = place(user) { users[place].session = nil }
        leaveIfGone(user, reason, at: now)
    }

    mutating func endLeg(_ user: String, _ kind: LegKind, _ reason: EndReason, at now: Int64) {
        guard let place = place(user) else { return }
        isDirty = true
        if kind == .sending {
            let leg = users[place].sending
            remove { $0.leg == leg && leg != nil }
            users[place].sending = nil
        } else {
            users[place].receiving = nil
        }
        leaveIfGone(user, reason, at: now)
    }

    private mutating func leaveIfGone(_ user: String, _ reason: EndReason, at now: Int64) {
        guard let place = place(user), !users[place].isPresent else { return }
        users.remove(at: place)
        left.append(Left(user: user, reason: reason))
        if users.isEmpty { emptySince = now }
    }

    /// Puts a user out with all its parts.
    mutating func expel(_ user: String, _ reason: EndReason, _ notice: DisconnectNotice, at now: Int64) {
        guard let place = place(user) else { return }
        isDirty = true
        if let link = users[place].session?.link { released[link] = .out(notice) }
        remove { $0.info.playerID == user }
        users[place].session = nil
        users[place].sending = nil
        users[place].receiving = nil
        leaveIfGone(user, reason, at: now)
    }

    mutating func close(_ sentence: String, at now: Int64) {
        for user in users { expel(user.name, .roomClosed, DisconnectNotice(.roomClosed, sentence), at: now) }
        finish(.deleted)
    }

    mutating func finish(_ reason: CloseReason) {
        closed = reason
        isDirty = true
    }
}

// MARK: - Tracks and messages

extension NaiveSessionRoom {
    mutating func remove(_ isGone: (Track) -> Bool) {
        let gone = tracks.filter(isGone).map(\.info.trackID)
        if gone.isEmpty { return }
        isDirty = true
        tracks.removeAll { gone.contains($0.info.trackID) }
        for place in users.indices { users[place].session?.subscriptions.subtract(gone) }
    }

    /// The user's first of its kind is its main one, unless it says otherwise.
    mutating func add(
        _ id: String, of user: String, _ kind: TrackKind, codec: Codec, leg: LegID?, localID: String = "",
        tag: String = "", master: Bool? = nil, layers: Int = 1
    ) {
        let isFirst = !tracks.contains { $0.info.playerID == user && $0.info.kind == kind }
        var info = TrackInfo(trackID: id, playerID: user, kind: kind, tag: tag, master: master ?? isFirst, mid: "")
        if layers == 2 { info.profiles = ["high", "low"] }
        if layers == 3 { info.profiles = ["high", "medium", "low"] }
        tracks.append(Track(info: info, localID: localID, codec: codec, leg: leg))
        isDirty = true
    }

    mutating func mute(_ id: String, byUser: Bool? = nil, byServer: Bool? = nil) {
        guard let place = tracks.firstIndex(where: { $0.info.trackID == id }) else { return }
        if let byUser { tracks[place].isMutedByUser = byUser }
        if let byServer { tracks[place].isMutedByServer = byServer }
        tracks[place].info.muted = tracks[place].isMutedByUser || tracks[place].isMutedByServer
        isDirty = true
    }

    /// In any span that begins with a message, no more than twice the rate at once and the rate for its length.
    func maySend(_ user: String, at now: Int64) -> Bool {
        guard let session = session(user) else { return false }
        let cost = Self.second / Int64(limits.messagesPerSecond)
        return session.sent.indices.allSatisfy { first in
            Int64(session.sent.count - first + 1) * cost <= 2 * Self.second + now - session.sent[first]
        }
    }

    mutating func count(_ user: String, at now: Int64) {
        change(user) { session in
            // What is so old cannot matter any more.
            session.sent = session.sent.filter { now - $0 < 200 * Self.second } + [now]
        }
    }

    /// - Returns: the message's number; `nil`: nobody there is meant.
    mutating func send(from author: String?, to targets: [String]?) -> Int? {
        let named = targets.flatMap { $0.isEmpty ? nil : $0 }
        var receivers: [String] = []
        for user in users where user.session != nil && user.name != author {
            if named?.contains(user.name) ?? true { receivers.append(user.name) }
        }
        if named != nil, receivers.isEmpty { return nil }
        lastMessage += 1
        let number = lastMessage
        for receiver in receivers { change(receiver) { $0.messages.append(number) } }
        return lastMessage
    }

    /// What one who is not in the room would see.
    var truth: [String: RoomView.Player] {
        var result: [String: RoomView.Player] = [:]
        for user in users {
            var player = RoomView.Player(playerData: user.data)
            player.isReconnecting = user.session?.isAway ?? false
            for track in tracks where track.info.playerID == user.name {
                player.tracks[track.info.trackID] = track.info
            }
            result[user.name] = player
        }
        return result
    }
}
