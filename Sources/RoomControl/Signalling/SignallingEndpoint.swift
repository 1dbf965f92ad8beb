import MediaWire
package import RoomProtocol

/// The door for signalling: the HTTP step that changes a room token into an access token, and `auth` on the connection.
package struct SignallingEndpoint: Sendable {
    let apps: AppDirectory
    let directory: RoomDirectory
    let environment: RoomEnvironment
    let admission: Admission
    let signer: AccessToken.Signer
    /// How an `auth` went.
    let observe: @Sendable (ResultCode) -> Void

    package init(
        apps: AppDirectory, directory: RoomDirectory, environment: RoomEnvironment, admission: Admission,
        observe: @escaping @Sendable (ResultCode) -> Void = { _ in }
    ) {
        self.apps = apps
        self.directory = directory
        self.environment = environment
        self.admission = admission
        self.observe = observe
        var random = environment.random.part(0x5160)
        signer = AccessToken.Signer(using: &random)
    }

    /// Why the HTTP step refuses.
    package enum AccessRefusal: Error, Hashable, Sendable {
        case token(TokenError)
        /// The path or the query names another app, room or user than the token.
        case otherName(String)
        case banned
        /// The node takes no new joins.
        case draining
    }

    /// Gives the access token for a room token.
    ///
    /// - Parameter url: where the client is to open its WebSocket.
    package func access(
        app: String, room: String, user: String?, roomToken: String, url: String
    ) async throws(AccessRefusal) -> String {
        let token: RoomToken
        do {
            token = try RoomToken.verify(roomToken, apps: apps, unixTime: environment.clock.unixTime())
        } catch { throw .token(error) }
        if token.app != app { throw .otherName("the token is for another app than the path") }
        if token.room != room { throw .otherName("the token is for another room than the path") }
        if let user, token.user != user { throw .otherName("the token is for another user than the parameter user") }
        guard admission.isOpen else { throw .draining }
        if directory.isBanned(token.user, from: RoomKey(app: app, room: room)) { throw .banned }
        return signer.text(AccessToken(token: token, signallingURL: url))
    }

    /// A connection has opened.
    package func open(_ outlet: SignallingOutlet) -> SignallingSession {
        SignallingSession(endpoint: self, link: environment.population.nextLink(), outlet: outlet)
    }

    // MARK: auth

    /// Where a connection has come in.
    struct Entered: Sendable {
        let room: Room
        let user: String
    }

    /// Lets a user in, or back in. The answer to a success has left when this returns.
    func enter(
        _ request: AuthRequest, link: LinkID, outlet: SignallingOutlet
    ) async throws(Refused) -> Entered {
        let access: AccessToken
        do { access = try signer.read(request.token) } catch { throw Refused(.tokenInvalid, error.message("access")) }
        let key = RoomKey(app: access.token.app, room: access.token.room)
        if let token = request.reconnectToken, token != 0 {
            return try await resume(request, access.token, key, reconnectToken: token, link: link, outlet: outlet)
        }
        guard environment.clock.unixTime() <= access.token.expiresAt else {
            throw Refused(.tokenExpired, "the room token has expired")
        }
        guard let app = apps.app(key.app) else { throw Refused(.tokenInvalid, "the app does not exist any more") }
        guard admission.isOpen else {
            throw Refused(.serverUnavailable, "this node is being drained; join on another one")
        }
        let data = request.playerData ?? ""
        if data.utf8.count > environment.limits.userDataBytes {
            throw Refused(.invalidParameter, "playerdata has at most \(environment.limits.userDataBytes) bytes")
        }
        if environment.population.users >= environment.limits.users {
            throw Refused(.tooManyOperations, "the node has its \(environment.limits.users) users")
        }
        let privileges = try request.privileges.map { list throws(Refused) in try Room.privileges(list) }
        var entry = SessionEntry(
            user: access.token.user, permission: access.token.permission,
            privileges: privileges ?? [.publish, .subscribe], userData: data,
            isMulticodec: request.multicodec ?? false)
        if directory.isBanned(access.token.user, from: key) { throw RoomRefusal.banned.refused }
        // What can be refused is refused before there is a room for it.
        let codec = await directory.room(key)?.settings.videoCodec ?? app.settings.videoCodec
        entry.profile = try SignallingEndpoint.profile(request.capabilitiesSDP, codec)
        // A room that closes between being found and being entered is over: the next try makes another.
        for _ in 0..<8 {
            let room = try await room(key, app: app)
            if room.settings.videoCodec != codec {
                do throws(Refused) {
                    entry.profile = try SignallingEndpoint.profile(
                        request.capabilitiesSDP, room.settings.videoCodec)
                } catch {
                    await room.joinFailed()
                    throw error
                }
            }
            do throws(RoomRefusal) {
                try await room.join(entry, rpcid: request.rpcid, link: link, outlet: outlet)
            } catch {
                guard error == .closed else { throw error.refused }
                await directory.forget(room.instance)
                continue
            }
            // What closed all rooms meanwhile may not have seen this one.
            if apps.app(key.app) == nil {
                await room.close(.deleted, "the app was deleted")
            } else if admission.state == .stopping {
                await room.close(.nodeStopping, "the server is stopping")
            }
            return Entered(room: room, user: entry.user)
        }
        throw Refused(.serverUnavailable, "the room closes as fast as it opens; try again")
    }

    private func resume(
        _ request: AuthRequest, _ token: RoomToken, _ key: RoomKey, reconnectToken: Int, link: LinkID,
        outlet: SignallingOutlet
    ) async throws(Refused) -> Entered {
        // Whatever is wrong with a resume, only these codes end the client's attempts.
        guard let room = await directory.room(key) else { throw RoomRefusal.noSession.refused }
        // What the client showed at its join still holds if this cannot be read.
        let profile = (try? SignallingEndpoint.profile(request.capabilitiesSDP, room.settings.videoCodec)) ?? nil
        do throws(RoomRefusal) {
            try await room.resume(
                token.user, token: reconnectToken, messageSerial: request.messageSerial, profile: profile,
                rpcid: request.rpcid, link: link, outlet: outlet)
        } catch { throw RoomRefusal.noSession.refused }
        return Entered(room: room, user: token.user)
    }

    private func room(_ key: RoomKey, app: App) async throws(Refused) -> Room {
        if app.settings.noAutoCreateRoom {
            guard let room = await directory.room(key) else {
                throw Refused(.roomNotExist, "there is no such room, and the app makes none on demand")
            }
            return room
        }
        guard let room = await directory.room(key, creatingWith: app.settings) else {
            throw Refused(.tooManyOperations, "the node has its \(environment.limits.rooms) rooms")
        }
        return room
    }

    /// `nil`: the client showed nothing, and has no media.
    private static func profile(_ sdp: String?, _ videoCodec: Codec) throws(Refused) -> ClientMediaProfile? {
        guard let sdp else { return nil }
        do { return try ClientCapabilities.capabilities(of: sdp, videoCodec: videoCodec) } catch {
            throw error.refused
        }
    }
}

extension RoomRefusal {
    /// As signalling says it.
    package var refused: Refused {
        switch self {
        case .full: Refused(.roomFull, "the room is full")
        case .alreadyJoined: Refused(.userAlreadyExists, "the user is in the room, and the app does not replace it")
        case .closed: Refused(.roomInstanceClosed, "the room is closed")
        case .noSession: Refused(.reconnectTokenInvalid, "the session is over; join again")
        case .banned: Refused(.noPermission, "the user is banned from the room")
        case .notPermitted: Refused(.noPermission, "this permission was taken from the user")
        }
    }
}
