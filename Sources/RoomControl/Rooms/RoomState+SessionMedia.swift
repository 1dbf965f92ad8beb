package import MediaContract
import MediaWire
import RoomProtocol

// The media of sessions: what the worker is told of their connections, tracks and subscriptions, and what it reports.

extension RoomState {
    mutating func addTransport(
        _ id: TransportID, _ kind: ConnectionKind, of user: String, _ credentials: ICECredentials, role: DTLSRole,
        fingerprints: [DTLSFingerprint], localSSRC: UInt32, effects: inout [RoomEffect]
    ) {
        guard let peer = members[user]?.peer else { return }
        sessionOfTransport[id] = SessionTransport(user: user, kind: kind)
        effects.append(
            .post(
                .addWebRTCTransport(
                    WebRTCTransportSpec(
                        id: id, peer: peer, credentials: credentials, role: role, fingerprints: fingerprints,
                        localSSRC: localSSRC, cname: newConnectionID(), silenceLimit: limits.transportSilence,
                        quietLimit: limits.transportQuiet))))
    }

    /// Ends the subscribing connection with its subscriptions.
    ///
    /// - Parameter posting: whether the media plane is told; not when the whole peer goes.
    mutating func dropSubscribing(of user: String, posting: Bool, effects: inout [RoomEffect]) {
        guard let connection = members[user]?.session?.subscribing else { return }
        for id in connection.subscriptions.values.compactMap(\.subscription) { listeners[id] = nil }
        members[user]?.session?.subscribing = nil
        members[user]?.session?.words[.subscribing] = nil
        sessionOfTransport[connection.transport] = nil
        if posting { effects.append(.post(.removeTransport(connection.transport))) }
    }

    // MARK: Subscriptions

    /// Lets the track flow, unless it does already or the server mutes it. Under the same SSRC the media plane goes on in the
    /// same numbers.
    mutating func start(
        _ subscription: inout SessionSubscription, of user: String, to track: Track,
        _ stream: ClientMediaProfile.Stream, on transport: TransportID, effects: inout [RoomEffect]
    ) {
        guard subscription.subscription == nil, !track.isMutedByServer else { return }
        let id = SubscriptionID(nextNumber())
        subscription.subscription = id
        listeners[id] = SessionListener(user: user, track: track.publicID)
        var rtx: SubscriptionSpec.Retransmission?
        if subscription.rtxSSRC != 0, let payloadType = stream.rtxPayloadType {
            rtx = SubscriptionSpec.Retransmission(ssrc: subscription.rtxSSRC, payloadType: payloadType)
        }
        effects.append(
            .post(
                .subscribe(
                    SubscriptionSpec(
                        id: id, track: track.id, transport: transport, ssrc: subscription.ssrc,
                        payloadType: stream.payloadType, rtx: rtx, redPayloadType: stream.redPayloadType,
                        firstSequence: UInt16(truncatingIfNeeded: random.next()) & 0x7FFF,
                        timestampOffset: UInt32(truncatingIfNeeded: random.next()),
                        // Streams are told apart by their SSRCs, and nothing is known of the client's path yet.
                        extensions: stream.extensions.filter(\.kind.isEndToEnd),
                        allowsMixedExtensions: stream.allowsMixedExtensions,
                        feedback: stream.feedbackSet, layer: subscription.profile.layer))))
    }

    /// Keeps the wish for a layer, and passes it on.
    func set(_ profile: SubscribeProfile, of subscription: inout SessionSubscription, effects: inout [RoomEffect]) {
        guard subscription.profile != profile else { return }
        subscription.profile = profile
        if let id = subscription.subscription { effects.append(.post(.setLayer(id, profile.layer))) }
    }

    mutating func setProfile(
        _ profile: SubscribeProfile, of track: String, for user: String, effects: inout [RoomEffect]
    ) {
        guard var subscription = members[user]?.session?.subscribing?.subscriptions[track] else { return }
        set(profile, of: &subscription, effects: &effects)
        members[user]?.session?.subscribing?.subscriptions[track] = subscription
    }

    /// The server mutes the track: its subscribers keep their numbers and get nothing.
    mutating func pauseSubscriptions(to track: String, effects: inout [RoomEffect]) {
        for member in members.values.sorted(by: { $0.order < $1.order }) {
            guard let id = member.session?.subscribing?.subscriptions[track]?.subscription else { continue }
            members[member.user]?.session?.subscribing?.subscriptions[track]?.subscription = nil
            listeners[id] = nil
            effects.append(.post(.unsubscribe(id)))
        }
    }

