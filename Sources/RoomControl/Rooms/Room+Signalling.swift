import MediaContract
import MediaWire
import RoomProtocol

// A room's side of the signalling connections: every frame is one step of the room, and its answer leaves within it.

extension Room {
    /// Lets a user in; its answer is the first frame that it gets of the room.
    func join(
        _ entry: SessionEntry, rpcid: String?, link: LinkID, outlet: SignallingOutlet
    ) async throws(RoomRefusal) {
        let result = joinNow(entry, rpcid: rpcid, link: link, outlet: outlet)
        await afterwards()
        try result.get()
    }

    private func joinNow(
        _ entry: SessionEntry, rpcid: String?, link: LinkID, outlet: SignallingOutlet
    ) -> Result<Void, RoomRefusal> {
        let now = environment.clock.now()
        var effects: [RoomEffect] = []
        do throws(RoomRefusal) {
            let grant = try state.join(entry, link: link, now: now, effects: &effects)
            obey(effects)
            welcome(grant, rpcid: rpcid, isResume: false, link, outlet)
            return .success(())
        } catch {
            state.joinFailed(effects: &effects)
            obey(effects)
            return .failure(error)
        }
    }

    /// A join failed before it came here: a room that was made for it goes.
    func joinFailed() async {
        var effects: [RoomEffect] = []
        state.joinFailed(effects: &effects)
        obey(effects)
        await afterwards()
    }

    /// Brings a user back; then come the messages that it has missed.
    func resume(
        _ user: String, token: Int, messageSerial: Int?, profile: ClientMediaProfile?, rpcid: String?, link: LinkID,
        outlet: SignallingOutlet
    ) async throws(RoomRefusal) {
        let now = environment.clock.now()
        var effects: [RoomEffect] = []
        let result: Result<Void, RoomRefusal>
        do throws(RoomRefusal) {
            let grant = try state.resume(
                user, token: token, link: link, messageSerial: messageSerial, profile: profile, now: now,
                effects: &effects)
            obey(effects)
            welcome(grant, rpcid: rpcid, isResume: true, link, outlet)
            result = .success(())
        } catch {
            obey(effects)
            result = .failure(error)
        }
        await afterwards()
        try result.get()
    }

    /// From here on the connection hears of the room: what happened before is in the grant.
    private func welcome(
        _ grant: SessionGrant, rpcid: String?, isResume: Bool, _ link: LinkID, _ outlet: SignallingOutlet
    ) {
        links[link] = outlet
        var answer = AuthAnswer(rpcid: rpcid)
        answer.reconnectToken = grant.reconnectToken
        answer.players = grant.players
        answer.tracks = grant.tracks
        answer.rtpCapabilities = grant.capabilities
        if isResume {
            answer.ownPublications = grant.ownPublications.map { TrackReference($0) }
            answer.ownSubscriptions = grant.ownSubscriptions.map { TrackReference($0) }
        }
        outlet.entered()
        outlet.send(SignallingFrame.encode("auth-res", answer))
        // At once: only from the first ping on the clients watch the connection.
        outlet.send(Notification.ping.frame)
        for word in grant.connections { outlet.send(word.frame) }
        for user in grant.reconnecting { outlet.send(Notification.playerReconnecting(PlayerReference(user)).frame) }
        if !grant.mutedByServer.isEmpty {
            let mutes = grant.mutedByServer.map { TrackMute(trackID: $0, muted: true) }
            outlet.send(Notification.tracksMuted(MuteTracks(tracks: mutes)).frame)
        }
        // In pieces: a client's frames have a limit, too.
        var piece: [RoomMessage] = []
        var bytes = 0
        for message in grant.messages {
            piece.append(message)
            bytes += message.text.utf8.count
            if bytes < Room.longestReplay, message.serial != grant.messages.last?.serial { continue }
            outlet.send(Notification.messages(RoomMessages(messages: piece)).frame)
            (piece, bytes) = ([], 0)
        }
    }

    /// Bytes of text after which a replay goes on in another frame.
    private static let longestReplay = 128 * 1024

    /// The connection broke.
    func lost(_ user: String, link: LinkID) async {
        var effects: [RoomEffect] = []
        links[link] = nil
        state.lost(user, link: link, now: environment.clock.now(), effects: &effects)
        obey(effects)
        await afterwards()
    }

