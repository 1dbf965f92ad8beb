import RoomControl
import WebTransport

/// The server API's rows that make and close rooms.
struct RoomRoutes: Sendable {
    let gate: ServerGate
    let directory: RoomDirectory
    let saved: SavedRooms
    let admission: Admission
    /// Takes a line for whoever runs the node.
    let log: @Sendable (String) -> Void

    func add(to router: inout Router) {
        router.on("POST", "/v3/apps/:app/createroom") { request in
            await gate.forOwner(of: request) { await create($0, request.http) }
        }
        router.on("DELETE", "/v3/apps/:app/rooms/:room") { request in
            await gate.forRoom(of: request) { await close($1, request.http) }
        }
    }

    private func create(_ app: App, _ request: HTTPRequest) async -> HTTPResponse {
        struct Body: Encodable {
            var status = "OK"
            /// The room's name, which is what every other request calls it by.
            var roomId: String
        }
        let name: String?
        let settings: RoomSettings
        do throws(RequestBody.Problem) {
            let body = try RequestBody(request)
            name = try body.text("roomName", upTo: 64)
            settings = try body.roomSettings()
        } catch { return Answer.problem(error) }
        guard let name, Names.isRoomName(name) else { return Answer.badName("roomName", longest: 64) }
        guard admission.isOpen else { return Refusal.draining }
        let key = RoomKey(app: app.id, room: name)
        do throws(StoreError) {
            switch try await saved.create(key, settings, of: app, in: directory, unixTime: gate.clock.unixTime()) {
            case .created:
                // Deleted meanwhile, the app has closed its rooms already, perhaps before this one was there.
                guard gate.apps.app(app.id) != nil else {
                    await directory.closeAll(app: app.id, .deleted, "the app was deleted")
                    return Answer.noSuchApp
                }
                return Answer.json(Body(roomId: name))
            case .exists:
                return Answer.error(
                    409, "the room \(name) exists, with the settings it has; close it first to make it anew",
                    code: 10053)
            case .tooManyRooms:
                return Answer.error(503, "the node has all the rooms that it may have", code: 10055)
            }
        } catch {
            log("a room was not saved: \(error.message)")
            return Answer.error(503, "the node could not save the room; there is none", code: 10052)
        }
    }

    /// Bytes of the sentence that everybody is told.
    static let reasonBytes = 256

    /// Everybody in the room gets `disconnect` with 10005, and the sentence that the request gives as `reason`.
    private func close(_ key: RoomKey, _ request: HTTPRequest) async -> HTTPResponse {
        struct Body: Encodable {}
        let reason: String
        do throws(RequestBody.Problem) { reason = try self.reason(request) } catch { return Answer.problem(error) }
        guard let room = await directory.room(key), await !room.isClosed else {
            return Answer.roomNotActive
        }
        await room.close(.deleted, reason.isEmpty ? "the room was closed by the app's back end" : reason)
        return Answer.json(Body())
    }

    /// In the query or in the body; empty: none.
    private func reason(_ request: HTTPRequest) throws(RequestBody.Problem) -> String {
        let values = request.queryItems.filter { $0.name == "reason" }.map(\.value)
        let body = try RequestBody(request).text("reason", upTo: Self.reasonBytes)
        guard values.count + (body == nil ? 0 : 1) <= 1 else {
            throw RequestBody.Problem(message: "reason is given more than once")
        }
        let reason = body ?? values.first ?? ""
        guard reason.utf8.count <= Self.reasonBytes else {
            throw RequestBody.Problem(message: "reason must have \(Self.reasonBytes) bytes of UTF-8 at most")
        }
        return reason
    }
}
