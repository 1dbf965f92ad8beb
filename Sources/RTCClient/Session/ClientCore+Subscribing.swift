import ClientEngine
import MediaWire
import RoomProtocol
import Synchronization

extension ClientCore {
    /// - Returns: the tracks that are subscribed now, of those that were asked for.
    func subscribe(_ tracks: [RemoteTrack]) async throws(RTCError) -> [RemoteTrack] {
        let (life, _) = try usable()
        for track in tracks where withSession(life, { $0.room.remoteTrack(track.trackID) == nil }) != false {
            throw RTCError(.subscribeNotExist, "there is no track \(track.trackID) in the room")
        }
        return try await subscribeTurns.run { () async throws(RTCError) in
            try await subscribeInTurn(tracks.map(\.trackID), life)
        }
    }

    private func subscribeInTurn(_ trackIDs: [String], _ life: Int) async throws(RTCError) -> [RemoteTrack] {
        let (_, connection) = try usable()
        let pending = withSession(life) { session in
            trackIDs.filter { session.room.remoteTrack($0)?.isSubscribed == false }
        }
        guard let pending, let subscribing = withSession(life, { $0.subscribing }) else {
            throw RTCError(.wrongState, "the client has left the room")
        }
        if !pending.isEmpty {
            if subscribing.connectionID == nil || subscribing.isUncertain {
                try await openSubscribing(adding: pending, life)
            } else {
                let answer: TracksAnswer<SubscribedTrackResult>?
                do throws(SignallingError) {
                    answer = try await connection.subscribeMore(wanted(pending, life))
                } catch {
                    guard case .refused(let refused) = error, refused.code == .subscribeConnectionGone else {
                        markSubscribingUncertain(life, error)
                        throw RTCError(error)
                    }
                    answer = nil
                }
                if let answer {
                    if let media = subscribing.media { receive(answer.tracks, over: media, life) }
                    settle(answer.tracks, nil, life)
                } else {
                    do throws(RTCError) { try await openSubscribing(adding: pending, life) } catch {
                        // What is subscribed has no connection any more, either.
                        if let id = subscribing.connectionID { Task { await self.renewSubscribing(life, after: id) } }
                        throw error
                    }
                }
            }
        }
        return withSession(life) { session in
            trackIDs.compactMap { session.room.remoteTrack($0) }.filter(\.isSubscribed)
        } ?? []
    }

    /// `subpc` with all that is subscribed, and these.
    private func openSubscribing(adding trackIDs: [String], _ life: Int) async throws(RTCError) {
        let (_, connection) = try usable()
        let all = (withSession(life) { $0.room.trackIDs(subscribed: true) } ?? []) + trackIDs
        let answer: SubscribeConnectionAnswer
        do throws(SignallingError) {
            answer = try await connection.subscribe(wanted(all, life), policy: policy)
        } catch {
            markSubscribingUncertain(life, error)
            throw RTCError(error)
        }
        mark(life, \.subscribed)
        do throws(RTCError) {
            guard let id = answer.connectionID else {
                throw RTCError(.fatal, "the answer to subpc names no connection")
            }
            let media = try await openMedia(
                .subscribing, id, try MediaEndpoint(answer, to: "subpc"), fragment: ClientCore.fragment(), life)
            // Before it is up, so that the first packet finds its place.
            _ = withSession(life) { $0.subscribing.streams = [:] }
            receive(answer.tracks ?? [], over: media, life)
            do throws(SignallingError) { try await connection.waitForConnected(id, within: mediaTimeout) } catch {
                media.close()
                guard isAlive(life) else { throw ClientCore.hasLeft }
                throw RTCError(error)
            }
            mark(life, \.connected)
            settle(answer.tracks ?? [], (id, media), life)
        } catch {
            // The server has let go of the connection from before, and this one is none.
            _ = withSession(life) { session in
                session.subscribing.isUncertain = true
                session.subscribing.streams = [:]
            }
            throw error
        }
    }

    private static func fragment() -> String {
        var random = SystemRandomNumberGenerator()
        return ClientOffer.Transport.random(fingerprint: "", using: &random).iceUfrag
    }

    /// With the layers that the app wants.
    private func wanted(_ trackIDs: [String], _ life: Int) -> [WantedTrack] {
        let profiles = withSession(life) { $0.wantedProfiles } ?? [:]
        return trackIDs.map { WantedTrack(trackID: $0, profile: profiles[$0]?.rawValue) }
    }

    /// Adds the streams of an answer to a connection.
    private func receive(_ results: [SubscribedTrackResult], over media: MediaConnection, _ life: Int) {
        let added = withSession(life) { session in
            results.filter(\.status).compactMap { result -> (InboundStreamSettings, any TrackSink)? in
                guard let track = session.room.remoteTrack(result.trackID),
                    let settings = session.numbers?.receiving(result, kind: track.kind == .audio ? .audio : .video)
                else { return nil }
                if let old = session.subscribing.streams.updateValue(settings.ssrc, forKey: result.trackID) {
                    media.removeReceiving(ssrc: old)
                }
                if let sink = session.sinks[result.trackID] { return (settings, sink) }
                let receiver = receiver(of: track, &session)
                receiver.begin(settings.codec)
                return (settings, receiver)
            }
        }
        for (settings, sink) in added ?? [] { media.addReceiving(settings, sink: sink) }
    }

    private func markSubscribingUncertain(_ life: Int, _ error: SignallingError) {
        if error.leavesUncertain { _ = withSession(life) { $0.subscribing.isUncertain = true } }
    }

