package import MediaContract
package import MediaWire
import RoomProtocol

// Publishing, and who gets what: the second half of a room's rules.

extension RoomState {
    /// Makes the leg's lines: a sending one publishes its track, a receiving one learns what it waits for.
    mutating func addLines(of plan: LegPlan, to leg: inout Leg, id: LegID, effects: inout [RoomEffect]) {
        var counts: [MediaKind: Int] = [:]
        for line in plan.lines {
            guard leg.transports.indices.contains(line.transport) else { continue }
            let index = counts[line.kind, default: 0]
            counts[line.kind] = index + 1
            if plan.kind == .receiving {
                leg.lines.append(Line(plan: line, pick: pick(index, of: line.kind, among: plan.picks)))
            } else if let format = line.formats.first {
                let isFirst = !tracks.contains { $0.user == leg.user && $0.kind == line.kind }
                var track = Track(
                    id: TrackID(nextNumber()), publicID: newPublicID(line.kind), user: leg.user, carrier: .leg(id),
                    codec: format.codec, mid: mids.take(line.kind))
                track.isMaster = isFirst
                track.profiles = RoomState.profiles(ofLayers: line.encodings.count)
                tracks.append(track)
                leg.lines.append(Line(plan: line, pick: .nothing, track: track.id))
                let spec = TrackSpec(
                    id: track.id, transport: leg.transports[line.transport].id, codec: format.codec,
                    payloadType: format.payloadType, rtxPayloadType: format.rtxPayloadType,
                    redPayloadType: format.redPayloadType, encodings: line.encodings, mid: line.mid,
                    extensions: line.extensions, feedback: format.feedback)
                effects.append(.post(.addTrack(spec)))
                effects.append(.notice(.published(user: leg.user, track: track.publicID, track.codec, tag: "")))
            }
        }
    }

    /// The n-th line of a kind takes the n-th pick that can be of that kind. Lines beyond the picks go on with the last
    /// one if it is a user, who may have more tracks.
    func pick(_ index: Int, of kind: MediaKind, among picks: [LegPick]) -> Pick {
        if picks.isEmpty { return .anyone }
        let possible = picks.compactMap { pick -> Pick? in
            switch pick {
            case .user(let user): .user(user)
            case .track(let id): RoomState.kind(ofPublicID: id) == kind ? .track(id) : nil
            }
        }
        if index < possible.count { return possible[index] }
        if case .user(let user)? = possible.last { return .user(user) }
        return .nothing
    }

    mutating func newPublicID(_ kind: MediaKind) -> String {
        let prefix = kind == .audio ? "a" : "v"
        return prefix + Base64URL.encode(random.bytes(12), padded: false).dropFirst()
    }

    static func kind(ofPublicID id: String) -> MediaKind? {
        switch id.first {
        case "a": .audio
        case "v": .video
        default: nil
        }
    }

    /// Takes tracks of one user out of the room; the lines that had them wait again, and their legs become hungry.
    mutating func unpublish(
        _ isGone: (Track) -> Bool, hungry: inout Set<LegID>, effects: inout [RoomEffect]
    ) {
        let gone = tracks.filter(isGone)
        guard let owner = gone.first?.user else { return }
        tracks.removeAll(where: isGone)
        let ids = Set(gone.map(\.id))
        for listener in sorted(Set(legs.keys)) {
            if silence(ids, at: listener, isHeld: false, effects: &effects) { hungry.insert(listener) }
        }
        for track in gone { mids.giveBack(track.mid, track.kind) }
        // In the media plane they go with their track.
        dropSubscriptions(to: gone.map(\.publicID), posting: false, effects: &effects)
        let removed = TracksRemoved(tracks: gone.map { TrackReference($0.publicID) })
        effects.append(.broadcast(.tracksRemoved(removed), except: members[owner]?.session?.link))
        for track in gone { effects.append(.notice(.unpublished(user: track.user, track: track.publicID))) }
    }

    /// Ends what the leg gets of these tracks. `isHeld`: its lines wait for just these. True: it lost one.
    mutating func silence(
        _ ids: Set<TrackID>, at leg: LegID, isHeld: Bool, effects: inout [RoomEffect]
    ) -> Bool {
        guard var state = legs[leg], state.kind == .receiving else { return false }
        var lost = false
        for index in state.lines.indices {
            if let held = state.lines[index].held, ids.contains(held) {
                state.lines[index].held = nil
                lost = true
            }
            guard let feed = state.lines[index].feed, ids.contains(feed.track) else { continue }
            state.lines[index].feed = nil
            if isHeld { state.lines[index].held = feed.track }
            effects.append(.post(.unsubscribe(feed.subscription)))
            lost = true
        }
        if lost { legs[leg] = state }
        return lost
    }

