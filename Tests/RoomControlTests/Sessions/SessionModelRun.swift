import MediaContract
import MediaWire
import RoomControl
import RoomProtocol
import RoomTestKit

/// A `RoomState` and a `NaiveSessionRoom` side by side, with clients whose views live on what the state tells them. Here is
/// what goes between them, and the comparison; the steps are in the other files.
struct SessionModelRun {
    /// A user's client over all the connections of one session.
    struct Client {
        let user: String
        var link: LinkID
        var view: RoomView
        /// The last message that it knows of.
        var seen: Int?
        var received: [Int] = []
        /// Nothing reaches it any more, and the server does not know.
        var isCut = false
        /// Those of its tracks of which it was told that the server mutes them.
        var serverMutes: Set<String> = []
        /// What it was told of its connections last; true: of the publishing one.
        var words: [Bool: NaiveSessionRoom.Word] = [:]
        var lastPing: Int64
    }

    struct Figures {
        var steps = 0
        var rooms = 0
        var joins = 0
        var resumes = 0
        var replayed = 0
        var refusals: [ResultCode: Int] = [:]
        var actions: [String: Int] = [:]
    }

    let names = ["ann", "bob", "cat", "dan", "eve", "fay"]
    let settings: AppSettings
    let limits: RoomLimits
    let origin: RoomState.RoomOrigin
    let kit: SessionModelKit
    var random: RandomSource
    var state: RoomState
    var model: NaiveSessionRoom
    var plane = PlaneModel()
    /// By reconnect token.
    var clients: [Int: Client] = [:]
    /// The connections that the room has, and whose they are.
    var links: [LinkID: Int] = [:]
    var instance: UInt32 = 1
    var now: Int64 = 0
    var lastLink: UInt64 = 0
    var lastSocket: UInt64 = 2
    var oldTokens: [Int] = []
    var lastAction = ""
    var problem: String?
    /// Something was posted to the worker since the last comparison.
    var isMediaDirty = false
    /// Layers that were told in this step.
    var layers: [String] = []
    var figures = Figures()
    /// What the notices of this step said.
    var noticedLeft: [NaiveSessionRoom.Left] = []
    var released: [LinkID: LinkEnd] = [:]
    var closed: CloseReason?
    /// What the notices of this life add up to.
    var noticedUsers: Set<String> = []
    var noticedTracks: Set<String> = []
    var noticedAway: Set<String> = []
    var noticedMutes: Set<String> = []
    /// Every mid that this life of the room has had, and how many tracks of the kind there were at most.
    var mids: [TrackKind: Set<String>] = [:]
    var mostTracks: [TrackKind: Int] = [:]

    init(
        seed: UInt64, settings: AppSettings, limits: RoomLimits, origin: RoomState.RoomOrigin, kit: SessionModelKit
    ) {
        (self.settings, self.limits, self.origin, self.kit) = (settings, limits, origin, kit)
        random = .seeded(seed)
        state = RoomState(
            instance: RoomInstance(1), settings: settings, limits: limits, origin: origin, now: .zero,
            random: .seeded(seed &+ 1))
        model = NaiveSessionRoom(settings: settings, limits: limits, origin: origin)
    }

    var time: MediaTime { MediaTime(nanoseconds: now) }

    mutating func startOver() {
        figures.rooms += 1
        if let violation = plane.violations.first { note(violation) }
        if !noticedUsers.isEmpty || !noticedTracks.isEmpty || !noticedAway.isEmpty {
            note("the notices leave somebody in a closed room")
        }
        if !links.isEmpty { note("a closed room has connections") }
        instance += 1
        state = RoomState(
            instance: RoomInstance(instance), settings: settings, limits: limits, origin: origin, now: .zero,
            random: .seeded(random.next()))
        model = NaiveSessionRoom(settings: settings, limits: limits, origin: origin)
        plane = PlaneModel()
        (clients, links, oldTokens) = ([:], [:], [])
        (noticedUsers, noticedTracks, noticedAway, noticedMutes) = ([], [], [], [])
        (mids, mostTracks) = ([:], [:])
        (now, closed) = (0, nil)
    }

