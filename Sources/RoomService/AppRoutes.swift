import RoomControl
import WebTransport

/// The server API's rows about apps: make, look at, change, list, remove.
struct AppRoutes: Sendable {
    let gate: ServerGate
    /// Where apps' events may go.
    let callbacks: WebhookAllowList
    /// Ends all rooms of an app that is no more.
    let closeRooms: @Sendable (_ app: String) async -> Void
    /// Takes a line for whoever runs the node.
    let log: @Sendable (String) -> Void

    private var apps: AppDirectory { gate.apps }

    func add(to router: inout Router) {
        router.on("POST", "/v3/apps") { request in
            await gate.forKey(of: request) { create(request.http, $0) }
        }
        router.on("GET", "/v3/apps") { request in
            await gate.forKey(of: request) { list($0) }
        }
        router.on("GET", "/v3/apps/:app") { request in
            await gate.forOwner(of: request) { Answer.json(AppBody($0)) }
        }
        router.on("POST", "/v3/apps/:app") { request in
            await gate.forKey(of: request) { update(request.parameter("app"), request.http, $0) }
        }
        router.on("DELETE", "/v3/apps/:app") { request in
            await gate.forKey(of: request) { await delete(request.parameter("app"), $0) }
        }
    }

    private func create(_ request: HTTPRequest, _ key: AccessKey) -> HTTPResponse {
        var random = RandomSource.system
        do throws(RequestBody.Problem) {
            let changes = try RequestBody(request).appChanges(callbacks: callbacks)
            do throws(AppError) {
                return Answer.json(
                    AppBody(
                        try apps.create(changes, ownedBy: key, unixTime: gate.clock.unixTime(), random: &random)))
            } catch { return refusal(error) }
        } catch { return Answer.problem(error) }
    }

    private func update(_ id: String, _ request: HTTPRequest, _ key: AccessKey) -> HTTPResponse {
        do throws(RequestBody.Problem) {
            let changes = try RequestBody(request).appChanges(callbacks: callbacks)
            do throws(AppError) {
                return Answer.json(
                    AppBody(try apps.update(id, changes, ownedBy: key, unixTime: gate.clock.unixTime())))
            } catch { return refusal(error) }
        } catch {
            // Whether the app exists comes first: the body of a request for no app says nothing.
            return apps.app(id, ownedBy: key) == nil ? Answer.noSuchApp : Answer.problem(error)
        }
    }

    /// When it answers, nobody can join the app's rooms any more, and they are closed.
    private func delete(_ id: String, _ key: AccessKey) async -> HTTPResponse {
        struct Body: Encodable {}
        do throws(AppError) { try apps.delete(id, ownedBy: key) } catch { return refusal(error) }
        await closeRooms(id)
        return Answer.json(Body())
    }

    private func list(_ key: AccessKey) -> HTTPResponse {
        struct Body: Encodable { var apps: [AppBody] }
        return Answer.json(Body(apps: apps.apps(ownedBy: key).map(AppBody.init)))
    }

    private func refusal(_ error: AppError) -> HTTPResponse {
        switch error {
        case .notFound: return Answer.noSuchApp
        case .ownedByConfiguration: return Answer.error(403, error.message, code: 10051)
        case .tooMany: return Answer.error(429, error.message, code: 10055)
        case .store(let cause):
            // The cause names files of the machine: it is for the log.
            log("an app was not saved: \(cause.message)")
            return Answer.error(503, "the node could not save the change; nothing has changed", code: 10052)
        }
    }
}
