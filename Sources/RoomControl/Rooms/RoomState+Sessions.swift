import MediaContract
package import MediaWire
import RoomProtocol

// Users who come by signalling: joining, being lost and coming back, leaving; and what everybody is told of it.

extension RoomState {
    /// Lets a user in by signalling. A session that it has already is replaced, unless the app forbids it.
    ///
    /// The effects are for those who were there before: the grant shows the room as it is after them, so the connection
    /// counts as one of the room's only when they are done.
    package mutating func join(
        _ entry: SessionEntry, link: LinkID, now: MediaTime, effects: inout [RoomEffect]
    ) throws(RoomRefusal) -> SessionGrant {
        settle(now, effects: &effects)
        try admit(entry.user, now: now)
        if members[entry.user]?.session != nil {
            if settings.noAutoKickUser { throw .alreadyJoined }
            replaceSession(of: entry.user, now: now, effects: &effects)
        }
        var member = enter(entry.user, now: now, effects: &effects)
        let wasThere = member.hasParts
        let hasNewData = !entry.userData.isEmpty && entry.userData != member.userData
        let token = newReconnectToken()
        member.session = Session(
            link: link, reconnectToken: token, lastHeard: now, permission: entry.permission,
            wanted: entry.privileges, privileges: entry.privileges.intersection(member.granted),
            joinSerial: messageLog.serial,
            profile: entry.profile, isMulticodec: entry.isMulticodec,
            messageRate: RateMeter(perSecond: limits.messagesPerSecond),
            changeRate: RateMeter(perSecond: limits.changesPerSecond),
            namingRate: RateMeter(
                perSecond: limits.subscriptionsPerSecond,
                atOnce: 2 * max(limits.tracksPerRequest, limits.subscriptionsPerSecond)))
        if wasThere {
            if hasNewData {
                // The clients learn user data with the arrival only.
                hide(member, effects: &effects)
                member.userData = entry.userData
                announce(member, effects: &effects)
                announceTracks(tracks.filter { $0.user == entry.user }, effects: &effects)
            }
        } else {
            member.userData = entry.userData
            announce(member, effects: &effects)
        }
        members[entry.user] = member
        sessionFloor = min(sessionFloor, now + sessionPatience)
        startPings(now: now)
        return grant(to: entry.user, token: token)
    }

    /// Brings a user back whose connection was lost, or whose loss nobody noticed yet. For its effects see `join`.
    ///
    /// - Parameter messageSerial: the last message that the client has seen, as it says.
    package mutating func resume(
        _ user: String, token: Int, link: LinkID, messageSerial: Int?, profile: ClientMediaProfile?,
        now: MediaTime, effects: inout [RoomEffect]
    ) throws(RoomRefusal) -> SessionGrant {
        settle(now, effects: &effects)
        guard !isClosed, var session = members[user]?.session, session.reconnectToken == token else {
            throw .noSession
        }
        if let old = session.link, old != link { effects.append(.release(old, .resumedElsewhere)) }
        session.link = link
        session.lostAt = nil
        let lastHeard = session.lastHeard
        session.lastHeard = now
        if let profile { session.profile = profile }
        let wasLost = session.isReconnecting
        session.isReconnecting = false
        let connections = RoomState.takeWords(of: &session, heardAt: lastHeard, now: now)
        members[user]?.session = session
        if wasLost { announceReturn(of: user, effects: &effects) }
        sessionFloor = min(sessionFloor, now + sessionPatience)
        startPings(now: now)
        var grant = grant(to: user, token: token)
        // Of tracks that a leg of its user carries, the session has never heard.
        let own = tracks.filter { $0.user == user && $0.carrier == .session }
        grant.connections = connections
        grant.ownPublications = own.map(\.publicID)
        grant.ownSubscriptions = session.subscribing.map { $0.subscriptions.keys.sorted() } ?? []
        grant.mutedByServer = own.filter(\.isMutedByServer).map(\.publicID)
        grant.messages = messageLog.missed(by: user, after: max(messageSerial ?? 0, session.joinSerial))
        return grant
    }

