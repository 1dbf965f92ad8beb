import MediaWire
import RoomControl
import WebTransport

/// The answers to requests for legs that are refused: status, sentence, and the service's code.
enum Refusal {
    static var missingToken: HTTPResponse {
        unauthorized("a room token is needed: Authorization: Bearer <RoomToken>", code: 10001)
    }

    static func noSuchLeg(_ kind: LegKind) -> HTTPResponse {
        // The codes for a publishing or subscribing connection that does not exist.
        Answer.error(404, "there is no such leg (any more)", code: kind == .sending ? 10061 : 10062)
    }

    static func answer(_ refusal: JoinRefusal) -> HTTPResponse {
        switch refusal {
        case .token(let error): return unauthorized(error.message, code: error.code)
        case .plainLegsOff:
            return Answer.error(
                403, "plain SRTP legs are off: the configuration of this node does not allow them", code: 10051)
        case .offer(let error):
            return Answer.error(
                error.httpStatus, error.description, code: error.kind == .malformed ? 10053 : 10054, line: error.line)
        case .room(.full): return Answer.error(403, "the room is full", code: 10011)
        case .room(.alreadyJoined):
            return Answer.error(409, "the user has such a leg, and the app does not replace it", code: 10022)
        case .room(.closed): return unavailable("the room closes as fast as it opens; try again")
        case .noSuchRoom:
            return Answer.error(404, "there is no such room, and the app makes none on demand", code: 10012)
        case .ownUser: return Answer.error(400, "a user cannot receive its own tracks", code: 10044)
        case .noPorts: return unavailable("all ports for plain legs are in use")
        case .noAddress(let ipv6):
            return Answer.error(
                406, "this node announces no \(ipv6 ? "IPv6" : "IPv4") address, and the offer wants one", code: 10054)
        }
    }

    private static func unauthorized(_ message: String, code: Int) -> HTTPResponse {
        var answer = Answer.error(401, message, code: code)
        answer.headers["WWW-Authenticate"] = "Bearer"
        return answer
    }

    private static func unavailable(_ message: String) -> HTTPResponse {
        var answer = Answer.error(503, message, code: 10052)
        // Seconds; a leg that ended gives its ports back at once.
        answer.headers["Retry-After"] = "5"
        return answer
    }
}
