import FoundationEssentials
import RoomControl
import Testing

/// The vectors were made with the vendor's own Python package.
@Suite struct RoomTokenTests {
    static let key = AccessKey(id: "test-ak", secret: "test-sk")
    let apps = AppDirectory(
        apps: [
            App(id: "d8lk7l4ed", accessKey: "test-ak"), App(id: "other", accessKey: "other-ak"),
        ], keys: [key, AccessKey(id: "other-ak", secret: "other-sk")])

    static let compact =
        "test-ak:aHSR5xldzJIlayQoSCqX7IU7HPQ=:eyJhcHBJZCI6ImQ4bGs3bDRlZCIsInJvb21OYW1lIjoibWVldGluZy0wMDEiLCJ1c2VySWQi"
        + "OiJhbGljZV8xIiwiZXhwaXJlQXQiOjE4OTM0NTYwMDAsInBlcm1pc3Npb24iOiJ1c2VyIn0="
    static let spaced =
        "test-ak:TJlKWTjVD2WAhrUt2HMg5a0800M=:eyJhcHBJZCI6ICJkOGxrN2w0ZWQiLCAicm9vbU5hbWUiOiAibWVldGluZy0wMDEiLCAidXNl"
        + "cklkIjogImFsaWNlXzEiLCAiZXhwaXJlQXQiOiAxODkzNDU2MDAwLCAicGVybWlzc2lvbiI6ICJ1c2VyIn0="
    static let admin =
        "test-ak:E5pSruD-zJsjpuZ1Huqh1xhaUzY=:eyJhcHBJZCI6ImQ4bGs3bDRlZCIsInJvb21OYW1lIjoibWVldGluZy0wMDEiLCJ1c2VySWQi"
        + "OiJhbGljZV8xIiwiZXhwaXJlQXQiOjE4OTM0NTYwMDAsInBlcm1pc3Npb24iOiJhZG1pbiJ9"

    let alice = RoomToken(app: "d8lk7l4ed", room: "meeting-001", user: "alice_1", expiresAt: 1_893_456_000)

    func verify(_ text: String, at time: Int64 = 1_893_456_000) throws -> RoomToken {
        try RoomToken.verify(text, apps: apps, unixTime: time)
    }

    @Test func vectors() throws {
        #expect(try verify(Self.compact) == alice)
        #expect(try verify(Self.spaced) == alice)
        var boss = alice
        boss.permission = .admin
        #expect(try verify(Self.admin) == boss)
        #expect(alice.signed(by: Self.key) == Self.compact)
        #expect(boss.signed(by: Self.key) == Self.admin)
    }

    @Test func lenientDecoding() throws {
        // The other alphabet in the signature, and no padding there.
        let standard = Self.admin.replacing("E5pSruD-zJsjpuZ1Huqh1xhaUzY=", with: "E5pSruD+zJsjpuZ1Huqh1xhaUzY")
        #expect(try verify(standard).permission == .admin)
        // Without padding in the payload, and signed so.
        let json = #"{"appId":"d8lk7l4ed","roomName":"ro","userId":"u","expireAt":1893456000,"permission":""}"#
        let unpadded = Base64URL.encode(Array(json.utf8), padded: false)
        #expect(unpadded.utf8.count % 4 != 0, "the example must need padding")
        #expect(try verify(RoomToken.text(payload: unpadded, key: Self.key)).permission == .user)
    }

    @Test func expiry() throws {
        #expect(try verify(Self.compact, at: 1_893_456_000).user == "alice_1")
        #expect(throws: TokenError.expired) { try verify(Self.compact, at: 1_893_456_001) }
        #expect(TokenError.expired.code == 10002)
    }

    @Test func everyChangedCharacterIsRefused() {
        let characters = Array(Self.compact)
        for index in characters.indices {
            var changed = characters
            changed[index] = characters[index] == "A" ? "B" : "A"
            // The last character of a base64 group of two bytes carries two bits that mean nothing.
            let isPadBit = index == 34 || characters[index] == "="
            if isPadBit { continue }
            #expect(throws: TokenError.self, "character \(index)") { try verify(String(changed)) }
        }
    }