    /// One frame of a user. False: the connection is not the room's any more.
    @discardableResult
    func receive(_ frame: SessionFrame, from user: String, link: LinkID) async -> Bool {
        if case .message(.control(let request)) = frame { return await control(request, user, link) }
        let now = environment.clock.now()
        var effects: [RoomEffect] = []
        let outlet = links[link]
        let isIn = state.heard(user, link: link, now: now, effects: &effects)
        if isIn {
            let answer = answer(frame, user, link, now: now, effects: &effects)
            // What the worker must know comes before what the answer provokes; the others hear of it after.
            let (commands, others) = effects.splitByReceiver()
            obey(commands)
            if let answer { outlet?.send(answer) }
            effects = others
        }
        obey(effects)
        await afterwards()
        return isIn
    }

    // MARK: Each message

    private func answer(
        _ frame: SessionFrame, _ user: String, _ link: LinkID, now: MediaTime, effects: inout [RoomEffect]
    ) -> [UInt8]? {
        switch frame {
        case .refused(let problem):
            return RefusalAnswer.frame(type: problem.type, rpcid: problem.rpcid, problem.refused)
        case .publish(let request, let offer, let isNewConnection):
            return isNewConnection
                ? publish(request, offer, user, link, now: now, effects: &effects)
                : addTracks(request, offer, user, link, now: now, effects: &effects)
        case .message(let message): return answer(message, user, link, now: now, effects: &effects)
        }
    }

    private func answer(
        _ message: ClientMessage, _ user: String, _ link: LinkID, now: MediaTime, effects: inout [RoomEffect]
    ) -> [UInt8]? {
        switch message {
        case .pong: return nil
        case .disconnect:
            state.leaveSession(user, link: link, now: now, effects: &effects)
            return nil
        case .auth(let request):
            return RefusalAnswer.frame(
                type: "auth", rpcid: request.rpcid,
                Refused(.invalidParameter, "this connection is in a room already; one connection, one auth"))
        case .publishConnection, .publishTracks, .control: return nil  // come as frames of their own
        case .unpublishTracks(let request):
            return unpublish(request, user, link, now: now, effects: &effects)
        case .subscribeConnection(let request):
            return subscribe(request, user, link, now: now, effects: &effects)
        case .subscribeTracks(let request):
            return reply("sub-tracks", request.rpcid) { () throws(Refused) in
                let tracks = try state.subscribeTracks(
                    user, link: link, wanted: request.tracks, now: now, effects: &effects)
                return SignallingFrame.encode("sub-tracks-res", TracksAnswer(rpcid: request.rpcid, tracks: tracks))
            }
        case .unsubscribeTracks(let request):
            return reply("unsub-tracks", request.rpcid) { () throws(Refused) in
                let ids = try state.unsubscribeTracks(
                    user, link: link, ids: request.tracks.map(\.trackID), now: now, effects: &effects)
                return SignallingFrame.encode(
                    "unsub-tracks-res", TracksAnswer(rpcid: request.rpcid, tracks: ids.map { TrackReference($0) }))
            }
        case .restartPublishConnection(let request):
            return restart("pubpc-restart", request) { () throws(Refused) in
                try state.restartPublishing(
                    user, link: link, id: request.connectionID, now: now, effects: &effects)
            }
        case .restartSubscribeConnection(let request):
            return restart("subpc-restart", request) { () throws(Refused) in
                try state.restartSubscribing(
                    user, link: link, id: request.connectionID, now: now, effects: &effects)
            }
        case .closePublishConnection(let request):
            return done("pubpc-close", request) { () throws(Refused) in
                try state.closePublishing(user, link: link, id: request.connectionID, now: now, effects: &effects)
            }
        case .closeSubscribeConnection(let request):
            return done("subpc-close", request) { () throws(Refused) in
                try state.closeSubscribing(user, link: link, id: request.connectionID, now: now, effects: &effects)
            }
        case .muteTracks(let request):
            return refusal("mute-tracks") { () throws(Refused) in
                try state.mute(user, link: link, request.tracks, now: now, effects: &effects)
            }
        case .setSubscribeProfile(let request):
            return refusal("set-sub-profile") { () throws(Refused) in
                try state.setProfiles(user, link: link, request.tracks, now: now, effects: &effects)
            }
        case .sendMessage(let request):
            return refusal("send-message", messageID: request.messageID) { () throws(Refused) in
                try state.sendMessage(
                    user, link: link, request, now: now, unixMilliseconds: environment.clock.unixMilliseconds(),
                    effects: &effects)
            }
        case .sendQoSMessage(let request):
            return refusal("send-qos-message", rpcid: request.rpcid) { () throws(Refused) in
                try state.sendQoS(user, link: link, request.qos, now: now, effects: &effects)
            }
        case .setPrivileges(let request):
            return setPrivileges(request, user, link, now: now, effects: &effects)
        case .unsupported(let type, let rpcid):
            return RefusalAnswer.frame(
                type: type, rpcid: rpcid, Refused(.invalidParameter, "this server has no \(Room.feature(of: type))"))
        }
    }

