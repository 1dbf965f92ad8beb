import MediaWire
import RoomControl
import RoomProtocol
import WebTransport

/// What the server API can do beyond the vendor's: look into a room, mute, speak, change permissions, ban. docs/openapi.yaml
/// describes it.
struct ModerationRoutes: Sendable {
    let gate: ServerGate
    let directory: RoomDirectory
    /// See `NodeServices.Settings`.
    let sessionPrefix: String
    /// Takes a line for whoever runs the node.
    let log: @Sendable (String) -> Void

    private struct Empty: Encodable {}

    func add(to router: inout Router) {
        let room = "/v3/apps/:app/rooms/:room"
        router.on("GET", room) { request in
            await gate.forRoom(of: request) { await details(of: $1) }
        }
        router.on("POST", room + "/tracks/:track/mute") { request in
            await changing(request) { (key, body) throws(RequestBody.Problem) in
                try await mute(request.parameter("track"), key, body)
            }
        }
        router.on("POST", room + "/messages") { request in
            await changing(request) { (key, body) throws(RequestBody.Problem) in try await send(key, body) }
        }
        for method in ["PATCH", "POST"] {
            router.on(method, room + "/users/:user") { request in
                await changing(request) { (key, body) throws(RequestBody.Problem) in
                    try await change(request.parameter("user"), key, body)
                }
            }
        }
        router.on("GET", room + "/bans") { request in
            await gate.forRoom(of: request) { listBans(of: $1) }
        }
        router.on("POST", room + "/bans") { request in
            await changing(request) { (key, body) throws(RequestBody.Problem) in try await ban(key, body) }
        }
        router.on("DELETE", room + "/bans/:user") { request in
            await gate.forRoom(of: request) { await unban(request.parameter("user"), $1) }
        }
    }

    /// Reads the body for somebody who may ask.
    private func changing(
        _ request: RoutedRequest, _ body: (RoomKey, RequestBody) async throws(RequestBody.Problem) -> HTTPResponse
    ) async -> HTTPResponse {
        await gate.forRoom(of: request) { _, key in
            do throws(RequestBody.Problem) {
                return try await body(key, try RequestBody(request.http))
            } catch { return Answer.problem(error) }
        }
    }

    // MARK: Looking

    private func details(of key: RoomKey) async -> HTTPResponse {
        guard let room = await directory.room(key) else { return Answer.roomNotActive }
        let details = await room.overview()
        // It may have closed at this very moment.
        guard await !room.isClosed else { return Answer.roomNotActive }
        return Answer.json(RoomBody(details, sessionPrefix: sessionPrefix))
    }

    // MARK: Tracks

    private func mute(
        _ track: String, _ key: RoomKey, _ body: RequestBody
    ) async throws(RequestBody.Problem) -> HTTPResponse {
        guard Names.isRoomName(track) else { return Answer.badName("the track's id", longest: 64) }
        guard let isMuted = try body.flag("muted") else {
            throw RequestBody.Problem(message: "muted must be true or false, and is missing")
        }
        return switch await directory.room(key)?.mute(track: track, isMuted) ?? .roomClosed {
        case .done(let track): Answer.json(RoomBody.Track(track))
        case .notFound: Answer.error(612, "track not found", code: ResultCode.publishNotExist.rawValue)
        case .roomClosed: Answer.roomNotActive
        }
    }

    // MARK: Messages

    private func send(_ key: RoomKey, _ body: RequestBody) async throws(RequestBody.Problem) -> HTTPResponse {
        struct Sent: Encodable { var msgsn: Int }
        let limits = directory.limits
        guard let text = try body.text("text", upTo: limits.messageBytes), !text.isEmpty else {
            throw RequestBody.Problem(message: "text must be a string that is not empty")
        }
        let id = try body.text("msgid", upTo: limits.messageIDBytes) ?? ""
        let targets = try body.texts("target", atMost: limits.usersPerRoom, eachUpTo: 50)
        let sender = try body.text("sender", upTo: 50) ?? ""
        guard sender.isEmpty || Names.isUserID(sender) else { return Answer.badName("sender", longest: 50) }
        guard targets?.allSatisfy({ Names.isUserID($0) }) ?? true else {
            return Answer.badName("each user in target", longest: 50)
        }
        // To nobody is not to everybody.
        guard targets?.isEmpty != true else {
            throw RequestBody.Problem(message: "target must name somebody; leave it out for everybody")
        }
        do throws(Refused) {
            let message = SendMessage(messageID: id, target: targets, text: text)
            return switch try await directory.room(key)?.sendMessage(message, sender: sender) ?? .roomClosed {
            case .sent(let serial): Answer.json(Sent(msgsn: serial))
            case .nobody:
                Answer.error(612, "user not found: nobody in target is in the room by signalling", code: 10021)
            case .senderIsPresent:
                Answer.error(
                    409, "sender is the name of a user who is in the room, and has not said this", code: 10022)
            case .roomClosed: Answer.roomNotActive
            }
        } catch { throw RequestBody.Problem(message: error.text) }
    }