    @Test(arguments: [
        "", ":", "::", "a:b", "test-ak:aHSR5xldzJIlayQoSCqX7IU7HPQ=", compact + ":", compact + ":x", "x" + compact,
        String(repeating: "a", count: 5000), "test-ak::", "test-ak:%%%:e30=", "Bearer " + compact,
    ])
    func malformed(_ text: String) {
        #expect(throws: TokenError.self) { try verify(text) }
        do { _ = try verify(text) } catch { #expect((error as? TokenError)?.code == 10001) }
    }

    @Test func keysAndApps() {
        #expect(throws: TokenError.unknownKey) { try verify(alice.signed(by: AccessKey(id: "nobody", secret: "x"))) }
        #expect(throws: TokenError.wrongSignature) {
            try verify(alice.signed(by: AccessKey(id: "test-ak", secret: "guess")))
        }
        var elsewhere = alice
        elsewhere.app = "nowhere"
        #expect(throws: TokenError.unknownApp) { try verify(elsewhere.signed(by: Self.key)) }
        // The app exists, but belongs to another key.
        elsewhere.app = "other"
        #expect(throws: TokenError.unknownApp) { try verify(elsewhere.signed(by: Self.key)) }
    }

    @Test(arguments: [
        "[]", "1", "null", "{}", "{", "\"x\"", "{\"appId\":\"d8lk7l4ed\"}",
        #"{"appId":"d8lk7l4ed","roomName":"r","userId":"u","expireAt":"1893456000","permission":"user"}"#,
        #"{"appId":"d8lk7l4ed","roomName":"r","userId":"u","expireAt":1e300,"permission":"user"}"#,
        #"{"appId":"d8lk7l4ed","roomName":"r","userId":"u","expireAt":99999999999999999999,"permission":"user"}"#,
        #"{"appId":"d8lk7l4ed","roomName":"r","userId":"u"}"#,
        #"{"appId":"d8lk7l4ed","roomName":"","userId":"u","expireAt":1893456000}"#,
        #"{"appId":"d8lk7l4ed","roomName":"a/b","userId":"u","expireAt":1893456000}"#,
        #"{"appId":"d8lk7l4ed","roomName":"r","userId":"ü","expireAt":1893456000}"#,
        #"{"appId":"d8lk7l4ed","roomName":"r","userId":7,"expireAt":1893456000}"#,
        #"{"appId":["d8lk7l4ed"],"roomName":"r","userId":"u","expireAt":1893456000}"#,
    ])
    func wellSignedNonsense(_ json: String) {
        let text = RoomToken.text(payload: Base64URL.encode(Array(json.utf8)), key: Self.key)
        do {
            _ = try verify(text)
            Issue.record("accepted: \(json)")
        } catch {
            #expect((error as? TokenError)?.code == 10001)
        }
    }

    @Test func negativeAndAncientExpiry() {
        for expiry in ["-1", "0", "-9223372036854775808"] {
            let json = "{\"appId\":\"d8lk7l4ed\",\"roomName\":\"r\",\"userId\":\"u\",\"expireAt\":\(expiry)}"
            let text = RoomToken.text(payload: Base64URL.encode(Array(json.utf8)), key: Self.key)
            #expect(throws: TokenError.expired) { try verify(text) }
        }
    }

