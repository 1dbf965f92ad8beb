import MediaContract
import MediaWire
import RoomControl
import RoomProtocol
import RoomTestKit

// One step is a call to the state, or time that passes, or both; before the call the model says how it must go.

extension SessionModelRun {
    private static let actions = [
        "join", "join", "join", "resume", "resume", "resume", "heard", "heard", "pongs", "pongs", "pongs", "pongs",
        "lost",
        "cut", "leave", "kick", "ban",
        "publish", "publish", "add", "add", "remove", "mute", "mute", "server mute", "subscribe", "subscribe more",
        "unsubscribe", "profile", "connection", "message", "message", "message", "server message", "qos", "privileges",
        "permissions", "leg", "end leg", "media event", "media event", "pass", "pass", "close",
    ]

    mutating func step() {
        figures.steps += 1
        if model.closed != nil { startOver() }
        if chance(3) { pass() }
        let action = pick(Self.actions) ?? ""
        lastAction = action
        figures.actions[action, default: 0] += 1
        // Whatever is due comes first, in the state by itself.
        model.pass(to: now)
        switch action {
        case "join": join()
        case "resume": resume()
        case "heard": hear()
        case "pongs": hearAll()
        case "lost": lose()
        case "cut": cut()
        case "leave": leave()
        case "kick": kick()
        case "ban": ban()
        case "publish", "add", "remove", "mute", "server mute", "connection": publishing(action)
        case "subscribe", "subscribe more", "unsubscribe", "profile": subscribing(action)
        case "message", "server message", "qos": messaging(action)
        case "privileges": setPrivileges()
        case "permissions": setPermissions()
        case "leg": addLeg()
        case "end leg": endLeg()
        case "media event": mediaEvent()
        case "pass": pass()
        default: if chance(50) { close() }
        }
    }

    /// Time goes on: a little, a lot, or just to when something is due. Nobody tells the state.
    private mutating func pass() {
        switch random.next() % 16 {
        case 0..<8: now += Int64(random.next() % 400) * 1_000_000
        case 8..<11: now += Int64(random.next() % 4) * NaiveSessionRoom.second
        case 11: now += chance(10) ? Int64(random.next() % 50) * NaiveSessionRoom.second : 0
        case 12: now += 1
        default:
            if let due = model.nextDue, due > now, chance(5) { now = max(now, due - 1 + Int64(random.next() % 3)) }
        }
    }

    // MARK: Coming and going

    private mutating func newLink() -> LinkID {
        lastLink += 1
        return LinkID(lastLink)
    }

    private mutating func join() {
        let user = pick(names) ?? ""
        var entry = SessionEntry(user: user, permission: chance(3) ? .admin : .user)
        if chance(4) { entry.privileges = [.subscribe] }
        if chance(3) { entry.userData = "data \(random.next() % 3)" }
        if !chance(8) { entry.profile = kit.profile }
        entry.isMulticodec = chance(2)
        var refusal = model.refusal(of: user, at: now)
        if refusal == nil, settings.noAutoKickUser, model.session(user) != nil { refusal = .alreadyJoined }
        let link = newLink()
        do {
            let grant = try run { try $0.join(entry, link: link, now: $1, effects: &$2) }
            if let refusal { return note("\(user) joined in spite of \(refusal)") }
            figures.joins += 1
            if let old = model.session(user)?.token { oldTokens = [old] + oldTokens.prefix(4) }
            model.join(entry, link: link, token: grant.reconnectToken, at: now)
            if clients[grant.reconnectToken] != nil || grant.reconnectToken == 0 { note("a token that is none") }
            if (grant.capabilities == nil) != (entry.profile == nil) { note("wrong capabilities") }
            clients[grant.reconnectToken] = Client(
                user: user, link: link, view: RoomView(ownID: user), lastPing: now)
            welcome(grant, user, link)
        } catch {
            if error as? RoomRefusal != refusal { note("\(error) instead of \(String(describing: refusal))") }
            run { state, _, effects in state.joinFailed(effects: &effects) }
            if model.closed == nil, !model.wasEntered, origin == .firstJoin { model.finish(.unused) }
        }
    }

