import MediaContract
import MediaWire
import RoomControl
import WebTransport

/// WHIP and WHEP (RFC 9725): `POST /whip` publishes, `POST /whep` plays; the Location of the answer is the leg.
struct LegRoutes: Sendable {
    let endpoint: JoinEndpoint
    let clientAddress: ClientAddress
    let counters: NodeCounters
    let clock: RoomClock
    var iceServers: [ICEServer] = []

    /// More than any offer has lines.
    private static let mostPicks = 32

    func add(to router: inout Router) {
        for (path, kind) in [("/whip", LegKind.sending), ("/whep", .receiving)] {
            router.on("POST", path) { await join($0, kind, path) }
            router.on("GET", "\(path)/:leg") { await visit($0, kind) }
            router.on("PATCH", "\(path)/:leg") { await change($0, kind) }
            router.on("DELETE", "\(path)/:leg") { await remove($0, kind) }
        }
    }

    /// What every answer at these paths has: refusals are problem documents, and OPTIONS says what can be sent.
    func finished(_ response: HTTPResponse, to request: HTTPRequest) -> HTTPResponse {
        let components = request.pathComponents
        guard components.first == "whip" || components.first == "whep" else { return response }
        var response = Problem.document(response)
        if request.method == "OPTIONS", response.status == 204 {
            if components.count == 1 {
                response.headers["Accept-Post"] = SDPContent.description
                // Anybody may ask; credentials come with the leg.
                response.headers["Link"] = ICEServer.publicLinks(iceServers)
            } else {
                response.headers["Accept-Patch"] = SDPContent.fragment
            }
        }
        return response
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
        guard let text = Bearer.token(of: request) else { return (Refusal.missingToken, 10001) }
        do throws(JoinRefusal) {
            let token = try endpoint.verify(text)
            guard SDPContent.type(of: request) == SDPContent.description else {
                var answer = Answer.error(415, "the body must be \(SDPContent.description)", code: 10053)
                answer.headers["Accept-Post"] = SDPContent.description
                return (answer, 10053)
            }
            guard let layer = layer(of: request) else {
                return (Answer.error(400, "layer is high, medium or low", code: 10053), 10053)
            }
            guard let picks = kind == .receiving ? picks(of: request) : [] else {
                let message = "user and track in the query must be names, at most \(Self.mostPicks) of them"
                return (Answer.error(400, message, code: 10053), 10053)
            }
            var join = JoinEndpoint.Request(
                token: token, kind: kind, offer: String(decoding: request.body, as: UTF8.self), picks: picks,
                client: clientAddress.of(request))
            join.layer = layer
            let leg = try await endpoint.join(join)
            var answer = HTTPResponse(status: 201, text: leg.answer, contentType: "application/sdp")
            answer.headers["Location"] = "\(path)/\(leg.id.text)"
            if let tag = leg.entityTag {
                answer.headers["ETag"] = tag
                answer.headers["Accept-Patch"] = SDPContent.fragment
                answer.headers["Link"] = ICEServer.links(iceServers, for: token.user, unixTime: clock.unixTime())
            }
            // The answer holds keys.
            answer.headers["Cache-Control"] = "no-store"
            return (answer, 0)
        } catch { return (Refusal.answer(error), error.code) }
    }

    /// Who knows the leg's URL may look; a token that is shown must be a good one all the same, expired or
    /// not.
    private func visit(_ request: RoutedRequest, _ kind: LegKind) async -> HTTPResponse {
        if request.http.headers["Authorization"] != nil {
            guard let token = Bearer.token(of: request.http) else { return Refusal.missingToken }
            do throws(JoinRefusal) { _ = try endpoint.identify(token) } catch { return Refusal.answer(error) }
        }
        guard let id = LegID(text: request.parameter("leg")), let visit = await endpoint.visitLeg(id, kind) else {
            return Refusal.noSuchLeg(kind)
        }
        var answer = Answer.json(LegBody(visit))
        answer.headers["Cache-Control"] = "no-store"
        return answer
    }