    /// A frame came, whatever is in it. False: the connection is not (any more) the user's.
    package mutating func heard(
        _ user: String, link: LinkID, now: MediaTime, effects: inout [RoomEffect]
    ) -> Bool {
        settle(now, effects: &effects)
        guard members[user]?.session?.link == link else { return false }
        members[user]?.session?.lastHeard = now
        if members[user]?.session?.isReconnecting == true {
            members[user]?.session?.isReconnecting = false
            announceReturn(of: user, effects: &effects)
            // Its next silence counts from here, and is noticed sooner than the end of the last one was due.
            sessionFloor = min(sessionFloor, now + sessionPatience)
        }
        return true
    }

    /// The user's socket is gone without a word.
    package mutating func lost(_ user: String, link: LinkID, now: MediaTime, effects: inout [RoomEffect]) {
        settle(now, effects: &effects)
        guard members[user]?.session?.link == link else { return }
        members[user]?.session?.link = nil
        // One that was silent before counts from its last word on: the node itself may have closed that socket.
        if members[user]?.session?.isReconnecting == false { members[user]?.session?.lostAt = now }
        announceLoss(of: user, effects: &effects)
    }

    /// The user leaves. Its legs beside signalling stay, and so does the user if it has any.
    package mutating func leaveSession(
        _ user: String, link: LinkID, now: MediaTime, effects: inout [RoomEffect]
    ) {
        settle(now, effects: &effects)
        guard members[user]?.session?.link == link else { return }
        effects.append(.release(link, .left))
        members[user]?.session?.link = nil
        dropSession(of: user, .left, now: now, effects: &effects)
    }
}

// MARK: - Timers

extension RoomState {
    /// How long a session may be silent before anything happens.
    private var sessionPatience: MediaDuration { min(SignallingTimes.pongTimeout, settings.userTimeout) }

    /// How old a message may be that somebody who comes back has missed: its socket may have taken it before the break was seen.
    var messageAge: MediaDuration {
        MediaDuration(nanoseconds: settings.userTimeout.nanoseconds + sessionPatience.nanoseconds)
    }

    private func deadline(_ session: Session) -> MediaTime {
        session.isReconnecting ? end(of: session) : session.lastHeard + sessionPatience
    }

    private func end(of session: Session) -> MediaTime {
        (session.lostAt ?? session.lastHeard) + settings.userTimeout
    }

    mutating func findSessionFloor() {
        sessionFloor = .distantFuture
        for member in members.values {
            if let session = member.session { sessionFloor = min(sessionFloor, deadline(session)) }
        }
    }

    mutating func endSilentSessions(at time: MediaTime, effects: inout [RoomEffect]) {
        let due = members.values.filter { $0.session.map { deadline($0) <= time } ?? false }
        for member in due.sorted(by: { $0.order < $1.order }) {
            guard let session = members[member.user]?.session else { continue }
            if end(of: session) <= time {
                if let link = session.link { effects.append(.release(link, .silent)) }
                members[member.user]?.session?.link = nil
                dropSession(of: member.user, .silent, now: time, effects: &effects)
            } else {
                announceLoss(of: member.user, effects: &effects)
            }
        }
    }

    mutating func ping(due: MediaTime, now: MediaTime, effects: inout [RoomEffect]) {
        messageLog.forget(before: due, age: messageAge)
        guard members.values.contains(where: { $0.session?.link != nil }) else {
            pingAt = nil
            return
        }
        effects.append(.broadcast(.ping, except: nil))
        // After a long sleep of the machine one ping is enough.
        let step = SignallingTimes.ping.nanoseconds
        let missed = max(0, now.nanoseconds - due.nanoseconds) / step
        pingAt = MediaTime(nanoseconds: due.nanoseconds + (missed + 1) * step)
    }

    private mutating func startPings(now: MediaTime) {
        if pingAt == nil { pingAt = now + SignallingTimes.ping }
    }
}

// MARK: - The parts of it

extension RoomState {
    /// The user's session if the connection is its.
    func session(of user: String, link: LinkID) throws(Refused) -> Session {
        guard let session = members[user]?.session, session.link == link else {
            throw Refused(.userNotExist, "this connection is not in the room")
        }
        return session
    }

    /// Takes a session with its tracks out; its link has been released.
    ///
    /// - Parameter posting: whether its transports are removed one by one; not when the whole peer goes.
    mutating func endSession(
        of user: String, posting: Bool, hungry: inout Set<LegID>, effects: inout [RoomEffect]
    ) {
        guard members[user]?.session != nil else { return }
        dropPublishing(of: user, posting: posting, hungry: &hungry, effects: &effects)
        dropSubscribing(of: user, posting: posting, effects: &effects)
        members[user]?.session = nil
    }

