import MediaWire
import RTCClient
import RoomProtocol

// What connected users do.

extension ChurnRoom {
    /// Tracks that a user publishes at most.
    private static let trackLimit = 4

    func perform(_ action: SignallingAction, _ index: Int) async {
        guard clients[index].phase == .connected else { return }
        switch action {
        case .message: sendMessage(index)
        case .publish: await publish(index)
        case .unpublish: await unpublish(index)
        case .mute: mute(index)
        case .subscribe: await subscribe(index)
        case .unsubscribe: await unsubscribe(index)
        case .qos: sendQoS(index)
        case .leave: await leave(index)
        case .drop, .crash: await lose(index, isCrash: action == .crash)
        }
    }

    /// A request, timed. Its failure is a fault, unless its socket was dropped under it; then it is not known what became
    /// of it.
    ///
    /// - Returns: `nil` after a failure.
    private func ask<Result: Sendable>(
        _ index: Int, _ what: String, unknown: WritableKeyPath<ChurnClient, Bool>? = nil,
        _ body: (SignallingConnection) async throws(SignallingError) -> Result
    ) async -> Result? {
        guard let connection = clients[index].connection else { return nil }
        let epoch = clients[index].epoch
        let started = LoadClock.monotonic
        do {
            let result = try await body(connection)
            // An answer that came just before the loss is as good as any.
            tally.requests.add(microseconds: (LoadClock.monotonic - started) / 1000)
            if clients[index].epoch == epoch, clients[index].phase == .connected {
                ledger.confirmed(clients[index].name)
                clients[index].unconfirmedMutes = []
            }
            return result
        } catch {
            if let unknown { clients[index][keyPath: unknown] = true }
            if unknown == \ChurnClient.publishesUnknown { truth.users[clients[index].name]?.hasKnownTracks = false }
            if case .ended = error, clients[index].phase != .connected { return nil }
            fault(.requestFailed, "\(what) of \(clients[index].name): \(error)")
            return nil
        }
    }

    /// A request without effect: when it is answered, all that the user sent before has been taken.
    func flush(_ index: Int) async {
        _ = await ask(index, "sub-tracks without tracks") { connection throws(SignallingError) in
            try await connection.subscribeMore([])
        }
    }

    // MARK: Messages

