import FoundationEssentials
import MediaWire
import RoomControl
import RoomService
import Synchronization
import WebTransport

/// `parlor webhooks listen`: a receiver to look at.
enum WebhookCommands {
    static let listen = Command(
        spec: CommandSpec(
            ["webhooks", "listen"], "Receive webhooks and print them, a line for each.",
            options: [
                OptionSpec("listen", "ADDRESS:PORT", "Where (default: 127.0.0.1:9000)."),
                OptionSpec("access-key", "NAME", "The app's access key (default: devkey)."),
                OptionSpec("secret", "TEXT", "The app's eventCbSecret, or its key's secret (default: devsecret)."),
                OptionSpec("fail", "N", "Answer 500 to the first N requests, to see them come again."),
                OptionSpec("json", nil, "Print JSON: {\"answered\", \"signature\", \"event\"}."),
            ],
            notes: [
                "Set the app's eventCbUrl to http://ADDRESS:PORT/ and join a room; docs/webhooks.md shows how. A signal ends it."
            ])
    ) { context in
        let arguments = context.arguments
        let console = context.console
        let endpoint = try endpoint(arguments["listen"] ?? "127.0.0.1:9000")
        let defaults = NodeConfiguration.App.development
        let key = AccessKey(
            id: arguments["access-key"] ?? defaults.accessKey, secret: arguments["secret"] ?? defaults.secret)
        guard !key.id.isEmpty, !key.id.contains(":") else { throw UsageError("\"\(key.id)\" is not an access key") }
        var failures = 0
        if let text = arguments["fail"] {
            guard let number = Numbers.whole(text) else {
                throw UsageError("--fail: \"\(text)\" is not a number of requests")
            }
            failures = number
        }
        let receiver = WebhookReceiver(
            key: key, failures: failures, printsJSON: arguments.has("json"), print: { console.print($0) })
        let server = HTTPServer()
        do { try server.listen(host: endpoint.host, port: endpoint.port) } catch {
            throw CommandFailure("cannot listen on TCP \(endpoint): \(error) (--listen)")
        }
        context.stop.listen()
        server.start { receiver.answer($0) }
        console.note("listening on http://\(endpoint)/ for events signed by \(key.id)")
        await context.stop.wait()
        await server.stop(grace: .milliseconds(100))
    }

    private static func endpoint(_ text: String) throws(UsageError) -> TransportAddress {
        do throws(ValueComplaint) { return try ValueReader.endpoint.read(.text(text, quoted: false)) } catch {
            throw UsageError("--listen: \(error.message)")
        }
    }
}

/// Checks, prints and answers what arrives.
final class WebhookReceiver: Sendable {
    private let apps: AppDirectory
    private let printsJSON: Bool
    private let print: @Sendable (String) -> Void
    private let failures: Mutex<Int>

    init(key: AccessKey, failures: Int, printsJSON: Bool, print: @escaping @Sendable (String) -> Void) {
        apps = AppDirectory(apps: [], keys: [key])
        self.failures = Mutex(failures)
        self.printsJSON = printsJSON
        self.print = print
    }

    func answer(_ request: HTTPRequest) -> HTTPResponse {
        guard request.method == "POST" else {
            return HTTPResponse(status: 405, headers: ["Allow": "POST"], text: "webhooks come by POST\n")
        }
        let signature = signatureProblem(request)
        guard let event = try? JSONDecoder().decode(WebhookEvent.self, from: Data(request.body)) else {
            let problem = "a body of \(request.body.count) bytes that is not an event"
            print(printsJSON ? Self.json(Line(answered: 400, signature: signature ?? "ok", problem: problem)) : problem)
            return HTTPResponse(status: 400, text: "the body is not an event of docs/webhooks.md\n")
        }
        // Under the lock, so that lines stand in the order in which requests were counted.
        let status = failures.withLock { failures in
            let status = failures > 0 ? 500 : 200
            failures = max(0, failures - 1)
            print(
                printsJSON
                    ? Self.json(Line(answered: status, signature: signature ?? "ok", event: event))
                    : Self.text(event, signature: signature, status: status))
            return status
        }
        return HTTPResponse(status: status, text: status == 200 ? "ok\n" : "as --fail wants it\n")
    }

    /// `nil`: it is right.
    private func signatureProblem(_ request: HTTPRequest) -> String? {
        do {
            let signer = try RequestSignature.verify(
                SignableRequest(request), authorization: request.headers["Authorization"], apps: apps,
                unixTime: SigningIdentity.now())
            return signer.signedBody ? nil : "the signature does not cover the body"
        } catch { return error.message }
    }

    private struct Line: Encodable {
        var answered: Int
        /// `ok`, or what is wrong.
        var signature: String
        var event: WebhookEvent?
        var problem: String?
    }

    private static func json(_ line: Line) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(line)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    /// Time, event, room with the event's number, user, details, signature.
    private static func text(_ event: WebhookEvent, signature: String?, status: Int) -> String {
        var details: [String] = []
        if let track = event.track {
            details.append([track.kind, track.codec, track.trackId].compactMap(\.self).joined(separator: " "))
            if let tag = track.tag, !tag.isEmpty { details.append("tag \(tag)") }
        }
        if let reason = event.reason { details.append("reason \(reason)") }
        if let by = event.kickedBy { details.append("by \(by)") }
        if event.byServer == true { details.append("by the server") }
        let words = [
            time(event.time), event.event.rawValue.padded(to: 17),
            "\(event.appId)/\(event.roomName) #\(event.sequence)",
            event.userId ?? "-", details.joined(separator: ", "),
            "signature \(signature.map { "WRONG: \($0)" } ?? "ok")",
            status == 200 ? "" : "answered \(status)",
        ]
        // Whoever sends chooses the words.
        return Console.printable(words.filter { !$0.isEmpty }.joined(separator: "  "))
    }

    /// Of the day, UTC.
    private static func time(_ milliseconds: Int64) -> String {
        let ofDay = ((milliseconds % 86_400_000) + 86_400_000) % 86_400_000
        func digits(_ number: Int64, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        let (hours, minutes) = (ofDay / 3_600_000, ofDay / 60_000 % 60)
        let (seconds, rest) = (ofDay / 1000 % 60, ofDay % 1000)
        return "\(digits(hours, 2)):\(digits(minutes, 2)):\(digits(seconds, 2)).\(digits(rest, 3))Z"
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
