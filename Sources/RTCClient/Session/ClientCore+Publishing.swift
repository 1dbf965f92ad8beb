import ClientEngine
import MediaWire
import RoomProtocol
import Synchronization

extension ClientCore {
    /// The session's number and connection.
    ///
    /// - Parameter life: only of that join.
    /// - Throws: 21002 unless the client is in a room and not cut off.
    func usable(_ life: Int? = nil) throws(RTCError) -> (life: Int, connection: SignallingConnection) {
        let found: (Int, SignallingConnection)? = state.withLock { state in
            guard state.connectionState == .connected || state.connectionState == .reconnected,
                let session = state.session, let connection = session.connection, session.life == life ?? session.life
            else { return nil }
            return (session.life, connection)
        }
        guard let found else { throw RTCError(.wrongState, "the client is not connected to a room") }
        return found
    }

    func publish(_ tracks: [LocalTrack]) async throws(RTCError) {
        guard !tracks.isEmpty else { return }
        guard Set(tracks).count == tracks.count else {
            throw RTCError(.publishAlreadyExists, "a track stands twice in the list")
        }
        let (life, _) = try usable()
        if mode == .live, state.withLock({ $0.role }) == .audience {
            throw RTCError(.wrongRole, "the audience does not publish; setClientRole(.broadcaster) first")
        }
        try await publishTurns.run { () async throws(RTCError) in
            let published = withSession(life) { $0.publishing.tracks } ?? []
            if let twice = tracks.first(where: { $0.isPublished || published.contains($0) }) {
                throw RTCError(.publishAlreadyExists, "the \(twice.kind) track \"\(twice.tag)\" is published already")
            }
            try await publishInTurn(tracks, life)
        }
    }

    /// With a publishing connection `pub-tracks`, else `pubpc` with all tracks.
    private func publishInTurn(_ tracks: [LocalTrack], _ life: Int) async throws(RTCError) {
        let (_, connection) = try usable(life)
        guard let publishing = withSession(life, { $0.publishing }) else { throw ClientCore.hasLeft }
        guard publishing.connectionID != nil, !publishing.isUncertain, var offer = publishing.offer, !offer.isFull
        else { return try await replacePublishing(adding: tracks, isGone: false, life, connection) }

        let described = try describe(tracks, after: publishing.tracks, in: &offer, life)
        let answer: TracksAnswer<PublishedTrackResult>
        do throws(SignallingError) {
            answer = try await connection.publishMore(sdp: offer.description.text, tracks: described.map(\.wire))
        } catch {
            if case .refused(let refused) = error, refused.code == .publishConnectionGone {
                return try await replacePublishing(adding: tracks, isGone: true, life, connection)
            }
            endUncertain(life, connection, error)
            throw RTCError(error)
        }
        let results = try await results(answer.tracks, of: described, connection)
        if let media = publishing.media { send(described, over: media) }
        try settle(results, offer, nil, life)
    }

    static var hasLeft: RTCError { RTCError(.wrongState, "the client has left the room") }

    /// `pubpc` with what is published, and these. If these fail, the others are published anew without them, as far as
    /// the server has let them go.
    ///
    /// - Parameter isGone: it has already, for the earlier connection is gone.
    private func replacePublishing(
        adding tracks: [LocalTrack], isGone: Bool, _ life: Int, _ connection: SignallingConnection
    ) async throws(RTCError) {
        let present = withSession(life) { $0.publishing.tracks } ?? []
        let outcome = await openPublishing(present + tracks, life, connection)
        guard case .failed(let error, let isReplaced) = outcome else { return }
        if isGone || isReplaced {
            // In a task of its own: who gives up this publication does not give up the others.
            await Task { await self.republish(life) }.value
        }
        throw error
    }

    private enum Opening {
        case succeeded
        /// Whether the server has given up the earlier connection for it, and with it the tracks there.
        case failed(RTCError, isReplaced: Bool)
    }

