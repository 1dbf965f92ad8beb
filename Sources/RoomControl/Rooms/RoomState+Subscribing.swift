import MediaContract
package import MediaWire
package import RoomProtocol

extension RoomState {
    /// subpc: a new subscribing connection; an earlier one is replaced.
    package mutating func openSubscribing(
        _ user: String, link: LinkID, wanted: [WantedTrack], policy: CandidatePolicy = .preferUDP, now: MediaTime,
        effects: inout [RoomEffect]
    ) throws(Refused) -> (ConnectionGrant, [SubscribedTrackResult]) {
        settle(now, effects: &effects)
        _ = try subscriber(user, link: link)
        try check(wanted, of: user, now: now)
        dropSubscribing(of: user, posting: true, effects: &effects)
        var taken: Set<UInt32> = []
        let connection = SubscribeConnection(
            id: newConnectionID(), transport: TransportID(nextNumber()), policy: policy,
            credentials: ICECredentials(using: &random), localSSRC: newSSRC(&taken))
        members[user]?.session?.subscribing = connection
        members[user]?.session?.words[.subscribing] = nil
        // The request carries no fingerprint: what binds the client is the password, which only its signalling has.
        addTransport(
            connection.transport, .subscribing, of: user, connection.credentials, role: .server, fingerprints: [],
            localSSRC: connection.localSSRC, effects: &effects)
        let results = subscribe(user, wanted, effects: &effects)
        return (ConnectionGrant(id: connection.id, credentials: connection.credentials, policy: policy), results)
    }

    /// sub-tracks: more tracks on the same connection.
    package mutating func subscribeTracks(
        _ user: String, link: LinkID, wanted: [WantedTrack], now: MediaTime, effects: inout [RoomEffect]
    ) throws(Refused) -> [SubscribedTrackResult] {
        settle(now, effects: &effects)
        let session = try subscriber(user, link: link)
        // Clients ask for nothing when they have everything already.
        if wanted.isEmpty { return [] }
        guard session.subscribing != nil else {
            throw Refused(.subscribeConnectionGone, "there is no subscribing connection; start one with subpc")
        }
        try check(wanted, of: user, now: now)
        return subscribe(user, wanted, effects: &effects)
    }

    /// unsub-tracks. What was not subscribed is no mistake: the track may have gone meanwhile.
    package mutating func unsubscribeTracks(
        _ user: String, link: LinkID, ids: [String], now: MediaTime, effects: inout [RoomEffect]
    ) throws(Refused) -> [String] {
        settle(now, effects: &effects)
        guard let connection = try session(of: user, link: link).subscribing else {
            throw Refused(.subscribeConnectionGone, "there is no subscribing connection")
        }
        try countNames(ids.count, of: user, now: now)
        // An id that stands twice is answered once.
        var known = connection.subscriptions
        let gone = ids.filter { known.removeValue(forKey: $0) != nil }
        endSubscriptions(of: user, to: gone, posting: true, effects: &effects)
        return gone
    }

    /// subpc-close.
    package mutating func closeSubscribing(
        _ user: String, link: LinkID, id: String, now: MediaTime, effects: inout [RoomEffect]
    ) throws(Refused) {
        settle(now, effects: &effects)
        try RoomState.check(
            id, is: session(of: user, link: link).subscribing?.id, .subscribeConnectionGone, "subscribing")
        dropSubscribing(of: user, posting: true, effects: &effects)
    }

    /// subpc-restart: new ICE credentials; everything else stays.
    package mutating func restartSubscribing(
        _ user: String, link: LinkID, id: String, now: MediaTime, effects: inout [RoomEffect]
    ) throws(Refused) -> ConnectionGrant {
        settle(now, effects: &effects)
        try RoomState.check(
            id, is: session(of: user, link: link).subscribing?.id, .subscribeConnectionGone, "subscribing")
        let credentials = ICECredentials(using: &random)
        members[user]?.session?.subscribing?.credentials = credentials
        members[user]?.session?.subscribing?.restartedAt = now
        if let transport = members[user]?.session?.subscribing?.transport {
            effects.append(.post(.restartICE(transport, credentials)))
        }
        let policy = members[user]?.session?.subscribing?.policy ?? .preferUDP
        return ConnectionGrant(id: id, credentials: credentials, policy: policy)
    }

    /// set-sub-profile: a wish for another layer. It is kept; the layer itself changes when the media does.
    package mutating func setProfiles(
        _ user: String, link: LinkID, _ wanted: [WantedTrack], now: MediaTime, effects: inout [RoomEffect]
    ) throws(Refused) {
        settle(now, effects: &effects)
        guard let connection = try session(of: user, link: link).subscribing else {
            throw Refused(.subscribeConnectionGone, "there is no subscribing connection")
        }
        try check(wanted, of: user, now: now)
        for track in wanted {
            guard connection.subscriptions[track.trackID] != nil else {
                throw Refused(.subscribeNotExist, "track \(RoomState.quoted(track.trackID)) is not subscribed")
            }
            setProfile(RoomState.profile(track), of: track.trackID, for: user, effects: &effects)
        }
    }

    // MARK: The parts of it

    private func subscriber(_ user: String, link: LinkID) throws(Refused) -> Session {
        let session = try session(of: user, link: link)
        guard session.privileges.contains(.subscribe) else {
            throw Refused(
                .noPermission, "subscribing needs the privilege \"subscribe\", which this session does not have")
        }
        guard session.profile != nil else {
            throw Refused(.mediaNotSupported, "auth carried no capsdp, so this session has no media")
        }
        return session
    }

