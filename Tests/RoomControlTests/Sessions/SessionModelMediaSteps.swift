import MediaContract
import MediaWire
import RoomControl
import RoomProtocol

// Steps about tracks, subscriptions, messages and legs.

extension SessionModelRun {
    // MARK: Publishing

    mutating func publishing(_ action: String) {
        let (user, link, isOwn) = connection()
        switch action {
        case "publish", "add": publish(user, link, isOwn, isNew: action == "publish")
        case "remove": unpublish(user, link, isOwn)
        case "mute": mute(user, link, isOwn)
        case "server mute": muteByServer()
        default: connectionCall(user, link, isOwn)
        }
    }

    private mutating func publish(_ user: String, _ link: LinkID, _ isOwn: Bool, isNew: Bool) {
        var wanted = (0..<(1 + random.next() % 3)).map { _ in pick(kit.tracks) ?? kit.tracks[0] }
        if chance(2), let first = wanted.first { wanted = [first] }
        // The reader refuses what stands twice.
        var names: Set<String> = []
        wanted = wanted.filter { names.insert($0.localID).inserted }
        for place in wanted.indices {
            wanted[place].tag = chance(2) ? nil : "tag \(random.next() % 9)"
            wanted[place].master = chance(3) ? chance(2) : nil
        }
        let offer = chance(12) ? kit.wrongOffer : kit.offer
        let session = model.session(user)
        var code = ResultCode.ok
        if chance(20) {
            switch random.next() % 4 {
            case 0: wanted = []
            case 1: wanted[0].tag = String(repeating: "x", count: limits.tagBytes + 1)
            case 2: wanted[0].localID = ""
            default: wanted[0].localID = String(repeating: "x", count: limits.tagBytes + 1)
            }
        }
        // From the last reason to the first.
        let own = model.tracks(of: user)
        let kept = isNew ? own.filter { $0.leg != nil } : own
        for track in wanted.reversed() {
            if kept.contains(where: { $0.leg == nil && $0.localID == track.localID }) { code = .publishAlreadyExists }
            if track.localID.isEmpty || max(track.localID.utf8.count, track.tag?.utf8.count ?? 0) > limits.tagBytes {
                code = .invalidParameter
            }
        }
        if kept.count + wanted.count > limits.tracksPerUser { code = .tooManyOperations }
        if wanted.isEmpty { code = .publishEmpty }
        if !isNew, session?.publishing == nil { code = .publishConnectionGone }
        if offer.tracks.first?.codecs != kit.offer.tracks.first?.codecs || isWrong(offer) { code = .mediaNotSupported }
        if session?.hasMedia != true { code = .mediaNotSupported }
        if session?.privileges.contains(.publish) != true { code = .noPermission }
        if !isOwn { code = .userNotExist }

        var results: [PublishedTrackResult]?
        if isNew {
            let answer = check(code) { state, now, effects in
                try state.openPublishing(
                    user, link: link, offer: offer, tracks: wanted, now: now, effects: &effects)
            }
            guard let answer else { return }
            model.remove { $0.leg == nil && $0.info.playerID == user }
            model.change(user) {
                $0.publishing = answer.0.id
                $0.words[true] = nil
            }
            if let session { clients[session.token]?.words[true] = nil }
            results = answer.1
        } else {
            results = check(code) { state, now, effects in
                try state.addTracks(user, link: link, offer: offer, tracks: wanted, now: now, effects: &effects)
            }
        }
        guard let results, let session else { return }
        if results.map(\.localID) != wanted.map(\.localID) || results.contains(where: { !$0.status }) {
            note("published \(results)")
        }
        for (result, track) in zip(results, wanted) {
            let id = result.trackID ?? ""
            let letter = track.kind == .audio ? "a" : "v"
            if id.utf8.count != 16 || !id.hasPrefix(letter) { note("the track id \(id)") }
            if model.tracks.contains(where: { $0.info.trackID == id }) { note("\(id) is given twice") }
            let layers = track.localMid == "v2" ? 2 : track.localMid == "v3" ? 3 : 1
            model.add(
                id, of: user, track.kind, codec: track.kind == .audio ? .opus : settings.videoCodec, leg: nil,
                localID: track.localID, tag: track.tag ?? "", master: track.master, layers: layers)
            clients[session.token]?.view.ownTracks.insert(id)
        }
        learnMids()
    }