    /// Notes which are subscribed now, and tells the app of the new ones.
    private func settle(
        _ results: [SubscribedTrackResult], _ new: (id: String, media: MediaConnection)?, _ life: Int
    ) {
        let isThere: Void? = withSession(life) { session in
            let before = Set(session.room.trackIDs(subscribed: true))
            if let new {
                session.subscribing.connectionID = new.id
                session.subscribing.media?.close()
                session.subscribing.media = new.media
                session.subscribing.isUncertain = false
                let taken = Set(results.filter(\.status).map(\.trackID))
                for id in before.subtracting(taken) { session.room.unsubscribed(id) }
            }
            // The answer's `muted` is not taken: a notification after it may have been handled before.
            for result in results where result.status { session.room.subscribed(result.trackID) }
            let added = results.filter { $0.status && !before.contains($0.trackID) }.map(\.trackID)
            emit(session.room.subscribedEvents(added))
        }
        if isThere == nil { new?.media.close() }
    }

    func unsubscribe(_ tracks: [RemoteTrack]) async throws(RTCError) {
        let (life, _) = try usable()
        try await subscribeTurns.run { () async throws(RTCError) in
            let (_, connection) = try usable()
            let ids = withSession(life) { session in
                let ids = tracks.map(\.trackID).filter { session.room.remoteTrack($0)?.isSubscribed == true }
                for id in ids {
                    session.room.unsubscribed(id)
                    stopReceiving(id, &session)
                }
                return ids
            }
            guard let ids, !ids.isEmpty else { return }
            do throws(SignallingError) { try await connection.unsubscribe(trackIDs: ids) } catch {
                markSubscribingUncertain(life, error)
                throw RTCError(error)
            }
        }
    }

    // MARK: autoSubscribe

    /// Subscribes, one request at a time, to what is not subscribed yet and has not been tried.
    func subscribeAutomatically(_ life: Int) {
        let starts: Bool = state.withLock { state in
            guard state.autoSubscribe, state.session?.life == life, state.session?.subscribing.isAutomatRunning == false
            else { return false }
            state.session?.subscribing.isAutomatRunning = true
            return true
        }
        guard starts else { return }
        Task {
            while let batch = self.nextBatch(life) {
                do throws(RTCError) {
                    _ = try await self.subscribeTurns.run { () async throws(RTCError) in
                        try await self.subscribeInTurn(batch, life)
                    }
                } catch {
                    switch error.code {
                    case .networkTimeout, .operationTimeout, .wrongState:
                        guard self.goesOn(life, untried: batch) else { return }
                    case .serverUnavailable, .tooManyOperations:
                        _ = self.withSession(life) { $0.room.setUntried(batch) }
                        guard await self.pause(.seconds(1)) else { return }
                    default: break  // Refused: `isSubscribed` stays false.
                    }
                }
            }
        }
    }

    /// Gives tracks back after a failure. Cut off, the automat ends: the way back starts it again. If the client is back
    /// already, nobody would: it goes on.
    private func goesOn(_ life: Int, untried: [String]) -> Bool {
        state.withLock { state in
            guard state.session?.life == life else { return false }
            state.session?.room.setUntried(untried)
            let isConnected = state.connectionState == .connected || state.connectionState == .reconnected
            if isConnected, let connection = state.session?.connection, connection.end == nil { return true }
            state.session?.subscribing.isAutomatRunning = false
            return false
        }
    }

    /// New tracks that `autoSubscribe` has not tried, at most 100; `nil` ends the automat.
    private func nextBatch(_ life: Int) -> [String]? {
        state.withLock { state in
            guard state.session?.life == life else { return nil }
            let isConnected = state.connectionState == .connected || state.connectionState == .reconnected
            // Taken only if they are asked for: what was taken is not taken again.
            if state.autoSubscribe, isConnected, let batch = state.session?.room.takeUntried(limit: 100), !batch.isEmpty
            {
                return batch
            }
            state.session?.subscribing.isAutomatRunning = false
            return nil
        }
    }

    // MARK: After a loss

    /// `subpc` with all that is subscribed, for the connection that it hung on is gone. When the server cannot do it now,
    /// it is tried again each second; what it refuses for good is not subscribed any more.
    func resubscribe(_ life: Int) async {
        let own = withSession(life) { session in
            let own = session.room.trackIDs(subscribed: true)
            session.subscribing.connectionID = nil
            session.subscribing.media?.close()
            session.subscribing.media = nil
            // Until it has succeeded: cut off, the next way back repeats it.
            session.subscribing.isUncertain = !own.isEmpty
            return own
        }
        guard let own, !own.isEmpty else { return }
        do throws(RTCError) { try await openSubscribing(adding: [], life) } catch {
            switch error.code {
            case .networkTimeout, .wrongState: break  // Cut off.
            case .serverUnavailable, .tooManyOperations, .operationTimeout:
                Task { await self.renewSubscribing(life, after: nil) }
            default:
                _ = withSession(life) { session in
                    for id in own { session.room.unsubscribed(id) }
                    session.subscribing.isUncertain = false
                }
            }
        }
    }

    /// The server has given up the subscribing connection: a new one.
    ///
    /// - Parameter connectionID: which; `nil` if the client has none already.
    func renewSubscribing(_ life: Int, after connectionID: String?) async {
        guard await pause(.seconds(1)) else { return }
        await subscribeTurns.discardingErrors { () async throws(RTCError) in
            guard self.withSession(life, { $0.subscribing.connectionID == connectionID }) == true else { return }
            await self.resubscribe(life)
        }
    }
}