    mutating func resumeSubscriptions(to track: Track, effects: inout [RoomEffect]) {
        for member in members.values.sorted(by: { $0.order < $1.order }) {
            guard let session = member.session, let connection = session.subscribing,
                var subscription = connection.subscriptions[track.publicID],
                let stream = session.profile?.stream(of: track.codec)
            else { continue }
            start(&subscription, of: member.user, to: track, stream, on: connection.transport, effects: &effects)
            members[member.user]?.session?.subscribing?.subscriptions[track.publicID] = subscription
        }
    }

    /// What subscribers of a track with so many layers may choose, the best first; of one layer there is no choice.
    static func profiles(ofLayers count: Int) -> [String] {
        switch count {
        case ..<2: []
        case 2: [SubscribeProfile.high.rawValue, SubscribeProfile.low.rawValue]
        default: [SubscribeProfile.high, .medium, .low].map(\.rawValue)
        }
    }
}

// MARK: - What the media plane should have

/// Everything of a room that its worker has, by the numbers that the room gave.
package struct MediaInventory: Hashable, Sendable {
    package var peers: Set<PeerID> = []
    package var transports: Set<TransportID> = []
    package var tracks: Set<TrackID> = []
    /// With the track's public id, and who gets it.
    package var subscriptions: Set<Subscription> = []
    /// Those of sessions.
    package var connections: Set<Connection> = []

    package struct Connection: Hashable, Sendable {
        package var user: String
        package var isPublishing: Bool
        /// As signalling names it.
        package var id: String
        package var transport: TransportID
    }

    package struct Subscription: Hashable, Sendable {
        package var id: SubscriptionID
        package var transport: TransportID
        package var track: TrackID
        package var publicID: String
        package var user: String
        package var isSession: Bool
    }
}

extension RoomState {
    /// What the worker has of the room once it has followed every command.
    package var inventory: MediaInventory {
        var result = MediaInventory()
        result.tracks = Set(tracks.map(\.id))
        let byID = Dictionary(tracks.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        let byName = Dictionary(tracks.map { ($0.publicID, $0) }, uniquingKeysWith: { first, _ in first })
        for member in members.values {
            result.peers.insert(member.peer)
            if let connection = member.session?.publishing {
                result.connections.insert(
                    .init(
                        user: member.user, isPublishing: true, id: connection.id, transport: connection.transport))
            }
            guard let connection = member.session?.subscribing else { continue }
            result.connections.insert(
                .init(user: member.user, isPublishing: false, id: connection.id, transport: connection.transport))
            for (name, subscription) in connection.subscriptions {
                guard let id = subscription.subscription, let track = byName[name] else { continue }
                result.subscriptions.insert(
                    .init(
                        id: id, transport: connection.transport, track: track.id, publicID: name, user: member.user,
                        isSession: true))
            }
        }
        result.transports.formUnion(result.connections.map(\.transport))
        for leg in legs.values {
            result.transports.formUnion(leg.transports.map(\.id))
            for line in leg.lines {
                guard let feed = line.feed, let track = byID[feed.track],
                    leg.transports.indices.contains(line.plan.transport)
                else { continue }
                result.subscriptions.insert(
                    .init(
                        id: feed.subscription, transport: leg.transports[line.plan.transport].id, track: feed.track,
                        publicID: track.publicID, user: leg.user, isSession: false))
            }
        }
        return result
    }
}

// MARK: - What the media plane reports

extension RoomState {
    /// Media can flow. True: it is a session's transport.
    mutating func connected(_ id: TransportID, now: MediaTime, effects: inout [RoomEffect]) -> Bool {
        guard let place = sessionOfTransport[id] else { return false }
        switch place.kind {
        case .publishing:
            guard let connection = members[place.user]?.session?.publishing, !connection.isConnected else {
                return true
            }
            members[place.user]?.session?.publishing?.isConnected = true
            let notice = ConnectionNotice(connectionID: connection.id)
            tell(place.user, .publishing, .publishConnected(notice), now: now, effects: &effects)
        case .subscribing:
            guard let connection = members[place.user]?.session?.subscribing, !connection.isConnected else {
                return true
            }
            members[place.user]?.session?.subscribing?.isConnected = true
            let notice = ConnectionNotice(connectionID: connection.id)
            tell(place.user, .subscribing, .subscribeConnected(notice), now: now, effects: &effects)
        }
        return true
    }

