import Foundation
import MediaWire
import RoomControl
import RoomService
import RoomTestKit
import Synchronization
import Testing
import WebTransport

/// Bans: of a room's name, for a time, over the room's lives and the node's.
@Suite struct BanRouteTests {
    private let moderation = ModerationRouteTests()

    private func ban(
        _ node: ServiceFixture, _ user: String, seconds: Int = 60, reason: String? = nil
    ) async -> HTTPResponse {
        let reason = reason.map { #","reason":"\#($0)""# } ?? ""
        return await moderation.post(node, "/bans", #"{"userId":"\#(user)","seconds":\#(seconds)\#(reason)}"#)
    }

    @Test func aBannedUserIsOutForItsTime() async throws {
        let node = ServiceFixture()
        let mallory = try await SignallingUser.join(node, "mallory")
        _ = try await node.leg("/whip", as: "alice")
        let answer = await ban(node, "mallory", reason: "spam")
        #expect(answer.status == 200, "\(answer.text)")
        let made = try answer.decoded(ModerationRouteTests.Ban.self)
        #expect(made.userId == "mallory" && made.removed == true && made.reason == "spam")
        #expect(made.untilMs == 1_800_000_060_000 && made.until == "2027-01-15T08:01:00.000Z")
        let notice = try #require(mallory.bodies("disconnect").first)
        #expect(notice.contains("10006") && notice.contains("spam"))
        #expect(await node.users() == ["alice"])

        // At both doors, and in no other room.
        #expect(await node.post("/whip", as: "mallory").status == 403)
        let token = node.token("mallory")
        let door = await node.send(
            "GET", ModerationRouteTests.path + "/auth?user=mallory&token=\(token)", headers: ["Host": "127.0.0.1"])
        #expect(door.status == 403 && door.refusal?.code == 10051)
        _ = try await node.leg("/whip", as: "mallory", room: "elsewhere")

        // The next life of the room has it, too.
        #expect(await node.server("DELETE", ModerationRouteTests.path).status == 200)
        _ = try await node.leg("/whip", as: "alice")
        #expect(await node.post("/whip", as: "mallory").status == 403)
        #expect(try await moderation.bans(node).map(\.userId) == ["mallory"])

        await node.clock.advance(by: .milliseconds(59_999))
        #expect(await node.post("/whip", as: "mallory").status == 403)
        await node.clock.advance(by: .milliseconds(1))
        #expect(try await moderation.bans(node).isEmpty)
        _ = try await node.leg("/whip", as: "mallory")
    }

    /// The room itself refuses: an access token that was got before the ban opens nothing.
    @Test func anOldAccessTokenDoesNotHelp() async throws {
        let node = ServiceFixture()
        _ = try await node.leg("/whip", as: "alice")
        let endpoint = SignallingEndpoint(
            apps: node.apps, directory: node.directory, environment: node.environment, admission: node.admission)
        let access = try await endpoint.access(
            app: "demo", room: "room", user: "mallory", roomToken: node.token("mallory"), url: "ws://127.0.0.1/")
        let answer = try await ban(node, "mallory").decoded(ModerationRouteTests.Ban.self)
        #expect(answer.removed == false)
        let sent = FrameList()
        let session = endpoint.open(SignallingOutlet(send: { sent.add($0) }, close: { _, _ in }))
        await session.start()
        await session.receive(#"auth={"rpcid":"1","token":"\#(access)"}"#)
        #expect(sent.frames.count == 1 && sent.frames[0].contains("10051"), "\(sent.frames)")
        #expect(await node.server("DELETE", ModerationRouteTests.path + "/bans/mallory").status == 200)
        await session.receive(#"auth={"rpcid":"2","token":"\#(access)"}"#)
        #expect(sent.frames.count > 1 && sent.frames[1].contains(#""code":0"#), "\(sent.frames)")
    }

    @Test func liftingAndReplacing() async throws {
        let node = ServiceFixture()
        let path = ModerationRouteTests.path + "/bans"
        #expect(await node.server("DELETE", path + "/eve").status == 612)
        // Also for a room that is not there.
        #expect(await ban(node, "eve", seconds: 10).status == 200)
        #expect(await ban(node, "eve", seconds: 100, reason: "again").status == 200)
        #expect(await ban(node, "bob").status == 200)
        let bans = try await moderation.bans(node)
        #expect(bans.map(\.userId) == ["bob", "eve"] && bans[1].reason == "again" && bans[0].reason == "")
        await node.clock.advance(by: .seconds(50))
        #expect(await node.post("/whip", as: "eve").status == 403, "the later ban counts")
        #expect(await node.server("DELETE", path + "/eve").text == "{}")
        #expect(await node.server("DELETE", path + "/eve").status == 612)
        #expect(await node.server("DELETE", path + "/a%20b").status == 400)
        _ = try await node.leg("/whip", as: "eve")
    }

    @Test(arguments: [
        ("{}", "userId"), (#"{"userId":"a b","seconds":1}"#, "userId"), (#"{"userId":7,"seconds":1}"#, "userId"),
        (#"{"userId":"eve"}"#, "seconds"), (#"{"userId":"eve","seconds":0}"#, "seconds"),
        (#"{"userId":"eve","seconds":315360001}"#, "seconds"), (#"{"userId":"eve","seconds":"60"}"#, "seconds"),
        (#"{"userId":"eve","seconds":1.5}"#, "seconds"), (#"{"userId":"eve","seconds":1,"reason":1}"#, "reason"),
    ])
    func wrongBans(_ body: String, _ field: String) async throws {
        let node = ServiceFixture()
        let answer = await moderation.post(node, "/bans", body)
        #expect(answer.status == 400 && answer.refusal?.code == 10053)
        #expect(answer.refusal?.error.hasPrefix(field) == true, "\(answer.text)")
        #expect(try await moderation.bans(node).isEmpty)
    }

    @Test func aRoomHasSoManyBans() async throws {
        let table = BanTable()
        func ban(_ user: Int, room: String = "r", until: Int64 = 100) -> Ban {
            Ban(room: RoomKey(app: "a", room: room), user: "u\(user)", until: until, reason: "")
        }
        for user in 0..<3 { try table.add(ban(user), perRoom: 3, unixTime: 10) }
        #expect(throws: BanTable.Refusal.tooMany(limit: 3)) { try table.add(ban(3), perRoom: 3, unixTime: 10) }
        try table.add(ban(2, until: 200), perRoom: 3, unixTime: 10)
        try table.add(ban(3, room: "s"), perRoom: 3, unixTime: 10)
        // Those that are over make room.
        try table.add(ban(4, until: 200), perRoom: 3, unixTime: 100)
        #expect(table.bans(of: RoomKey(app: "a", room: "r"), unixTime: 100).map(\.user) == ["u2", "u4"])
        table.forget(app: "a")
        #expect(table.bans(of: RoomKey(app: "a", room: "r"), unixTime: 100).isEmpty)
    }

    @Test func bansOutliveTheNode() async throws {
        let store = try AppStore.inMemory()
        do {
            let node = try ServiceFixture.with(store)
            #expect(await ban(node, "eve", seconds: 60).status == 200)
            #expect(await ban(node, "bob", seconds: 600).status == 200)
            #expect(await ban(node, "joe", seconds: 600).status == 200)
            #expect(await node.server("DELETE", ModerationRouteTests.path + "/bans/joe").status == 200)
        }
        let node = try ServiceFixture.with(store)
        #expect(try await moderation.bans(node).map(\.userId) == ["bob", "eve"])
        #expect(await node.post("/whip", as: "eve").status == 403)
        _ = try await node.leg("/whip", as: "joe")
        await node.clock.advance(by: .seconds(60))
        _ = try await node.leg("/whip", as: "eve")
        // The next ban sweeps the store of what is over.
        #expect(await ban(node, "eve", seconds: 60).status == 200)
        await node.clock.advance(by: .seconds(61))
        #expect(await ban(node, "zoe", seconds: 60).status == 200)
        #expect(try store.bans(unixTime: 0).map(\.user) == ["bob", "zoe"])
    }

    @Test func anAppsBansGoWithIt() async throws {
        let store = try AppStore.inMemory()
        let node = try ServiceFixture.with(store)
        let made = await node.server("POST", "/v3/apps", headers: ModerationRouteTests.json, body: "{}")
        let app = try made.decoded(AppRouteTests.AppObject.self).appId
        let banned = await node.server(
            "POST", "/v3/apps/\(app)/rooms/room/bans", headers: ModerationRouteTests.json,
            body: #"{"userId":"eve","seconds":600}"#)
        #expect(banned.status == 200)
        #expect(await node.server("DELETE", "/v3/apps/\(app)").status == 200)
        #expect(try store.bans(unixTime: 0).isEmpty)
        #expect(!node.directory.isBanned("eve", from: RoomKey(app: app, room: "room")))

        // A ban whose request was under way when the app went: what the route does then leaves nothing, in memory and store.
        let late = Ban(
            room: RoomKey(app: app, room: "room"), user: "eve", until: node.clock.clock.unixTime() + 600, reason: "")
        try node.directory.bans.add(late, perRoom: 10, unixTime: node.clock.clock.unixTime())
        #expect(try store.bans(unixTime: 0) == [late])
        node.directory.bans.forget(app: app)
        #expect(try store.bans(unixTime: 0).isEmpty)
        #expect(!node.directory.isBanned("eve", from: RoomKey(app: app, room: "room")))
    }
}

/// What a connection was sent.
private final class FrameList: Sendable {
    private let list = Mutex<[String]>([])
    var frames: [String] { list.withLock { $0 } }
    func add(_ frame: [UInt8]) { list.withLock { $0.append(String(decoding: frame, as: UTF8.self)) } }
}