    private func isWrong(_ offer: PublishOffer) -> Bool {
        offer.tracks.map(\.codecs) != kit.offer.tracks.map(\.codecs)
    }

    private mutating func ids(_ own: [String]) -> [String] {
        var ids = own.filter { _ in chance(2) }
        if chance(6) { ids.append(pick(model.tracks.map(\.info.trackID)) ?? "nothing") }
        if chance(20) { ids.insert("nothing", at: 0) }
        return ids
    }

    private mutating func unpublish(_ user: String, _ link: LinkID, _ isOwn: Bool) {
        let own = model.tracks(of: user).filter { $0.leg == nil }.map(\.info.trackID)
        let wanted = ids(own)
        let isTooMuch = wanted.count > limits.tracksPerRequest
        let answer = check(!isOwn ? .userNotExist : isTooMuch ? .tooManyOperations : .ok) { state, now, effects in
            try state.removeTracks(user, link: link, ids: wanted, now: now, effects: &effects)
        }
        guard let answer else { return }
        let strange = wanted.contains { !own.contains($0) }
        if answer.removed != once(wanted.filter(own.contains))
            || answer.refused?.code != (strange ? .publishNotExist : nil)
        {
            note("unpublished \(answer)")
        }
        if strange { figures.refusals[.publishNotExist, default: 0] += 1 }
        model.remove { own.contains($0.info.trackID) && wanted.contains($0.info.trackID) }
    }

    private mutating func mute(_ user: String, _ link: LinkID, _ isOwn: Bool) {
        let own = model.tracks(of: user).map(\.info.trackID)
        let mutes = ids(own).map { TrackMute(trackID: $0, muted: chance(2)) }
        let strange = mutes.contains { !own.contains($0.trackID) }
        let code: ResultCode = isOwn ? (strange ? .publishNotExist : .ok) : .userNotExist
        _ = check(code) { state, now, effects in
            try state.mute(user, link: link, mutes, now: now, effects: &effects)
        }
        guard isOwn else { return }
        for mute in mutes where own.contains(mute.trackID) { model.mute(mute.trackID, byUser: mute.muted) }
    }

    private mutating func muteByServer() {
        let id = pick(model.tracks.map(\.info.trackID)) ?? "nothing"
        let isMuted = chance(2)
        if run({ $0.muteByServer(id, isMuted, now: $1, effects: &$2) }) != (id != "nothing") { note("mute of \(id)") }
        model.mute(id, byServer: isMuted)
    }

    /// Restarts and closes connections.
    private mutating func connectionCall(_ user: String, _ link: LinkID, _ isOwn: Bool) {
        let session = isOwn ? model.session(user) : nil
        let isPublishing = chance(2)
        let real = isPublishing ? session?.publishing : session?.subscribing
        let id = chance(4) ? "none" : real ?? "none"
        let gone: ResultCode = isPublishing ? .publishConnectionGone : .subscribeConnectionGone
        let code: ResultCode = !isOwn ? .userNotExist : id == real ? .ok : gone
        if chance(2) {
            let grant = check(code) { state, now, effects in
                isPublishing
                    ? try state.restartPublishing(user, link: link, id: id, now: now, effects: &effects)
                    : try state.restartSubscribing(user, link: link, id: id, now: now, effects: &effects)
            }
            if let grant, grant.id != id { note("a restart of another connection") }
        } else if isPublishing {
            let done: Void? = check(code) { state, now, effects in
                try state.closePublishing(user, link: link, id: id, now: now, effects: &effects)
            }
            guard done != nil else { return }
            model.remove { $0.leg == nil && $0.info.playerID == user }
            model.change(user) { $0.endConnection(true) }
            if let session { clients[session.token]?.words[true] = nil }
        } else {
            let done: Void? = check(code) { state, now, effects in
                try state.closeSubscribing(user, link: link, id: id, now: now, effects: &effects)
            }
            guard done != nil else { return }
            model.change(user) { $0.endConnection(false) }
            if let session { clients[session.token]?.words[false] = nil }
        }
    }

    // MARK: What the worker reports