    mutating func feedAll(effects: inout [RoomEffect]) {
        for id in sorted(Set(legs.keys)) { feed(id, effects: &effects) }
    }

    /// Gives each waiting line of a receiving leg its track, if there is one.
    mutating func feed(_ id: LegID, effects: inout [RoomEffect]) {
        guard var leg = legs[id], leg.kind == .receiving else { return }
        for index in leg.lines.indices where leg.lines[index].feed == nil && leg.lines[index].held == nil {
            let line = leg.lines[index]
            guard let track = choice(for: line, of: leg.user, carried: leg.lines.compactMap { $0.feed?.track }),
                let format = line.plan.formats.first(where: { $0.codec == track.codec }),
                leg.transports.indices.contains(line.plan.transport)
            else { continue }
            let subscription = SubscriptionID(nextNumber())
            var rtx: SubscriptionSpec.Retransmission?
            if let ssrc = line.plan.promisedRTX, let payloadType = format.rtxPayloadType {
                rtx = SubscriptionSpec.Retransmission(ssrc: ssrc, payloadType: payloadType)
            }
            let spec = SubscriptionSpec(
                id: subscription, track: track.id, transport: leg.transports[line.plan.transport].id,
                ssrc: ssrc(ofLine: index, of: &leg), payloadType: format.payloadType, rtx: rtx,
                redPayloadType: format.redPayloadType,
                firstSequence: UInt16(truncatingIfNeeded: random.next()) & 0x7FFF,
                timestampOffset: UInt32(truncatingIfNeeded: random.next()),
                extensions: line.plan.extensions, allowsMixedExtensions: line.plan.allowsMixedExtensions,
                mid: line.plan.mid, feedback: format.feedback, layer: leg.layer)
            leg.lines[index].feed = Feed(subscription: subscription, track: track.id)
            leg.lines[index].lastUser = track.user
            effects.append(.post(.subscribe(spec)))
        }
        legs[id] = leg
    }

    /// The codec that each line of a receiving leg would get if it were added now, so that its answer can name that
    /// codec alone; `nil`: the line will wait.
    package func firstCodecs(of plan: LegPlan, for user: String) -> [Codec?] {
        var counts: [MediaKind: Int] = [:]
        var carried: [TrackID] = []
        return plan.lines.map { planned in
            let index = counts[planned.kind, default: 0]
            counts[planned.kind] = index + 1
            let line = Line(plan: planned, pick: pick(index, of: planned.kind, among: plan.picks))
            guard let track = choice(for: line, of: user, carried: carried) else { return nil }
            carried.append(track.id)
            return track.codec
        }
    }

    /// The first track, in publishing order, that the line wants and its leg does not carry yet; one of the user whom
    /// the line had last goes before.
    private func choice(for line: Line, of user: String, carried: [TrackID]) -> Track? {
        func isPossible(_ track: Track) -> Bool {
            !track.isMutedByServer
                && track.kind == line.plan.kind && track.user != user && !carried.contains(track.id)
                && line.plan.formats.contains { $0.codec == track.codec } && line.pick.accepts(track)
        }
        return line.lastUser.flatMap { last in tracks.first { $0.user == last && isPossible($0) } }
            ?? tracks.first(where: isPossible)
    }

    /// A line keeps its SSRC for the leg's life, whatever it carries: the media plane goes on in the same numbers, so that a player
    /// with one rollover counter and one decoder never notices that a publisher came back.
    private mutating func ssrc(ofLine index: Int, of leg: inout Leg) -> UInt32 {
        if let ssrc = leg.lines[index].ssrc { return ssrc }
        var ssrc = leg.lines[index].plan.promisedSSRC ?? 0
        while ssrc == 0 {
            let drawn = UInt32(truncatingIfNeeded: random.next())
            let isTaken = leg.lines.contains { $0.ssrc == drawn || $0.plan.promisedSSRC == drawn }
            if !isTaken, !leg.localSSRCs.contains(drawn) { ssrc = drawn }
        }
        leg.lines[index].ssrc = ssrc
        return ssrc
    }
}

