import ClientEngine
import MediaWire
import RoomProtocol
import Synchronization

/// The connections that carry media: how they come up, and what is done when they fail.
extension ClientCore {
    // MARK: Time

    /// Notes that a step of the join was reached now, the first time.
    func mark(_ life: Int, _ step: any WritableKeyPath<JoinTimeline, Duration?> & Sendable, at time: MediaTime? = nil) {
        let time = time ?? ClientClock.monotonic
        state.withLock { state in
            guard state.session?.life == life || state.life == life, state.timeline[keyPath: step] == nil else {
                return
            }
            state.timeline[keyPath: step] = .nanoseconds((time - state.joinBegan).nanoseconds)
        }
    }

    private func markFirstFrame(_ life: Int, _ kind: TrackKind, _ time: MediaTime) {
        let isVideo = kind == .video
        // A picture counts, unless there is none to come.
        let waits = withSession(life) { session in
            !isVideo
                && session.room.trackIDs(subscribed: true).contains { session.room.remoteTrack($0)?.kind == .video }
        }
        if waits == false { mark(life, \.firstFrame, at: time) }
    }

    // MARK: Connecting

    /// Begins to connect to what an answer named.
    func openMedia(
        _ kind: MediaConnection.Kind, _ connectionID: String, _ endpoint: MediaEndpoint, fragment: String, _ life: Int
    ) async throws(RTCError) -> MediaConnection {
        let cname = SignallingConnection.hexadecimal() + SignallingConnection.hexadecimal()
        let reports = MediaConnection.Reports(
            stateChanged: { [weak self] state, times in
                self?.mediaChanged(life, kind, connectionID, state, times)
            },
            firstPacket: { [weak self] time in
                if kind == .subscribing { self?.mark(life, \.firstPacket, at: time) }
            })
        return try await MediaConnection.open(
            kind, endpoint, identity: identity, fragment: fragment, cname: cname, plane: plane, reports: reports)
    }

    /// On the engine's thread.
    private func mediaChanged(
        _ life: Int, _ kind: MediaConnection.Kind, _ connectionID: String, _ state: ClientConnectionState,
        _ times: ClientConnectionTimes?
    ) {
        if kind == .subscribing {
            if let time = times?.pathFound { mark(life, \.ice, at: time) }
            if let time = times?.secured { mark(life, \.dtls, at: time) }
        }
        switch state {
        case .checking, .securing, .connected: break
        case .disconnected:
            Task { await self.restartMedia(life, kind, connectionID, isOwnWish: true) }
        case .failed(let failure):
            withSession(life) { $0.connection }??.giveUpWaiting(for: connectionID, "media: \(failure)")
            Task { await self.renewMedia(life, kind, connectionID) }
        }
    }

    private func renewMedia(_ life: Int, _ kind: MediaConnection.Kind, _ connectionID: String) async {
        switch kind {
        case .publishing: await renewPublishing(life, after: connectionID)
        case .subscribing: await renewSubscribing(life, after: connectionID)
        }
    }

    // MARK: Restarts

    /// `pubpc-restart` or `subpc-restart`: another path for a connection whose keys and streams stay. When the server refuses, or
    /// the third restart in a row was in vain, a new connection.
    ///
    /// - Parameter isOwnWish: the server has not asked for it: nothing came for a while.
    func restartMedia(
        _ life: Int, _ kind: MediaConnection.Kind, _ connectionID: String, isOwnWish: Bool = false
    ) async {
        // Cut off, the way back looks after it.
        guard let connection = try? usable(life).connection else { return }
        let turns = kind == .publishing ? publishTurns : subscribeTurns
        var isGone = false
        await turns.discardingErrors { () async throws(RTCError) in
            guard let media = self.media(life, kind, connectionID) else { return }
            if isOwnWish {
                guard media.current == .disconnected else { return }
                if media.countOutage(at: ClientClock.monotonic) >= 3 {
                    isGone = true
                    return
                }
            }
            let answer: ConnectionAnswer<TrackReference>
            do throws(SignallingError) {
                answer = try await connection.restart(publishing: kind == .publishing, connectionID: connectionID)
            } catch {
                if case .refused = error { isGone = true }
                return
            }
            media.restart(try MediaEndpoint(answer, to: "a restart"))
        }
        if isGone { await renewMedia(life, kind, connectionID) }
    }

    /// Both, whether they need it or not.
    func restartMedia() async {
        let found = withSession(usableLife) { session in
            (session.life, session.publishing.connectionID, session.subscribing.connectionID)
        }
        guard let (life, publishing, subscribing) = found else { return }
        if let publishing { await restartMedia(life, .publishing, publishing) }
        if let subscribing { await restartMedia(life, .subscribing, subscribing) }
    }

    func breakStreams() {
        let media = withSession(usableLife) { [$0.publishing.media, $0.subscribing.media] }
        for case let media? in media ?? [] { media.breakStreams() }
    }

