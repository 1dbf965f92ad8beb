/// What `RTCClientDelegate` is told, as values: one case for each of its functions, which say more.
public enum RTCClientEvent: Sendable, Hashable {
    /// The connection has a new state. The info comes with `disconnected` only.
    case connectionStateChanged(ConnectionState, DisconnectedInfo?)
    /// A user has joined, or was there already. The data is empty if it gave none.
    case userJoined(userID: String, userData: String)
    /// A user is not in the room any more.
    case userLeft(userID: String)
    /// A user is cut off, and still in the room.
    case userReconnecting(userID: String)
    /// A user is back after it was cut off.
    case userReconnected(userID: String)
    /// A user's tracks that are new to this client; at least one.
    case tracksPublished([RemoteTrack], userID: String)
    /// A user's tracks that are gone, as they were last; at least one.
    case tracksUnpublished([RemoteTrack], userID: String)
    /// A user's tracks that this client is subscribed to from now on; one of the lists may be empty.
    case tracksSubscribed(videoTracks: [RemoteTrack], audioTracks: [RemoteTrack], userID: String)
    /// A user's track is muted now, or not any more: `isMuted` says which.
    case muteStateChanged(RemoteTrack, userID: String)
    /// The server sends another layer of a subscribed track now.
    case profileChanged(RemoteTrack, TrackProfile)
    /// A message of another user or of the app's back end.
    case messageReceived(MessageInfo)
    /// The server did not pass on the message with the id that `sendMessage` gave.
    case messageRefused(messageID: String, RTCError)
    /// This client's own tracks that are not published any more, and why.
    case localTracksLost([LocalTrack], RTCError)
}
