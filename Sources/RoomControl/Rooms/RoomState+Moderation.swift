import MediaContract
package import MediaWire
package import RoomProtocol

// What admins of the room and the app's back end may do to others.

extension RoomState {
    /// Whether this session may do what only admins may.
    package func isAdmin(_ user: String, link: LinkID) throws(Refused) -> Bool {
        try session(of: user, link: link).permission == .admin
    }

    /// set-privileges: the user takes another role, within what it is granted.
    package mutating func setPrivileges(
        _ user: String, link: LinkID, _ privileges: Set<Privilege>, now: MediaTime, effects: inout [RoomEffect]
    ) throws(Refused) {
        settle(now, effects: &effects)
        let session = try session(of: user, link: link)
        if let strange = privileges.subtracting(members[user]?.granted ?? []).map(\.rawValue).sorted().first {
            throw Refused(.noPermission, "the privilege \"\(strange)\" was taken from this user")
        }
        if !privileges.contains(.publish), tracks.contains(where: { $0.user == user && $0.carrier == .session }) {
            throw Refused(.noPermission, "unpublish every track before giving up the privilege \"publish\"")
        }
        if !privileges.contains(.subscribe), let subscriptions = session.subscribing?.subscriptions {
            endSubscriptions(of: user, to: subscriptions.keys.sorted(), posting: true, effects: &effects)
        }
        members[user]?.session?.wanted = privileges
        members[user]?.session?.privileges = privileges
    }

    /// The back end changes what a user may do, for as long as the user is in the room. What it may not do any more ends. False:
    /// no such user.
    package mutating func setPermissions(
        of user: String, permission: RoomToken.Permission?, granted: Set<Privilege>?, now: MediaTime,
        effects: inout [RoomEffect]
    ) -> Bool {
        settle(now, effects: &effects)
        guard let member = members[user] else { return false }
        if let permission { members[user]?.session?.permission = permission }
        guard let granted else { return true }
        members[user]?.granted = granted
        if let session = member.session { members[user]?.session?.privileges = session.wanted.intersection(granted) }
        if !granted.contains(.publish) {
            // The client learns why when it tries again, and is refused.
            disconnect(.publishing, of: user, "publishing is not permitted any more", now: now, effects: &effects)
            if let leg = member.sending { drop(leg, .notPermitted, now: now, effects: &effects) }
        }
        if !granted.contains(.subscribe) {
            disconnect(.subscribing, of: user, "subscribing is not permitted any more", now: now, effects: &effects)
            if let leg = members[user]?.receiving { drop(leg, .notPermitted, now: now, effects: &effects) }
        }
        return true
    }

    /// The back end mutes a track, or unmutes it: forwarding stops, or goes on. The others and the notices tell of one state,
    /// muted by whomever, when that changes; the publisher is told of the server's mute by itself. False: no such track.
    package mutating func muteByServer(
        _ trackID: String, _ isMuted: Bool, now: MediaTime, effects: inout [RoomEffect]
    ) -> Bool {
        settle(now, effects: &effects)
        guard let index = tracks.firstIndex(where: { $0.publicID == trackID }) else { return false }
        guard tracks[index].isMutedByServer != isMuted else { return true }
        let before = tracks[index].info.muted
        tracks[index].isMutedByServer = isMuted
        let track = tracks[index]
        if isMuted {
            pauseSubscriptions(to: trackID, effects: &effects)
            for leg in sorted(Set(legs.keys)) { _ = silence([track.id], at: leg, isHeld: true, effects: &effects) }
        } else {
            for leg in legs.keys {
                guard let lines = legs[leg]?.lines else { continue }
                for line in lines.indices where lines[line].held == track.id { legs[leg]?.lines[line].held = nil }
            }
            resumeSubscriptions(to: track, effects: &effects)
            feedAll(effects: &effects)
        }
        let publisher = members[track.user]?.session?.link
        if track.info.muted != before {
            let mute = TrackMute(trackID: trackID, muted: track.info.muted)
            // A session has never heard of a track that a leg of its user carries.
            let excepted = track.carrier == .session ? nil : publisher
            effects.append(.broadcast(.tracksMuted(MuteTracks(tracks: [mute])), except: excepted))
            effects.append(.notice(.muted(user: track.user, track: trackID, mute.muted, byServer: true)))
        } else if let publisher, track.carrier == .session {
            // Its publisher has muted it, too: for the others nothing changes, but the publisher is to know what its own
            // unmuting would do.
            let mute = TrackMute(trackID: trackID, muted: isMuted)
            effects.append(.send(publisher, .tracksMuted(MuteTracks(tracks: [mute]))))
        }
        return true
    }

    /// Who may not come in from here on, and until when: all that `BanTable` has for the room, in place of what it had before.
    /// So its bound holds here, too, and there is no other. A user who is in is not put out by it: kick it, too.
    package mutating func setBans(_ bans: [String: MediaTime]) { self.bans = bans }
}

// MARK: - Details for the server API

/// A user of a room with its tracks and subscriptions.
package struct MemberDetails: Sendable {
    package var user: String
    package var userData: String
    /// When it came, in the room's monotonic time.
    package var since: MediaTime
    package var permission: RoomToken.Permission?
    package var privileges: [Privilege]
    package var hasSession: Bool
    package var isReconnecting: Bool
    package var legs: [LegKind]
    package var tracks: [TrackDetails]
    /// Public ids.
    package var subscriptions: [String]
}

package struct TrackDetails: Sendable {
    package var info: TrackInfo
    package var codec: Codec
    package var isMutedByServer: Bool
    /// Over which part it comes.
    package var isFromLeg: Bool
}

extension RoomState {
    /// Everybody, in order of arrival.
    package var details: [MemberDetails] { members.values.sorted { $0.order < $1.order }.map(details) }

    func details(of user: String) -> MemberDetails? { members[user].map(details) }

    func details(ofTrack id: String) -> TrackDetails? { tracks.first { $0.publicID == id }.map(\.details) }

    private func details(_ member: Member) -> MemberDetails {
        var subscriptions = member.session?.subscribing.map { Array($0.subscriptions.keys) } ?? []
        if let leg = member.receiving.flatMap({ legs[$0] }) {
            let feeds = Set(leg.lines.compactMap { $0.feed?.track })
            subscriptions += tracks.filter { feeds.contains($0.id) }.map(\.publicID)
        }
        return MemberDetails(
            user: member.user, userData: member.userData, since: member.since,
            permission: member.session?.permission,
            privileges: (member.session?.privileges ?? member.granted).sorted { $0.rawValue < $1.rawValue },
            hasSession: member.session != nil, isReconnecting: member.session?.isReconnecting ?? false,
            legs: (member.sending == nil ? [] : [.sending]) + (member.receiving == nil ? [] : [.receiving]),
            tracks: tracks.filter { $0.user == member.user }.map(\.details),
            subscriptions: Set(subscriptions).sorted())
    }
}

extension RoomState.Track {
    fileprivate var details: TrackDetails {
        TrackDetails(info: info, codec: codec, isMutedByServer: isMutedByServer, isFromLeg: leg != nil)
    }
}
