import RTCClient
import RoomProtocol

// Coming and going: joins, losses, resumes, leaves.

extension ChurnRoom {
    /// The node gives a session up 30 s after the last frame; pongs come every 3 s. Between these it may do either.
    private static let (surelyKept, surelyGone) = (Int64(20_000_000_000), Int64(31_000_000_000))

    enum JoinKind { case first, again }

    // MARK: Joining

    func joinFirst(_ index: Int) async { await join(index, .first) }

    func comeBack(_ index: Int) async {
        switch clients[index].plan {
        case .join: await join(index, .again)
        case .resume, .resumeTooLate: await resume(index)
        }
    }

    func join(_ index: Int, _ kind: JoinKind) async {
        let name = clients[index].name
        clients[index].phase = .connecting
        clients[index].due = .max
        clients[index].joins += 1
        let data = "\(name) in \(self.name), \(clients[index].joins)"
        let started = LoadClock.monotonic
        do {
            let signer = common.signer
            let expiry = LoadClock.unixTime + Int64(common.scenario.churn) + 3600
            guard let token = signer.text(room: self.name, user: name, expiresAt: expiry) else {
                throw LoadFailure("the token cannot be signed")
            }
            let access = try await common.transport.access(RoomTokenClaims(token: token), within: .seconds(20))
            let connection = try await SignallingConnection.open(access, transport: common.transport)
            watchRefusals(connection, name)
            let floor = ledger.highestSerial
            var auth = SignallingAuth(accessToken: access.accessToken, userData: data)
            auth.capabilitiesSDP = common.capabilities
            let answer = try await connection.authenticate(auth)
            let delay = (LoadClock.monotonic - started) / 1000
            if kind == .first { tally.joins.add(microseconds: delay) } else { tally.rejoins.add(microseconds: delay) }
            if answer.rtpCapabilities == nil || answer.reconnectToken ?? 0 == 0 {
                fault(.joinFailed, "\(name): auth-res lacks rtpcaps or reconntoken")
            }
            clients[index].forgetSession()
            clients[index].access = access
            clients[index].session = ledger.opened(name, floor: floor)
            truth.users[name] = RoomTruth.User(data: data)
            connected(index, connection, answer)
        } catch {
            fault(.joinFailed, "\(name): \(error)")
            // It may have come in all the same.
            ledger.closed(name)
            var user = truth.users[name] ?? RoomTruth.User(data: data)
            user.presence = .vanishing
            truth.users[name] = user
            clients[index].phase = .out
            clients[index].plan = .join
            clients[index].due = LoadClock.monotonic + 1_000_000_000
        }
    }

    private func connected(_ index: Int, _ connection: SignallingConnection, _ answer: AuthAnswer) {
        clients[index].phase = .connected
        clients[index].connection = connection
        clients[index].epoch += 1
        clients[index].reconnectToken = answer.reconnectToken
        for problem in clients[index].view.reset(answer) {
            fault(.wrongNotification, "auth-res of \(clients[index].name): \(problem)")
        }
        clients[index].reader = read(connection, index, epoch: clients[index].epoch)
    }

    private func watchRefusals(_ connection: SignallingConnection, _ user: String) {
        connection.onRefusedMessage { [weak self] refusal in
            Task { await self?.refusedMessage(refusal, user) }
        }
    }

    private func refusedMessage(_ refusal: FrameError, _ user: String) {
        fault(.requestFailed, "a message of \(user): \(refusal.error) (\(refusal.code.rawValue))")
        if let id = refusal.messageID { ledger.refused(id) }
    }

    // MARK: Losing the socket

    /// The socket goes without a word, perhaps in the middle of a request; then the user resumes, or joins anew.
    func lose(_ index: Int, isCrash: Bool) async {
        guard clients[index].phase == .connected, let connection = clients[index].connection else { return }
        let isSilent = Bool.random(using: &random)
        // A few find that they were away too long.
        let isTooLate = !isCrash && Int.random(in: 0..<25, using: &random) == 0
        let offline = Double.random(in: 0...Double(common.scenario.offline), using: &random)
        let plan: ChurnClient.Return = isCrash ? .join : isTooLate ? .resumeTooLate : .resume
        let reader = clients[index].reader
        away(
            index, isSilent: isSilent, plan: plan,
            after: isCrash ? offline / 10 : isTooLate ? 33 : offline)
        connection.abort(isSilent ? .silent : .noticed)
        // What has come in before counts: the resume says up to where.
        await reader?.value
    }

    /// The connection is gone.
    func away(_ index: Int, isSilent: Bool, plan: ChurnClient.Return, after seconds: Double) {
        let name = clients[index].name
        clients[index].phase = .away
        clients[index].lost = LoadClock.monotonic
        clients[index].plan = plan
        clients[index].due = LoadClock.monotonic + Int64(seconds * 1e9)
        clients[index].connection = nil
        truth.users[name]?.presence = .away(isSilent: isSilent)
        for id in clients[index].unconfirmedMutes { truth.users[name]?.tracks[id]?.isMuted = nil }
        ledger.interrupted(name)
    }

    /// Before views are compared: who may have been given up by now.
    func noteTheVanishing() {
        let now = LoadClock.monotonic
        for client in clients where client.phase == .away && now - client.lost > ChurnRoom.surelyKept {
            truth.users[client.name]?.presence = .vanishing
        }
    }

