package import MediaContract
package import MediaWire

/// The door for legs: a token and an offer in, an answer and a leg out.
package struct JoinEndpoint: Sendable {
    private let apps: AppDirectory
    private let directory: RoomDirectory
    private let environment: RoomEnvironment
    private let settings: Current<PlainLegSettings>
    private let admission: Admission

    package init(
        apps: AppDirectory, directory: RoomDirectory, environment: RoomEnvironment, settings: Current<PlainLegSettings>,
        admission: Admission = Admission()
    ) {
        self.apps = apps
        self.directory = directory
        self.environment = environment
        self.settings = settings
        self.admission = admission
    }

    /// What a client asks for.
    package struct Request: Sendable {
        /// As `verify` gave it.
        package var token: RoomToken
        package var kind: LegKind
        package var offer: String
        package var picks: [LegPick]
        /// Playing: which layer of simulcast tracks.
        package var layer = LayerPreference.high
        /// Where the HTTP request came from; a playing leg's media goes to no other host.
        package var client: TransportAddress

        package init(
            token: RoomToken, kind: LegKind, offer: String, picks: [LegPick] = [], client: TransportAddress
        ) {
            self.token = token
            self.kind = kind
            self.offer = offer
            self.picks = picks
            self.client = client
        }
    }

    /// Lets a user in with a leg, or says why not; then nothing of it stays behind.
    package func join(_ request: Request) async throws(JoinRefusal) -> JoinedLeg {
        let token = request.token
        guard admission.isOpen else { throw .draining }
        if request.picks.contains(.user(token.user)) { throw .ownUser }
        let leg = try read(request, of: token.user)
        guard let app = apps.app(token.app) else { throw .token(.unknownApp) }
        let key = RoomKey(app: token.app, room: token.room)
        if directory.isBanned(token.user, from: key) { throw .room(.banned) }
        if environment.population.users >= environment.limits.users { throw .tooManyUsers }
        // A room that closes between being found and being entered is over: the next try makes another. More than a
        // few in a row means that joins fail faster than they come in.
        for _ in 0..<8 {
            let room: Room
            if app.settings.noAutoCreateRoom {
                guard let found = await directory.room(key) else { throw .noSuchRoom }
                room = found
            } else {
                guard let found = await directory.room(key, creatingWith: app.settings) else { throw .tooManyRooms }
                room = found
            }
            do throws(JoinRefusal) {
                let joined = try await room.join(leg)
                // What closed all rooms meanwhile may not have seen this one.
                if apps.app(token.app) == nil {
                    await room.close(.deleted, "the app was deleted")
                } else if admission.state == .stopping {
                    await room.close(.nodeStopping, "the server is stopping")
                }
                return joined
            } catch .room(.closed) {
                await directory.forget(room.instance)
            }
        }
        throw .room(.closed)
    }

    /// The offer, read and checked for what the node allows.
    private func read(_ request: Request, of user: String) throws(JoinRefusal) -> LegRequest {
        let offer: PlainOffer
        do {
            let purpose: LegPurpose = request.kind == .sending ? .publish : .play
            switch try Negotiator.read(request.offer, purpose: purpose, client: request.client) {
            case .webRTC(let webRTC):
                return .webRTC(
                    WebRTCLegRequest(
                        user: user, kind: request.kind, offer: webRTC, picks: request.picks, layer: request.layer))
            case .plain(let plain): offer = plain
            }
        } catch { throw .offer(error) }
        let settings = settings.value
        guard settings.areAllowed else { throw .plainLegsOff }
        guard let announced = settings.announcedAddress(ipv6: offer.isIPv6, client: request.client) else {
            throw .noAddress(ipv6: offer.isIPv6)
        }
        for plan in offer.transports {
            guard case .known(let rtp, let rtcp) = plan.remote,
                let own = [rtp, rtcp].first(where: settings.isOwn)
            else { continue }
            throw .offer(
                NegotiationError(
                    .notAcceptable, reason: "\(own) is the node's own port; name the one on which the client listens"))
        }
        return .plain(
            PlainLegRequest(
                user: user, kind: request.kind, offer: offer, picks: request.picks, announced: announced))
    }

    /// Checks a room token against the node's apps and clock.
    package func verify(_ token: String) throws(JoinRefusal) -> RoomToken {
        do {
            return try RoomToken.verify(token, apps: apps, unixTime: environment.clock.unixTime())
        } catch { throw .token(error) }
    }

    /// Checks the room token of somebody who is in with a leg: whose it is, and not how long it opens the door. A token is for
    /// coming in; what came in can be ended and restarted for as long as it lives.
    package func identify(_ token: String) throws(JoinRefusal) -> RoomToken {
        do { return try RoomToken.read(token, apps: apps) } catch { throw .token(error) }
    }

    /// How ending a leg went.
    package enum RemovalOutcome: Hashable, Sendable {
        case removed, noSuchLeg, notYours
    }

    /// Ends a leg for the user to whom it belongs.
    ///
    /// - Parameter token: as `identify` gave it.
    package func removeLeg(_ id: LegID, _ kind: LegKind, token: RoomToken) async -> RemovalOutcome {
        guard let room = await directory.room(id.room), let owner = await room.owner(of: id), owner.kind == kind else {
            return .noSuchLeg
        }
        guard room.key == RoomKey(app: token.app, room: token.room), owner.user == token.user else { return .notYours }
        return await room.removeLeg(id) ? .removed : .noSuchLeg
    }

    /// How a PATCH went.
    package enum ChangeOutcome: Hashable, Sendable {
        case done(Room.ICEOutcome)
        case noSuchLeg, notYours
    }

    /// A fragment for the ICE session of a leg, by the user to whom it belongs.
    ///
    /// - Parameters:
    ///   - entityTags: of the ICE sessions that it is good for; `nil`: it begins a new one.
    ///   - token: as `identify` gave it.
    package func changeICE(
        of id: LegID, _ kind: LegKind, _ fragment: TrickleFragment, entityTags: [String]?, token: RoomToken
    ) async -> ChangeOutcome {
        guard let room = await directory.room(id.room), let owner = await room.owner(of: id), owner.kind == kind else {
            return .noSuchLeg
        }
        guard room.key == RoomKey(app: token.app, room: token.room), owner.user == token.user else { return .notYours }
        return .done(await room.changeICE(of: id, fragment, entityTags: entityTags))
    }

    /// What a leg is doing; renews its lease.
    package func visitLeg(_ id: LegID, _ kind: LegKind) async -> LegVisit? {
        guard let room = await directory.room(id.room), let visit = await room.visitLeg(id), visit.status.kind == kind
        else { return nil }
        return LegVisit(room: room.key, status: visit.status, figures: visit.figures)
    }
}

/// A leg's state with the figures of its worker.
package struct LegVisit: Sendable {
    package var room: RoomKey
    package var status: LegStatus
    package var figures: MediaSnapshot?
}

/// A leg that is in.
package struct JoinedLeg: Sendable {
    package var id: LegID
    package var room: RoomKey
    /// The SDP answer. It holds keys.
    package var answer: String
    /// Of its ICE session (RFC 9725, section 4.3.1); `nil`: a plain leg has none.
    package var entityTag: String?
}

/// Why a leg is not let in.
package enum JoinRefusal: Error, Hashable, Sendable {
    case token(TokenError)
    /// The node takes no newcomers: it is about to end.
    case draining
    /// The configuration does not allow plain legs.
    case plainLegsOff
    case offer(NegotiationError)
    case room(RoomRefusal)
    /// It does not exist, and the app does not make rooms on demand.
    case noSuchRoom
    /// The node has all the rooms, or all the users, that it may have.
    case tooManyRooms, tooManyUsers
    /// A user cannot receive itself.
    case ownUser
    /// The range of plain ports is used up.
    case noPorts
    /// The node has no WebRTC candidate to give.
    case noCandidates
    /// The node announces no address of that family.
    case noAddress(ipv6: Bool)
}