    private mutating func dropSession(
        of user: String, _ reason: EndReason, now: MediaTime, effects: inout [RoomEffect]
    ) {
        var hungry: Set<LegID> = []
        let wasLost = members[user]?.session?.isReconnecting == true
        let isLast = members[user]?.legs.isEmpty ?? true
        endSession(of: user, posting: !isLast, hungry: &hungry, effects: &effects)
        if members[user]?.hasParts == false {
            leave(user, reason, now: now, effects: &effects)
        } else if wasLost {
            // Its legs live: it is there.
            announceReturn(of: user, effects: &effects)
        }
        for leg in sorted(hungry) { feed(leg, effects: &effects) }
    }

    /// A newer join: the older session hears why, the others see the user go.
    private mutating func replaceSession(of user: String, now: MediaTime, effects: inout [RoomEffect]) {
        if let link = members[user]?.session?.link {
            let notice = DisconnectNotice(.userAlreadyExists, "the same user has joined elsewhere")
            effects.append(.release(link, .out(notice)))
            members[user]?.session?.link = nil
        }
        dropSession(of: user, .replaced, now: now, effects: &effects)
    }

    private func grant(to user: String, token: Int) -> SessionGrant {
        let others = members.values.filter { $0.user != user }.sorted { $0.order < $1.order }
        return SessionGrant(
            reconnectToken: token,
            players: others.map { PlayerInfo(playerID: $0.user, playerData: $0.userData) },
            tracks: tracks.filter { $0.user != user }.map(\.info),
            reconnecting: others.filter { $0.session?.isReconnecting == true }.map(\.user),
            capabilities: members[user]?.session?.profile?.rtpCapabilities)
    }

    /// Never 0, and a whole number for JavaScript.
    private mutating func newReconnectToken() -> Int { Int(random.next() >> 12) | 1 }

    func announce(_ member: Member, effects: inout [RoomEffect]) {
        let player = PlayerInfo(playerID: member.user, playerData: member.userData)
        effects.append(.broadcast(.playerJoined(player), except: member.session?.link))
    }

    func announceTracks(_ tracks: [Track], effects: inout [RoomEffect]) {
        guard let user = tracks.first?.user else { return }
        let added = TracksAdded(tracks: tracks.map(\.info))
        effects.append(.broadcast(.tracksAdded(added), except: members[user]?.session?.link))
    }

    /// What `announce` and `announceTracks` showed is taken back.
    private mutating func hide(_ member: Member, effects: inout [RoomEffect]) {
        let link = member.session?.link
        let shown = tracks.filter { $0.user == member.user }.map { TrackReference($0.publicID) }
        if !shown.isEmpty {
            // The tracks stay: what is sent of them ends here.
            dropSubscriptions(to: shown.map(\.trackID), posting: true, effects: &effects)
            effects.append(.broadcast(.tracksRemoved(TracksRemoved(tracks: shown)), except: link))
        }
        effects.append(.broadcast(.playerLeft(PlayerReference(member.user)), except: link))
    }

    private mutating func announceLoss(of user: String, effects: inout [RoomEffect]) {
        guard members[user]?.session?.isReconnecting == false else { return }
        members[user]?.session?.isReconnecting = true
        let link = members[user]?.session?.link
        effects.append(.broadcast(.playerReconnecting(PlayerReference(user)), except: link))
        effects.append(.notice(.reconnecting(user: user)))
    }

    private func announceReturn(of user: String, effects: inout [RoomEffect]) {
        let link = members[user]?.session?.link
        effects.append(.broadcast(.playerReconnected(PlayerReference(user)), except: link))
        effects.append(.notice(.reconnected(user: user)))
    }
}

extension RoomState.Track {
    /// As others see it.
    var info: TrackInfo {
        TrackInfo(
            trackID: publicID, playerID: user, kind: kind == .audio ? .audio : .video, tag: tag, master: isMaster,
            muted: isMuted || isMutedByServer, versionID: 1, mid: mid, profiles: profiles.isEmpty ? nil : profiles)
    }
}