    // MARK: Resuming

    private func resume(_ index: Int) async {
        let name = clients[index].name
        // Until the last of the old connection is taken in, the serial is not known.
        await clients[index].reader?.value
        guard let access = clients[index].access, let token = clients[index].reconnectToken else {
            return await join(index, .again)
        }
        clients[index].phase = .connecting
        let started = LoadClock.monotonic
        let awayBefore = started - clients[index].lost
        do {
            let connection = try await SignallingConnection.open(
                access, isReconnect: true, transport: common.transport)
            watchRefusals(connection, name)
            var auth = SignallingAuth(accessToken: access.accessToken)
            auth.reconnectToken = token
            auth.messageSerial = clients[index].messageSerial
            auth.capabilitiesSDP = common.capabilities
            let answer = try await connection.authenticate(auth)
            tally.resumes.add(microseconds: (LoadClock.monotonic - started) / 1000)
            if awayBefore > ChurnRoom.surelyGone {
                fault(.resumedTooLate, "\(name), after \(awayBefore / 1_000_000_000) s")
            }
            ledger.resumed(name)
            truth.users[name]?.presence = .connected
            connected(index, connection, answer)
            await restore(index, answer)
        } catch SignallingError.refused(let refused) where refused.code == .reconnectTokenInvalid {
            let away = LoadClock.monotonic - clients[index].lost
            if away < ChurnRoom.surelyKept {
                fault(.resumeFailed, "\(name), after \(away / 1_000_000) ms: \(refused.text)")
            }
            // The node says that the user is not there.
            truth.users[name] = nil
            ledger.closed(name)
            await join(index, .again)
        } catch {
            fault(.resumeFailed, "\(name): \(error)")
            clients[index].phase = .away
            clients[index].plan = .resume
            clients[index].due = LoadClock.monotonic + 1_000_000_000
        }
    }

    /// Compares what the node says that the user has, and puts right what was cut off.
    private func restore(_ index: Int, _ answer: AuthAnswer) async {
        let name = clients[index].name
        if !clients[index].publishesUnknown {
            let wanted = Set(truth.users[name]?.tracks.keys.map { $0 } ?? [])
            let told = Set((answer.ownPublications ?? []).map(\.trackID))
            if wanted != told {
                fault(.resumeDiffers, "\(name) publishes \(wanted.sorted()), my-pubs has \(told.sorted())")
            }
        }
        if !clients[index].subscribesUnknown {
            // The tracks that went meanwhile went from the subscriptions, too.
            let wanted = clients[index].subscriptions.filter { clients[index].view.track($0) != nil }
            let told = Set((answer.ownSubscriptions ?? []).map(\.trackID))
            if wanted != told {
                fault(.resumeDiffers, "\(name) subscribes to \(wanted.sorted()), my-subs has \(told.sorted())")
            }
        }
        let tracks = truth.users[name]?.tracks ?? [:]
        if clients[index].publishesUnknown {
            await publishAnew(index)
        } else if !tracks.isEmpty {
            setMutes(index, tracks.mapValues { $0.isMuted ?? false })
        }
        if clients[index].subscribesUnknown, clients[index].phase == .connected { await subscribeAnew(index) }
    }

    // MARK: Leaving

    /// Says so, and waits until the node has closed: then it has taken the user out.
    func leave(_ index: Int) async {
        guard clients[index].phase == .connected, let connection = clients[index].connection else { return }
        let name = clients[index].name
        clients[index].phase = .leaving
        try? connection.send("disconnect", EmptyBody())
        let patience = common.scenario.patience
        let limit = Task {
            try await Task.sleep(for: .seconds(patience))
            // Ends the reader.
            connection.abort()
        }
        await clients[index].reader?.value
        limit.cancel()
        let end = connection.end
        switch end {
        case .aborted?:
            fault(.connectionLost, "\(name), leaving: the node did not close within \(patience) s")
            truth.users[name]?.presence = .vanishing
        case .closed(1000, _)?, .closed(1005, _)?: truth.users[name] = nil
        // A pong to a socket that the node had closed: whether after the leave, nobody can tell.
        case .closed(1006, _)?: truth.users[name]?.presence = .vanishing
        default:
            fault(.connectionLost, "\(name), leaving: \(end.map { "\($0)" } ?? "no reason")")
            truth.users[name]?.presence = .vanishing
        }
        ledger.closed(name)
        clients[index].connection = nil
        clients[index].phase = .out
        clients[index].plan = .join
        let offline = Double.random(in: 0...Double(common.scenario.offline), using: &random)
        clients[index].due = LoadClock.monotonic + Int64(offline * 1e9)
    }

    /// Everybody goes as the vendor's clients do: a word, and the socket closes.
    func leaveAll() async {
        for index in clients.indices {
            let client = clients[index]
            clients[index].phase = .out
            clients[index].due = .max
            client.connection?.leave()
            clients[index].connection = nil
        }
        var last = ""
        for _ in 0..<100 {
            do {
                let users = try await common.list.users(in: name)
                if users.isEmpty { return }
                last = users.prefix(5).joined(separator: ", ")
            } catch { last = "\(error)" }
            try? await Task.sleep(for: .milliseconds(100))
        }
        fault(.notEmpty, last)
    }
}