    // MARK: Users

    private func change(
        _ user: String, _ key: RoomKey, _ body: RequestBody
    ) async throws(RequestBody.Problem) -> HTTPResponse {
        guard Names.isUserID(user) else { return Answer.badName("the user's name", longest: 50) }
        var permission: RoomToken.Permission?
        if let name = try body.text("permission", upTo: 16) {
            permission = RoomToken.Permission(rawValue: name)
            guard permission != nil else { throw RequestBody.Problem(message: "permission must be admin or user") }
        }
        var granted: Set<Privilege>?
        if let names = try body.texts("privileges", atMost: 16, eachUpTo: 16) {
            granted = []
            // A form has no empty list: one empty value stands for it.
            for name in names where !(names.count == 1 && name.isEmpty) {
                guard let privilege = Privilege(rawValue: name) else {
                    throw RequestBody.Problem(message: "privileges must be a list of publish and subscribe")
                }
                granted?.insert(privilege)
            }
        }
        guard permission != nil || granted != nil else {
            throw RequestBody.Problem(message: "the body must have permission or privileges")
        }
        guard let room = await directory.room(key) else { return Answer.roomNotActive }
        do throws(Refused) {
            return switch try await room.setPermissions(of: user, permission: permission, granted: granted) {
            case .done(let user): Answer.json(RoomBody.User(user))
            case .notFound: Answer.error(612, "user not found")
            case .roomClosed: Answer.roomNotActive
            }
        } catch { return Answer.error(409, error.text, code: error.code.rawValue) }
    }

    // MARK: Bans

    private func listBans(of key: RoomKey) -> HTTPResponse {
        let bans = directory.bans.bans(of: key, unixTime: gate.clock.unixTime())
        return Answer.json(BanListBody(bans: bans.map { BanBody($0) }))
    }

    private func ban(_ key: RoomKey, _ body: RequestBody) async throws(RequestBody.Problem) -> HTTPResponse {
        guard let user = try body.text("userId", upTo: 256), Names.isUserID(user) else {
            return Answer.badName("userId", longest: 50)
        }
        guard let seconds = try body.number("seconds", in: BanBody.seconds, of: "seconds") else {
            throw RequestBody.Problem(message: "seconds, how long the ban holds, is missing")
        }
        let reason = try body.text("reason", upTo: RoomRoutes.reasonBytes) ?? ""
        let ban = Ban(room: key, user: user, until: gate.clock.unixTime() + seconds, reason: reason)
        do throws(BanTable.Refusal) {
            let outcome = try await directory.ban(ban)
            // Deleted meanwhile, the app has forgotten its bans already, perhaps before there was this one.
            guard gate.apps.app(key.app) != nil else {
                directory.bans.forget(app: key.app)
                return Answer.noSuchApp
            }
            return switch outcome {
            case .done: Answer.json(BanBody(ban, removed: true))
            case .noSuchUser, .roomClosed: Answer.json(BanBody(ban, removed: false))
            case .pending:
                Answer.error(503, "the ban holds; the removal is pending: its worker has not confirmed it yet")
            }
        } catch {
            switch error {
            case .tooMany(let limit):
                return Answer.error(429, "there are \(limit) bans, the most there may be", code: 10055)
            case .store(let cause): return unsaved(cause)
            }
        }
    }

    private func unban(_ user: String, _ key: RoomKey) async -> HTTPResponse {
        guard Names.isUserID(user) else { return Answer.badName("the user's name", longest: 50) }
        do throws(StoreError) {
            return try await directory.unban(user, from: key)
                ? Answer.json(Empty()) : Answer.error(612, "ban not found")
        } catch { return unsaved(error) }
    }

    private func unsaved(_ cause: StoreError) -> HTTPResponse {
        // The cause names files of the machine: it is for the log.
        log("a ban was not saved: \(cause.message)")
        return Answer.error(503, "the node could not save the change; nothing has changed", code: 10052)
    }
}

extension Answer {
    static var roomNotActive: HTTPResponse { error(615, "room not active") }
}
