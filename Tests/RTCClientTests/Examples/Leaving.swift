import RTCClient

/// Leaves. The others are told by `didLeaveOfUserID`; the client's own delegate by `disconnected` with the reason `leave`.
func leaveRoom(_ client: RTCClient) {
    client.leave()
    assert(client.connectionState == .disconnected)
}