    mutating func note(_ text: String) { problem = problem ?? text }

    mutating func pick<Element>(_ elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[Int(random.next() % UInt64(elements.count))]
    }

    /// True once in so many times.
    mutating func chance(_ n: UInt64) -> Bool { random.next() % n == 0 }

    // MARK: Between the state and the clients

    /// The state's answer, with its effects done as `Room` does them.
    mutating func run<Result>(
        _ body: (inout RoomState, MediaTime, inout [RoomEffect]) throws -> Result
    ) rethrows -> Result {
        var effects: [RoomEffect] = []
        defer { for effect in effects { take(effect) } }
        return try body(&state, time, &effects)
    }

    private mutating func take(_ effect: RoomEffect) {
        switch effect {
        case .post(let command):
            plane.apply(command)
            isMediaDirty = true
        case .notice(let notice): hear(notice)
        case .send(let link, let notification): deliver(notification, to: link)
        case .broadcast(let notification, let excepted):
            for link in links.keys where link != excepted { deliver(notification, to: link) }
        case .release(let link, let end):
            if links.removeValue(forKey: link) == nil { note("\(link) was released and was not the room's") }
            released[link] = end
        case .closed: if closed == nil { note("closed without a reason") }
        }
    }

    private mutating func hear(_ notice: RoomNotice) {
        var isRight = true
        switch notice {
        case .joined(let user): isRight = noticedUsers.insert(user).inserted
        case .left(let user, let reason):
            isRight = noticedUsers.remove(user) != nil
            noticedAway.remove(user)
            noticedLeft.append(.init(user: user, reason: reason))
        case .reconnecting(let user): isRight = noticedUsers.contains(user) && noticedAway.insert(user).inserted
        case .reconnected(let user): isRight = noticedAway.remove(user) != nil
        case .published(let user, let track, _, _):
            isRight = noticedUsers.contains(user) && noticedTracks.insert(track).inserted
        case .unpublished(let user, let track):
            isRight = noticedUsers.contains(user) && noticedTracks.remove(track) != nil
            noticedMutes.remove(track)
        case .muted(let user, let track, let isMuted, _):
            let isChange = isMuted ? noticedMutes.insert(track).inserted : noticedMutes.remove(track) != nil
            isRight = isChange && noticedUsers.contains(user) && noticedTracks.contains(track)
        case .closed(let reason):
            isRight = closed == nil
            closed = reason
        default: break
        }
        if !isRight { note("the notice \(notice) does not fit") }
    }

    private mutating func deliver(_ notification: Notification, to link: LinkID) {
        guard let token = links[link] else { return note("\(notification) for a connection that is not the room's") }
        guard clients[token]?.isCut == false else { return }
        switch notification {
        case .ping: clients[token]?.lastPing = now
        case .messages(let messages): take(messages.messages, token)
        case .qos(let qos): clients[token]?.seen = qos.messages.last?.serial
        default:
            if case .tracksMuted(let mutes) = notification { takeMutes(mutes.tracks, token) }
            if case .subscribeProfileChanged(let body) = notification {
                layers.append("\(body.trackID) \(body.profile)")
            }
            takeWord(notification, token)
            if let problems = clients[token]?.view.apply(notification), let first = problems.first {
                note("\(clients[token]?.user ?? ""): \(first)")
            }
        }
    }

    mutating func takeWord(_ notification: Notification, _ token: Int) {
        switch notification {
        case .publishConnected(let body): clients[token]?.words[true] = .init(id: body.connectionID, isConnected: true)
        case .publishDisconnected(let body):
            clients[token]?.words[true] = .init(id: body.connectionID, isConnected: false)
        case .subscribeConnected(let body):
            clients[token]?.words[false] = .init(id: body.connectionID, isConnected: true)
        case .subscribeDisconnected(let body):
            clients[token]?.words[false] = .init(id: body.connectionID, isConnected: false)
        default: break
        }
    }

