import RTCClient

/// The one who kicks: needs a token with the permission admin. The back end needs none: `parlor kick ROOM USER`.
func kick(_ client: RTCClient, _ userID: String) async throws {
    do throws(RTCError) { try await client.kick(userID) } catch {
        if error.code == .noPermission { print("this token may not kick") }
        throw error
    }
}

/// The one who is kicked.
final class Kicked: RTCClientDelegate {
    let say: @Sendable (String) -> Void

    init(say: @escaping @Sendable (String) -> Void) { self.say = say }

    func rtcClient(
        _ client: RTCClient, didConnectionStateChanged state: ConnectionState, disconnectedInfo info: DisconnectedInfo?
    ) {
        if state == .disconnected, info?.reason == .kickedOut { say("the server has put us out") }
    }
}