    mutating func mediaEvent() {
        let connections = state.inventory.connections.sorted { $0.transport.rawValue < $1.transport.rawValue }
        guard let connection = pick(connections) else { return }
        let (user, isPublishing, id) = (connection.user, connection.isPublishing, connection.id)
        let session = model.session(user)
        let address = TransportAddress(ipv4: 0x0A00_0001, port: 5000)
        guard (isPublishing ? session?.publishing : session?.subscribing) == id else {
            // Its session has just run out of time: that comes first, and the report is about nothing.
            return run { $0.handle(.transportConnected(connection.transport, address), now: $1, effects: &$2) }
        }
        switch random.next() % 4 {
        case 0, 1:
            run { $0.handle(.transportConnected(connection.transport, address), now: $1, effects: &$2) }
            model.change(user) { $0.words[isPublishing] = .init(id: id, isConnected: true) }
        case 2:
            let subscriptions = state.inventory.subscriptions.filter { $0.transport == connection.transport }
            guard let one = pick(subscriptions.sorted { $0.id.rawValue < $1.id.rawValue }) else { return }
            layers = []
            run { $0.handle(.layerChanged(one.id, .medium), now: $1, effects: &$2) }
            let isThere = session?.link != nil && session.map { clients[$0.token]?.isCut == false } == true
            if layers != (isThere ? [one.publicID + " medium"] : []) { note("layers told: \(layers)") }
        default:
            guard chance(2) else { return }
            let isOwnWish = chance(3)
            let event: MediaEvent =
                isOwnWish
                ? .transportFailed(connection.transport, .closedByPeer)
                : chance(2)
                    ? .transportSilent(connection.transport)
                    : .transportFailed(connection.transport, .fingerprintMismatch)
            run { $0.handle(event, now: $1, effects: &$2) }
            if isPublishing { model.remove { $0.leg == nil && $0.info.playerID == user } }
            model.change(user) {
                $0.endConnection(isPublishing)
                if !isOwnWish { $0.words[isPublishing] = .init(id: id, isConnected: false) }
            }
            // What the client does when it closes its own.
            if isOwnWish, let session { clients[session.token]?.words[isPublishing] = nil }
        }
        model.isDirty = true
    }

    // MARK: Subscribing

    mutating func subscribing(_ action: String) {
        let (user, link, isOwn) = connection()
        let session = model.session(user)
        var wanted = ids(model.tracks.map(\.info.trackID)).map { WantedTrack(trackID: $0) }
        for place in wanted.indices where chance(4) {
            wanted[place].profile = chance(12) ? "huge" : pick(["high", "medium", "low"])
        }
        let isWrong = wanted.contains { $0.profile == "huge" }
        let isTooMuch = wanted.count > limits.tracksPerRequest
        var code: ResultCode = isTooMuch ? .tooManyOperations : isWrong ? .invalidParameter : .ok
        switch action {
        case "subscribe", "subscribe more":
            if action == "subscribe more" {
                if session?.subscribing == nil { code = .subscribeConnectionGone }
                if wanted.isEmpty { code = .ok }
            }
            if session?.hasMedia != true { code = .mediaNotSupported }
            if session?.privileges.contains(.subscribe) != true { code = .noPermission }
            if !isOwn { code = .userNotExist }
            subscribe(user, link, wanted, isNew: action == "subscribe", code)
        case "unsubscribe":
            code = isTooMuch ? .tooManyOperations : .ok
            if session?.subscribing == nil { code = .subscribeConnectionGone }
            if !isOwn { code = .userNotExist }
            let wanted = wanted.map(\.trackID)
            let done = check(code) { state, now, effects in
                try state.unsubscribeTracks(user, link: link, ids: wanted, now: now, effects: &effects)
            }
            guard let done, let session else { return }
            if done != once(wanted.filter(session.subscriptions.contains)) { note("unsubscribed \(done)") }
            model.change(user) { $0.subscriptions.subtract(wanted) }
        default:
            if code == .ok, wanted.contains(where: { session?.subscriptions.contains($0.trackID) != true }) {
                code = .subscribeNotExist
            }
            if session?.subscribing == nil { code = .subscribeConnectionGone }
            if !isOwn { code = .userNotExist }
            _ = check(code) { state, now, effects in
                try state.setProfiles(user, link: link, wanted, now: now, effects: &effects)
            }
        }
    }