    /// A new publishing connection, which takes the place of any earlier one, with these tracks.
    private func openPublishing(
        _ tracks: [LocalTrack], _ life: Int, _ connection: SignallingConnection
    ) async -> Opening {
        var random = SystemRandomNumberGenerator()
        var offer = ClientOffer(
            transport: .random(fingerprint: identity.fingerprint, using: &random), sessionID: random.next(),
            cname: String(random.next(), radix: 36))
        let described: [Described]
        do throws(RTCError) { described = try describe(tracks, after: [], in: &offer, life) } catch {
            return .failed(error, isReplaced: false)
        }
        let answer: PublishConnectionAnswer
        do throws(SignallingError) {
            answer = try await connection.publish(
                sdp: offer.description.text, tracks: described.map(\.wire), policy: policy)
        } catch {
            endUncertain(life, connection, error)
            return .failed(RTCError(error), isReplaced: false)
        }
        do throws(RTCError) {
            let results = try await results(answer.tracks ?? [], of: described, connection)
            do throws(RTCError) {
                guard let id = answer.connectionID else {
                    throw RTCError(.fatal, "the answer to pubpc names no connection")
                }
                let media = try await openMedia(
                    .publishing, id, try MediaEndpoint(answer, to: "pubpc"), fragment: offer.transport.iceUfrag, life)
                send(described, over: media)
                do throws(SignallingError) {
                    try await connection.waitForConnected(id, within: mediaTimeout)
                } catch {
                    media.close()
                    guard isAlive(life) else { throw ClientCore.hasLeft }
                    throw RTCError(error)
                }
                try settle(results, offer, (id, media), life)
            } catch {
                await takeBack(results.map(\.1), connection)
                throw error
            }
            return .succeeded
        } catch { return .failed(error, isReplaced: true) }
    }

    /// A track as it stands in an offer, and what it is sent with.
    struct Described: Sendable {
        var track: LocalTrack
        var wire: PublishedTrack
        var streams: [OutboundStreamSettings]
    }

    /// Puts the tracks into the offer.
    ///
    /// - Throws: 21005 when the room has named no codec for one of them.
    private func describe(
        _ tracks: [LocalTrack], after present: [LocalTrack], in offer: inout ClientOffer, _ life: Int
    ) throws(RTCError) -> [Described] {
        let numbers = withSession(life) { $0.numbers } ?? nil
        var kinds = Set(present.map(\.kind))
        var described: [Described] = []
        for track in tracks {
            let kind: RoomProtocol.TrackKind = track.kind == .audio ? .audio : .video
            guard let numbers, numbers.line(kind) != nil else {
                throw RTCError(.fatal, "the server has named no \(kind.rawValue) codec for this room")
            }
            let section = ClientOffer.Section(
                localID: track.localID, kind: kind,
                encodings: (0..<track.layerCount).map { layer in
                    ClientOffer.Encoding(
                        ssrc: UInt32.random(in: 1...UInt32.max),
                        repairSSRC: kind == .video ? UInt32.random(in: 1...UInt32.max) : nil,
                        rid: track.layerCount > 1 ? ClientCore.rid(layer, of: track.layerCount) : nil)
                })
            let mid = offer.add(section)
            described.append(
                Described(
                    track: track,
                    wire: PublishedTrack(
                        localID: track.localID, localMid: mid, master: kinds.insert(track.kind).inserted, kind: kind,
                        kbps: track.bitrate.map(Double.init), tag: track.tag.isEmpty ? nil : track.tag),
                    streams: numbers.sending(section, mid: mid, firstSequence: UInt16.random(in: 0...0x7FFF))))
        }
        return described
    }

    /// As browsers that publish in layers call them.
    private static func rid(_ layer: Int, of count: Int) -> String {
        count == 2 ? ["lo", "hi"][layer] : ["lo", "mi", "hi"][layer]
    }

    /// Adds the tracks' streams to a connection; they carry what the tracks are given from now on.
    private func send(_ described: [Described], over media: MediaConnection) {
        for item in described {
            for (layer, settings) in item.streams.enumerated() {
                // What feeds itself keeps to its own rate.
                let follower = item.track.feed == nil ? item.track : nil
                media.addSending(settings, feed: item.track.feed, follower: follower, layer: layer) {
                    [weak track = item.track] in track?.keyFrameWanted(layer: layer)
                }
            }
            guard let codec = item.streams.first?.codec else { continue }
            item.track.begin(
                TrackSender.Target(connection: media, ssrcs: item.streams.map(\.ssrc), codec: codec))
        }
    }

