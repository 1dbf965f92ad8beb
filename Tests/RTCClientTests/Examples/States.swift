import RTCClient

/// Says what becomes of the connection and who comes and goes.
final class RoomReporter: RTCClientDelegate {
    let say: @Sendable (String) -> Void

    init(say: @escaping @Sendable (String) -> Void) { self.say = say }

    func rtcClient(
        _ client: RTCClient, didConnectionStateChanged state: ConnectionState, disconnectedInfo info: DisconnectedInfo?
    ) {
        switch state {
        case .connecting: say("joining")
        case .connected: say("in the room")
        case .reconnecting: say("cut off, trying to come back")
        case .reconnected: say("back")
        case .disconnected:
            switch info?.reason {
            case .leave, nil: say("left")
            case .kickedOut: say("kicked out")
            case .roomClosed: say("the room was closed")
            case .roomFull: say("the room is full")
            case .error: say("out: \(info?.error?.code ?? .fatal)")
            }
        }
    }

    func rtcClient(_ client: RTCClient, didJoinOfUserID userID: String, userData: String) {
        say("\(userID) is here")
    }

    func rtcClient(_ client: RTCClient, didLeaveOfUserID userID: String) {
        say("\(userID) has left")
    }
}
