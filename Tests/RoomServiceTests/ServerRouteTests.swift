import MediaContract
import RoomControl
import RoomService
import RoomTestKit
import Testing
import WebTransport

@Suite struct ServerRouteTests {
    private struct Rooms: Decodable, Equatable {
        var end: Bool
        var offset: Int
        var rooms: [String]
    }

    @Test func listingUsers() async throws {
        let node = ServiceFixture()
        let unknown = await node.server("GET", "/v3/apps/demo/rooms/nowhere/users")
        #expect(unknown.status == 200 && unknown.text == #"{"users":[]}"#)
        _ = try await node.leg("/whip", as: "alice")
        _ = try await node.leg("/whep", as: "bob")
        _ = try await node.leg("/whep", as: "alice")
        let answer = await node.server("GET", "/v3/apps/demo/rooms/room/users")
        #expect(answer.text == #"{"users":[{"userId":"alice"},{"userId":"bob"}]}"#)
        #expect(answer.headers["Content-Type"] == "application/json")
        #expect(answer.headers["X-Reqid"]?.isEmpty == false)
    }

    @Test func listingRooms() async throws {
        let node = ServiceFixture(ports: 8000...8999)
        for room in ["meet-b", "meet-a", "other", "meet-c"] { _ = try await node.leg("/whip", as: "alice", room: room) }
        func list(_ query: String) async throws -> Rooms {
            try await node.server("GET", "/v3/apps/demo/rooms\(query)").decoded(Rooms.self)
        }
        let all = try await list("")
        #expect(all == Rooms(end: true, offset: 4, rooms: ["meet-a", "meet-b", "meet-c", "other"]))
        let first = try await list("?prefix=meet&offset=0&limit=2")
        #expect(first == Rooms(end: false, offset: 2, rooms: ["meet-a", "meet-b"]))
        #expect(try await list("?prefix=meet&offset=2&limit=2") == Rooms(end: true, offset: 3, rooms: ["meet-c"]))
        #expect(try await list("?offset=99") == Rooms(end: true, offset: 4, rooms: []))
        #expect(try await list("?prefix=none") == Rooms(end: true, offset: 0, rooms: []))
        #expect(try await list("?prefix=&offset=&limit=") == all)
        #expect(try await list("?limit=99999999") == all)
        for bad in ["?offset=-1", "?limit=x", "?offset=99999999999999999999", "?prefix=a%20b", "?prefix=%C3%A9"] {
            let answer = await node.server("GET", "/v3/apps/demo/rooms\(bad)")
            #expect(answer.status == 400 && answer.refusal?.code == 10053, "\(bad)")
        }
        // Page by page, as the Go SDK does: no room twice, none missing.
        var (pages, offset, end) = ([String](), 0, false)
        while !end {
            let page = try await list("?offset=\(offset)&limit=3")
            pages += page.rooms
            (offset, end) = (page.offset, page.end)
        }
        #expect(pages == all.rooms)
        let theirs = AccessKey(id: "theirkey", secret: "theirsecret")
        let empty = await node.server("GET", "/v3/apps/theirs/rooms", key: theirs)
        #expect(try empty.decoded(Rooms.self) == Rooms(end: true, offset: 0, rooms: []))
    }

    @Test func signatures() async throws {
        let node = ServiceFixture()
        let path = "/v3/apps/demo/rooms"
        #expect(await node.server("GET", path).status == 200)
        #expect(await node.server("GET", path) { $0.headers["Authorization"] = nil }.status == 401)
        #expect(await node.server("GET", path) { $0.target += "?limit=1" }.status == 401)
        #expect(await node.server("GET", path) { $0.headers["Host"] = "elsewhere" }.status == 401)
        #expect(await node.server("GET", path, key: AccessKey(id: "devkey", secret: "guess")).status == 401)
        let missing = await node.send("GET", path)
        #expect(missing.status == 401 && missing.refusal?.error.isEmpty == false && missing.refusal?.code == nil)
        // As the SDKs send it: a content type on GET, and a date.
        #expect(await node.server("GET", path, headers: ["Content-Type": "application/json"]).status == 200)
        // 1 800 000 000 is 2027-01-15T08:00:00Z.
        #expect(await node.server("GET", path, headers: ["X-Qiniu-Date": "20270115T080000Z"]).status == 200)
        #expect(await node.server("GET", path, headers: ["X-Qiniu-Date": "20270115T073000Z"]).status == 401)
    }

    @Test func appsOfOthersDoNotExist() async throws {
        let node = ServiceFixture()
        for path in ["theirs/rooms", "nowhere/rooms", "theirs/rooms/r/users"] {
            let answer = await node.server("GET", "/v3/apps/\(path)")
            #expect(answer.status == 612 && answer.refusal?.error == "app not found")
        }
        #expect(await node.server("DELETE", "/v3/apps/theirs/rooms/r/users/u").status == 612)
    }