    /// The track ids of the tracks.
    ///
    /// - Throws: when one was not taken; those that were are taken back then.
    private func results(
        _ results: [PublishedTrackResult], of described: [Described], _ connection: SignallingConnection
    ) async throws(RTCError) -> [(LocalTrack, String)] {
        let taken = Dictionary(
            results.compactMap { result in result.status ? result.trackID.map { (result.localID, $0) } : nil },
            uniquingKeysWith: { first, _ in first })
        var ids: [(LocalTrack, String)] = []
        for item in described {
            guard let id = taken[item.track.localID] else {
                await takeBack(Array(taken.values), connection)
                throw RTCError(.fatal, "the server has not taken the \(item.track.kind) track \"\(item.track.tag)\"")
            }
            ids.append((item.track, id))
        }
        return ids
    }

    /// Takes tracks back of which the app knows nothing. If the server does not do it, the connection ends: the way back
    /// takes back what the client does not know.
    private func takeBack(_ trackIDs: [String], _ connection: SignallingConnection) async {
        guard !trackIDs.isEmpty else { return }
        do throws(SignallingError) { try await connection.unpublish(trackIDs: trackIDs.sorted()) } catch {
            if case .refused(let refused) = error, refused.code == .publishNotExist { return }
            connection.close()
        }
    }

    /// Notes what is published now, and tells the server which of the tracks are muted.
    ///
    /// - Throws: 21002 if the client has left meanwhile; then nothing is published.
    private func settle(
        _ results: [(LocalTrack, String)], _ offer: ClientOffer, _ new: (id: String, media: MediaConnection)?,
        _ life: Int
    ) throws(RTCError) {
        let isThere: Void? = withSession(life) { session in
            session.publishing.offer = offer
            if let new {
                session.publishing.connectionID = new.id
                session.publishing.media?.close()
                session.publishing.media = new.media
                session.publishing.tracks = []
                session.publishing.isUncertain = false
            }
            for (track, id) in results {
                track.published(as: id, by: self)
                session.publishing.tracks.append(track)
                if let isMuted = session.earlyMutes[id] { track.setMutedByServer(isMuted) }
            }
            session.earlyMutes = [:]
        }
        guard isThere != nil else {
            new?.media.close()
            throw ClientCore.hasLeft
        }
        sendMutes(of: results.map(\.0))
    }

    /// After a request that the server may have executed without the client knowing it: the others may see tracks that
    /// the app believes not to be published. The connection ends, and the way back brings both in line at once.
    private func endUncertain(_ life: Int, _ connection: SignallingConnection, _ error: SignallingError) {
        guard error.leavesUncertain else { return }
        _ = withSession(life) { $0.publishing.isUncertain = true }
        connection.close()
    }

    func unpublish(_ tracks: [LocalTrack]) async throws(RTCError) {
        guard !tracks.isEmpty else { return }
        let (life, _) = try usable()
        try await publishTurns.run { () async throws(RTCError) in
            let (_, connection) = try usable(life)
            let published = withSession(life) { $0.publishing.tracks } ?? []
            var ids: [String] = []
            for track in tracks {
                guard published.contains(track), let id = track.trackID else {
                    throw RTCError(.publishNotExist, "the \(track.kind) track \"\(track.tag)\" is not published")
                }
                ids.append(id)
            }
            var failure: RTCError?
            do throws(SignallingError) { try await connection.unpublish(trackIDs: ids) } catch {
                if case .refused(let refused) = error, refused.code == .publishNotExist {
                    // The others of them are gone all the same.
                    failure = RTCError(error)
                } else if error.leavesUncertain {
                    // They are gone here. If the server has not heard of it, it will on the way back.
                    connection.close()
                    if case .unreadable = error { failure = RTCError(error) }
                } else {
                    throw RTCError(error)
                }
            }
            _ = withSession(life) { session in
                session.publishing.tracks.removeAll { tracks.contains($0) }
                for track in tracks {
                    session.publishing.offer?.remove(localID: track.localID)
                    if let target = track.target {
                        for ssrc in target.ssrcs { target.connection.removeSending(ssrc: ssrc) }
                    }
                    track.unpublished()
                }
            }
            if let failure { throw failure }
        }
    }

    /// Tells which of the tracks are muted. Cut off, nothing is sent: it is told on coming back.
    func sendMutes(of tracks: [LocalTrack]) {
        // One at a time, each with what is so at that moment: the last one to be sent is right.
        muteTurns.withLock { _ in
            let mutes = tracks.compactMap { track in
                track.trackID.map { TrackMute(trackID: $0, muted: track.isMutedByClient) }
            }
            guard !mutes.isEmpty, let connection = try? usable().connection else { return }
            try? connection.mute(mutes)
        }
    }

