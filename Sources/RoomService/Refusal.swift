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
        let code = refusal.code
        switch refusal {
        case .token(let error): return unauthorized(error.message, code: code)
        case .draining: return draining
        case .plainLegsOff:
            return Answer.error(
                403, "plain SRTP legs are off: the configuration of this node does not allow them", code: code)
        case .offer(let error):
            return Answer.error(error.httpStatus, error.description, code: code, line: error.line)
        case .room(.full): return Answer.error(403, "the room is full", code: code)
        case .room(.alreadyJoined):
            return Answer.error(409, "the user has such a leg, and the app does not replace it", code: code)
        case .room(.banned):
            return Answer.error(403, "the user is banned from the room for a time", code: code)
        case .room(.notPermitted):
            return Answer.error(403, "the app's back end has taken this permission from the user", code: code)
        // Legs resume nothing.
        case .room(.noSession): return Answer.error(404, "there is no session to resume", code: code)
        case .room(.closed): return unavailable("the room closes as fast as it opens; try again")
        case .tooManyRooms: return unavailable("the node has all the rooms that it may have", code: code)
        case .tooManyUsers: return unavailable("the node has all the users that it may have", code: code)
        case .noSuchRoom:
            return Answer.error(404, "there is no such room, and the app makes none on demand", code: code)
        case .ownUser: return Answer.error(400, "a user cannot receive its own tracks", code: code)
        case .noPorts: return unavailable("all ports for plain legs are in use")
        case .noCandidates:
            return unavailable("this node announces no address for WebRTC: see media.announce of its configuration")
        case .noAddress(let ipv6):
            return Answer.error(
                406, "this node announces no \(ipv6 ? "IPv6" : "IPv4") address, and the offer wants one", code: code)
        }
    }

    /// To every newcomer while the node drains. A client with several hosts then tries its next one.
    static var draining: HTTPResponse {
        unavailable("this node takes no newcomers: it is about to stop; try another", retryAfter: Admission.retryAfter)
    }

    private static func unauthorized(_ message: String, code: Int) -> HTTPResponse {
        var answer = Answer.error(401, message, code: code)
        answer.headers["WWW-Authenticate"] = "Bearer"
        return answer
    }

    /// - Parameter retryAfter: in seconds; a leg that ended gives its ports back at once, so a few are enough there.
    private static func unavailable(_ message: String, code: Int = 10052, retryAfter: Int = 5) -> HTTPResponse {
        var answer = Answer.error(503, message, code: code)
        answer.headers["Retry-After"] = "\(retryAfter)"
        return answer
    }
}

extension JoinRefusal {
    /// The service's code.
    var code: Int {
        switch self {
        case .token(let error): error.code
        case .draining, .room(.closed), .noPorts, .noCandidates: 10052
        case .plainLegsOff: 10051
        case .offer(let error): error.kind == .malformed ? 10053 : 10054
        case .room(.full): 10011
        case .room(.banned), .room(.notPermitted): 10051
        case .room(.noSession): 10004
        case .tooManyRooms, .tooManyUsers: 10055
        case .room(.alreadyJoined): 10022
        case .noSuchRoom: 10012
        case .ownUser: 10044
        case .noAddress: 10054
        }
    }
}