    private mutating func subscribe(
        _ user: String, _ link: LinkID, _ wanted: [WantedTrack], isNew: Bool, _ code: ResultCode
    ) {
        var results: [SubscribedTrackResult]?
        if isNew {
            let answer = check(code) { state, now, effects in
                try state.openSubscribing(user, link: link, wanted: wanted, now: now, effects: &effects)
            }
            guard let answer else { return }
            model.change(user) {
                $0.endConnection(false)
                $0.subscribing = answer.0.id
            }
            if let token = model.session(user)?.token { clients[token]?.words[false] = nil }
            results = answer.1
        } else {
            results = check(code) { state, now, effects in
                try state.subscribeTracks(user, link: link, wanted: wanted, now: now, effects: &effects)
            }
        }
        guard let results, let session = model.session(user) else { return }
        if results.map(\.trackID) != wanted.map(\.trackID) { note("answered \(results) to \(wanted)") }
        for result in results {
            let track = model.tracks.first { $0.info.trackID == result.trackID }
            var code: ResultCode?
            if let track, track.codec != .opus, track.codec != settings.videoCodec, !session.isMulticodec {
                code = .mediaNotSupported
            }
            if track?.info.playerID == user { code = .subscribeOwn }
            if track == nil { code = .subscribeNotExist }
            if result.code != code || result.status != (code == nil) { note("subscribed \(result)") }
            guard code == nil, let track else { continue }
            if result.mid != track.info.mid || result.muted != track.info.muted { note("subscribed \(result)") }
            let isOther = track.codec != .opus && track.codec != settings.videoCodec
            if (result.rtpParameters?.codec != nil) != isOther { note("subscribed \(result)") }
            model.change(user) { $0.subscriptions.insert(track.info.trackID) }
        }
    }

    // MARK: Messages

    mutating func messaging(_ action: String) {
        let (user, link, isOwn) = connection()
        if action == "qos" { return sendQoS(user, link, isOwn) }
        var message = SendMessage(messageID: "id", text: "text \(model.lastMessage + 1)")
        if chance(2) { message.target = names.filter { _ in chance(3) } }
        var isWrong = true
        switch random.next() % 60 {
        case 0: message.text = ""
        case 1: message.text = String(repeating: "x", count: limits.messageBytes + 1)
        case 2: message.messageID = String(repeating: "x", count: limits.messageIDBytes + 1)
        case 3: message.type = ""
        case 4: message.target = ["ann", "no user's name"]
        default: isWrong = message.target?.count ?? 0 > limits.usersPerRoom
        }
        if action == "server message" {
            var code: ResultCode = isWrong ? .invalidParameter : .ok
            if model.closed != nil { code = .roomNotExist }
            // It may stand under the name of a user who is there, who gets it all the same.
            let sender = chance(2) ? "" : pick(names) ?? ""
            let serial = check(code) { state, now, effects in
                try state.sendServerMessage(
                    message, sender: sender, now: now, unixMilliseconds: 0, effects: &effects)
            }
            guard let serial else { return }
            let expected = model.send(from: nil, to: message.target)
            if serial != expected || state.messageSerial != model.lastMessage {
                note("the message has the number \(String(describing: serial)), not \(String(describing: expected))")
            }
            return
        }
        var code: ResultCode = model.maySend(user, at: now) ? .ok : .tooManyOperations
        if isWrong { code = .invalidParameter }
        if !isOwn { code = .userNotExist }
        let done: Void? = check(code) { state, now, effects in
            try state.sendMessage(user, link: link, message, now: now, unixMilliseconds: 0, effects: &effects)
        }
        guard done != nil else { return }
        model.count(user, at: now)
        _ = model.send(from: user, to: message.target)
        if state.messageSerial != model.lastMessage { note("the message has the number \(state.messageSerial)") }
    }

    private mutating func sendQoS(_ user: String, _ link: LinkID, _ isOwn: Bool) {
        let isLong = chance(20)
        var code: ResultCode = model.maySend(user, at: now) ? .ok : .tooManyOperations
        if isLong { code = .invalidParameter }
        if !isOwn { code = .userNotExist }
        let qos = isLong ? String(repeating: "x", count: limits.messageBytes + 1) : "{}"
        let done: Void? = check(code) { state, now, effects in
            try state.sendQoS(user, link: link, qos, now: now, effects: &effects)
        }
        guard done != nil else { return }
        model.count(user, at: now)
        let own = Set(model.tracks(of: user).map(\.info.trackID))
        for other in model.users {
            guard let session = other.session, session.link != nil, !session.subscriptions.isDisjoint(with: own),
                let client = clients[session.token], !client.isCut
            else { continue }
            if client.seen != model.lastMessage { note("\(other.name) did not get the qos message") }
        }
    }

    // MARK: Legs beside signalling