    private static func feature(of type: String) -> String {
        if type.hasSuffix("media-relay") { return "media relay between rooms" }
        return type.contains("merge") ? "merge jobs" : "forward jobs"
    }

    private func publish(
        _ request: PublishRequest, _ offer: PublishOffer, _ user: String, _ link: LinkID, now: MediaTime,
        effects: inout [RoomEffect]
    ) -> [UInt8] {
        reply("pubpc", request.rpcid) { () throws(Refused) in
            let policy = try Room.policy(request.policy)
            let candidates = try candidates(policy)
            let (grant, tracks) = try state.openPublishing(
                user, link: link, offer: offer, tracks: request.tracks, policy: policy, now: now,
                effects: &effects)
            var answer = PublishConnectionAnswer(rpcid: request.rpcid)
            answer.connectionID = grant.id
            answer.iceParameters = grant.credentials.parameters
            answer.iceCandidates = candidates
            // The clients' browsers refuse the other role here.
            answer.dtlsParameters = dtlsParameters(.client)
            answer.tracks = tracks
            return SignallingFrame.encode("pubpc-res", answer)
        }
    }

    private func addTracks(
        _ request: PublishRequest, _ offer: PublishOffer, _ user: String, _ link: LinkID, now: MediaTime,
        effects: inout [RoomEffect]
    ) -> [UInt8] {
        reply("pub-tracks", request.rpcid) { () throws(Refused) in
            let tracks = try state.addTracks(
                user, link: link, offer: offer, tracks: request.tracks, now: now, effects: &effects)
            return SignallingFrame.encode("pub-tracks-res", TracksAnswer(rpcid: request.rpcid, tracks: tracks))
        }
    }

    private func unpublish(
        _ request: TracksRequest, _ user: String, _ link: LinkID, now: MediaTime, effects: inout [RoomEffect]
    ) -> [UInt8] {
        reply("unpub-tracks", request.rpcid) { () throws(Refused) in
            let (removed, refused) = try state.removeTracks(
                user, link: link, ids: request.tracks.map(\.trackID), now: now, effects: &effects)
            if let refused, request.rpcid == nil { throw refused }
            return SignallingFrame.encode(
                "unpub-tracks-res",
                TracksAnswer(rpcid: request.rpcid, refused, tracks: removed.map { TrackReference($0) }))
        }
    }

    private func subscribe(
        _ request: SubscribeRequest, _ user: String, _ link: LinkID, now: MediaTime, effects: inout [RoomEffect]
    ) -> [UInt8] {
        reply("subpc", request.rpcid) { () throws(Refused) in
            let policy = try Room.policy(request.policy)
            let candidates = try candidates(policy)
            let (grant, tracks) = try state.openSubscribing(
                user, link: link, wanted: request.tracks, policy: policy, now: now, effects: &effects)
            var answer = SubscribeConnectionAnswer(rpcid: request.rpcid)
            answer.connectionID = grant.id
            answer.iceParameters = grant.credentials.parameters
            answer.iceCandidates = candidates
            answer.dtlsParameters = dtlsParameters(.server)
            answer.tracks = tracks
            return SignallingFrame.encode("subpc-res", answer)
        }
    }

    private func setPrivileges(
        _ request: SetPrivileges, _ user: String, _ link: LinkID, now: MediaTime, effects: inout [RoomEffect]
    ) -> [UInt8] {
        reply("set-privileges", request.rpcid) { () throws(Refused) in
            let privileges = try Room.privileges(request.privileges)
            try state.setPrivileges(user, link: link, privileges, now: now, effects: &effects)
            return SignallingFrame.encode("set-privileges-res", Answer(rpcid: request.rpcid))
        }
    }

    static func privileges(_ names: [String]) throws(Refused) -> Set<Privilege> {
        var privileges: Set<Privilege> = []
        if names.count > 16 { throw Refused(.invalidParameter, "privileges has at most 16 entries") }
        for name in names {
            guard let privilege = Privilege(rawValue: name) else {
                throw Refused(
                    .invalidParameter, "privileges holds \"subscribe\" and \"publish\", not \(RoomState.quoted(name))")
            }
            privileges.insert(privilege)
        }
        return privileges
    }

