package import RoomProtocol

/// What a failure means for the client: how it goes on, or with which reason and code it is out.
package enum EndingRules {
    package enum Verdict: Equatable, Sendable {
        case over(DisconnectedInfo)
        /// The same again, after a pause.
        case again
        /// As a new join, after a pause: the server has let the session go, or does not want to say.
        case anew
    }

    /// The reason and code of a code that the server gave.
    package static func info(_ refused: Refused) -> DisconnectedInfo {
        let reason: DisconnectedReason =
            switch refused.code {
            case .ok: .leave
            case .kickedOut: .kickedOut
            case .roomClosed: .roomClosed
            case .roomFull: .roomFull
            default: .error
            }
        return DisconnectedInfo(reason: reason, error: reason == .leave ? nil : RTCError(refused))
    }

    /// A `disconnect` from the server: out, or, with 10052, a wish to come back.
    package static func verdict(notice: DisconnectNotice) -> Verdict {
        notice.code == .serverUnavailable ? .again : .over(info(Refused(notice.code, notice.error)))
    }

    /// A join that did not succeed. `again` means from the start, the HTTP step included; when the time for that is
    /// over, `lastly` says the end.
    package static func verdict(joining error: SignallingError) -> Verdict {
        switch error {
        case .refused(let refused) where refused.code == .serverUnavailable: .again
        case .refused(let refused): .over(info(refused))
        case .timeout, .ended, .unreachable: .again
        default: .over(lastly(joining: error))
        }
    }

    package static func lastly(joining error: SignallingError) -> DisconnectedInfo {
        let reported: RTCError =
            switch error {
            case .timeout, .ended: RTCError(.networkTimeout, "\(error)")
            case .unreachable(let text): RTCError(.authFailed, text)
            default: RTCError(error)
            }
        return DisconnectedInfo(reason: .error, error: reported)
    }

    /// A way back that did not succeed. A session or a room that is gone (10003, 10004, 10012) is 21003, as an end of
    /// the time is.
    package static func verdict(resuming error: SignallingError) -> Verdict {
        switch error {
        case .refused(let refused):
            switch refused.code {
            case .serverUnavailable: .anew
            case .roomInstanceClosed, .reconnectTokenInvalid, .roomNotExist: .over(reconnectFailed("\(error)"))
            default: .over(info(refused))
            }
        case .timeout, .ended, .unreachable: .again
        default: .over(DisconnectedInfo(reason: .error, error: RTCError(error)))
        }
    }

    package static func reconnectFailed(_ text: String) -> DisconnectedInfo {
        DisconnectedInfo(reason: .error, error: RTCError(.reconnectFailed, text))
    }
}
