import FoundationEssentials
import MediaContract
import MediaWire
import RoomControl
import WebTransport

/// What is about the node itself: whether it lives, whether it takes newcomers, and draining it.
struct NodeRoutes: Sendable {
    let gate: ServerGate
    let directory: RoomDirectory
    let environment: RoomEnvironment
    let admission: Admission
    let drain: Drain
    /// The access key that may drain the node; `nil`: nobody may.
    let operatorKey: String?

    func add(to router: inout Router) {
        router.on("GET", "/healthz") { _ in HTTPResponse(status: 200, text: "ok\n") }
        router.on("GET", "/readyz") { _ in await readiness() }
        router.on("GET", "/v1/node/drain") { request in
            await gate.forOperator(operatorKey, of: request) { await status() }
        }
        router.on("POST", "/v1/node/drain") { request in
            await gate.forOperator(operatorKey, of: request) { await begin(request.http) }
        }
        router.on("DELETE", "/v1/node/drain") { request in
            await gate.forOperator(operatorKey, of: request) { drain.undo() ? await status() : stopping }
        }
    }

    // MARK: Readiness

    /// 503 while newcomers are refused, or a worker does not answer.
    private func readiness() async -> HTTPResponse {
        struct Body: Encodable {
            var ready: Bool
            var reason: String?
            var secondsLeft: Double?
        }
        switch admission.state {
        case .stopping: return Answer.json(Body(ready: false, reason: "stopping"), status: 503)
        case .draining:
            return Answer.json(
                Body(ready: false, reason: "draining", secondsLeft: drain.timeLeft?.seconds), status: 503)
        case .open: break
        }
        let silent = await WorkerSnapshots.all(of: environment).enumerated().filter { $0.element == nil }.map(
            \.offset)
        if let worker = silent.first {
            return Answer.json(Body(ready: false, reason: "worker \(worker) does not answer"), status: 503)
        }
        return Answer.json(Body(ready: true))
    }

    // MARK: Draining

    private func status() async -> HTTPResponse {
        let state: DrainStatus.State =
            switch admission.state {
            case .open: .open
            case .draining: .draining
            case .stopping: .stopping
            }
        return Answer.json(
            DrainStatus(
                state: state, rooms: await directory.roomCount, users: environment.population.users,
                secondsLeft: drain.timeLeft?.seconds))
    }

    private func begin(_ request: HTTPRequest) async -> HTTPResponse {
        var time: MediaDuration?
        if !request.body.isEmpty {
            guard let body = try? JSONDecoder().decode(DrainRequest.self, from: Data(request.body)) else {
                return Answer.error(
                    400, "the body must be JSON such as {\"deadline\":600} or {\"deadline\":\"10m\"}, or empty",
                    code: 10053)
            }
            if let seconds = body.seconds {
                guard (0...Double(DrainStatus.longest)).contains(seconds) else {
                    return Answer.error(
                        400, "deadline must be from 0 to \(DrainStatus.longest) seconds", code: 10053)
                }
                time = MediaDuration.milliseconds(Int64(seconds * 1000))
            }
        }
        return drain.begin(for: time) ? await status() : stopping
    }

    private var stopping: HTTPResponse { Answer.error(409, "the node is stopping already") }
}

/// The body of `POST /v1/node/drain`.
private struct DrainRequest: Decodable {
    /// `nil`: no deadline.
    var seconds: Double?

    private enum Key: String, CodingKey {
        case deadline
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        guard container.contains(.deadline), try !container.decodeNil(forKey: .deadline) else { return }
        if let number = try? container.decode(Double.self, forKey: .deadline) {
            seconds = number
            return
        }
        let text = try container.decode(String.self, forKey: .deadline)
        let units: [String: Double] = ["ms": 0.001, "s": 1, "m": 60, "h": 3600]
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard digits.utf8.count <= 9, let number = Int(digits), let unit = units[String(text[digits.endIndex...])]
        else {
            throw DecodingError.dataCorruptedError(
                forKey: .deadline, in: container, debugDescription: "neither seconds nor a time such as 10m")
        }
        seconds = Double(number) * unit
    }
}