    /// Trickle ICE and ICE restarts (RFC 9725, section 4.3).
    private func change(_ request: RoutedRequest, _ kind: LegKind) async -> HTTPResponse {
        guard let text = Bearer.token(of: request.http) else { return Refusal.missingToken }
        do throws(JoinRefusal) {
            let token = try endpoint.identify(text)
            guard SDPContent.type(of: request.http) == SDPContent.fragment else {
                var answer = Answer.error(415, "the body must be \(SDPContent.fragment)", code: 10053)
                answer.headers["Accept-Patch"] = SDPContent.fragment
                return answer
            }
            guard let condition = EntityTags(request.http.headers.values("If-Match")) else {
                let message = "If-Match is needed: the ETag of the leg's answer, or * for an ICE restart"
                return Answer.error(428, message, code: 10053)
            }
            let fragment: TrickleFragment
            do {
                fragment = try TrickleFragment(parsing: String(decoding: request.http.body, as: UTF8.self))
            } catch { throw .offer(error) }
            guard let id = LegID(text: request.parameter("leg")) else { return Refusal.noSuchLeg(kind) }
            return
                switch await endpoint.changeICE(of: id, kind, fragment, entityTags: condition.tags, token: token)
            {
            case .noSuchLeg: Refusal.noSuchLeg(kind)
            case .notYours: Answer.error(403, "the leg belongs to another user", code: 10051)
            case .done(let outcome): answer(outcome, kind, for: token.user)
            }
        } catch { return Refusal.answer(error) }
    }

    private func answer(_ outcome: Room.ICEOutcome, _ kind: LegKind, for user: String) -> HTTPResponse {
        switch outcome {
        case .taken: return HTTPResponse(status: 204)
        case .restarted(let fragment, let tag):
            var answer = HTTPResponse(status: 200, text: fragment, contentType: SDPContent.fragment)
            answer.headers["ETag"] = tag
            // A restart gathers anew, and the credentials of the leg's own answer may have run out.
            answer.headers["Link"] = ICEServer.links(iceServers, for: user, unixTime: clock.unixTime())
            answer.headers["Cache-Control"] = "no-store"
            return answer
        case .otherSession(let tag):
            var answer = Answer.error(412, "the leg has another ICE session by now: \(tag)", code: 10053)
            answer.headers["ETag"] = tag
            return answer
        case .otherCredentials:
            let message = "new a=ice-ufrag and a=ice-pwd go with If-Match: *, which restarts ICE, and only with it"
            return Answer.error(400, message, code: 10053)
        case .noSuchLeg: return Refusal.noSuchLeg(kind)
        case .noICE:
            var answer = Answer.error(405, "a plain SRTP leg has no ICE session that could change", code: 10053)
            answer.headers["Allow"] = "GET, HEAD, DELETE, OPTIONS"
            return answer
        }
    }

    private func remove(_ request: RoutedRequest, _ kind: LegKind) async -> HTTPResponse {
        guard let text = Bearer.token(of: request.http) else { return Refusal.missingToken }
        do throws(JoinRefusal) {
            let token = try endpoint.identify(text)
            guard let id = LegID(text: request.parameter("leg")) else { return Refusal.noSuchLeg(kind) }
            return switch await endpoint.removeLeg(id, kind, token: token) {
            case .removed: HTTPResponse(status: 200)
            case .noSuchLeg: Refusal.noSuchLeg(kind)
            case .notYours: Answer.error(403, "the leg belongs to another user", code: 10051)
            }
        } catch { return Refusal.answer(error) }
    }

    /// `?layer=`; without, the best one.
    private func layer(of request: HTTPRequest) -> LayerPreference? {
        guard let wish = request.queryItems.first(where: { $0.name == "layer" }) else { return .high }
        switch wish.value {
        case "low": return .low
        case "medium": return .medium
        case "high": return .high
        default: return nil
        }
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

/// The content types of WHIP and WHEP.
enum SDPContent {
    static let description = "application/sdp"
    /// RFC 8840, section 9.
    static let fragment = "application/trickle-ice-sdpfrag"

    /// Without parameters, in lower case.
    static func type(of request: HTTPRequest) -> String? {
        guard let type = request.headers["Content-Type"]?.split(separator: ";").first else { return nil }
        return type.split(separator: " ").joined().lowercased()
    }
}

/// What `If-Match` asks for (RFC 9110, section 13.1.1).
struct EntityTags {
    /// `nil`: `*`, any.
    var tags: [String]?

    private static let most = 16

    /// `nil`: the header is not there, or empty. Weak tags match nothing; quotes that are missing are added.
    init?(_ values: [String]) {
        let words = values.joined(separator: ",").split(separator: ",").prefix(Self.most)
            .map { $0.split(separator: " ").joined() }.filter { !$0.isEmpty }
        if words.isEmpty { return nil }
        tags = words.contains("*") ? nil : words.map { $0.hasPrefix("\"") || $0.hasPrefix("W/") ? $0 : "\"\($0)\"" }
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