    private mutating func takeMutes(_ mutes: [TrackMute], _ token: Int) {
        for mute in mutes where clients[token]?.view.ownTracks.contains(mute.trackID) == true {
            if mute.muted {
                clients[token]?.serverMutes.insert(mute.trackID)
            } else {
                clients[token]?.serverMutes.remove(mute.trackID)
            }
        }
    }

    mutating func take(_ messages: [RoomMessage], _ token: Int) {
        if messages.isEmpty { note("an empty message list") }
        for message in messages {
            clients[token]?.received.append(message.serial)
            clients[token]?.seen = message.serial
            if message.text != "text \(message.serial)" { note("message \(message.serial) is another one") }
        }
    }

    // MARK: Comparison

    /// What is not as it should be, after everything that is due by now.
    mutating func difference() -> String? {
        run { $0.settle($1, effects: &$2) }
        model.pass(to: now)
        if let problem { return problem }
        if let violation = plane.violations.first { return violation }
        if closed != model.closed {
            return "closed: \(String(describing: closed)), not \(String(describing: model.closed))"
        }
        if noticedLeft.count > 1 || noticedLeft != model.left, noticedLeft.sorted() != model.left.sorted() {
            return "left: \(noticedLeft), not \(model.left)"
        }
        if released != model.released { return "released: \(released), not \(model.released)" }
        noticedLeft.removeAll(keepingCapacity: true)
        model.left.removeAll(keepingCapacity: true)
        released.removeAll(keepingCapacity: true)
        model.released.removeAll(keepingCapacity: true)
        if let due = model.nextDue {
            guard let alarm = state.nextDeadline, alarm.nanoseconds <= due else {
                return "the alarm is set for \(String(describing: state.nextDeadline)), and \(due) is due"
            }
        }
        if state.userCount != model.users.count { return "users \(state.users), not \(model.users.map(\.name))" }
        if let text = messageDifference() { return text }
        let isThorough = figures.steps % 64 == 0
        if isMediaDirty || isThorough, let text = mediaDifference() { return text }
        isMediaDirty = false
        if model.isDirty || isThorough, let text = viewDifference() { return text }
        if isThorough, let text = detailsDifference() { return text }
        model.isDirty = false
        return nil
    }

    /// Whoever is connected has got every message for it, once and in order.
    private mutating func messageDifference() -> String? {
        for user in model.users {
            guard let session = user.session, session.link != nil, let client = clients[session.token], !client.isCut
            else { continue }
            if client.received.count != session.messages.count || client.received.last != session.messages.last {
                return "\(user.name) has messages \(client.received), not \(session.messages)"
            }
            if now - client.lastPing > 3 * NaiveSessionRoom.second { return "\(user.name) got no ping for too long" }
        }
        return nil
    }

    /// The worker has just what the room says, and that is what the model wants.
    private func mediaDifference() -> String? {
        let inventory = state.inventory
        if Set(plane.peers.keys) != inventory.peers { return "the worker has other peers" }
        if Set(plane.transports.keys).union(plane.webRTC.keys) != inventory.transports {
            return "the worker has other transports"
        }
        if Set(plane.tracks.keys) != inventory.tracks || inventory.tracks.count != model.tracks.count {
            return "the worker has other tracks"
        }
        var wanted: Set<String> = []
        for user in model.users {
            for id in user.session?.subscriptions ?? [] {
                let isMuted = model.tracks.first { $0.info.trackID == id }?.isMutedByServer ?? true
                if !isMuted { wanted.insert("\(user.name) \(id)") }
            }
        }
        for subscription in inventory.subscriptions {
            guard let spec = plane.subscriptions[subscription.id], spec.track == subscription.track,
                spec.transport == subscription.transport
            else { return "the worker has no subscription \(subscription)" }
            if subscription.isSession, wanted.remove("\(subscription.user) \(subscription.publicID)") == nil {
                return "\(subscription) is not wanted"
            }
        }
        if inventory.subscriptions.count != plane.subscriptions.count { return "the worker has more subscriptions" }
        return wanted.isEmpty ? nil : "\(wanted) are not subscribed"
    }

