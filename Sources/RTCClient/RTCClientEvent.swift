/// What `RTCClientDelegate` is told, as values; see there.
public enum RTCClientEvent: Sendable, Hashable {
    /// The info comes with `disconnected` only.
    case connectionStateChanged(ConnectionState, DisconnectedInfo?)
    case userJoined(userID: String, userData: String)
    case userLeft(userID: String)
    case userReconnecting(userID: String)
    case userReconnected(userID: String)
    case tracksPublished([RemoteTrack], userID: String)
    case tracksUnpublished([RemoteTrack], userID: String)
    case tracksSubscribed(videoTracks: [RemoteTrack], audioTracks: [RemoteTrack], userID: String)
    case muteStateChanged(RemoteTrack, userID: String)
    case messageReceived(MessageInfo)
    case messageRefused(messageID: String, RTCError)
    case localTracksLost([LocalTrack], RTCError)
}