    /// A request costs what it names: each track of it is looked for and answered.
    mutating func countNames(_ count: Int, of user: String, now: MediaTime) throws(Refused) {
        let most = limits.tracksPerRequest
        if count > most { throw Refused(.tooManyOperations, "at most \(most) tracks in one request") }
        guard members[user]?.session?.namingRate.admits(max(count, 1), now: now) == true else {
            throw Refused(
                .tooManyOperations, "requests may name at most \(limits.subscriptionsPerSecond) tracks per second")
        }
    }

    private mutating func check(_ wanted: [WantedTrack], of user: String, now: MediaTime) throws(Refused) {
        try countNames(wanted.count, of: user, now: now)
        for track in wanted {
            if let profile = track.profile, SubscribeProfile(rawValue: profile) == nil {
                throw Refused(
                    .invalidParameter, "profile is high, medium or low, not \(RoomState.quoted(profile))")
            }
        }
    }

    private static func profile(_ track: WantedTrack) -> SubscribeProfile {
        track.profile.flatMap(SubscribeProfile.init) ?? .high
    }

    /// One look at the room's tracks and one at the subscriptions, however many are wanted.
    private mutating func subscribe(
        _ user: String, _ wanted: [WantedTrack], effects: inout [RoomEffect]
    ) -> [SubscribedTrackResult] {
        guard let session = members[user]?.session, let connection = session.subscribing else { return [] }
        let published = Dictionary(tracks.map { ($0.publicID, $0) }, uniquingKeysWith: { first, _ in first })
        var subscriptions = connection.subscriptions
        var taken = Set(subscriptions.values.flatMap { [$0.ssrc, $0.rtxSSRC] })
        taken.insert(connection.localSSRC)
        members[user]?.session?.subscribing?.subscriptions = [:]
        let results = wanted.map { wish in
            subscribe(user, wish, to: published[wish.trackID], session, &subscriptions, &taken, &effects)
        }
        members[user]?.session?.subscribing?.subscriptions = subscriptions
        return results
    }

    private mutating func subscribe(
        _ user: String, _ wanted: WantedTrack, to track: Track?, _ session: Session,
        _ subscriptions: inout [String: SessionSubscription], _ taken: inout Set<UInt32>,
        _ effects: inout [RoomEffect]
    ) -> SubscribedTrackResult {
        guard let track else {
            return SubscribedTrackResult(
                trackID: wanted.trackID, Refused(.subscribeNotExist, "there is no such track in the room"))
        }
        if track.user == user {
            return SubscribedTrackResult(
                trackID: wanted.trackID, Refused(.subscribeOwn, "a user cannot subscribe to its own track"))
        }
        let own = session.profile?.rtpCapabilities.codecs.first { Codec(name: $0.name) == track.codec }
        let extra = session.isMulticodec ? session.profile?.codec(for: track.codec) : nil
        guard own != nil || extra != nil, let stream = session.profile?.stream(of: track.codec) else {
            return SubscribedTrackResult(
                trackID: wanted.trackID,
                Refused(.mediaNotSupported, "the track is \(track.codec.name), which this session does not take"))
        }
        var subscription =
            subscriptions[track.publicID]
            ?? SessionSubscription(
                ssrc: newSSRC(&taken), rtxSSRC: stream.rtxPayloadType == nil ? 0 : newSSRC(&taken), profile: .high)
        if wanted.profile != nil { set(RoomState.profile(wanted), of: &subscription, effects: &effects) }
        if let connection = session.subscribing {
            start(&subscription, of: user, to: track, stream, on: connection.transport, effects: &effects)
        }
        subscriptions[track.publicID] = subscription
        return SubscribedTrackResult(
            trackID: track.publicID, mid: track.mid, muted: track.info.muted,
            rtpParameters: SubscribedRTP(
                encodings: [.init(ssrc: subscription.ssrc, rtx: subscription.rtxSSRC)],
                // One name for one publisher: its audio and video belong together.
                rtcp: .init(cname: "c\(track.user)"), msid: track.user, codec: own == nil ? extra : nil))
    }

    mutating func newSSRC(_ taken: inout Set<UInt32>) -> UInt32 {
        while true {
            let ssrc = UInt32(truncatingIfNeeded: random.next())
            if ssrc != 0, taken.insert(ssrc).inserted { return ssrc }
        }
    }

    /// Tracks that are gone are nobody's subscriptions.
    ///
    /// - Parameter posting: whether the media plane is told; not when the tracks go there, too.
    mutating func dropSubscriptions(to ids: [String], posting: Bool, effects: inout [RoomEffect]) {
        for member in members.values.sorted(by: { $0.order < $1.order })
        where member.session?.subscribing?.subscriptions.isEmpty == false {
            endSubscriptions(of: member.user, to: ids, posting: posting, effects: &effects)
        }
    }

    /// Those that the user does not have are no mistake.
    mutating func endSubscriptions(
        of user: String, to ids: [String], posting: Bool, effects: inout [RoomEffect]
    ) {
        for id in ids {
            guard
                let gone = members[user]?.session?.subscribing?.subscriptions.removeValue(forKey: id)?.subscription
            else { continue }
            listeners[gone] = nil
            if posting { effects.append(.post(.unsubscribe(gone))) }
        }
    }
}
