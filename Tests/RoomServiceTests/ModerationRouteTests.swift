import Foundation
import MediaContract
import MediaWire
import RoomControl
import RoomService
import RoomTestKit
import Testing
import WebTransport

/// What the server API can do to a room that lives, beyond the vendor's.
@Suite struct ModerationRouteTests {
    static let json: HTTPFields = ["Content-Type": "application/json"]
    static let path = "/v3/apps/demo/rooms/room"

    struct Room: Decodable {
        struct Settings: Decodable {
            var maxUsers: Int
            var autoCloseTtl: Double
            var videoCodec: String
        }
        struct Track: Decodable {
            var trackId: String
            var kind: String
            var codec: String
            var muted: Bool
            var mutedByServer: Bool
            var mid: String
            var source: String
        }
        struct User: Decodable {
            var userId: String
            var userData: String
            var since: String
            var sinceMs: Int64
            var permission: String?
            var privileges: [String]
            var signalling: String
            var legs: [String]
            var tracks: [Track]
            var subscriptions: [String]
        }
        var appId: String
        var name: String
        var session: String
        var createdBy: String
        var since: String
        var sinceMs: Int64
        var settings: Settings
        var users: [User]

        func user(_ name: String) -> User? { users.first { $0.userId == name } }
    }

    struct Ban: Decodable {
        var userId: String
        var until: String
        var untilMs: Int64
        var reason: String
        var removed: Bool?
    }

    struct Bans: Decodable { var bans: [Ban] }

    func room(_ node: ServiceFixture) async throws -> Room {
        let answer = await node.server("GET", Self.path)
        #expect(answer.status == 200, "\(answer.text)")
        return try answer.decoded(Room.self)
    }

    func post(_ node: ServiceFixture, _ path: String, _ body: String, method: String = "POST") async -> HTTPResponse {
        await node.server(method, Self.path + path, headers: Self.json, body: body)
    }

    func bans(_ node: ServiceFixture) async throws -> [Ban] {
        try await node.server("GET", Self.path + "/bans").decoded(Bans.self).bans
    }

    // MARK: Details

    @Test func aRoomWithEverybodyInIt() async throws {
        let node = ServiceFixture {
            $0.maxUsers = 7
            $0.videoCodec = .vp8
        }
        #expect(await node.server("GET", Self.path).status == 615)
        await node.clock.advance(by: .milliseconds(250))
        _ = try await SignallingUser.join(node, "alice", data: "Älice", permission: .admin)
        await node.clock.advance(by: .milliseconds(1500))
        _ = try await node.leg("/whip", as: "bob")
        _ = try await node.leg("/whep", as: "carol")
        let room = try await room(node)
        #expect(room.appId == "demo" && room.name == "room" && room.createdBy == "join")
        // 1,800,000,000 s after 1970.
        #expect(room.sinceMs == 1_800_000_000_250 && room.since == "2027-01-15T08:00:00.250Z")
        #expect(room.settings.maxUsers == 7 && room.settings.autoCloseTtl == 10 && room.settings.videoCodec == "VP8")
        #expect(room.users.map(\.userId) == ["alice", "bob", "carol"], "in order of arrival")

        let alice = try #require(room.user("alice"))
        #expect(alice.userData == "Älice" && alice.permission == "admin" && alice.signalling == "connected")
        #expect(alice.legs.isEmpty && alice.tracks.isEmpty && alice.privileges == ["publish", "subscribe"])
        #expect(alice.sinceMs == 1_800_000_000_250)
        let bob = try #require(room.user("bob"))
        #expect(bob.sinceMs == 1_800_000_001_750 && bob.since == "2027-01-15T08:00:01.750Z")
        #expect(bob.signalling == "none" && bob.permission == nil && bob.legs == ["whip"])
        #expect(bob.tracks.map(\.kind) == ["audio", "video"] && bob.tracks.map(\.codec) == ["opus", "VP8"])
        #expect(bob.tracks.allSatisfy { $0.source == "whip" && !$0.muted && !$0.mutedByServer && !$0.mid.isEmpty })
        let carol = try #require(room.user("carol"))
        #expect(carol.legs == ["whep"] && Set(carol.subscriptions) == Set(bob.tracks.map(\.trackId)))

        // A user whose connection is silent is shown so.
        await node.clock.advance(by: .seconds(10))
        #expect(try await self.room(node).user("alice")?.signalling == "reconnecting")
        // The next life of the room is another session.
        #expect(await node.server("DELETE", Self.path).status == 200)
        _ = try await node.leg("/whip", as: "bob")
        #expect(try await self.room(node).session != room.session)
    }