    /// The one request that waits: for the end of the other's media.
    private func control(_ request: ControlRequest, _ user: String, _ link: LinkID) async -> Bool {
        let now = environment.clock.now()
        var effects: [RoomEffect] = []
        let outlet = links[link]
        let isIn = state.heard(user, link: link, now: now, effects: &effects)
        obey(effects)
        guard isIn else {
            await afterwards()
            return false
        }
        var refused: Refused?
        do throws(Refused) {
            guard request.command == "kickplayer" else {
                throw Refused(
                    .invalidParameter, "command is \"kickplayer\", not \(RoomState.quoted(request.command))")
            }
            guard let target = request.playerID else { throw Refused(.invalidParameter, "playerid is missing") }
            guard try state.isAdmin(user, link: link) else {
                throw Refused(.noPermission, "to kick needs a token with the permission \"admin\"")
            }
            if target == user {
                // Afterwards there is no connection for the answer.
                outlet?.send(Room.controlAnswer(request, nil))
                _ = await kick(target, by: user)
                return true
            }
            switch await kick(target, by: user) {
            case .done: break
            case .pending: throw Refused(.serverUnavailable, "the removal is under way")
            case .noSuchUser, .roomClosed:
                throw Refused(.userNotExist, "there is no user \(RoomState.quoted(target)) in the room")
            }
        } catch { refused = error }
        outlet?.send(Room.controlAnswer(request, refused))
        await afterwards()
        return true
    }

    private static func controlAnswer(_ request: ControlRequest, _ refused: Refused?) -> [UInt8] {
        if let refused, request.rpcid == nil { return RefusalAnswer.frame(type: "control", rpcid: nil, refused) }
        var answer = Answer(rpcid: request.rpcid, refused)
        answer.command = request.command
        answer.playerID = request.playerID
        return SignallingFrame.encode("control-res", answer)
    }

    // MARK: The parts of an answer

    private func reply(
        _ type: String, _ rpcid: String?, _ body: () throws(Refused) -> [UInt8]
    ) -> [UInt8] {
        do throws(Refused) { return try body() } catch { return RefusalAnswer.frame(type: type, rpcid: rpcid, error) }
    }

    private func restart(
        _ type: String, _ request: ConnectionRequest, _ body: () throws(Refused) -> ConnectionGrant
    ) -> [UInt8] {
        reply(type, request.rpcid) { () throws(Refused) in
            let grant = try body()
            var answer = ConnectionAnswer<TrackReference>(rpcid: request.rpcid)
            answer.connectionID = grant.id
            answer.iceParameters = grant.credentials.parameters
            answer.iceCandidates = try candidates(grant.policy)
            return SignallingFrame.encode("\(type)-res", answer)
        }
    }

    private func done(
        _ type: String, _ request: ConnectionRequest, _ body: () throws(Refused) -> Void
    ) -> [UInt8] {
        reply(type, request.rpcid) { () throws(Refused) in
            try body()
            var answer = Answer(rpcid: request.rpcid)
            answer.connectionID = request.connectionID
            return SignallingFrame.encode("\(type)-res", answer)
        }
    }

    /// Of one-way messages the client hears only when they are refused.
    private func refusal(
        _ type: String, rpcid: String? = nil, messageID: String? = nil, _ body: () throws(Refused) -> Void
    ) -> [UInt8]? {
        do throws(Refused) {
            try body()
            return nil
        } catch { return RefusalAnswer.frame(type: type, rpcid: rpcid, messageID: messageID, error) }
    }

    private static func policy(_ name: String?) throws(Refused) -> CandidatePolicy {
        guard let name else { return .preferUDP }
        guard let known = CandidatePolicy(rawValue: name) else {
            throw Refused(
                .invalidParameter, "policy is preferUdp, forceUdp or forceTcp, not \(RoomState.quoted(name))")
        }
        return known
    }

    private func candidates(_ wanted: CandidatePolicy) throws(Refused) -> [ICECandidate] {
        let found = environment.connections.candidates(policy: wanted, worker: worker)
        if found.isEmpty {
            throw Refused(.mediaNotSupported, "this node has no candidate for the policy \(wanted.rawValue)")
        }
        return found
    }

    private func dtlsParameters(_ role: DTLSParameters.Role) -> DTLSParameters {
        DTLSParameters(role: role, fingerprints: [.init(value: environment.connections.fingerprint)])
    }
}