extension RoomState.Pick {
    func accepts(_ track: RoomState.Track) -> Bool {
        switch self {
        case .anyone: true
        case .user(let user): track.user == user
        case .track(let id): track.publicID == id
        case .nothing: false
        }
    }
}

// MARK: - What the media plane reports

extension RoomState {
    package mutating func handle(_ event: MediaEvent, now: MediaTime, effects: inout [RoomEffect]) {
        settle(now, effects: &effects)
        switch event {
        case .transportConnected(let id, let address):
            if connected(id, now: now, effects: &effects) { return }
            update(id) {
                $0.isConnected = true
                $0.remote = address
            }
            heard(id, now: now)
        case .transportHeard(let id): heard(id, now: now)
        case .transportQuiet(let id): quiet(id, now: now, effects: &effects)
        case .transportSilent(let id):
            let reason = "nothing was heard of the client for too long"
            if disconnected(id, reason, now: now, effects: &effects) { return }
            silent(id, now: now, effects: &effects)
        case .transportUnreachable(let id): unreachable(id, now: now, effects: &effects)
        case .trackStarted(let id):
            if let index = tracks.firstIndex(where: { $0.id == id }) { tracks[index].hasStarted = true }
        case .subscriptionRefused(let id): refused(id, effects: &effects)
        case .transportFailed(let id, let failure):
            // A client that ends its own connection waits for no word about it.
            let reason = failure == .closedByPeer ? nil : "DTLS failed: \(failure.rawValue)"
            if disconnected(id, reason, now: now, effects: &effects) { return }
            if let leg = legOfTransport[id] {
                drop(leg, failure == .closedByPeer ? .left : .failed, now: now, effects: &effects)
            }
        case .layerChanged(let id, let layer): layerChanged(id, layer, effects: &effects)
        case .removed, .snapshot: break
        }
    }

    private mutating func update(_ id: TransportID, _ change: (inout Transport) -> Void) {
        guard let legID = legOfTransport[id], var leg = legs[legID],
            let index = leg.transports.firstIndex(where: { $0.id == id })
        else { return }
        change(&leg.transports[index])
        legs[legID] = leg
    }

    private mutating func heard(_ id: TransportID, now: MediaTime) {
        update(id) {
            $0.isConnected = true
            $0.isSilent = false
            $0.isUnreachable = false
        }
        if let leg = legOfTransport[id] { renew(leg, now: now) }
    }

    mutating func renew(_ id: LegID, now: MediaTime) {
        // Later only, so `leaseFloor` stays a lower bound.
        if let leaseEnd = legs[id]?.leaseEnd { legs[id]?.leaseEnd = max(leaseEnd, now + settings.legLease) }
    }

    /// A leg is gone when none of its transports is heard any more; a plain player need not be heard.
    private mutating func silent(_ id: TransportID, now: MediaTime, effects: inout [RoomEffect]) {
        update(id) { $0.isSilent = true }
        guard let legID = legOfTransport[id], let leg = legs[legID],
            leg.kind == .sending || leg.webRTC != nil, leg.transports.allSatisfy(\.isSilent)
        else { return }
        drop(legID, .silent, now: now, effects: &effects)
    }

    /// A receiving leg is gone when nobody listens at any address that we send to. The media plane reports that only after
    /// some seconds of refusals: a player may open its ports a little after it was told them.
    private mutating func unreachable(_ id: TransportID, now: MediaTime, effects: inout [RoomEffect]) {
        update(id) { $0.isUnreachable = true }
        guard let legID = legOfTransport[id], let leg = legs[legID], leg.kind == .receiving, leg.webRTC == nil else {
            return
        }
        let served = Set(leg.lines.filter { $0.feed != nil }.map(\.plan.transport))
        let isGone = leg.transports.indices.allSatisfy { leg.transports[$0].isUnreachable || !served.contains($0) }
        if isGone { drop(legID, .unreachable, now: now, effects: &effects) }
    }

    private mutating func refused(_ id: SubscriptionID, effects: inout [RoomEffect]) {
        if let listener = listeners.removeValue(forKey: id) {
            members[listener.user]?.session?.subscribing?.subscriptions[listener.track]?.subscription = nil
            effects.append(.notice(.subscriptionRefused(user: listener.user, id)))
            return
        }
        for (legID, leg) in legs {
            guard let index = leg.lines.firstIndex(where: { $0.feed?.subscription == id }) else { continue }
            legs[legID]?.lines[index].feed = nil
            effects.append(.notice(.subscriptionRefused(user: leg.user, id)))
            return
        }
    }
}