    // MARK: Closing

    @Test func everybodyIsToldTheReason() async throws {
        let node = ServiceFixture()
        for (target, body, said) in [
            (Self.path + "?reason=the+lesson%20is%20over%21", "", "the lesson is over!"),
            (Self.path, #"{"reason":"schöner Abend"}"#, "schöner Abend"),
            (Self.path, "", "the room was closed by the app's back end"),
            (Self.path + "?reason=", "", "the room was closed by the app's back end"),
        ] {
            let alice = try await SignallingUser.join(node, "alice")
            let answer = await node.server(
                "DELETE", target, headers: body.isEmpty ? [:] : Self.json, body: body)
            #expect(answer.status == 200 && answer.text == "{}", "\(answer.text)")
            let notice = try #require(alice.bodies("disconnect").first)
            #expect(notice.contains("10005") && notice.contains(said), "\(notice)")
            #expect(alice.closes == [said])
        }
        let alice = try await SignallingUser.join(node, "alice")
        let long = String(repeating: "é", count: 129)
        for (target, body) in [
            (Self.path + "?reason=a&reason=b", ""), (Self.path + "?reason=a", #"{"reason":"a"}"#),
            (Self.path, #"{"reason":"\#(long)"}"#), (Self.path, #"{"reason":7}"#), (Self.path, "["),
            (Self.path + "?reason=" + String(repeating: "%C3%A9", count: 129), ""),
        ] {
            let answer = await node.server("DELETE", target, headers: Self.json, body: body)
            #expect(answer.status == 400 && answer.refusal?.code == 10053, "\(target) \(body): \(answer.text)")
        }
        #expect(alice.closes.isEmpty)
    }

    // MARK: Muting

    @Test func aTrackIsMutedForEverybody() async throws {
        let node = ServiceFixture()
        let alice = try await SignallingUser.join(node, "alice")
        _ = try await node.leg("/whip", as: "bob")
        let player = try await node.leg("/whep", as: "carol")
        let track = try #require(try await room(node).user("bob")?.tracks.last)
        func subscriptions() async throws -> [String] { try #require(try await room(node).user("carol")).subscriptions }
        #expect(try await subscriptions().contains(track.trackId))
        let path = "/tracks/\(track.trackId)/mute"
        for _ in 0..<2 {
            let answer = await post(node, path, #"{"muted":true}"#)
            #expect(answer.status == 200, "\(answer.text)")
            let state = try answer.decoded(Room.Track.self)
            #expect(state.trackId == track.trackId && state.muted && state.mutedByServer)
        }
        #expect(try await !subscriptions().contains(track.trackId), "forwarding has stopped")
        let leg = try await node.send("GET", player).decoded(LegState.self)
        #expect(leg.tracks.map { $0.track == nil } == [false, true])
        // Once, though asked twice.
        let told = alice.bodies("mute-tracks")
        #expect(told.count == 1 && told[0].contains(track.trackId) && told[0].contains("true"))

        let back = try await post(node, path, #"{"muted":false}"#).decoded(Room.Track.self)
        #expect(!back.muted && !back.mutedByServer)
        #expect(try await subscriptions().contains(track.trackId))
        #expect(alice.bodies("mute-tracks").count == 2)
        // A form says True and False.
        let form = await node.server(
            "POST", Self.path + path, headers: ["Content-Type": "application/x-www-form-urlencoded"],
            body: "muted=True")
        #expect(form.status == 200)
    }

    @Test func whatCannotBeMuted() async throws {
        let node = ServiceFixture()
        #expect(await post(node, "/tracks/v1/mute", #"{"muted":true}"#).status == 615)
        _ = try await node.leg("/whip", as: "bob")
        let unknown = await post(node, "/tracks/v0123456789abcde/mute", #"{"muted":true}"#)
        #expect(unknown.status == 612 && unknown.refusal?.error == "track not found")
        #expect(await post(node, "/tracks/a%20b/mute", #"{"muted":true}"#).status == 400)
        for body in ["", "{}", #"{"muted":"true"}"#, #"{"muted":1}"#, #"{"muted":null}"#, "true"] {
            let answer = await post(node, "/tracks/v1/mute", body)
            #expect(answer.status == 400 && answer.refusal?.code == 10053, "\(body)")
        }
    }

    // MARK: Messages

    @Test func aMessageOfTheServer() async throws {
        let node = ServiceFixture()
        let alice = try await SignallingUser.join(node, "alice")
        let bob = try await SignallingUser.join(node, "bob")
        _ = try await node.leg("/whip", as: "cam")
        #expect(await post(node, "/messages", #"{"text":"to all"}"#).text == #"{"msgsn":1}"#)
        let one = await post(
            node, "/messages", #"{"text":"to bob","target":["bob","nobody"],"msgid":"m","sender":"system"}"#)
        #expect(one.text == #"{"msgsn":2}"#)
        #expect(alice.bodies("on-messages").count == 1 && bob.bodies("on-messages").count == 2)
        let all = try #require(alice.bodies("on-messages").first)
        #expect(all.contains(#""text":"to all""#) && all.contains(#""playerid":"""#) && all.contains(#""msgsn":1"#))
        let second = try #require(bob.bodies("on-messages").last)
        #expect(second.contains(#""playerid":"system""#) && second.contains(#""msgid":"m""#))

        // Nobody can be made to have said something.
        for sender in ["alice", "cam"] {
            let answer = await post(node, "/messages", #"{"text":"x","sender":"\#(sender)"}"#)
            #expect(answer.status == 409 && answer.refusal?.code == 10022)
        }
        // Nobody is there to get it: a leg has no messages.
        for target in ["nobody", "cam"] {
            let answer = await post(node, "/messages", #"{"text":"x","target":["\#(target)"]}"#)
            #expect(answer.status == 612 && answer.refusal?.code == 10021, "\(answer.text)")
        }
        #expect(await post(node, "/messages", #"{"text":"third"}"#).text == #"{"msgsn":3}"#, "refusals leave no gap")
        #expect(bob.bodies("on-messages").count == 3)
    }

    @Test(arguments: [
        (#"{}"#, "text"), (#"{"text":""}"#, "text"), (#"{"text":7}"#, "text"),
        (#"{"text":"x","target":"bob"}"#, "target"), (#"{"text":"x","target":[]}"#, "target"),
        (#"{"text":"x","target":[7]}"#, "target"), (#"{"text":"x","target":["a b"]}"#, "each user in target"),
        (#"{"text":"x","sender":"a b"}"#, "sender"), (#"{"text":"x","msgid":7}"#, "msgid"), ("[]", "the body"),
    ])
    func wrongMessages(_ body: String, _ field: String) async throws {
        let node = ServiceFixture()
        let alice = try await SignallingUser.join(node, "alice")
        let answer = await post(node, "/messages", body)
        #expect(answer.status == 400 && answer.refusal?.code == 10053)
        #expect(answer.refusal?.error.hasPrefix(field) == true, "\(answer.text)")
        #expect(alice.bodies("on-messages").isEmpty)
    }

    @Test func sizesOfMessages() async throws {
        let node = ServiceFixture()
        let alice = try await SignallingUser.join(node, "alice")
        let most = 64 * 1024
        func text(_ bytes: Int) -> String { #"{"text":"\#(String(repeating: "x", count: bytes))"}"# }
        #expect(await post(node, "/messages", text(most)).status == 200)
        #expect(await post(node, "/messages", text(most + 1)).status == 400)
        let id = String(repeating: "i", count: 129)
        #expect(await post(node, "/messages", #"{"text":"x","msgid":"\#(id)"}"#).status == 400)
        let many = (0...10_000).map { "\"u\($0)\"" }.joined(separator: ",")
        #expect(await post(node, "/messages", #"{"text":"x","target":[\#(many)]}"#).status == 400)
        #expect(alice.bodies("on-messages").count == 1)
        #expect(await node.server("DELETE", Self.path).status == 200)
        #expect(await post(node, "/messages", text(1)).status == 615)
    }

    // MARK: Permissions

    @Test(arguments: ["PATCH", "POST"])
    func whatAUserMayDo(method: String) async throws {
        let node = ServiceFixture()
        let alice = try await SignallingUser.join(node, "alice")
        _ = try await node.leg("/whip", as: "alice")
        let changed = await post(
            node, "/users/alice", #"{"permission":"admin","privileges":["subscribe"]}"#, method: method)
        #expect(changed.status == 200, "\(changed.text)")
        let user = try changed.decoded(Room.User.self)
        #expect(user.permission == "admin" && user.privileges == ["subscribe"])
        #expect(user.legs.isEmpty && user.tracks.isEmpty, "what it may not do any more has ended")
        #expect(await node.post("/whip", as: "alice").status == 403)

        // An admin may kick.
        _ = try await node.leg("/whip", as: "bob")
        await alice.send(#"control={"rpcid":"2","command":"kickplayer","playerid":"bob"}"#)
        #expect(alice.bodies("control-res").last?.contains(#""code":0"#) == true)
        #expect(await node.users() == ["alice"])
        #expect(await post(node, "/users/alice", #"{"permission":"user"}"#, method: method).status == 200)
        await alice.send(#"control={"rpcid":"3","command":"kickplayer","playerid":"bob"}"#)
        #expect(alice.bodies("control-res").last?.contains("10051") == true)

        #expect(await post(node, "/users/alice", #"{"privileges":["publish","subscribe"]}"#).status == 200)
        _ = try await node.leg("/whip", as: "alice")
    }

    @Test func permissionsThatCannotBe() async throws {
        let node = ServiceFixture()
        #expect(await post(node, "/users/bob", #"{"permission":"admin"}"#).status == 615)
        _ = try await node.leg("/whip", as: "bob")
        #expect(await post(node, "/users/eve", #"{"privileges":[]}"#).status == 612)
        let leg = await post(node, "/users/bob", #"{"permission":"admin"}"#)
        #expect(leg.status == 409 && leg.refusal?.error.contains("legs alone") == true)
        for body in [
            "{}", "", #"{"permission":"root"}"#, #"{"permission":1}"#, #"{"privileges":["fly"]}"#,
            #"{"privileges":"publish"}"#, #"{"privileges":[1]}"#, #"{"permission":null}"#,
        ] {
            let answer = await post(node, "/users/bob", body)
            #expect(answer.status == 400 && answer.refusal?.code == 10053, "\(body): \(answer.text)")
        }
        #expect(await post(node, "/users/b%20b", #"{"privileges":[]}"#).status == 400)
        // A user whose only leg goes has gone.
        let last = try await post(node, "/users/bob", #"{"privileges":[]}"#).decoded(Room.User.self)
        #expect(last.userId == "bob" && last.privileges.isEmpty && last.legs.isEmpty && last.tracks.isEmpty)
        #expect(await node.users() == [])
    }

    // MARK: Who may ask

    /// The same gate as for the vendor's rows, for every one of these.
    @Test(arguments: [
        ("GET", ""), ("POST", "/tracks/v1/mute"), ("POST", "/messages"), ("PATCH", "/users/alice"),
        ("POST", "/users/alice"), ("GET", "/bans"), ("POST", "/bans"), ("DELETE", "/bans/alice"),
    ])
    func onlyTheAppsKey(method: String, path: String) async throws {
        let node = ServiceFixture()
        let alice = try await SignallingUser.join(node, "alice")
        let target = Self.path + path
        let body = #"{"text":"x","muted":true,"privileges":[],"userId":"alice","seconds":9}"#
        #expect(await node.send(method, target, headers: Self.json, body: body).status == 401)
        let foreign = await node.server(method, target, key: ServiceFixture.theirKey, headers: Self.json, body: body)
        #expect(foreign.status == 612 && foreign.refusal?.error == "app not found")
        let forged = await node.server(method, target, headers: Self.json, body: body) { request in
            request.target += "?x"
        }
        #expect(forged.status == 401)
        let strange = "/v3/apps/demo/rooms/r%2Fm" + path
        #expect(await node.server(method, strange, headers: Self.json, body: body).status == 400)
        if method != "GET", method != "DELETE" {
            let type = await node.server(method, target, headers: ["Content-Type": "text/xml"], body: "<a/>")
            #expect(type.status == 415)
        }
        let other = await node.server("PUT", target, headers: Self.json, body: body)
        #expect(other.status == 405 && other.headers["Allow"]?.contains(method) == true)
        #expect(try await room(node).user("alice")?.privileges == ["publish", "subscribe"])
        #expect(alice.closes.isEmpty && alice.bodies("on-messages").isEmpty)
        #expect(try await bans(node).isEmpty)
    }
}
