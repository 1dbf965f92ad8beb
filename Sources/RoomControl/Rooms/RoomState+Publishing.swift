package import MediaContract
package import MediaWire
package import RoomProtocol

// What a session publishes, and what it subscribes to. The media of it comes with its transport; here is who may, what
// is announced, and under which numbers.

/// A connection that a session was given: what its answer needs.
package struct ConnectionGrant: Sendable {
    package var id: String
    package var credentials: ICECredentials
    package var policy: CandidatePolicy
}

extension RoomState {
    /// pubpc: a new publishing connection; an earlier one goes with its tracks.
    package mutating func openPublishing(
        _ user: String, link: LinkID, offer: PublishOffer, tracks: [PublishedTrack],
        policy: CandidatePolicy = .preferUDP, now: MediaTime, effects: inout [RoomEffect]
    ) throws(Refused) -> (ConnectionGrant, [PublishedTrackResult]) {
        settle(now, effects: &effects)
        _ = try publisher(user, link: link, offer)
        try check(tracks, of: user, offer, replacing: true)
        try countChange(user, now: now)
        closePublishing(of: user, effects: &effects)
        let connection = PublishConnection(
            id: newConnectionID(), transport: TransportID(nextNumber()), policy: policy,
            credentials: ICECredentials(using: &random))
        members[user]?.session?.publishing = connection
        members[user]?.session?.words[.publishing] = nil
        var taken = Set(offer.tracks.flatMap { $0.encodings.flatMap(\.sources) })
        // The clients' browsers refuse the other role here.
        addTransport(
            connection.transport, .publishing, of: user, connection.credentials, role: .client,
            fingerprints: offer.transport.fingerprints, localSSRC: newSSRC(&taken), effects: &effects)
        let results = add(tracks, of: user, offer: offer, effects: &effects)
        return (ConnectionGrant(id: connection.id, credentials: connection.credentials, policy: policy), results)
    }

    /// pub-tracks: more tracks on the same connection.
    package mutating func addTracks(
        _ user: String, link: LinkID, offer: PublishOffer, tracks: [PublishedTrack], now: MediaTime,
        effects: inout [RoomEffect]
    ) throws(Refused) -> [PublishedTrackResult] {
        settle(now, effects: &effects)
        guard try publisher(user, link: link, offer).publishing != nil else {
            throw Refused(.publishConnectionGone, "there is no publishing connection; start one with pubpc")
        }
        try check(tracks, of: user, offer, replacing: false)
        try countChange(user, now: now)
        return add(tracks, of: user, offer: offer, effects: &effects)
    }

    /// unpub-tracks. Those that are not the session's are refused; the others go all the same.
    package mutating func removeTracks(
        _ user: String, link: LinkID, ids: [String], now: MediaTime, effects: inout [RoomEffect]
    ) throws(Refused) -> (removed: [String], refused: Refused?) {
        settle(now, effects: &effects)
        _ = try session(of: user, link: link)
        try countChange(user, now: now)
        try countNames(ids.count, of: user, now: now)
        let wanted = Set(ids)
        let gone = tracks.filter {
            $0.user == user && $0.carrier == .session && wanted.contains($0.publicID)
        }
        let own = Set(gone.map(\.publicID))
        var hungry: Set<LegID> = []
        unpublish({ own.contains($0.publicID) }, hungry: &hungry, effects: &effects)
        for track in gone { effects.append(.post(.removeTrack(track.id))) }
        for leg in sorted(hungry) { feed(leg, effects: &effects) }
        let strange = ids.first { !own.contains($0) }
        // An id that stands twice is answered once.
        var unanswered = own
        return (
            ids.filter { unanswered.remove($0) != nil },
            strange.map { Refused(.publishNotExist, "you do not publish a track \(RoomState.quoted($0))") }
        )
    }

    /// pubpc-close.
    package mutating func closePublishing(
        _ user: String, link: LinkID, id: String, now: MediaTime, effects: inout [RoomEffect]
    ) throws(Refused) {
        settle(now, effects: &effects)
        try RoomState.check(
            id, is: session(of: user, link: link).publishing?.id, .publishConnectionGone, "publishing")
        closePublishing(of: user, effects: &effects)
    }