    @Test func namesHaveTheDocumentedLengths() {
        #expect(Names.isRoomName(String(repeating: "r", count: 64)))
        #expect(!Names.isRoomName(String(repeating: "r", count: 65)))
        #expect(Names.isUserID(String(repeating: "u", count: 50)))
        #expect(!Names.isUserID(String(repeating: "u", count: 51)))
        for bad in ["", " ", "a b", "a.b", "é", "a\u{0}", "日本"] { #expect(!Names.isUserID(bad)) }
    }

    /// Pieces of right and wrong things in any order: every reader of a client's text must take them.
    @Test func nonsenseNeverTraps() {
        let seed: UInt64 = 20_260_801
        var random = RandomSource.seeded(seed)
        let pieces = [
            ":", "=", "-", "_", ".", " ", "test-ak", "Qiniu ", "1-", "99999999999999999999", "\u{0}", "é", "日本", "%",
            "{}",
            "[", "\"appId\"", "AAAA", "20300101T000000Z", Self.compact, String(Self.admin.dropLast(9)),
        ]
        for _ in 0..<20_000 {
            var text = ""
            for _ in 0..<(random.next() % 6) { text += pieces[Int(random.next() % UInt64(pieces.count))] }
            let token = try? verify(text)
            #expect(token == nil || text == Self.compact, "seed \(seed): \(text)")
            if let leg = LegID(text: text) { #expect(leg.text == text && text.contains("-")) }
            if let bytes = Base64URL.decode(text) { #expect(bytes.count <= text.utf8.count) }
            let signed = RoomToken.text(payload: Base64URL.encode(Array(text.utf8)), key: Self.key)
            #expect((try? verify(signed)) == nil, "seed \(seed): \(text)")
            let request = SignableRequest(
                method: "GET", target: text, host: text, contentType: text, qiniuHeaders: [("X-Qiniu-Date", text)])
            #expect(throws: RequestSignatureError.self) {
                try RequestSignature.verify(request, authorization: text, apps: apps, unixTime: .max)
            }
        }
    }

    @Test func secretsStayOutOfDescriptions() {
        #expect(!"\(Self.key)".contains("test-sk"))
        #expect(!"\(LegID(text: "7-abcdefghijklmnopqrstuv")!)".contains("abcdef"))
    }
}

@Suite struct Base64URLTests {
    @Test func roundTrip() {
        var random = RandomSource.seeded(7)
        for length in 0..<200 {
            let bytes = random.bytes(length)
            for padded in [true, false] {
                let text = Base64URL.encode(bytes, padded: padded)
                #expect(Base64URL.decode(text) == bytes)
                #expect(text.replacing("-", with: "+").replacing("_", with: "/") == Base64URL.standard(bytes, padded))
            }
        }
    }

    @Test(arguments: ["A", "A===", "AA=", "AAA==", "=", "AA==A", "AA=A", "A A=", "AAAA=", "é", "AAAAA"])
    func impossible(_ text: String) { #expect(Base64URL.decode(text) == nil) }
}

extension Base64URL {
    /// Foundation's encoder as the reference.
    fileprivate static func standard(_ bytes: [UInt8], _ padded: Bool) -> String {
        let text = Data(bytes).base64EncodedString()
        return padded ? text : text.replacing("=", with: "")
    }
}

@Suite struct RequestSignatureTests {
    let key = AccessKey(id: "test-ak", secret: "test-sk")
    var apps: AppDirectory { AppDirectory(apps: [], keys: [key]) }
    let now: Int64 = 1_893_456_000  // 2030-01-01T00:00:00Z

    static let get = SignableRequest(
        method: "GET", target: "/v3/apps/d8lk7l4ed/rooms?prefix=meet&offset=0&limit=100", host: "rtc.qiniuapi.com")
    static let delete = SignableRequest(
        method: "DELETE", target: "/v3/apps/d8lk7l4ed/rooms/meeting-001/users/alice_1", host: "rtc.qiniuapi.com")
    static let form = SignableRequest(
        method: "GET", target: "/v3/apps/d8lk7l4ed/rooms/meeting-001/users", host: "rtc.qiniuapi.com",
        contentType: "application/x-www-form-urlencoded")
    static let post = SignableRequest(
        method: "POST", target: "/v3/apps", host: "rtc.qiniuapi.com", contentType: "application/json",
        body: Array(#"{"title":"t","maxUsers":3}"#.utf8))
    static var dated: SignableRequest {
        var request = post
        request.qiniuHeaders = [(name: "x-qiniu-date", value: "20300101T000000Z")]
        return request
    }

    @Test func vectors() throws {
        let vectors: [(SignableRequest, String)] = [
            (Self.delete, "Qiniu test-ak:RCgCyir9pgVC6hyVS29vusApnHM="),
            (Self.get, "Qiniu test-ak:lJF5bzzx9J8Fy1SZ5zRqXAd_pAo="),
            (Self.form, "Qiniu test-ak:Sxo6UoruulYHfAC6tCwmlQAbT5Y="),
            (Self.post, "Qiniu test-ak:o78BDWEBNRnxw_r9_GpQbePcZvs="),
            (Self.dated, "Qiniu test-ak:qxWb6_8qtw_czk-b-J49wwCHtyo="),
        ]
        for (request, authorization) in vectors {
            #expect(RequestSignature.authorization(for: request, key: key) == authorization)
            #expect(
                try RequestSignature.verify(request, authorization: authorization, apps: apps, unixTime: now).key == key
            )
        }
    }

    func refusal(
        _ request: SignableRequest, _ authorization: String?, at time: Int64? = nil
    ) -> RequestSignatureError? {
        do {
            _ = try RequestSignature.verify(request, authorization: authorization, apps: apps, unixTime: time ?? now)
            return nil
        } catch { return error }
    }

    @Test func everyPartIsCovered() {
        let right = RequestSignature.authorization(for: Self.dated, key: key)
        #expect(refusal(Self.dated, right) == nil)
        var changes: [SignableRequest] = []
        func change(_ body: (inout SignableRequest) -> Void) {
            var request = Self.dated
            body(&request)
            changes.append(request)
        }
        change { $0.method = "PUT" }
        change { $0.target += "?a=b" }
        change { $0.target = "/v3/app" }
        change { $0.host = "rtc.qiniuapi.com:8080" }
        change { $0.contentType = nil }
        change { $0.contentType = "application/json; charset=utf-8" }
        change { $0.body.append(0x20) }
        change { $0.body = [] }
        change { $0.qiniuHeaders = [] }
        change { $0.qiniuHeaders.append((name: "X-Qiniu-Extra", value: "1")) }
        for request in changes { #expect(refusal(request, right) == .wrong) }
    }

    @Test func bodyOfOtherTypes() {
        var request = Self.post
        request.contentType = "text/plain"
        var bodiless = request
        bodiless.body = []
        // Signed with its body (Python, Java) or without (Go): both are right.
        #expect(refusal(request, RequestSignature.authorization(for: request, key: key)) == nil)
        #expect(refusal(request, RequestSignature.authorization(for: bodiless, key: key)) == nil)
        // JSON and forms never go unsigned.
        var json = Self.post
        json.body = []
        #expect(refusal(Self.post, RequestSignature.authorization(for: json, key: key)) == .wrong)
        // An octet stream is never signed.
        request.contentType = "application/octet-stream"
        bodiless.contentType = "application/octet-stream"
        #expect(refusal(request, RequestSignature.authorization(for: bodiless, key: key)) == nil)
    }

    @Test func headersInAnyCaseAndOrder() {
        var request = Self.get
        request.qiniuHeaders = [(name: "X-QINIU-B", value: "2"), (name: "x-qiniu-a", value: "1")]
        var sorted = Self.get
        sorted.qiniuHeaders = [(name: "X-Qiniu-A", value: "1"), (name: "X-Qiniu-B", value: "2")]
        #expect(
            RequestSignature.authorization(for: request, key: key)
                == RequestSignature.authorization(for: sorted, key: key))
    }

    @Test func authorizationForms() {
        let right = RequestSignature.authorization(for: Self.get, key: key)
        #expect(refusal(Self.get, right.replacing("Qiniu", with: "qiniu")) == nil)
        #expect(refusal(Self.get, nil) == .missing)
        for bad in ["", "Qiniu", "QBox " + right.dropFirst(6), "Qiniu test-ak", "Qiniu a:b:c", "\(right) x"] {
            #expect(refusal(Self.get, bad) == .malformed)
        }
        #expect(refusal(Self.get, "Qiniu nobody:" + right.dropFirst("Qiniu test-ak:".count)) == .wrong)
        #expect(refusal(Self.get, "Qiniu test-ak:") == .wrong)
    }

    @Test func dates() {
        let right = RequestSignature.authorization(for: Self.dated, key: key)
        #expect(refusal(Self.dated, right, at: now + 900) == nil)
        #expect(refusal(Self.dated, right, at: now - 900) == nil)
        #expect(refusal(Self.dated, right, at: now + 901) == .stale)
        #expect(refusal(Self.dated, right, at: now - 901) == .stale)
        for bad in ["", "2030", "20300101T000000", "20301301T000000Z", "2030010aT000000Z", "20300101T250000Z"] {
            var request = Self.dated
            request.qiniuHeaders = [(name: "X-Qiniu-Date", value: bad)]
            #expect(refusal(request, RequestSignature.authorization(for: request, key: key)) == .malformedDate)
        }
    }

    @Test func calendar() {
        for (text, seconds) in [
            ("19700101T000000Z", 0), ("20000229T235959Z", 951_868_799), ("20240301T000000Z", 1_709_251_200),
            ("20300101T000000Z", 1_893_456_000), ("21000301T120000Z", 4_107_585_600),
        ] as [(String, Int64)] {
            var request = Self.get
            request.qiniuHeaders = [(name: "X-Qiniu-Date", value: text)]
            let right = RequestSignature.authorization(for: request, key: key)
            #expect(refusal(request, right, at: seconds + 900) == nil, "\(text)")
            #expect(refusal(request, right, at: seconds + 901) == .stale, "\(text)")
        }
    }
}

@Suite struct TURNCredentialTests {
    /// Reckoned by Python's hmac and base64.
    @Test func vector() throws {
        let credential = try #require(
            TURNCredential(secret: "north-by-north-west", user: "alice", expiresAt: 1_767_225_600))
        #expect(credential.username == "1767225600:alice")
        #expect(credential.password == "BpNsF0yWuatOxKJWLGC2PM92x1k=")
    }
}
