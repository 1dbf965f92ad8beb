import Foundation
import MediaWire
import RoomControl
import RoomService
import RoomTestKit
import Testing
import WebTransport

/// Rooms that the server API makes and closes.
@Suite struct RoomRouteTests {
    static let json: HTTPFields = ["Content-Type": "application/json"]

    func create(
        _ node: ServiceFixture, _ body: String, app: String = "demo", key: AccessKey = ServiceFixture.key
    ) async -> HTTPResponse {
        await node.server("POST", "/v3/apps/\(app)/createroom", key: key, headers: Self.json, body: body)
    }

    func rooms(_ node: ServiceFixture) async -> [String] {
        await node.directory.list(app: "demo", prefix: "", offset: 0, limit: 100).rooms
    }

    /// The body of the vendor's Java SDK.
    @Test func roomsComeAndGo() async throws {
        let store = try AppStore.inMemory()
        let node = try ServiceFixture.with(store)
        let body =
            #"{"roomName":"r1","maxUsers":2,"autoCloseTtlS":30,"noEntreTtlS":3600,"openRoom":true,"videoCodec":"H264"}"#
        let made = await create(node, body)
        #expect(made.status == 200 && made.text == #"{"roomId":"r1","status":"OK"}"#, "\(made.text)")
        #expect(await rooms(node) == ["r1"])
        let settings = try #require(await node.directory.room(RoomKey(app: "demo", room: "r1"))).settings
        #expect(settings.maxUsers == 2 && settings.autoCloseTtl == .seconds(30))
        #expect(settings.noEnterTtl == .seconds(3600) && settings.videoCodec == .h264)
        #expect(settings.userTimeout == .seconds(30), "the rest is the app's")
        #expect(try store.rooms().map(\.key.room) == ["r1"])

        let again = await create(node, body)
        #expect(again.status == 409 && again.refusal?.code == 10053)

        // Its own rules hold: two users, and no more.
        for user in ["a", "b"] { _ = try await node.leg("/whip", as: user, room: "r1") }
        #expect(await node.post("/whip", as: "c", room: "r1").status == 403)

        let closed = await node.server("DELETE", "/v3/apps/demo/rooms/r1")
        #expect(closed.status == 200 && closed.text == "{}")
        #expect(await rooms(node) == [])
        node.saved.forgetEnded()
        #expect(try store.rooms().isEmpty)
        let gone = await node.server("DELETE", "/v3/apps/demo/rooms/r1")
        #expect(gone.status == 615 && gone.refusal?.error == "room not active")
        #expect(await create(node, body).status == 200, "the name is free")
    }

    @Test func defaultsAndForms() async throws {
        let node = ServiceFixture { $0.maxUsers = 5 }
        #expect(await create(node, #"{"roomName":"r","maxUsers":0,"autoCloseTtlS":0,"noEntreTtlS":0}"#).status == 200)
        let settings = try #require(await node.directory.room(RoomKey(app: "demo", room: "r"))).settings
        #expect(settings.maxUsers == 5 && settings.autoCloseTtl == .seconds(10) && settings.noEnterTtl == .seconds(30))
        let form = await node.server(
            "POST", "/v3/apps/demo/createroom", headers: ["Content-Type": "application/x-www-form-urlencoded"],
            body: "roomName=form&noEnterTtlS=77&openRoom=True")
        #expect(form.status == 200, "\(form.text)")
        let other = try #require(await node.directory.room(RoomKey(app: "demo", room: "form"))).settings
        #expect(other.noEnterTtl == .seconds(77))
    }

