import Foundation
import MediaWire
import RoomControl
import RoomService
import RoomTestKit
import Testing
import WebTransport

@Suite struct AppRouteTests {
    static let json: HTTPFields = ["Content-Type": "application/json"]
    static let form: HTTPFields = ["Content-Type": "application/x-www-form-urlencoded"]

    struct AppObject: Decodable, Equatable {
        var appId: String
        var title: String
        var hub: String
        var maxUsers: Int
        var noAutoKickUser: Bool
        var noAutoCreateRoom: Bool
        var noAutoCloseRoom: Bool
        var autoCloseTtl: Double
        var noEnterTtl: Double
        var userTimeout: Double
        var videoCodec: String
        var mergePublishRtmp: JSONValue?
        var eventCbUrl: String?
        var eventCbVersion: Int?
        var source: String
        var createdAt: String?
        var updatedAt: String?
    }

    func post(
        _ node: ServiceFixture, _ path: String, _ body: String, _ headers: HTTPFields = json,
        key: AccessKey = ServiceFixture.key
    ) async -> HTTPResponse {
        await node.server("POST", path, key: key, headers: headers, body: body)
    }

    @Test func appsComeChangeAndGo() async throws {
        let node = ServiceFixture()
        let answer = await post(
            node, "/v3/apps", #"{"hub":"h","title":"t","maxUsers":3,"noAutoKickUser":true,"unknown":[1]}"#)
        #expect(answer.status == 200, "\(answer.text)")
        var app = try answer.decoded(AppObject.self)
        #expect(
            app
                == AppObject(
                    appId: app.appId, title: "t", hub: "h", maxUsers: 3, noAutoKickUser: true, noAutoCreateRoom: false,
                    noAutoCloseRoom: false, autoCloseTtl: 10, noEnterTtl: 30, userTimeout: 30, videoCodec: "VP8",
                    source: "api", createdAt: "2027-01-15T08:00:00Z", updatedAt: "2027-01-15T08:00:00Z"))
        #expect(app.appId.wholeMatch(of: /[a-z0-9]{9}/) != nil)
        let path = "/v3/apps/\(app.appId)"
        #expect(try await node.server("GET", path).decoded(AppObject.self) == app)

        // A partial update: what is absent, or null, stays.
        await node.clock.advance(by: .seconds(60))
        let merge = #"{"enable":true,"url":"rtmp://x/y","fps":25}"#
        let updated = await post(
            node, path,
            """
            {"maxUsers":0,"noAutoCloseRoom":true,"autoCloseTtl":60,"noEnterTtl":3600,"userTimeout":45,"title":null,
             "videoCodec":"h264","mergePublishRtmp":\(merge),"eventCbUrl":"https://example.org:8443/cb?x=1",
             "eventCbSecret":"shh","eventCbVersion":1}
            """)
        #expect(updated.status == 200, "\(updated.text)")
        #expect(!updated.text.contains("shh"), "the secret is never given out")
        (app.maxUsers, app.noAutoCloseRoom, app.autoCloseTtl, app.noEnterTtl, app.userTimeout) = (0, true, 60, 3600, 45)
        (app.videoCodec, app.mergePublishRtmp) = ("H264", JSONValue(text: merge.utf8))
        (app.eventCbUrl, app.eventCbVersion) = ("https://example.org:8443/cb?x=1", 1)
        app.updatedAt = "2027-01-15T08:01:00Z"
        #expect(try updated.decoded(AppObject.self) == app)
        #expect(node.apps.app(app.appId)?.details.eventCbSecret == "shh")

        // The new app works: its rooms and its tokens.
        #expect(try await rooms(node, app.appId) == [])
        let token = node.token("alice", app: app.appId)
        let leg = await node.send(
            "POST", "/whip", headers: ["Authorization": "Bearer \(token)", "Content-Type": "application/sdp"],
            body: ServiceFixture.publishOffer)
        #expect(leg.status == 201, "\(leg.text)")
        #expect(try await rooms(node, app.appId) == ["room"])

        // Its end is the end of its rooms.
        let deleted = await node.server("DELETE", path)
        #expect(deleted.status == 200 && deleted.text == "{}")
        #expect(await node.directory.roomCount == 0)
        #expect(await node.send("GET", leg.headers["Location"] ?? "").status == 404)
        for (method, target) in [("GET", path), ("DELETE", path), ("POST", path), ("GET", path + "/rooms")] {
            let gone = await node.server(method, target)
            #expect(gone.status == 612 && gone.refusal?.error == "app not found", "\(method)")
        }
        let late = await node.send(
            "POST", "/whip", headers: ["Authorization": "Bearer \(token)", "Content-Type": "application/sdp"],
            body: ServiceFixture.publishOffer)
        #expect(late.status == 401 && late.refusal?.code == 10001)
    }