    mutating func addLeg() {
        let user = pick(names) ?? ""
        let kind: LegKind = chance(2) ? .sending : .receiving
        let present = model.place(user).map { model.users[$0] }
        var refusal = model.refusal(of: user, at: now)
        if refusal == nil, let present {
            if !present.granted.contains(kind == .sending ? .publish : .subscribe) { refusal = .notPermitted }
            if settings.noAutoKickUser, (kind == .sending ? present.sending : present.receiving) != nil {
                refusal = .alreadyJoined
            }
        }
        var lines = [RoomFixture.audio]
        if chance(2) {
            var video = RoomFixture.video(chance(2) ? .vp8 : .h264)
            video.transport = 0
            lines.append(video)
        }
        lastSocket += 2
        guard
            let key = SRTPMasterKey(
                profile: .aeadAES128GCM, key: [UInt8](repeating: 1, count: 16), salt: [UInt8](repeating: 2, count: 12))
        else { return note("no key") }
        let transport = LegPlan.Transport(
            ports: PlainPorts(
                socket: SocketID(lastSocket), port: 8000, rtcpSocket: SocketID(lastSocket + 1), rtcpPort: 8001),
            inbound: key, outbound: key, remote: .latched, localSSRC: UInt32(truncatingIfNeeded: lastSocket), cname: "c"
        )
        var plan = LegPlan(kind: kind, transports: [transport], lines: lines)
        let isWebRTC = chance(2)
        if isWebRTC {
            plan.transports = []
            plan.webRTC = LegPlan.WebRTC(
                credentials: ICECredentials(using: &random), role: .client,
                fingerprints: kit.offer.transport.fingerprints, localSSRC: 1, cname: "c")
        }
        let id = LegID(room: state.instance, using: &random)
        do {
            try run { try $0.addLeg(plan, id: id, of: user, now: $1, effects: &$2) }
            if let refusal { return note("a leg in spite of \(refusal)") }
        } catch {
            if error as? RoomRefusal != refusal { note("\(error) instead of \(String(describing: refusal))") }
            run { state, _, effects in state.joinFailed(effects: &effects) }
            if model.closed == nil, !model.wasEntered, origin == .firstJoin { model.finish(.unused) }
            return
        }
        model.enter(user)
        guard let place = model.place(user) else { return }
        guard kind == .sending else {
            model.users[place].receiving = id
            // A transport that is watched needs no lease.
            model.users[place].leaseEnd = isWebRTC ? .max : now + settings.legLease.nanoseconds
            return
        }
        if let old = model.users[place].sending { model.remove { $0.leg == old } }
        model.users[place].sending = id
        let published = run { $0.visitLeg(id, now: $1, effects: &$2) }?.lines ?? []
        for (line, published) in zip(lines, published) {
            model.add(
                published.track ?? "", of: user, line.kind == .audio ? .audio : .video,
                codec: line.formats[0].codec, leg: id)
            // The one of the user that a session has sees it as its own.
            if let token = model.session(user)?.token {
                clients[token]?.view.ownTracks.insert(published.track ?? "")
            }
        }
        learnMids()
    }

    mutating func endLeg() {
        guard let user = pick(model.users.filter { $0.sending != nil || $0.receiving != nil }) else { return }
        let kind: LegKind = user.sending == nil || (user.receiving != nil && chance(2)) ? .receiving : .sending
        guard let id = kind == .sending ? user.sending : user.receiving else { return }
        switch random.next() % 3 {
        case 0:
            if !run({ $0.removeLeg(id, now: $1, effects: &$2) }) { note("a leg is not found") }
            model.endLeg(user.name, kind, .left, at: now)
        case 1 where kind == .sending || user.leaseEnd == .max:
            let transports = run { $0.visitLeg(id, now: $1, effects: &$2) }?.transports ?? []
            for transport in transports { run { $0.handle(.transportSilent(transport), now: $1, effects: &$2) } }
            model.endLeg(user.name, kind, .silent, at: now)
        default:
            if run({ $0.visitLeg(id, now: $1, effects: &$2) }) == nil { note("a leg is not found") }
            if kind == .receiving, user.leaseEnd < .max, let place = model.place(user.name) {
                model.users[place].leaseEnd = now + settings.legLease.nanoseconds
            }
        }
    }
}

/// In their order, and each once: how a request's ids are answered.
private func once(_ ids: [String]) -> [String] {
    ids.reduce(into: []) { result, id in
        if !result.contains(id) { result.append(id) }
    }
}