    @Test func namesThatCannotBe() async throws {
        let node = ServiceFixture()
        for bad in ["a%20b", "a%2Fb", "%C3%A9", String(repeating: "r", count: 65), "a.b"] {
            let users = await node.server("GET", "/v3/apps/demo/rooms/\(bad)/users")
            #expect(users.status == 400 && users.refusal?.code == 10053, "\(bad)")
            #expect(await node.server("DELETE", "/v3/apps/demo/rooms/\(bad)/users/u").status == 400)
            #expect(await node.server("DELETE", "/v3/apps/demo/rooms/r/users/\(bad)").status == 400)
        }
    }

    @Test func kicking() async throws {
        let node = ServiceFixture()
        let inactive = await node.kick("alice")
        #expect(inactive.status == 615 && inactive.refusal?.error == "room not active")
        let leg = try await node.leg("/whip", as: "alice")
        _ = try await node.leg("/whep", as: "bob")
        let unknown = await node.kick("carol")
        #expect(unknown.status == 612 && unknown.refusal?.error == "user not found")
        #expect(await node.kick("alice").status == 200)
        #expect(await node.users() == ["bob"])
        #expect(await node.send("GET", leg).status == 404)
        #expect(node.plane.model().tracks.isEmpty && node.plane.model().subscriptions.isEmpty)
        #expect(await node.kick("alice").status == 612)
        // It may come back with the token that it has.
        _ = try await node.leg("/whip", as: "alice")
        #expect(await node.users() == ["bob", "alice"])
        #expect(node.plane.model().subscriptions.count == 2)
        #expect(node.plane.violations.isEmpty)
    }

    @Test func aKickIsAnsweredWhenTheMediaHasEnded() async throws {
        let node = ServiceFixture()
        _ = try await node.leg("/whip", as: "alice")
        _ = try await node.leg("/whip", as: "bob")
        node.plane.holdRemovals()
        let removals = { node.plane.commands.count { if case .removePeer = $0 { true } else { false } } }
        async let first = node.kick("alice")
        while node.plane.waitingRemovals < 1 { await Task.yield() }
        // The user is out at once; a second kick waits for the same removal.
        #expect(await node.users() == ["bob"])
        async let second = node.kick("alice")
        while node.plane.waitingRemovals < 2 { await Task.yield() }
        #expect(removals() == 1)
        node.plane.timeOutRemovals()
        #expect(await first.status == 503)
        #expect(await second.status == 503)
        // It is still pending: asking again waits for it again, and then it is done.
        async let third = node.kick("alice")
        while node.plane.waitingRemovals < 1 { await Task.yield() }
        #expect(removals() == 1)
        node.plane.releaseRemovals()
        #expect(await third.status == 200)
        #expect(await node.kick("alice").status == 612)
    }

    @Test func whoComesBackDuringAKickIsAnotherPeer() async throws {
        let node = ServiceFixture()
        _ = try await node.leg("/whip", as: "alice")
        node.plane.holdRemovals()
        async let kick = node.kick("alice")
        while node.plane.waitingRemovals < 1 { await Task.yield() }
        _ = try await node.leg("/whip", as: "alice")
        node.plane.releaseRemovals()
        #expect(await kick.status == 200)
        #expect(await node.users() == ["alice"])
        #expect(node.plane.model().tracks.count == 2)
        #expect(node.plane.violations.isEmpty)
    }

    /// What no signature covers is nobody's word: whoever saw the request could have put another body in.
    @Test(arguments: [nil, "application/octet-stream", "text/plain"])
    func bodiesThatTheSignatureDoesNotCover(type: String?) async throws {
        let node = ServiceFixture()
        let headers: HTTPFields = type.map { ["Content-Type": $0] } ?? [:]
        let answer = await node.server(
            "POST", "/v3/apps/demo/createroom", headers: headers,
            tamper: { $0.body = Array(#"{"roomName":"slipped-in"}"#.utf8) })
        #expect(answer.status == 415, "\(answer.text)")
        #expect(await node.server("GET", "/v3/apps/demo/rooms").text.contains("slipped-in") == false)
    }

    /// A back end's empty variable must not hit another resource.
    @Test(arguments: ["/v3/apps/demo//", "/v3/apps/demo/rooms//users", "//v3/apps/demo/rooms"])
    func pathsWithAnEmptyComponent(target: String) async throws {
        let node = ServiceFixture()
        for method in ["GET", "DELETE"] { #expect(await node.server(method, target).status == 404) }
    }
}