    private func rooms(_ node: ServiceFixture, _ app: String) async throws -> [String] {
        struct Body: Decodable { var rooms: [String] }
        return try await node.server("GET", "/v3/apps/\(app)/rooms").decoded(Body.self).rooms
    }

    @Test func listingApps() async throws {
        struct Body: Decodable { var apps: [AppObject] }
        let node = ServiceFixture()
        let made = try await post(node, "/v3/apps", #"{"title":"mine"}"#).decoded(AppObject.self)
        let body = try await node.server("GET", "/v3/apps").decoded(Body.self)
        #expect(body.apps.map(\.appId).sorted() == ["demo", made.appId].sorted())
        let demo = try #require(body.apps.first { $0.appId == "demo" })
        #expect(demo.source == "configuration" && demo.createdAt == nil)
        let theirs = try await node.server("GET", "/v3/apps", key: ServiceFixture.theirKey).decoded(Body.self)
        #expect(theirs.apps.map(\.appId) == ["theirs"])
    }

    @Test func appsOfTheConfigurationAreReadOnly() async throws {
        let node = ServiceFixture()
        #expect(try await node.server("GET", "/v3/apps/demo").decoded(AppObject.self).appId == "demo")
        for answer in [
            await post(node, "/v3/apps/demo", #"{"maxUsers":1}"#), await node.server("DELETE", "/v3/apps/demo"),
        ] {
            #expect(answer.status == 403 && answer.refusal?.code == 10051)
            #expect(answer.refusal?.error.contains("configuration") == true)
        }
        #expect(node.apps.app("demo")?.settings.maxUsers == 0)
    }

    @Test func appsOfOthersDoNotExist() async throws {
        let node = ServiceFixture()
        let made = try await post(node, "/v3/apps", "{}").decoded(AppObject.self)
        for id in [made.appId, "demo", "nowhere", "", "%2e%2e", "a b"] {
            for method in ["GET", "POST", "DELETE"] where !id.isEmpty {
                let answer = await node.server(method, "/v3/apps/\(id)", key: ServiceFixture.theirKey)
                #expect(answer.status == 612, "\(method) \(id)")
            }
        }
        // Not even with a body that is wrong.
        let answer = await post(node, "/v3/apps/demo", "{", key: ServiceFixture.theirKey)
        #expect(answer.status == 612)
        #expect(node.apps.app(made.appId) != nil)
    }

    @Test func signaturesComeFirst() async throws {
        let node = ServiceFixture()
        for (method, path) in [
            ("POST", "/v3/apps"), ("GET", "/v3/apps"), ("GET", "/v3/apps/demo"), ("POST", "/v3/apps/demo"),
            ("DELETE", "/v3/apps/demo"), ("POST", "/v3/apps/demo/rooms/r/merge_job"),
        ] {
            #expect(await node.send(method, path, body: "{").status == 401)
            let forged = AccessKey(id: "devkey", secret: "guess")
            #expect(await node.server(method, path, key: forged, headers: Self.json, body: "{}").status == 401)
            // The body is signed.
            let changed = await node.server(method, path, headers: Self.json, body: #"{"title":"a"}"#) {
                $0.body = Array(#"{"title":"b"}"#.utf8)
            }
            #expect(changed.status == 401)
        }
        #expect(node.apps.apps(ownedBy: ServiceFixture.key).count == 1)
    }

    // MARK: Bodies

    /// What the vendor's Python package sends: a dictionary becomes a form, a text keeps the Content-Type of one.
    @Test func formsOfThePythonPackage() async throws {
        let node = ServiceFixture()
        let made = try await post(
            node, "/v3/apps", "title=t+%E6%97%A5&maxUsers=3&noAutoKickUser=True&noAutoCloseRoom=False&l=1&l=2",
            Self.form
        ).decoded(AppObject.self)
        #expect(made.title == "t 日" && made.maxUsers == 3 && made.noAutoKickUser && !made.noAutoCloseRoom)
        let text = try await post(node, "/v3/apps", #" {"title": "a&b=c"}"#, Self.form).decoded(AppObject.self)
        #expect(text.title == "a&b=c")
        let charset: HTTPFields = ["Content-Type": "Application/X-WWW-Form-Urlencoded; charset=utf-8"]
        #expect(try await post(node, "/v3/apps", "title=x", charset).decoded(AppObject.self).title == "x")
        #expect(try await post(node, "/v3/apps", "", Self.form).decoded(AppObject.self).maxUsers == 0)
        let path = "/v3/apps/\(made.appId)"
        let updated = try await post(node, path, "noAutoKickUser=false&maxUsers=", Self.form).decoded(AppObject.self)
        #expect(!updated.noAutoKickUser && updated.maxUsers == 3 && updated.title == made.title)
        // A nested dictionary has lost its values on the way here; as JSON text it has not.
        let lost = await post(node, path, "mergePublishRtmp=enable&mergePublishRtmp=url", Self.form)
        #expect(lost.status == 400 && lost.refusal?.error.contains("JSON") == true)
        let kept = await post(node, path, "mergePublishRtmp=%7B%22enable%22%3Atrue%7D", Self.form)
        #expect(try kept.decoded(AppObject.self).mergePublishRtmp == .object(["enable": .bool(true)]))
    }

    @Test(arguments: [
        (#"{"maxUsers":"3"}"#, "maxUsers"), (#"{"maxUsers":-1}"#, "maxUsers"), (#"{"maxUsers":1.5}"#, "maxUsers"),
        (#"{"maxUsers":true}"#, "maxUsers"), (#"{"maxUsers":99999999999999999999}"#, "maxUsers"),
        (#"{"maxUsers":1e300}"#, "maxUsers"), (#"{"maxUsers":1000001}"#, "maxUsers"),
        (#"{"maxUsers":[3]}"#, "maxUsers"),
        (#"{"noAutoKickUser":1}"#, "noAutoKickUser"), (#"{"noAutoCreateRoom":"yes"}"#, "noAutoCreateRoom"),
        (#"{"noAutoCloseRoom":{}}"#, "noAutoCloseRoom"), (#"{"autoCloseTtl":0}"#, "autoCloseTtl"),
        (#"{"autoCloseTtl":604801}"#, "autoCloseTtl"), (#"{"noEnterTtl":"10"}"#, "noEnterTtl"),
        (#"{"userTimeout":-30}"#, "userTimeout"), (#"{"userTimeout":9}"#, "userTimeout"),
        (#"{"userTimeout":3601}"#, "userTimeout"), (#"{"videoCodec":"MPEG"}"#, "videoCodec"),
        (#"{"videoCodec":"opus"}"#, "videoCodec"), (#"{"videoCodec":8}"#, "videoCodec"), (#"{"title":7}"#, "title"),
        (#"{"hub":["h"]}"#, "hub"), (#"{"mergePublishRtmp":"on"}"#, "mergePublishRtmp"),
        (#"{"mergePublishRtmp":[]}"#, "mergePublishRtmp"), (#"{"eventCbUrl":"ftp://x/"}"#, "eventCbUrl"),
        (#"{"eventCbUrl":"http://"}"#, "eventCbUrl"), (#"{"eventCbUrl":"http:///x"}"#, "eventCbUrl"),
        (#"{"eventCbUrl":"http://a b/"}"#, "eventCbUrl"), (#"{"eventCbUrl":"http://a/\r\nX: y"}"#, "eventCbUrl"),
        (#"{"eventCbUrl":"http://u@host/"}"#, "eventCbUrl"), (#"{"eventCbUrl":"http://host:99999/"}"#, "eventCbUrl"),
        (#"{"eventCbUrl":"http://host:0/"}"#, "eventCbUrl"), (#"{"eventCbUrl":"http://[::1/"}"#, "eventCbUrl"),
        (#"{"eventCbUrl":"ws://host/"}"#, "eventCbUrl"),
        (#"{"eventCbVersion":2}"#, "eventCbVersion"), (#"{"eventCbSecret":false}"#, "eventCbSecret"),
    ])
    func wrongValuesNameTheirField(_ body: String, _ field: String) async throws {
        let node = ServiceFixture()
        let answer = await post(node, "/v3/apps", body)
        #expect(answer.status == 400 && answer.refusal?.code == 10053, "\(body): \(answer.text)")
        #expect(answer.refusal?.error.hasPrefix("\(field) must") == true, "\(answer.text)")
        #expect(node.apps.apps(ownedBy: ServiceFixture.key).count == 1, "nothing was made")
    }

    @Test(arguments: [
        ("maxUsers=three", "maxUsers"), ("maxUsers=3.0", "maxUsers"), ("maxUsers=+-3", "maxUsers"),
        ("noAutoKickUser=1", "noAutoKickUser"), ("noAutoKickUser=TRUE", "noAutoKickUser"),
        ("maxUsers=1&maxUsers=2", "maxUsers"), ("title=a&title=a", "title"), ("autoCloseTtl=0", "autoCloseTtl"),
        ("videoCodec=", ""), ("title", ""), ("%=%&=&&", ""), ("maxUsers=%33", ""),
    ])
    func formValues(_ body: String, _ field: String) async throws {
        let answer = await post(ServiceFixture(), "/v3/apps", body, Self.form)
        #expect(answer.status == (field.isEmpty ? 200 : 400), "\(body): \(answer.text)")
        if !field.isEmpty { #expect(answer.refusal?.error.hasPrefix(field) == true, "\(answer.text)") }
    }

    @Test func bodiesThatAreNone() async throws {
        let node = ServiceFixture()
        let deep = String(repeating: "{\"a\":", count: 5000) + "1" + String(repeating: "}", count: 5000)
        for body in ["{", "nonsense", "[]", "3", "null", "\"x\"", "{\"a\":1}}", deep, "{\"a\":NaN}"] {
            let answer = await post(node, "/v3/apps", body)
            #expect(answer.status == 400 && answer.refusal?.code == 10053, "\(body.prefix(20)): \(answer.status)")
        }
        let binary = await node.server("POST", "/v3/apps", headers: ["Content-Type": "image/png"], body: "\u{89}PNG")
        #expect(binary.status == 415)
        let untyped = await node.server("POST", "/v3/apps", body: "title=x")
        #expect(untyped.status == 415)
        let many = (0..<200).map { "f\($0)=1" }.joined(separator: "&")
        #expect(await post(node, "/v3/apps", many, Self.form).status == 400)
        let long = await post(node, "/v3/apps", "{\"title\":\"\(String(repeating: "é", count: 129))\"}")
        #expect(long.status == 400 && long.refusal?.error.hasPrefix("title must") == true)
        #expect(node.apps.apps(ownedBy: ServiceFixture.key).count == 1)
    }

    @Test func callbacksCanBeTurnedOff() async throws {
        let node = ServiceFixture()
        let made = try await post(node, "/v3/apps", #"{"eventCbUrl":"http://[::1]:8080/","eventCbSecret":"s"}"#)
            .decoded(AppObject.self)
        #expect(made.eventCbUrl == "http://[::1]:8080/" && made.eventCbVersion == 1)
        let off = try await post(node, "/v3/apps/\(made.appId)", #"{"eventCbUrl":""}"#).decoded(AppObject.self)
        #expect(off.eventCbUrl == nil && off.eventCbVersion == nil)
    }

    /// The operator's list is asked when the URL is set, not only when an event has nowhere to go.
    @Test func callbacksGoWhereTheOperatorAllows() async throws {
        let node = ServiceFixture(callbacks: try WebhookAllowList(["*.example.com", "http://127.0.0.1:9000"]))
        func set(_ url: String, _ path: String = "/v3/apps") async -> HTTPResponse {
            await post(node, path, #"{"title":"t","eventCbUrl":"\#(url)"}"#)
        }
        let made = try await set("https://back-end.example.com/events").decoded(AppObject.self)
        let path = "/v3/apps/\(made.appId)"
        for url in ["http://example.com/", "http://127.0.0.1:9001/", "https://127.0.0.1:9000/", "http://[::1]:9000/"] {
            for path in ["/v3/apps", path] {
                let refused = await set(url, path)
                #expect(refused.status == 400 && refused.refusal?.code == 10053, "\(url): \(refused.text)")
                #expect(refused.refusal?.error.contains("host is not one that this node may post to") == true)
            }
        }
        #expect(try await node.server("GET", path).decoded(AppObject.self) == made, "nothing has changed")
        #expect(node.apps.apps(ownedBy: ServiceFixture.key).count == 2)
        #expect(await set("http://127.0.0.1:9000/x?y", path).status == 200)
        #expect(await set("", path).status == 200)
        #expect(node.apps.app(made.appId)?.details.eventCbUrl == "")
    }

    @Test func aKeyHasSoManyAppsAtMost() async throws {
        let node = ServiceFixture(appsPerKey: 2)
        for _ in 0..<2 { #expect(await post(node, "/v3/apps", "{}").status == 200) }
        let refused = await post(node, "/v3/apps", "{}")
        #expect(refused.status == 429 && refused.refusal?.code == 10055)
        #expect(await post(node, "/v3/apps", "{}", key: ServiceFixture.theirKey).status == 200)
    }

    // MARK: Jobs

    @Test func jobsAreNotSupported() async throws {
        let node = ServiceFixture()
        for (method, path) in [
            ("POST", "/v3/apps/demo/rooms/r/merge_job"), ("POST", "/v3/apps/demo/rooms/r/merge_job/j/tracks"),
            ("POST", "/v3/apps/demo/rooms/r/merge_job/j/watermarks"), ("DELETE", "/v3/apps/demo/rooms/r/merge_job/j"),
            ("POST", "/v4/apps/demo/rooms/r/jobs"), ("POST", "/v4/apps/demo/rooms/r/jobs/update"),
            ("POST", "/v4/apps/demo/rooms/r/jobs/stop"), ("POST", "/v3/apps/demo/rooms/r/forward_job"),
            ("POST", "/v3/apps/demo/rooms/r/forward_job/delete"),
        ] {
            let answer = await node.server(method, path, headers: Self.json, body: #"{"id":"j"}"#)
            #expect(answer.status == 501 && answer.refusal?.error.contains("not supported") == true, "\(path)")
            let theirs = path.replacing("demo", with: "theirs")
            #expect(await node.server(method, theirs).status == 612)
        }
    }
}
