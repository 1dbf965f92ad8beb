import FoundationEssentials
import MediaContract
import MediaWire
import RoomControl
import RoomService
import Testing
import WebTransport

@Suite struct WebhookEventTests {
    private let room = RoomKey(app: "demo", room: "room")

    /// One of each notice, and what a back end hears of it.
    private static let notices: [(RoomNotice, WebhookEvent.Kind?)] = [
        (.created(byServer: true), .roomCreated), (.joined(user: "a"), .userJoined),
        (.legStarted(user: "a", .sending), nil),
        (.published(user: "a", track: "t", .vp8, tag: "camera"), .trackPublished),
        (.muted(user: "a", track: "t", true, byServer: true), .trackMuted),
        (.muted(user: "a", track: "t", false, byServer: false), .trackUnmuted),
        (.subscriptionRefused(user: "a", SubscriptionID(1)), nil),
        (.unpublished(user: "a", track: "t"), .trackUnpublished),
        (.reconnecting(user: "a"), .userReconnecting), (.reconnected(user: "a"), .userReconnected),
        (.kicked(user: "a", by: "b"), .userKicked), (.legEnded(user: "a", .sending, .kicked), nil),
        (.left(user: "a", .kicked), .userLeft), (.closed(.empty), .roomClosed),
    ]

    @Test func aSessionIsNumberedFromItsBeginningToItsEnd() throws {
        var sessions = WebhookSessions(prefix: "p")
        for life: UInt32 in [1, 7] {
            var events: [WebhookEvent] = []
            for (notice, kind) in Self.notices {
                let event = sessions.event(notice, in: room, RoomInstance(life), unixMilliseconds: 1_800_000_000_123)
                #expect(event?.event == kind, "\(notice)")
                if let event { events.append(event) }
            }
            #expect(events.map(\.sequence) == Array(1...UInt64(events.count)))
            #expect(Set(events.map(\.roomSession)) == ["p-\(life)"])
            #expect(events.map(\.id) == events.map { "p-\(life)-\($0.sequence)" })
            #expect(Set(events.map(\.event)) == Set(WebhookEvent.Kind.allCases))
            #expect(sessions.count == 0)
        }
    }

    @Test func whatComesOutsideOfALifeIsNoEventAndLeavesNothing() {
        var sessions = WebhookSessions(prefix: "p")
        for (notice, kind) in Self.notices where kind != .roomCreated {
            #expect(sessions.event(notice, in: room, RoomInstance(1), unixMilliseconds: 0) == nil)
        }
        #expect(sessions.count == 0)
    }

    @Test func roomsAreNumberedApart() {
        var sessions = WebhookSessions(prefix: "p")
        for instance: UInt32 in [1, 2] {
            _ = sessions.event(.created(byServer: false), in: room, RoomInstance(instance), unixMilliseconds: 0)
        }
        #expect(sessions.event(.joined(user: "a"), in: room, RoomInstance(1), unixMilliseconds: 0)?.id == "p-1-2")
        #expect(sessions.event(.joined(user: "a"), in: room, RoomInstance(2), unixMilliseconds: 0)?.id == "p-2-2")
    }