    private mutating func viewDifference() -> String? {
        if state.users != model.users.map(\.name) { return "users \(state.users), not \(model.users.map(\.name))" }
        if noticedUsers != Set(state.users) { return "the notices say that \(noticedUsers) are there" }
        if noticedTracks != Set(model.tracks.map(\.info.trackID)) { return "the notices say other tracks" }
        if noticedMutes != Set(model.tracks.filter(\.info.muted).map(\.info.trackID)) {
            return "the notices say other mutes"
        }
        let away = Set(model.users.filter { $0.session?.isAway == true }.map(\.name))
        if noticedAway != away { return "the notices say that \(noticedAway) are away, not \(away)" }
        for kind in [TrackKind.audio, .video] {
            let now = model.tracks.filter { $0.info.kind == kind }.map(\.info.mid)
            if Set(now).count != now.count || now.contains("") { return "mids \(now)" }
            mids[kind, default: []].formUnion(now)
            mostTracks[kind] = max(mostTracks[kind] ?? 0, now.count)
            if mids[kind]?.count != mostTracks[kind] { return "mids are not used again: \(mids)" }
        }
        var truth = model.truth
        for user in model.users {
            guard let session = user.session, session.link != nil, let client = clients[session.token], !client.isCut
            else { continue }
            let own = truth.removeValue(forKey: user.name)
            if client.view.players != truth { return "\(user.name) sees \(client.view.players), and it is \(truth)" }
            truth[user.name] = own
            let published = model.tracks(of: user.name).filter { $0.leg == nil }
            let muted = published.filter(\.isMutedByServer).map(\.info.trackID)
            let told = client.serverMutes.intersection(published.map(\.info.trackID))
            if told != Set(muted) { return "\(user.name) takes \(told) for muted by the server, not \(muted)" }
            if client.received != session.messages { return "\(user.name) has \(client.received)" }
            if client.words != session.words { return "\(user.name) was told \(client.words), not \(session.words)" }
        }
        return nil
    }

    /// What the server API shows.
    private func detailsDifference() -> String? {
        for (details, user) in zip(state.details, model.users) {
            let tracks = model.tracks(of: user.name)
            guard details.user == user.name, details.userData == user.data,
                details.hasSession == (user.session != nil), details.isReconnecting == (user.session?.isAway ?? false),
                details.permission == user.session.map({ $0.isAdmin ? .admin : .user }),
                Set(details.privileges) == user.session?.privileges ?? user.granted,
                details.legs.contains(.sending) == (user.sending != nil),
                details.legs.contains(.receiving) == (user.receiving != nil),
                details.tracks.map(\.info) == tracks.map(\.info), details.tracks.map(\.codec) == tracks.map(\.codec),
                details.tracks.map(\.isMutedByServer) == tracks.map(\.isMutedByServer),
                details.tracks.map(\.isFromLeg) == tracks.map({ $0.leg != nil }),
                user.receiving != nil || Set(details.subscriptions) == user.session?.subscriptions ?? []
            else { return "details \(details), and it is \(user) with \(tracks)" }
        }
        return nil
    }

    /// Tracks get their mids from the state.
    mutating func learnMids() {
        for details in state.details {
            for track in details.tracks {
                guard let place = model.tracks.firstIndex(where: { $0.info.trackID == track.info.trackID }) else {
                    note("a track that nobody published")
                    continue
                }
                if model.tracks[place].info.mid.isEmpty { model.tracks[place].info.mid = track.info.mid }
            }
        }
    }
}
