import MediaWire
import RoomControl
import RoomService
import WebTransport

/// What must hold for any body of a server-API request. Run by the fuzzer, and by the unit tests on the corpus.
///
/// The input: a line with the Content-Type (empty: none), the rest is the body.
enum RequestBodyExercise {
    static func request(_ bytes: [UInt8]) -> HTTPRequest {
        let parts = bytes.split(separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
        let type = String(decoding: parts[0], as: UTF8.self)
        return request(type: type, parts.count > 1 ? Array(parts[1]) : [])
    }

    static func request(type: String, _ body: [UInt8]) -> HTTPRequest {
        HTTPRequest(
            method: "POST", target: "/v3/apps",
            headers: type.isEmpty ? HTTPFields([]) : HTTPFields([HTTPField("Content-Type", type)]), body: body)
    }

    /// The first broken promise, in words; `nil` if all were kept.
    static func run(_ bytes: [UInt8]) -> String? {
        let body: RequestBody
        do throws(RequestBody.Problem) { body = try RequestBody(request(bytes)) } catch {
            return [400, 415].contains(error.status) && !error.message.isEmpty ? nil : "a refusal without a reason"
        }
        if let broken = checkFields(body) { return broken }
        do throws(RequestBody.Problem) {
            let changes = try body.appChanges(callbacks: .everything)
            if let url = changes.eventCbUrl, !url.isEmpty, (try? WebhookAllowList.everything.check(url)) == nil {
                return "a URL that no event can be sent to"
            }
            var app = App(id: "a", accessKey: "k", origin: .api)
            changes.apply(to: &app)
            if let broken = check(app) { return broken }
        } catch { if let broken = check(error) { return broken } }
        do throws(RequestBody.Problem) {
            let settings = try body.roomSettings()
            var app = App(id: "a", accessKey: "k")
            app.settings = settings.over(AppSettings())
            return check(app)
        } catch { return check(error) }
    }

    /// Each reader by itself, and what it read once more as JSON: the same.
    private static func checkFields(_ body: RequestBody) -> String? {
        if let text = try? body.text("title", upTo: 16) {
            guard text.utf8.count <= 16, let json = JSONValue.object(["title": .string(text)]).text,
                let again = try? RequestBody(request(type: "application/json", Array(json.utf8))),
                (try? again.text("title", upTo: 16)) == text
            else { return "a text that does not read back" }
        }
        if let number = try? body.number("maxUsers", in: -5...5, of: "things") {
            let json = "{\"maxUsers\":\(number)}"
            guard (-5...5).contains(number),
                let again = try? RequestBody(request(type: "application/json", Array(json.utf8))),
                (try? again.number("maxUsers", in: -5...5, of: "things")) == number
            else { return "a number that does not read back" }
        }
        if let object = try? body.object("mergePublishRtmp", upTo: 64) {
            guard case .object = object, let text = object.text, text.utf8.count <= 64,
                JSONValue(text: text.utf8)?.text == text
            else { return "an object that does not read back" }
        }
        return nil
    }

    private static func check(_ app: App) -> String? {
        let (settings, details) = (app.settings, app.details)
        let times = [settings.autoCloseTtl, settings.noEnterTtl, settings.userTimeout]
        let range = MediaDuration.seconds(1)...MediaDuration.seconds(604_800)
        guard times.allSatisfy(range.contains) else { return "a time out of range" }
        guard (0...1_000_000).contains(settings.maxUsers) else { return "a number of users out of range" }
        guard settings.videoCodec.kind == .video else { return "a codec that is no video" }
        guard details.title.utf8.count <= 256, details.hub.utf8.count <= 256, details.eventCbUrl.utf8.count <= 2048
        else { return "a text that is too long" }
        guard details.eventCbUrl.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return "an impossible URL" }
        return nil
    }

    /// A refused field is named, and the sentence is of one line: it goes into JSON, and into logs.
    private static func check(_ problem: RequestBody.Problem) -> String? {
        let fields = [
            "title", "hub", "maxUsers", "noAuto", "autoCloseTtl", "noEnt", "userTimeout", "videoCodec",
            "mergePublishRtmp", "eventCb", "openRoom",
        ]
        guard problem.status == 400, fields.contains(where: problem.message.hasPrefix) else {
            return "a refusal that names no field: \(problem.message)"
        }
        return problem.message.utf8.contains { $0 < 0x20 } ? "a refusal of several lines" : nil
    }
}