    /// The client takes the grant as it takes auth-res.
    private mutating func welcome(_ grant: SessionGrant, _ user: String, _ link: LinkID) {
        let token = grant.reconnectToken
        links[link] = token
        let others = model.users.filter { $0.name != user }
        if grant.players != others.map({ PlayerInfo(playerID: $0.name, playerData: $0.data) }) {
            note("\(user) is shown \(grant.players)")
        }
        if grant.tracks != model.tracks.map(\.info).filter({ $0.playerID != user }) {
            note("\(user) is shown \(grant.tracks)")
        }
        if grant.reconnecting != others.filter({ $0.session?.isAway == true }).map(\.name) {
            note("\(user) is shown \(grant.reconnecting) as reconnecting")
        }
        var answer = AuthAnswer(rpcid: nil)
        answer.players = grant.players
        answer.tracks = grant.tracks
        var problems = clients[token]?.view.reset(answer) ?? []
        for away in grant.reconnecting {
            problems += clients[token]?.view.apply(.playerReconnecting(PlayerReference(away))) ?? []
        }
        if let first = problems.first { note("\(user): \(first)") }
        clients[token]?.lastPing = now
        for word in grant.connections { takeWord(word, token) }
        let own = model.tracks(of: user).filter { $0.leg == nil }
        clients[token]?.view.ownTracks = Set(own.map(\.info.trackID))
        clients[token]?.serverMutes = Set(grant.mutedByServer)
        if grant.mutedByServer != own.filter(\.isMutedByServer).map(\.info.trackID) {
            note("\(user) is told that the server mutes \(grant.mutedByServer)")
        }
    }

    private mutating func resume() {
        let user = pick(names) ?? ""
        let session = model.session(user)
        var token = session?.token ?? 1
        // One of another session, of an earlier one, or none at all.
        if chance(6) { token = pick(oldTokens + model.users.compactMap { $0.session?.token } + [0, 7]) ?? 0 }
        let link = newLink()
        let seen = clients[token]?.seen
        let isRight = model.closed == nil && session?.token == token
        do {
            let grant = try run {
                try $0.resume(
                    user, token: token, link: link, messageSerial: seen, profile: nil, now: $1, effects: &$2)
            }
            guard isRight, let session else { return note("\(user) resumed with \(token)") }
            figures.resumes += 1
            if let old = session.link { model.released[old] = .resumedElsewhere }
            model.change(user) { $0.link = link }
            model.hear(user, at: now)
            if grant.reconnectToken != token { note("another token") }
            clients[token]?.link = link
            clients[token]?.isCut = false
            welcome(grant, user, link)
            if grant.ownPublications != model.tracks(of: user).filter({ $0.leg == nil }).map(\.info.trackID) {
                note("own publications \(grant.ownPublications)")
            }
            if grant.ownSubscriptions != session.subscriptions.sorted() {
                note("own subscriptions \(grant.ownSubscriptions)")
            }
            if !grant.messages.isEmpty { take(grant.messages, token) }
            figures.replayed += grant.messages.count
        } catch {
            if error as? RoomRefusal != .noSession || isRight { note("\(user) may not resume: \(error)") }
        }
    }

    /// A user and a connection that may be its own: most of the time it is, and then frames do come over it.
    mutating func connection() -> (user: String, link: LinkID, isOwn: Bool) {
        let user = pick(model.users.filter { $0.session?.link != nil }.map(\.name)) ?? pick(names) ?? ""
        if chance(24) { return (user, LinkID(UInt64(1) << 40), false) }
        guard let session = model.session(user), let link = session.link, clients[session.token]?.isCut == false else {
            return (user, LinkID(lastLink + 1), false)
        }
        return (user, link, true)
    }

    private mutating func hear() {
        let (user, link, isOwn) = connection()
        if run({ $0.heard(user, link: link, now: $1, effects: &$2) }) != isOwn { note("\(user) heard wrongly") }
        if isOwn { model.hear(user, at: now) }
    }

    private mutating func hearAll() {
        for user in model.users {
            guard let session = user.session, let link = session.link, clients[session.token]?.isCut == false else {
                continue
            }
            if !run({ $0.heard(user.name, link: link, now: $1, effects: &$2) }) { note("\(user.name) is not heard") }
            model.hear(user.name, at: now)
        }
    }

    private mutating func lose() {
        let user = pick(names) ?? ""
        let link = chance(4) ? LinkID(UInt64(1) << 40) : model.session(user)?.link ?? LinkID(0)
        links[link] = nil
        run { $0.lost(user, link: link, now: $1, effects: &$2) }
        guard model.session(user)?.link == link else { return }
        let now = now
        model.change(user) {
            $0.link = nil
            if !$0.isAway { $0.lostAt = now }
            $0.isAway = true
        }
        model.isDirty = true
    }

    private mutating func cut() {
        guard chance(3), let token = model.session(pick(names) ?? "")?.token else { return }
        clients[token]?.isCut = true
    }

    private mutating func leave() {
        let (user, link, isOwn) = connection()
        guard chance(3) else { return }
        run { $0.leaveSession(user, link: link, now: $1, effects: &$2) }
        guard isOwn else { return }
        model.released[link] = .left
        model.endSession(user, .left, at: now)
    }

