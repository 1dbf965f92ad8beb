import MediaContract
import MediaWire
import RoomControl
import WebTransport

/// WHIP and WHEP (RFC 9725): `POST /whip` publishes, `POST /whep` plays; the Location of the answer is the leg.
struct LegRoutes: Sendable {
    let endpoint: JoinEndpoint
    let clientAddress: ClientAddress
    let counters: NodeCounters

    /// More than any offer has lines.
    private static let mostPicks = 32

    func add(to router: inout Router) {
        for (path, kind) in [("/whip", LegKind.sending), ("/whep", .receiving)] {
            router.on("POST", path) { await join($0, kind, path) }
            router.on("GET", "\(path)/:leg") { await visit($0, kind) }
            router.on("DELETE", "\(path)/:leg") { await remove($0, kind) }
        }
    }

    private func join(_ request: RoutedRequest, _ kind: LegKind, _ path: String) async -> HTTPResponse {
        let (answer, code) = await join(request.http, kind, path)
        counters.joined(kind == .sending ? .whip : .whep, code: code)
        return answer
    }

    /// The answer, and the service's code that it stands for; 0: the leg is in.
    private func join(
        _ request: HTTPRequest, _ kind: LegKind, _ path: String
    ) async -> (answer: HTTPResponse, code: Int) {
        guard let token = Bearer.token(of: request) else { return (Refusal.missingToken, 10001) }
        do throws(JoinRefusal) {
            _ = try endpoint.verify(token)
            guard isSDP(request.headers["Content-Type"]) else {
                var answer = Answer.error(415, "the body must be application/sdp", code: 10053)
                answer.headers["Accept-Post"] = "application/sdp"
                return (answer, 10053)
            }
            guard let picks = kind == .receiving ? picks(of: request) : [] else {
                let message = "user and track in the query must be names, at most \(Self.mostPicks) of them"
                return (Answer.error(400, message, code: 10053), 10053)
            }
            let leg = try await endpoint.join(
                JoinEndpoint.Request(
                    token: token, kind: kind, offer: String(decoding: request.body, as: UTF8.self), picks: picks,
                    client: clientAddress.of(request)))
            var answer = HTTPResponse(status: 201, text: leg.answer, contentType: "application/sdp")
            answer.headers["Location"] = "\(path)/\(leg.id.text)"
            // The answer holds keys.
            answer.headers["Cache-Control"] = "no-store"
            return (answer, 0)
        } catch { return (Refusal.answer(error), error.code) }
    }

    private func visit(_ request: RoutedRequest, _ kind: LegKind) async -> HTTPResponse {
        guard let id = LegID(text: request.parameter("leg")), let visit = await endpoint.visitLeg(id, kind) else {
            return Refusal.noSuchLeg(kind)
        }
        var answer = Answer.json(LegBody(visit))
        answer.headers["Cache-Control"] = "no-store"
        return answer
    }

    private func remove(_ request: RoutedRequest, _ kind: LegKind) async -> HTTPResponse {
        guard let token = Bearer.token(of: request.http) else { return Refusal.missingToken }
        do throws(JoinRefusal) {
            _ = try endpoint.verify(token)
            guard let id = LegID(text: request.parameter("leg")) else { return Refusal.noSuchLeg(kind) }
            return switch try await endpoint.removeLeg(id, kind, token: token) {
            case .removed: HTTPResponse(status: 200)
            case .noSuchLeg: Refusal.noSuchLeg(kind)
            case .notYours: Answer.error(403, "the leg belongs to another user", code: 10051)
            }
        } catch { return Refusal.answer(error) }
    }

    private func isSDP(_ contentType: String?) -> Bool {
        guard let type = contentType?.split(separator: ";").first else { return false }
        return type.split(separator: " ").joined().lowercased() == "application/sdp"
    }

    /// `?user=NAME` and `?track=ID`, in their order; other parameters mean nothing. `nil`: one of them is no name.
    private func picks(of request: HTTPRequest) -> [LegPick]? {
        var picks: [LegPick] = []
        for item in request.queryItems {
            switch item.name {
            case "user":
                guard Names.isUserID(item.value) else { return nil }
                picks.append(.user(item.value))
            case "track":
                guard Names.isRoomName(item.value) else { return nil }
                picks.append(.track(item.value))
            default: continue
            }
        }
        return picks.count <= Self.mostPicks ? picks : nil
    }
}

/// Reads `Authorization: Bearer …`.
enum Bearer {
    /// The scheme in any case, any white space around the token. A room token holds `:` and `=`, which RFC 6750 does
    /// not foresee in all places, so whatever stands there is taken as it is.
    static func token(of request: HTTPRequest) -> String? {
        guard let header = request.headers["Authorization"] else { return nil }
        let words = header.split(maxSplits: 1) { $0 == " " || $0 == "\t" }
        guard words.count == 2, words[0].lowercased() == "bearer" else { return nil }
        return words[1].split { $0 == " " || $0 == "\t" }.joined(separator: " ")
    }
}
