import RoomControl
import Testing

/// The signatures of the vendor's SDKs, which differ in what they put into a request. The vectors were made with the
/// signing class of the vendor's Python package, from requests as each SDK sends them.
@Suite struct SDKSignatureTests {
    struct Vector: Sendable, CustomTestStringConvertible {
        var sdk: String
        var method: String
        var target: String
        var contentType: String?
        var date: String?
        var body = ""
        var signature: String

        var testDescription: String { "\(sdk): \(method) \(target)" }

        var request: SignableRequest {
            SignableRequest(
                method: method, target: target, host: "rtc.qiniuapi.com", contentType: contentType,
                qiniuHeaders: date.map { [(name: "X-Qiniu-Date", value: $0)] } ?? [], body: Array(body.utf8))
        }
    }

    static let json = "application/json"
    static let form = "application/x-www-form-urlencoded"
    static let date = "20300101T000000Z"
    static let now: Int64 = 1_893_456_000
    static let app = "/v3/apps/d8lk7l4ed"

    static let vectors = [
        // Go sets a form's Content-Type where there is none, and signs it.
        Vector(sdk: "Go", method: "GET", target: app, contentType: form, signature: "KOjXo9owrGP1FhpneQXnaBeGxYo="),
        Vector(sdk: "Go", method: "DELETE", target: app, contentType: form, signature: "zJ4G7K50xvXhW9moph5aWRWaBMw="),
        Vector(
            sdk: "Go", method: "POST", target: "/v3/apps", contentType: json,
            body: #"{"hub":"h","title":"t","maxUsers":10,"noAutoKickUser":true}"#,
            signature: "ZgHn84ePVLKCv-7RvytbZTiIGMw="),
        // Python does the same, adds the date, and posts forms.
        Vector(
            sdk: "Python", method: "GET", target: app, contentType: form, date: date,
            signature: "pm8tv06SDdP-5KzkZ-iw0awS6s8="),
        Vector(
            sdk: "Python", method: "POST", target: "/v3/apps", contentType: form, date: date,
            body: "title=t&maxUsers=3&noAutoKickUser=True", signature: "7rdOjRAFkhx58J89oR4eKW-Jepg="),
        // Node says JSON, whatever the method.
        Vector(
            sdk: "Node", method: "GET", target: app + "/rooms?prefix=p&offset=0&limit=100", contentType: json,
            signature: "JFjpT_JbWCLN5F3x-M2R5CE9-zA="),
        Vector(
            sdk: "Node", method: "DELETE", target: app + "/rooms/r/users/u", contentType: json,
            signature: "jsQ0WpWl096tbHwXkJQtKWX295Y="),
        Vector(
            sdk: "Node", method: "POST", target: app, contentType: json, body: #"{"maxUsers":5}"#,
            signature: "JdywiqvAJsNgwf_8lKki9387Yk8="),
        // Java has no Content-Type without a body, and adds the date.
        Vector(
            sdk: "Java", method: "GET", target: app + "/rooms/r/users", date: date,
            signature: "Giz4xyHv1USAZlr0SSy8BjBcD4o="),
        Vector(
            sdk: "Java", method: "DELETE", target: app + "/rooms/r", date: date,
            signature: "Fks6wmkMxTfprNJFFGYluaMUNC4="),
        Vector(
            sdk: "Java", method: "POST", target: app + "/createroom", contentType: json, date: date,
            body: #"{"roomName":"r","maxUsers":20}"#, signature: "gFz0S62qSWPcMs2-vzpKR8UxskM="),
        // PHP says JSON on POST and DELETE.
        Vector(sdk: "PHP", method: "GET", target: app, signature: "gV-38qRfmdWg7LiGrEfn0jbGyiY="),
        Vector(
            sdk: "PHP", method: "POST", target: "/v3/apps", contentType: json, body: #"{"hub":"h","title":"t"}"#,
            signature: "P3IxaCRKzMAoVzE_ihRnmEfXlng="),
        Vector(sdk: "PHP", method: "DELETE", target: app, contentType: json, signature: "XDOroSc3vzhVZyB2N_HZhOt5LPY="),
    ]

    let key = AccessKey(id: "test-ak", secret: "test-sk")

    @Test(arguments: vectors) func isAccepted(_ vector: Vector) throws {
        let apps = AppDirectory(apps: [], keys: [key])
        let authorization = "Qiniu test-ak:\(vector.signature)"
        #expect(RequestSignature.authorization(for: vector.request, key: key) == authorization)
        let signer = try RequestSignature.verify(
            vector.request, authorization: authorization, apps: apps, unixTime: Self.now)
        #expect(signer.key == key)
        #expect(signer.signedBody == !vector.body.isEmpty)
        // Through a proxy that changes the host, or replayed later: no.
        var moved = vector.request
        moved.host = "elsewhere"
        #expect(throws: RequestSignatureError.wrong) {
            try RequestSignature.verify(moved, authorization: authorization, apps: apps, unixTime: Self.now)
        }
        if vector.date != nil {
            #expect(throws: RequestSignatureError.stale) {
                try RequestSignature.verify(
                    vector.request, authorization: authorization, apps: apps, unixTime: Self.now + 901)
            }
        }
    }
}