    /// pubpc-restart: new ICE credentials; everything else stays.
    package mutating func restartPublishing(
        _ user: String, link: LinkID, id: String, now: MediaTime, effects: inout [RoomEffect]
    ) throws(Refused) -> ConnectionGrant {
        settle(now, effects: &effects)
        try RoomState.check(
            id, is: session(of: user, link: link).publishing?.id, .publishConnectionGone, "publishing")
        let credentials = ICECredentials(using: &random)
        members[user]?.session?.publishing?.credentials = credentials
        members[user]?.session?.publishing?.restartedAt = now
        if let transport = members[user]?.session?.publishing?.transport {
            effects.append(.post(.restartICE(transport, credentials)))
        }
        let policy = members[user]?.session?.publishing?.policy ?? .preferUDP
        return ConnectionGrant(id: id, credentials: credentials, policy: policy)
    }

    /// mute-tracks: changes of the publisher's own mute state are told to the others.
    package mutating func mute(
        _ user: String, link: LinkID, _ mutes: [TrackMute], now: MediaTime, effects: inout [RoomEffect]
    ) throws(Refused) {
        settle(now, effects: &effects)
        _ = try session(of: user, link: link)
        let most = 256  // several words about one track are allowed
        if mutes.count > most { throw Refused(.tooManyOperations, "at most \(most) tracks in one message") }
        try countChange(user, now: now)
        // Of several words about one track the last counts, and is told once.
        var before: [(index: Int, muted: Bool)] = []
        var strange: String?
        for mute in mutes {
            guard let index = tracks.firstIndex(where: { $0.publicID == mute.trackID && $0.user == user }) else {
                strange = strange ?? mute.trackID
                continue
            }
            if !before.contains(where: { $0.index == index }) { before.append((index, tracks[index].info.muted)) }
            tracks[index].isMuted = mute.muted
        }
        let changes = before.filter { tracks[$0.index].info.muted != $0.muted }.map { tracks[$0.index].info }
        for track in changes {
            effects.append(.notice(.muted(user: user, track: track.trackID, track.muted, byServer: false)))
        }
        if !changes.isEmpty {
            let told = changes.map { TrackMute(trackID: $0.trackID, muted: $0.muted) }
            effects.append(.broadcast(.tracksMuted(MuteTracks(tracks: told)), except: link))
        }
        if let strange {
            throw Refused(.publishNotExist, "you do not publish a track \(RoomState.quoted(strange))")
        }
    }

    // MARK: The parts of it

    private func publisher(_ user: String, link: LinkID, _ offer: PublishOffer) throws(Refused) -> Session {
        let session = try session(of: user, link: link)
        guard session.privileges.contains(.publish) else {
            throw Refused(.noPermission, "publishing needs the privilege \"publish\", which this session does not have")
        }
        guard let profile = session.profile else {
            throw Refused(.mediaNotSupported, "auth carried no capsdp, so this session has no media")
        }
        do { try offer.check(against: profile) } catch { throw error.refused }
        return session
    }

    /// One more change that all others are told of.
    private mutating func countChange(_ user: String, now: MediaTime) throws(Refused) {
        guard members[user]?.session?.changeRate.admits(now: now) == true else {
            throw Refused(
                .tooManyOperations,
                "at most \(limits.changesPerSecond) times per second: publishing, unpublishing, muting")
        }
    }

    private func check(
        _ wanted: [PublishedTrack], of user: String, _ offer: PublishOffer, replacing: Bool
    ) throws(Refused) {
        if wanted.isEmpty { throw Refused(.publishEmpty, "there is no track to publish: tracks is empty") }
        let own = tracks.filter { $0.user == user }
        let kept = replacing ? own.filter { $0.carrier != .session } : own
        if kept.count + wanted.count > limits.tracksPerUser {
            throw Refused(.tooManyOperations, "a user publishes at most \(limits.tracksPerUser) tracks at once")
        }
        for track in wanted {
            if track.localID.isEmpty || track.localID.utf8.count > limits.tagBytes {
                throw Refused(.invalidParameter, "localid has 1 to \(limits.tagBytes) bytes")
            }
            if (track.tag ?? "").utf8.count > limits.tagBytes {
                throw Refused(.invalidParameter, "a tag has at most \(limits.tagBytes) bytes")
            }
            if kept.contains(where: { $0.carrier == .session && $0.localID == track.localID }) {
                throw Refused(
                    .publishAlreadyExists,
                    "the track with localid \(RoomState.quoted(track.localID)) is published already")
            }
        }
        // One transport, one meaning: the media plane knows tracks by their mids and SSRCs.
        let names = Set(wanted.map(\.localID))
        for track in offer.tracks where names.contains(track.localID) {
            let sources = track.encodings.flatMap(\.sources)
            for other in kept where other.carrier == .session {
                if other.localMid == track.localMid {
                    throw Refused(
                        .publishMismatch,
                        "the section \(RoomState.quoted(track.localMid)) is that of another published track")
                }
                if let ssrc = sources.first(where: other.ssrcs.contains) {
                    throw Refused(.publishMismatch, "the SSRC \(ssrc) is that of another published track")
                }
            }
        }
    }