    @Test(arguments: [
        ("{}", "roomName"), (#"{"roomName":""}"#, "roomName"), (#"{"roomName":"a b"}"#, "roomName"),
        (#"{"roomName":7}"#, "roomName"), (#"{"roomName":"r","maxUsers":"x"}"#, "maxUsers"),
        (#"{"roomName":"r","autoCloseTtlS":-1}"#, "autoCloseTtlS"),
        (#"{"roomName":"r","noEntreTtlS":604801}"#, "noEntreTtlS"),
        (#"{"roomName":"r","noEnterTtlS":"1"}"#, "noEnterTtlS"), (#"{"roomName":"r","openRoom":"yes"}"#, "openRoom"),
        (#"{"roomName":"r","videoCodec":"opus"}"#, "videoCodec"), ("[]", "the body"), ("", "roomName"),
    ])
    func wrongBodies(_ body: String, _ field: String) async throws {
        let store = try AppStore.inMemory()
        let node = try ServiceFixture.with(store)
        let answer = await create(node, body)
        #expect(answer.status == 400 && answer.refusal?.code == 10053)
        #expect(answer.refusal?.error.hasPrefix(field) == true, "\(answer.text)")
        #expect(await rooms(node) == [])
        #expect(try store.rooms().isEmpty)
    }

    @Test func roomsOfOthers() async throws {
        let node = ServiceFixture()
        #expect(await create(node, #"{"roomName":"r"}"#, key: ServiceFixture.theirKey).status == 612)
        #expect(await create(node, #"{"roomName":"r"}"#, app: "nowhere").status == 612)
        #expect(await create(node, #"{"roomName":"r"}"#).status == 200)
        #expect(await node.server("DELETE", "/v3/apps/demo/rooms/r", key: ServiceFixture.theirKey).status == 612)
        #expect(await node.server("DELETE", "/v3/apps/demo/rooms/a%20b").status == 400)
        #expect(await rooms(node) == ["r"])
    }

    @Test func noRoomsWhileDraining() async throws {
        let node = ServiceFixture()
        node.admission.beginDrain(deadline: nil)
        let answer = await create(node, #"{"roomName":"r"}"#)
        #expect(answer.status == 503 && answer.headers["Retry-After"] != nil)
        #expect(await rooms(node) == [])
    }

    /// An app without rooms on demand: the server's rooms are the only ones, as long as they wait.
    @Test func roomsThatNobodyEnters() async throws {
        let store = try AppStore.inMemory()
        let node = try ServiceFixture.with(store) { $0.noAutoCreateRoom = true }
        #expect(await node.post("/whip", as: "a", room: "r").status == 404)
        #expect(await create(node, #"{"roomName":"r"}"#).status == 200)
        await node.clock.advance(by: .seconds(29))
        #expect(await rooms(node) == ["r"])
        await node.clock.advance(by: .seconds(2))
        #expect(await rooms(node) == [])
        node.saved.forgetEnded()
        #expect(try store.rooms().isEmpty)
        #expect(await create(node, #"{"roomName":"r"}"#).status == 200)
        _ = try await node.leg("/whip", as: "a", room: "r")
    }

    /// Making a room and the end of the node meet anywhere: what was answered 200 is written down.
    @Test func whatIsMadeWhileTheNodeStopsIsKept() async throws {
        for _ in 0..<40 {
            let store = try AppStore.inMemory()
            let node = try ServiceFixture.with(store)
            let made = await withTaskGroup(of: String?.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        await create(node, #"{"roomName":"r\#(number)"}"#).status == 200 ? "r\(number)" : nil
                    }
                }
                group.addTask {
                    await node.directory.closeAll()
                    return nil
                }
                return await group.reduce(into: Set<String>()) { made, name in if let name { made.insert(name) } }
            }
            await node.directory.closeAll()
            node.saved.forgetEnded()
            #expect(try made.isSubset(of: store.rooms().map(\.key.room)))
        }
    }

    @Test func aRoomOutlivesTheNode() async throws {
        let store = try AppStore.inMemory()
        let app: String
        do {
            let node = try ServiceFixture.with(store)
            let made = await node.server("POST", "/v3/apps", headers: Self.json, body: #"{"maxUsers":9}"#)
            app = try made.decoded(AppRouteTests.AppObject.self).appId
            #expect(await create(node, #"{"roomName":"kept","noEntreTtlS":600}"#, app: app).status == 200)
            #expect(await create(node, #"{"roomName":"closed"}"#, app: app).status == 200)
            #expect(await node.server("DELETE", "/v3/apps/\(app)/rooms/closed").status == 200)
            _ = try await node.leg("/whip", as: "a", room: "on-demand")
            await node.directory.closeAll()
            node.saved.forgetEnded()
            #expect(await node.directory.roomCount == 0)
        }
        let node = try ServiceFixture.with(store)
        #expect(await node.saved.restore(node.apps, in: node.directory) == 1)
        let room = try #require(await node.directory.room(RoomKey(app: app, room: "kept")))
        #expect(room.settings.noEnterTtl == .seconds(600) && room.settings.maxUsers == 9)
        #expect(await node.directory.roomCount == 1)
        // It waits for its first user as if it were new, and then it is over for good.
        await node.clock.advance(by: .seconds(601))
        #expect(await node.directory.roomCount == 0)
        node.saved.forgetEnded()
        #expect(try store.rooms().isEmpty)
    }

    /// The end of one life, however late it is heard of, is none of the next life of that name, in the node's next run neither.
    @Test func aLateEndIsOfItsOwnLife() async throws {
        let store = try AppStore.inMemory()
        let key = RoomKey(app: "demo", room: "r")
        do {
            let node = try ServiceFixture.with(store)
            #expect(await create(node, #"{"roomName":"r"}"#).status == 200)
            let first = try #require(await node.directory.room(key)).instance
            #expect(await node.server("DELETE", "/v3/apps/demo/rooms/r").status == 200)
            #expect(await create(node, #"{"roomName":"r","maxUsers":5}"#).status == 200)
            let second = try #require(await node.directory.room(key)).instance
            #expect(first != second)
            node.saved.observe(key, first, .closed(.deleted))
            node.saved.forgetEnded()
            #expect(try store.rooms().map(\.settings.maxUsers) == [5])
        }
        let node = try ServiceFixture.with(store)
        #expect(await node.saved.restore(node.apps, in: node.directory) == 1)
        let room = try #require(await node.directory.room(key))
        node.saved.observe(key, RoomInstance(room.instance.rawValue + 1), .closed(.deleted))
        node.saved.forgetEnded()
        #expect(try store.rooms().count == 1)
        await room.close()
        node.saved.forgetEnded()
        #expect(try store.rooms().isEmpty)
    }

    @Test func aRoomWhoseAppIsGone() async throws {
        let store = try AppStore.inMemory()
        let room = AppStore.SavedRoom(
            key: RoomKey(app: "gone", room: "r"), settings: RoomSettings(), createdAt: 1_800_000_000)
        try store.saveRoom(room)
        let node = try ServiceFixture.with(store)
        #expect(await node.saved.restore(node.apps, in: node.directory) == 0)
        #expect(try store.rooms().isEmpty)
    }

    /// An app that goes takes its rooms along, those on the disk too.
    @Test func aDeletedAppLeavesNoRooms() async throws {
        let store = try AppStore.inMemory()
        let node = try ServiceFixture.with(store)
        let made = await node.server("POST", "/v3/apps", headers: Self.json, body: "{}")
        let app = try made.decoded(AppRouteTests.AppObject.self).appId
        #expect(await create(node, #"{"roomName":"r"}"#, app: app).status == 200)
        #expect(await create(node, #"{"roomName":"r"}"#).status == 200)
        #expect(await node.server("DELETE", "/v3/apps/\(app)").status == 200)
        node.saved.forgetEnded()
        #expect(try store.rooms().map(\.key.app) == ["demo"])
        #expect(await node.directory.roomCount == 1)
    }
}