    /// The bodies as receivers read them: names, and no field that does not belong.
    @Test(arguments: [
        (RoomNotice.created(byServer: true), #""byServer":true,"event":"room.created""#, ""),
        (.closed(.deleted), #""event":"room.closed""#, #""reason":"deleted","#),
        (.joined(user: "a"), #""event":"user.joined""#, #""userId":"a","#),
        (.left(user: "a", .silent), #""event":"user.left""#, #""reason":"silent","userId":"a","#),
        (.kicked(user: "a", by: "b"), #""byServer":false,"event":"user.kicked""#, #""kickedBy":"b","userId":"a","#),
        (.kicked(user: "a", by: nil), #""byServer":true,"event":"user.kicked""#, #""userId":"a","#),
        (
            .published(user: "a", track: "t", .opus, tag: "ä\""), #""event":"track.published""#,
            #""track":{"codec":"opus","kind":"audio","tag":"ä\"","trackId":"t"},"userId":"a","#
        ),
        (
            .muted(user: "a", track: "t", true, byServer: true), #""byServer":true,"event":"track.muted""#,
            #""track":{"trackId":"t"},"userId":"a","#
        ),
    ])
    func bodies(notice: RoomNotice, front: String, back: String) throws {
        let event = try #require(
            WebhookEvent(notice, in: room, session: "s", sequence: 7, unixMilliseconds: 1_800_000_000_123))
        let request = try WebhookRequest(
            event, to: WebhookTarget(url: "http://h/", secret: "s", keyID: "k"), allowed: .everything, unixTime: 0)
        let body = String(decoding: request.body, as: UTF8.self)
        // Sorted by name; the fields of every event are the same.
        #expect(body.hasPrefix(#"{"appId":"demo","# + front), "\(body)")
        for field in [
            #""id":"s-7""#, #""roomName":"room""#, #""roomSession":"s""#, #""sequence":7"#,
            #""time":1800000000123"#, #""version":1"#,
        ] + back.split(separator: ",").map(String.init) { #expect(body.contains(field), "\(field) in \(body)") }
        #expect(try JSONDecoder().decode(WebhookEvent.self, from: Data(request.body)) == event)
        let optional = ["reason", "userId", "kickedBy", "track", "byServer"]
        for name in optional where !front.contains(name) && !back.contains("\"\(name)\"") {
            #expect(!body.contains("\"\(name)\""), "\(name) in \(body)")
        }
    }

    @Test func theRequestIsSignedLikeTheServerAPI() throws {
        let event = try #require(
            WebhookEvent(.joined(user: "a"), in: room, session: "s", sequence: 1, unixMilliseconds: 0))
        let key = AccessKey(id: "ak", secret: "secret")
        let apps = AppDirectory(apps: [], keys: [key])
        for (url, host, target) in [
            ("http://example.com/hook?token=a%20b", "example.com", "/hook?token=a%20b"),
            ("https://example.com:8443", "example.com:8443", "/"), ("https://Example.com:443/", "Example.com", "/"),
            ("http://[::1]:9000/x", "[::1]:9000", "/x"),
        ] {
            for time: Int64 in [0, 951_782_399, 951_868_800, 1_800_000_000, 4_107_542_399] {
                let request = try WebhookRequest(
                    event, to: WebhookTarget(url: url, key: key), allowed: .everything, unixTime: time)
                #expect(request.headers["Host"] == host)
                var signed = SignableRequest(
                    method: "POST", target: target, host: host, contentType: request.headers["Content-Type"],
                    qiniuHeaders: [("X-Qiniu-Date", request.headers["X-Qiniu-Date"] ?? "")], body: request.body)
                let authorization = request.headers["Authorization"]
                let signer = try RequestSignature.verify(
                    signed, authorization: authorization, apps: apps, unixTime: time + 899)
                #expect(signer.key == key && signer.signedBody)
                #expect(throws: RequestSignatureError.stale) {
                    try RequestSignature.verify(signed, authorization: authorization, apps: apps, unixTime: time + 901)
                }
                signed.body[0] ^= 1
                #expect(throws: RequestSignatureError.wrong) {
                    try RequestSignature.verify(signed, authorization: authorization, apps: apps, unixTime: time)
                }
            }
        }
    }

    @Test func descriptionsKeepSecrets() {
        let target = WebhookTarget(url: "http://h/?token=url-secret", secret: "key-secret", keyID: "ak")
        #expect("\(target)" == "webhook target of key ak")
    }
}

@Suite struct WebhookAllowListTests {
    private func allows(_ patterns: [String], _ url: String) throws -> Bool {
        let list = try WebhookAllowList(patterns)
        do {
            _ = try list.check(url)
            return true
        } catch { return false }
    }

    @Test(arguments: [
        "ftp://example.com/", "ws://example.com/", "example.com", "", "http://", "http://user:pw@example.com/",
        "http://example.com:0/", "http://exa mple.com/", "http://example.com/\r\nHost: other", "file:///etc/passwd",
        "http://example.com/" + String(repeating: "a", count: 2048),
    ])
    func notAURL(url: String) throws {
        let error = #expect(throws: WebhookAddressError.self) { try WebhookAllowList.everything.check(url) }
        #expect(error.map { !$0.message.contains("pw") } == true)
    }

    @Test func withoutAListEveryHostIsAllowed() throws {
        for url in ["http://127.0.0.1:9000/", "https://example.com", "http://[fe80::1]/"] {
            #expect(try allows([], url))
        }
    }

    @Test(arguments: [
        ("example.com", "http://example.com/", true), ("example.com", "https://EXAMPLE.com.:8443/x", true),
        ("Example.com.", "http://example.com/", true), ("example.com", "http://a.example.com/", false),
        ("example.com", "http://notexample.com/", false), ("example.com", "http://example.com.evil.net/", false),
        ("example.com", "http://evil.net/example.com", false), ("example.com", "http://evil.net/?@example.com", false),
        ("*.example.com", "http://a.b.example.com/", true), ("*.example.com", "http://example.com/", false),
        ("*.example.com", "http://.example.com/", false), ("*.example.com", "http://aexample.com/", false),
        ("example.com:8443", "https://example.com:8443/", true), ("example.com:8443", "https://example.com/", false),
        ("example.com:443", "https://example.com/", true), ("https://example.com", "http://example.com/", false),
        ("https://example.com", "https://example.com:1/", true),
        ("https://*.example.com:443", "https://a.example.com/", true),
        ("https://*.example.com:443", "https://a.example.com:444/", false),
        ("192.0.2.7:9000", "http://192.0.2.7:9000/", true), ("192.0.2.7", "http://192.0.2.70/", false),
        ("127.0.0.1", "http://2130706433/", false), ("127.0.0.1", "http://0x7f.1/", false),
        ("[::1]", "http://[::1]:9000/", true), ("[::1]:9000", "http://[::1]:9001/", false),
        ("[::1]:9000", "http://[::1]:9000/", true), ("[::1]", "http://[::11]/", false),
    ])
    func patterns(pattern: String, url: String, isAllowed: Bool) throws {
        #expect(try allows([pattern], url) == isAllowed)
        #expect(try allows(["other.net", pattern], url) == isAllowed)
    }

    @Test(arguments: [
        "", "*", "*.", "a b", "http://", "ftp://example.com", "example.com/path", "a.*.com", "*.[::1]",
        "::1", "user@example.com", "example.com:x", "example.com:",
    ])
    func badPatterns(pattern: String) {
        let error = #expect(throws: WebhookAddressError.self) { try WebhookAllowList([pattern]) }
        #expect(error?.message.hasPrefix("\"\(pattern)\" names no host; write example.com") == true)
    }
}