    private mutating func add(
        _ wanted: [PublishedTrack], of user: String, offer: PublishOffer, effects: inout [RoomEffect]
    ) -> [PublishedTrackResult] {
        var results: [PublishedTrackResult] = []
        var added: [Track] = []
        guard let session = members[user]?.session, let profile = session.profile,
            let connection = session.publishing
        else { return [] }
        for plan in wanted {
            let kind: MediaKind = plan.kind == .audio ? .audio : .video
            let isFirst = !tracks.contains { $0.user == user && $0.kind == kind }
            var track = Track(
                id: TrackID(nextNumber()), publicID: newPublicID(kind), user: user, carrier: .session,
                codec: kind == .audio ? .opus : settings.videoCodec, mid: mids.take(kind), localID: plan.localID,
                tag: plan.tag ?? "", isMaster: plan.master ?? isFirst)
            let offered = offer.tracks.first { $0.localID == plan.localID }
            let encodings = offered?.encodings ?? [EncodingSpec()]
            track.profiles = RoomState.profiles(ofLayers: encodings.count)
            track.localMid = offered?.localMid ?? ""
            track.ssrcs = Set(encodings.flatMap(\.sources))
            let stream = kind == .audio ? profile.audio : profile.video
            effects.append(
                .post(
                    .addTrack(
                        TrackSpec(
                            id: track.id, transport: connection.transport, codec: track.codec,
                            payloadType: stream.payloadType, rtxPayloadType: stream.rtxPayloadType,
                            redPayloadType: stream.redPayloadType, encodings: encodings, mid: offered?.localMid,
                            extensions: stream.extensions, feedback: stream.feedbackSet))))
            tracks.append(track)
            added.append(track)
            results.append(PublishedTrackResult(localID: plan.localID, trackID: track.publicID))
            effects.append(.notice(.published(user: user, track: track.publicID, track.codec, tag: track.tag)))
        }
        announceTracks(added, effects: &effects)
        feedAll(effects: &effects)
        return results
    }

    mutating func closePublishing(of user: String, effects: inout [RoomEffect]) {
        var hungry: Set<LegID> = []
        dropPublishing(of: user, posting: true, hungry: &hungry, effects: &effects)
        for leg in sorted(hungry) { feed(leg, effects: &effects) }
    }

    /// Ends the publishing connection with its tracks.
    ///
    /// - Parameter posting: whether the media plane is told; not when the whole peer goes.
    mutating func dropPublishing(
        of user: String, posting: Bool, hungry: inout Set<LegID>, effects: inout [RoomEffect]
    ) {
        guard let connection = members[user]?.session?.publishing else { return }
        unpublish({ $0.user == user && $0.carrier == .session }, hungry: &hungry, effects: &effects)
        members[user]?.session?.publishing = nil
        members[user]?.session?.words[.publishing] = nil
        sessionOfTransport[connection.transport] = nil
        if posting { effects.append(.post(.removeTransport(connection.transport))) }
    }

    /// That the connection which a client names is the one that its session has.
    static func check(_ id: String, is current: String?, _ code: ResultCode, _ word: String) throws(Refused) {
        guard id == current else { throw Refused(code, "there is no \(word) connection \(RoomState.quoted(id))") }
    }

    mutating func newConnectionID() -> String { Base64URL.encode(random.bytes(12), padded: false) }

    /// What a client sent, for a sentence: short, and on one line.
    static func quoted(_ text: String) -> String {
        let short = text.unicodeScalars.prefix(64).map { $0.value < 0x20 || $0.value == 0x7F ? "?" : String($0) }
        return "\"" + short.joined() + (text.unicodeScalars.count > 64 ? "…\"" : "\"")
    }
}