    private var usableLife: Int { state.withLock { $0.session?.life ?? -1 } }

    /// After a way back: connections that have heard nothing meanwhile.
    func restartDisconnected(_ life: Int) async {
        let ids = withSession(life) { session in
            [
                (MediaConnection.Kind.publishing, session.publishing.connectionID, session.publishing.media),
                (MediaConnection.Kind.subscribing, session.subscribing.connectionID, session.subscribing.media),
            ]
        }
        for case (let kind, let id?, let media?) in ids ?? [] where media.current == .disconnected {
            await restartMedia(life, kind, id, isOwnWish: true)
        }
    }

    private func media(_ life: Int, _ kind: MediaConnection.Kind, _ connectionID: String) -> MediaConnection? {
        withSession(life) { session in
            switch kind {
            case .publishing: session.publishing.connectionID == connectionID ? session.publishing.media : nil
            case .subscribing: session.subscribing.connectionID == connectionID ? session.subscribing.media : nil
            }
        } ?? nil
    }

    // MARK: Receivers

    /// Tells the app, after the streams of tracks that are gone were ended. Call it under the lock.
    func tell(_ events: [RTCClientEvent], _ session: inout Session) {
        for case .tracksUnpublished(let tracks, _) in events {
            for track in tracks {
                stopReceiving(track.trackID, &session)
                session.receivers.removeValue(forKey: track.trackID)?.finish()
                session.sinks[track.trackID] = nil
                session.wantedProfiles[track.trackID] = nil
                session.sentProfiles[track.trackID] = nil
            }
        }
        emit(events)
    }

    /// Its packets are of no use any more.
    func stopReceiving(_ trackID: String, _ session: inout Session) {
        guard let ssrc = session.subscribing.streams.removeValue(forKey: trackID) else { return }
        session.subscribing.media?.removeReceiving(ssrc: ssrc)
    }

    func receiver(of track: RemoteTrack, _ session: inout Session) -> TrackReceiver {
        if let receiver = session.receivers[track.trackID] { return receiver }
        let life = session.life
        let receiver = TrackReceiver(trackID: track.trackID, kind: track.kind) { [weak self] kind, time in
            self?.markFirstFrame(life, kind, time)
        }
        session.receivers[track.trackID] = receiver
        return receiver
    }

    /// - Throws: 10041 for a track that is not in the room.
    func receiver(of track: RemoteTrack) throws(RTCError) -> TrackReceiver {
        let receiver: TrackReceiver? = state.withLock { state in
            guard var session = state.session, let known = session.room.remoteTrack(track.trackID) else { return nil }
            state.session = nil
            defer { state.session = session }
            return self.receiver(of: known, &session)
        }
        guard let receiver else {
            throw RTCError(.subscribeNotExist, "there is no track \(track.trackID) in the room")
        }
        return receiver
    }

    /// Has the packets of a track go elsewhere, from its next subscription on.
    func setSink(_ sink: any TrackSink, of trackID: String) {
        state.withLock { $0.session?.sinks[trackID] = sink }
    }

    func setProfile(_ profile: TrackProfile, of track: RemoteTrack) throws(RTCError) {
        let known: (Bool, SignallingConnection?)? = state.withLock { state in
            guard let known = state.session?.room.remoteTrack(track.trackID) else { return nil }
            state.session?.wantedProfiles[track.trackID] = profile
            return (known.isSubscribed, state.session?.connection)
        }
        guard let (isSubscribed, connection) = known else {
            throw RTCError(.subscribeNotExist, "there is no track \(track.trackID) in the room")
        }
        guard isSubscribed, let connection else { return }
        // Cut off, it is told with the next subscription.
        try? connection.setProfiles([WantedTrack(trackID: track.trackID, profile: profile.rawValue)])
    }

    func statistics(of track: RemoteTrack) async -> RemoteTrackStatistics? {
        let found: (MediaConnection, UInt32, TrackReceiver?, TrackProfile?)? = state.withLock { state in
            guard let session = state.session, let media = session.subscribing.media,
                let ssrc = session.subscribing.streams[track.trackID]
            else { return nil }
            return (media, ssrc, session.receivers[track.trackID], session.sentProfiles[track.trackID])
        }
        guard let (media, ssrc, receiver, profile) = found, let figures = await media.figures(ssrc: ssrc) else {
            return nil
        }
        var result = RemoteTrackStatistics()
        receiver?.fill(&result, now: ClientClock.monotonic)
        result.profile = profile
        result.roundTrip = figures.roundTrip?.seconds
        result.keyFrameRequests = figures.statistics.keyFrameRequestsSent
        if let reception = figures.reception {
            result.packets = reception.packets
            result.bytes = reception.bytes
            result.packetsLost = reception.lost
            result.packetsRecovered = reception.recovered
            result.jitter = reception.jitter
        }
        return result
    }
}