    private mutating func kick() {
        guard chance(3) else { return }
        let user = pick(names) ?? ""
        let kicker = chance(2) ? "boss" : nil
        let peers = run { $0.kick(user, by: kicker, now: $1, effects: &$2) }
        for peer in peers ?? [] {
            if plane.peers[peer] == nil { note("a kicked user is not at the worker") }
            plane.apply(.removePeer(peer, ticket: RemovalTicket(0)))
            state.removalDone(peer, of: user)
        }
        if (peers != nil) != (model.closed == nil && model.place(user) != nil) { note("kick of \(user)") }
        let notice = DisconnectNotice(.kickedOut, "kicked out of the room", kickedID: kicker)
        if model.closed == nil { model.expel(user, .kicked, notice, at: now) }
    }

    private mutating func ban() {
        let user = pick(names) ?? ""
        let until: Int64? = chance(3) ? nil : now + Int64(random.next() % 20) * NaiveSessionRoom.second
        let time = now
        model.bans.removeAll { $0.until <= time || $0.user == user }
        if let until { model.bans.append((user, until)) }
        // As the table gives it: one for a user, and now and then one that is over just then.
        state.setBans(
            Dictionary(uniqueKeysWithValues: model.bans.map { ($0.user, MediaTime(nanoseconds: $0.until)) }))
    }

    private mutating func close() {
        run { $0.close(.deleted, "closed by the model", now: $1, effects: &$2) }
        if model.closed == nil { model.close("closed by the model", at: now) }
    }

    // MARK: Rights

    private mutating func privilegeSet() -> Set<Privilege> {
        [[], [.subscribe], [.publish], [.publish, .subscribe], [.publish, .subscribe]][Int(random.next() % 5)]
    }

    private mutating func setPrivileges() {
        let (user, link, isOwn) = connection()
        let wanted = privilegeSet()
        var code = isOwn ? ResultCode.ok : .userNotExist
        if isOwn {
            let granted = model.users.first { $0.name == user }?.granted ?? []
            let publishes = model.tracks.contains { $0.info.playerID == user && $0.leg == nil }
            if !wanted.isSubset(of: granted) || (!wanted.contains(.publish) && publishes) { code = .noPermission }
        }
        guard
            check(
                code,
                { state, now, effects in
                    try state.setPrivileges(user, link: link, wanted, now: now, effects: &effects)
                }) != nil
        else { return }
        model.change(user) {
            $0.wanted = wanted
            $0.privileges = wanted
            if !wanted.contains(.subscribe) { $0.subscriptions = [] }
        }
    }

    private mutating func setPermissions() {
        guard chance(3) else { return }
        let user = pick(names) ?? ""
        let permission: RoomToken.Permission? = chance(2) ? (chance(2) ? .admin : .user) : nil
        let granted = chance(4) ? nil : privilegeSet()
        let found = run {
            $0.setPermissions(of: user, permission: permission, granted: granted, now: $1, effects: &$2)
        }
        guard let place = model.place(user) else {
            if found { note("permissions of \(user), who is not there") }
            return
        }
        if !found { note("permissions of \(user)") }
        if let permission { model.change(user) { $0.isAdmin = permission == .admin } }
        guard let granted else { return }
        model.users[place].granted = granted
        model.change(user) { $0.privileges = $0.wanted.intersection(granted) }
        if !granted.contains(.publish) {
            model.remove { $0.leg == nil && $0.info.playerID == user }
            model.change(user) { session in
                guard let id = session.publishing else { return }
                session.endConnection(true)
                session.words[true] = .init(id: id, isConnected: false)
            }
            if model.users[place].sending != nil { model.endLeg(user, .sending, .notPermitted, at: now) }
        }
        if !granted.contains(.subscribe), let place = model.place(user) {
            model.change(user) { session in
                guard let id = session.subscribing else { return }
                session.endConnection(false)
                session.words[false] = .init(id: id, isConnected: false)
            }
            if model.users[place].receiving != nil { model.endLeg(user, .receiving, .notPermitted, at: now) }
        }
    }

    // MARK: Calls that have a code

    /// Makes the call and compares its code.
    ///
    /// - Returns: `nil` when it was refused, as it should or not.
    mutating func check<Result>(
        _ code: ResultCode, _ body: (inout RoomState, MediaTime, inout [RoomEffect]) throws -> Result
    ) -> Result? {
        do {
            let result = try run(body)
            if code == .ok { return result }
            note("taken, and \(code.rawValue) is right")
        } catch {
            let refused = error as? Refused
            figures.refusals[refused?.code ?? .ok, default: 0] += 1
            if refused?.code != code || refused?.text.isEmpty != false {
                note("\(error), and \(code.rawValue) is right")
            }
        }
        return nil
    }
}