    private func sendMessage(_ index: Int) {
        var targets: [String] = []
        if Int.random(in: 0..<10, using: &random) < 4 {
            // Also to users who are away, or not there at all.
            let others = clients.indices.filter { $0 != index }.map { clients[$0].name }
            targets = Array(others.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random)))
        }
        _ = send(index, to: targets)
    }

    /// - Returns: the message's name.
    func send(_ index: Int, to targets: [String]) -> String? {
        guard let connection = clients[index].connection else { return nil }
        let id = ledger.sending(from: clients[index].name, to: targets, time: LoadClock.monotonic)
        tally.messagesSent += 1
        do {
            try connection.sendMessage(MessageLedger.text(of: id), to: targets, messageID: id)
            return id
        } catch {
            ledger.refused(id)
            return nil
        }
    }

    private func sendQoS(_ index: Int) {
        let grade = Int.random(in: 1...4, using: &random)
        try? clients[index].connection?.send(
            "send-qos-message", SendQoSMessage(qos: "{\"networkGrade\":\(grade),\"tracks_qos\":[]}"))
    }

    // MARK: Publishing

    private func publish(_ index: Int) async {
        let count = clients[index].localIDs.count
        let isAnew = clients[index].offer == nil || Int.random(in: 0..<10, using: &random) == 0
        if isAnew { return await publishAnew(index) }
        guard count < ChurnRoom.trackLimit, var offer = clients[index].offer, !offer.isFull else { return }
        let name = clients[index].name
        let track = newTrack(index, &offer)
        let answer = await ask(index, "pub-tracks", unknown: \.publishesUnknown) {
            [offer] connection throws(SignallingError) in
            try await connection.publishMore(sdp: offer.description.text, tracks: [track])
        }
        guard let answer else { return }
        if answer.code != .ok { fault(.requestFailed, "pub-tracks of \(name): \(answer.error ?? "")") }
        clients[index].offer = offer
        published(index, [track], answer.tracks)
    }

    /// pubpc: a new connection, instead of any that there is, with one track or two.
    func publishAnew(_ index: Int) async {
        let name = clients[index].name
        var offer = ClientOffer(
            transport: .random(fingerprint: fingerprint(), using: &random), sessionID: random.next(), cname: name)
        let tracks = (0..<Int.random(in: 1...2, using: &random)).map { _ in newTrack(index, &offer) }
        let answer = await ask(index, "pubpc", unknown: \.publishesUnknown) {
            [offer] connection throws(SignallingError) in
            try await connection.publish(sdp: offer.description.text, tracks: tracks)
        }
        guard let answer else { return }
        if answer.iceCandidates?.isEmpty ?? true || answer.iceParameters == nil || answer.dtlsParameters == nil {
            fault(.requestFailed, "pubpc of \(name): the answer lacks ICE or DTLS parameters")
        }
        clients[index].offer = offer
        clients[index].localIDs = [:]
        clients[index].publishesUnknown = false
        truth.users[name]?.tracks = [:]
        truth.users[name]?.hasKnownTracks = true
        published(index, tracks, answer.tracks ?? [])
    }

    private func newTrack(_ index: Int, _ offer: inout ClientOffer) -> PublishedTrack {
        clients[index].lastLocalID += 1
        let localID = "\(clients[index].name)-\(clients[index].lastLocalID)"
        let kind: RoomProtocol.TrackKind = Bool.random(using: &random) ? .audio : .video
        let ssrc = UInt32.random(in: 1...UInt32.max / 2, using: &random)
        let mid = offer.add(
            ClientOffer.Section(
                localID: localID, kind: kind, ssrc: ssrc, repairSSRC: kind == .video ? ssrc + UInt32.max / 2 : nil))
        return PublishedTrack(
            localID: localID, localMid: mid, master: false, kind: kind, kbps: 64, tag: "tag of \(localID)")
    }

    private func published(_ index: Int, _ tracks: [PublishedTrack], _ results: [PublishedTrackResult]) {
        let name = clients[index].name
        var mutes: [String: Bool] = [:]
        for track in tracks {
            guard let result = results.first(where: { $0.localID == track.localID }), result.status,
                let id = result.trackID
            else {
                fault(.requestFailed, "the track \(track.localID) was not published")
                continue
            }
            clients[index].localIDs[id] = track.localID
            truth.users[name]?.tracks[id] = RoomTruth.Track(kind: track.kind, tag: track.tag ?? "", isMuted: false)
            mutes[id] = false
        }
        // As the vendor's clients do after each publication.
        setMutes(index, mutes)
    }

    private func unpublish(_ index: Int) async {
        guard let id = clients[index].localIDs.keys.sorted().randomElement(using: &random) else { return }
        let done: Void? = await ask(index, "unpub-tracks", unknown: \.publishesUnknown) {
            connection throws(SignallingError) in try await connection.unpublish(trackIDs: [id])
        }
        guard done != nil else { return }
        if let localID = clients[index].localIDs.removeValue(forKey: id) {
            clients[index].offer?.remove(localID: localID)
        }
        truth.users[clients[index].name]?.tracks[id] = nil
    }

    private func mute(_ index: Int) {
        guard let id = clients[index].localIDs.keys.sorted().randomElement(using: &random) else { return }
        setMutes(index, [id: Bool.random(using: &random)])
    }

    /// mute-tracks; one-way.
    func setMutes(_ index: Int, _ mutes: [String: Bool]) {
        let name = clients[index].name
        for (id, isMuted) in mutes {
            // The socket may be gone already: then it comes to nobody, and is said again after the resume.
            let isConnected = clients[index].phase == .connected
            truth.users[name]?.tracks[id]?.isMuted = isConnected ? isMuted : nil
            clients[index].unconfirmedMutes.insert(id)
        }
        try? clients[index].connection?.mute(
            mutes.sorted { $0.key < $1.key }.map { TrackMute(trackID: $0.key, muted: $0.value) })
    }

    private func fingerprint() -> String {
        (0..<32).map { _ in
            let text = String(UInt8.random(in: 0...255, using: &random), radix: 16, uppercase: true)
            return text.utf8.count == 1 ? "0" + text : text
        }.joined(separator: ":")
    }

    // MARK: Subscribing

    private func subscribe(_ index: Int) async {
        let isAnew = !clients[index].hasSubscribing || Int.random(in: 0..<8, using: &random) == 0
        if isAnew { return await subscribeAnew(index) }
        let wanted = wantedTracks(index, besides: clients[index].subscriptions)
        guard !wanted.isEmpty else { return }
        let answer = await ask(index, "sub-tracks", unknown: \.subscribesUnknown) {
            connection throws(SignallingError) in try await connection.subscribeMore(wanted)
        }
        if let answer { subscribed(index, wanted, answer.tracks) }
    }

    /// subpc: a new connection, instead of any that there is.
    func subscribeAnew(_ index: Int) async {
        let wanted = wantedTracks(index, besides: [])
        let answer = await ask(index, "subpc", unknown: \.subscribesUnknown) {
            connection throws(SignallingError) in try await connection.subscribe(wanted)
        }
        guard let answer else { return }
        clients[index].hasSubscribing = true
        clients[index].subscribesUnknown = false
        clients[index].subscriptions = []
        subscribed(index, wanted, answer.tracks ?? [])
    }

    private func wantedTracks(_ index: Int, besides taken: Set<String>) -> [WantedTrack] {
        let all = clients[index].view.players.values.flatMap { $0.tracks.keys }.filter { !taken.contains($0) }.sorted()
        let profiles: [SubscribeProfile?] = [nil, .high, .low]
        return all.shuffled(using: &random).prefix(Int.random(in: 1...4, using: &random)).map {
            WantedTrack(trackID: $0, profile: profiles.randomElement(using: &random)??.rawValue)
        }
    }

    private func subscribed(_ index: Int, _ wanted: [WantedTrack], _ results: [SubscribedTrackResult]) {
        if results.map(\.trackID) != wanted.map(\.trackID) {
            fault(.requestFailed, "\(clients[index].name) subscribed to other tracks than it wanted")
        }
        for result in results {
            if result.status {
                clients[index].subscriptions.insert(result.trackID)
            } else if result.code != .subscribeNotExist {
                // A track may have gone meanwhile; anything else has no reason.
                fault(.requestFailed, "subscribing of \(clients[index].name): \(result.error ?? "status false")")
            }
        }
    }

    private func unsubscribe(_ index: Int) async {
        // What went with its publisher went from here, too.
        let present = clients[index].subscriptions.filter { clients[index].view.track($0) != nil }
        guard let id = present.sorted().randomElement(using: &random) else { return }
        let done: Void? = await ask(index, "unsub-tracks", unknown: \.subscribesUnknown) {
            connection throws(SignallingError) in try await connection.unsubscribe(trackIDs: [id])
        }
        if done != nil { clients[index].subscriptions.remove(id) }
    }
}
