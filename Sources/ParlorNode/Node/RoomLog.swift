import RoomControl

/// What happens in rooms, as lines for the log: who came and went and why, never a token, a key or what somebody said.
enum RoomLog {
    /// `nil`: of no interest here.
    static func line(_ room: RoomKey, _ notice: RoomNotice) -> String? {
        let name = "room \(room.app)/\(room.room)"
        return switch notice {
        case .created(let byServer): "\(name): opened\(byServer ? " by the server API" : "")"
        case .joined(let user): "\(name): \(user) joined"
        case .left(let user, let reason): "\(name): \(user) left (\(reason.rawValue))"
        case .kicked(let user, let by): "\(name): \(user) kicked by \(by ?? "the server API")"
        case .closed(let reason): "\(name): closed (\(reason.rawValue))"
        case .subscriptionRefused(let user, _): "\(name): a subscription of \(user) was refused by its worker"
        case .reconnecting, .reconnected, .legStarted, .legEnded, .published, .unpublished, .muted: nil
        }
    }
}
