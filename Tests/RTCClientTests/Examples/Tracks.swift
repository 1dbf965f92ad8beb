import RTCClient

/// Publishes a microphone that is muted at first.
func publishMicrophone(_ client: RTCClient) async throws -> LocalTrack {
    let microphone = LocalTrack(kind: .audio, tag: "microphone", bitrate: 64)
    try await client.publish([microphone])
    try microphone.updateMute(true)
    return microphone
}

/// Subscribes to the pictures of one user by hand; with `autoSubscribe`, which is on by default, this is not needed.
func watch(_ client: RTCClient, _ userID: String) async throws -> [RemoteTrack] {
    try await client.subscribe(client.remoteUser(userID)?.videoTracks ?? [])
}
