import RTCClient

/// Joins, and returns when the client is in the room.
func joinRoom(_ client: RTCClient, token: String) async throws {
    let events = client.events
    client.join(token: token, userData: "{\"name\":\"Alice\"}")
    for await event in events {
        guard case .connectionStateChanged(let state, let info) = event else { continue }
        if state == .connected { return }
        if state == .disconnected { throw info?.error ?? RTCError(.fatal, "left while joining") }
    }
}