    /// The transport carries nothing any more. True: it was a session's.
    ///
    /// - Parameter reason: `nil`: the client knows already.
    mutating func disconnected(
        _ id: TransportID, _ reason: String?, now: MediaTime, effects: inout [RoomEffect]
    ) -> Bool {
        guard let place = sessionOfTransport[id] else { return false }
        disconnect(place.kind, of: place.user, reason, now: now, effects: &effects)
        return true
    }

    /// Ends a connection, if there is one, and says so: the client then makes another.
    mutating func disconnect(
        _ kind: ConnectionKind, of user: String, _ reason: String?, now: MediaTime, effects: inout [RoomEffect]
    ) {
        guard let session = members[user]?.session else { return }
        let word: Notification
        switch kind {
        case .publishing:
            guard let id = session.publishing?.id else { return }
            closePublishing(of: user, effects: &effects)
            word = .publishDisconnected(ConnectionNotice(connectionID: id, error: reason))
        case .subscribing:
            guard let id = session.subscribing?.id else { return }
            dropSubscribing(of: user, posting: true, effects: &effects)
            word = .subscribeDisconnected(ConnectionNotice(connectionID: id, error: reason))
        }
        if reason != nil { tell(user, kind, word, now: now, effects: &effects) }
    }

    /// Nothing is heard of a session's transport any more. Where the client's socket is alive, the client is, and only the path is gone:
    /// it is asked to look for another one. Without its socket it looks by itself when that is back.
    ///
    /// Once for each silence, and not while a restart may still be under way, the client's own or one that was asked for: whoever
    /// restarts again and again never gets through. What cannot be mended ends after `RoomLimits.transportSilence`. Mute, pause and
    /// a connection without subscriptions are no silence: checks go on.
    mutating func quiet(_ id: TransportID, now: MediaTime, effects: inout [RoomEffect]) {
        guard let place = sessionOfTransport[id], let session = members[place.user]?.session, let link = session.link,
            !session.isReconnecting, now - session.lastHeard <= SignallingTimes.aliveness
        else { return }
        let (limits, sentence) = (limits, "nothing was heard of this connection for a while")
        func isFresh(_ restartedAt: MediaTime?) -> Bool { restartedAt.map { now - $0 < limits.restartPause } ?? false }
        switch place.kind {
        case .publishing:
            guard let connection = session.publishing, connection.isConnected, !isFresh(connection.restartedAt) else {
                return
            }
            members[place.user]?.session?.publishing?.restartedAt = now
            let notice = ConnectionNotice(connectionID: connection.id, error: sentence)
            effects.append(.send(link, .publishRestart(notice)))
        case .subscribing:
            guard let connection = session.subscribing, connection.isConnected, !isFresh(connection.restartedAt) else {
                return
            }
            members[place.user]?.session?.subscribing?.restartedAt = now
            let notice = ConnectionNotice(connectionID: connection.id, error: sentence)
            effects.append(.send(link, .subscribeRestart(notice)))
        }
    }

    mutating func layerChanged(_ id: SubscriptionID, _ layer: LayerPreference, effects: inout [RoomEffect]) {
        guard let listener = listeners[id], let link = members[listener.user]?.session?.link else { return }
        let profile = SubscribeProfile(layer).rawValue
        effects.append(
            .send(link, .subscribeProfileChanged(SubscribeProfileChanged(trackID: listener.track, profile: profile))))
    }

    // MARK: Words about connections

    /// Sends the word, and keeps it for a socket that comes after this one.
    private mutating func tell(
        _ user: String, _ kind: ConnectionKind, _ word: Notification, now: MediaTime, effects: inout [RoomEffect]
    ) {
        let link = members[user]?.session?.link
        members[user]?.session?.words[kind] = ConnectionWord(notification: word, sentAt: link == nil ? nil : now)
        if let link { effects.append(.send(link, word)) }
    }

    /// What a session that resumes may not have heard: words that had no socket, and those behind which its old socket never
    /// answered a ping.
    static func takeWords(of session: inout Session, heardAt: MediaTime, now: MediaTime) -> [Notification] {
        ConnectionKind.allCases.compactMap { kind in
            guard let word = session.words[kind] else { return nil }
            if let sentAt = word.sentAt, sentAt + SignallingTimes.ping <= heardAt { return nil }
            session.words[kind]?.sentAt = now
            return word.notification
        }
    }
}

extension SubscribeProfile {
    var layer: LayerPreference {
        switch self {
        case .low: .low
        case .medium: .medium
        case .high: .high
        }
    }

    init(_ layer: LayerPreference) {
        switch layer {
        case .low: self = .low
        case .medium: self = .medium
        case .high: self = .high
        }
    }
}
