import RTCClient

/// Who is in the room, and what each of them publishes.
func describeUsers(_ client: RTCClient) -> [String] {
    client.remoteUserList.map { user in
        "\(user.userID): \(user.audioTracks.count) audio, \(user.videoTracks.count) video"
    }
}

/// One user, if it is there.
func isListening(_ client: RTCClient, to userID: String) -> Bool {
    guard let user = client.remoteUser(userID) else { return false }
    return user.audioTracks.contains { $0.isSubscribed && !$0.isMuted }
}