    /// Takes what the server says of this client's own tracks: it tells a publisher of the app's back end's mutes only.
    ///
    /// A back end that hears of a track may mute it before the answer to the publication was looked at here.
    func takeMutes(_ mutes: [TrackMute], _ session: inout Session) {
        for mute in mutes where session.room.remoteTrack(mute.trackID) == nil {
            if let track = session.publishing.tracks.first(where: { $0.trackID == mute.trackID }) {
                track.setMutedByServer(mute.muted)
            } else {
                if session.earlyMutes.count >= ClientCore.earlyMuteLimit { session.earlyMutes = [:] }
                session.earlyMutes[mute.trackID] = mute.muted
            }
        }
    }

    /// On coming back: the server tells anew which of the tracks its back end has muted, after the auth-res.
    func forgetMutes(_ session: inout Session) {
        session.earlyMutes = [:]
        for track in session.publishing.tracks { track.setMutedByServer(false) }
    }

    // MARK: After a loss

    /// Brings the server's idea of this client's tracks and subscriptions in line with its own, after a way back.
    ///
    /// - Parameter isFresh: it was a new join to the server.
    func repair(_ life: Int, _ answer: AuthAnswer, isFresh: Bool) async {
        await publishTurns.discardingErrors { () async throws(RTCError) in
            guard let publishing = self.withSession(life, { $0.publishing }) else { return }
            let known = isFresh ? [] : answer.ownPublications.map { Set($0.map(\.trackID)) }
            let own = publishing.tracks.compactMap(\.trackID)
            let isComplete = known.map { known in own.allSatisfy { known.contains($0) } } ?? true
            let ghosts = known?.subtracting(own) ?? []
            let (_, connection) = try self.usable(life)
            if isFresh || publishing.isUncertain || !isComplete || publishing.media?.hasFailed == true {
                // With no track left there is no `pubpc` that would replace what the server still has.
                if own.isEmpty { await self.takeBack(Array(ghosts), connection) }
                await self.republish(life)
                return
            }
            self.sendMutes(of: publishing.tracks)
            await self.takeBack(Array(ghosts), connection)
        }
        await subscribeTurns.discardingErrors { () async throws(RTCError) in
            let isComplete = self.withSession(life) { session in
                let own = session.room.trackIDs(subscribed: true)
                guard !isFresh, !session.subscribing.isUncertain, session.subscribing.media?.hasFailed != true
                else { return false }
                guard let known = answer.ownSubscriptions.map({ Set($0.map(\.trackID)) }) else { return true }
                return own.allSatisfy { known.contains($0) }
            }
            if isComplete == false { await self.resubscribe(life) }
        }
        await restartDisconnected(life)
        subscribeAutomatically(life)
    }

    /// `pubpc` with all tracks. Those that the server does not take are lost, and the app is told.
    private func republish(_ life: Int) async {
        let tracks = withSession(life) { session in
            let tracks = session.publishing.tracks
            if tracks.isEmpty {
                session.publishing.media?.close()
                session.publishing = Publishing()
            }
            // Until it has succeeded: cut off, the next way back repeats it.
            session.publishing.isUncertain = !tracks.isEmpty
            return tracks
        }
        guard let tracks, !tracks.isEmpty, let connection = try? usable(life).connection else { return }
        let outcome = await openPublishing(tracks, life, connection)
        guard case .failed(let error, _) = outcome, connection.end == nil else { return }
        _ = withSession(life) { session in
            session.publishing.media?.close()
            session.publishing = Publishing()
            for track in tracks { track.unpublished() }
            emit([.localTracksLost(tracks, error)])
        }
    }

    /// The server has given up the publishing connection: a new one.
    func renewPublishing(_ life: Int, after connectionID: String) async {
        guard await pause(.seconds(1)) else { return }
        await publishTurns.discardingErrors { () async throws(RTCError) in
            guard self.withSession(life, { $0.publishing.connectionID == connectionID }) == true else { return }
            await self.republish(life)
        }
    }
}

extension SerialTurns {
    /// For work that nobody waits for: what fails is repeated by the next way back.
    func discardingErrors(_ body: () async throws(RTCError) -> Void) async {
        do throws(RTCError) { try await run(body) } catch {}
    }
}
