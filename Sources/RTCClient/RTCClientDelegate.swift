/// What a client tells its app. Every function has an empty default.
///
/// The calls come one at a time and in the order in which things happened, on a task of the client's own, never inside
/// a call of the app. What the client can be asked in them (`remoteUserList` and so on) is at least as new as the call.
/// A call that takes long holds up the next ones, and at last the client itself.
///
/// ```swift
/// final class Room: RTCClientDelegate {
///     func rtcClient(_ client: RTCClient, didJoinOfUserID userID: String, userData: String) {
///         print("\(userID) is here")
///     }
/// }
/// ```
public protocol RTCClientDelegate: AnyObject, Sendable {
    /// The state of the connection has changed.
    ///
    /// - Parameter info: why, when the state is `disconnected`; else `nil`.
    func rtcClient(
        _ client: RTCClient, didConnectionStateChanged state: ConnectionState, disconnectedInfo info: DisconnectedInfo?)

    /// A user has joined, or was in the room when this client joined.
    func rtcClient(_ client: RTCClient, didJoinOfUserID userID: String, userData: String)

    /// A user has left, was put out, or has not come back in time. Its tracks were unpublished before.
    func rtcClient(_ client: RTCClient, didLeaveOfUserID userID: String)

    /// A user has lost its connection; it still counts as in the room.
    func rtcClient(_ client: RTCClient, didReconnectingOfUserID userID: String)

    /// A user is back. May come without the call before it, when its new connection was faster than the news of the loss.
    func rtcClient(_ client: RTCClient, didReconnectedOfUserID userID: String)

    /// A user has published tracks, or had them when this client joined.
    func rtcClient(_ client: RTCClient, didUserPublishTracks tracks: [RemoteTrack], ofUserID userID: String)

    /// Tracks are gone, as they were before.
    func rtcClient(_ client: RTCClient, didUserUnpublishTracks tracks: [RemoteTrack], ofUserID userID: String)

    /// This client has subscribed to tracks, by `subscribe` or because of `autoSubscribe`.
    func rtcClient(
        _ client: RTCClient, didSubscribedRemoteVideoTracks videoTracks: [RemoteTrack], audioTracks: [RemoteTrack],
        ofUserID userID: String)

    /// A user has muted a track or taken that back; `track.isMuted` is the new state.
    func rtcClient(_ client: RTCClient, didMuteStateChangedOf track: RemoteTrack, ofUserID userID: String)

    /// The server sends another layer of a subscribed track from now on: because the app wanted it, or because the one
    /// that it wanted does not come.
    func rtcClient(_ client: RTCClient, didProfileChangedOf track: RemoteTrack, profile: TrackProfile)

    /// A message has come.
    func rtcClient(_ client: RTCClient, didReceiveMessage message: MessageInfo)

    /// The server has not taken a message of this client.
    func rtcClient(_ client: RTCClient, didRefuseMessage messageID: String, error: RTCError)

    /// Tracks of this client are not published any more, for after a loss the server did not take them again.
    func rtcClient(_ client: RTCClient, didLoseLocalTracks tracks: [LocalTrack], error: RTCError)
}

extension RTCClientDelegate {
    /// Does nothing.
    public func rtcClient(
        _ client: RTCClient, didConnectionStateChanged state: ConnectionState, disconnectedInfo info: DisconnectedInfo?
    ) {}
    /// Does nothing.
    public func rtcClient(_ client: RTCClient, didJoinOfUserID userID: String, userData: String) {}
    /// Does nothing.
    public func rtcClient(_ client: RTCClient, didLeaveOfUserID userID: String) {}
    /// Does nothing.
    public func rtcClient(_ client: RTCClient, didReconnectingOfUserID userID: String) {}
    /// Does nothing.
    public func rtcClient(_ client: RTCClient, didReconnectedOfUserID userID: String) {}
    /// Does nothing.
    public func rtcClient(_ client: RTCClient, didUserPublishTracks tracks: [RemoteTrack], ofUserID userID: String) {}
    /// Does nothing.
    public func rtcClient(_ client: RTCClient, didUserUnpublishTracks tracks: [RemoteTrack], ofUserID userID: String) {}
    /// Does nothing.
    public func rtcClient(
        _ client: RTCClient, didSubscribedRemoteVideoTracks videoTracks: [RemoteTrack], audioTracks: [RemoteTrack],
        ofUserID userID: String
    ) {}
    /// Does nothing.
    public func rtcClient(_ client: RTCClient, didMuteStateChangedOf track: RemoteTrack, ofUserID userID: String) {}
    /// Does nothing.
    public func rtcClient(_ client: RTCClient, didProfileChangedOf track: RemoteTrack, profile: TrackProfile) {}
    /// Does nothing.
    public func rtcClient(_ client: RTCClient, didReceiveMessage message: MessageInfo) {}
    /// Does nothing.
    public func rtcClient(_ client: RTCClient, didRefuseMessage messageID: String, error: RTCError) {}
    /// Does nothing.
    public func rtcClient(_ client: RTCClient, didLoseLocalTracks tracks: [LocalTrack], error: RTCError) {}

    /// Calls the function that belongs to the event.
    func receive(_ event: RTCClientEvent, from client: RTCClient) {
        switch event {
        case .connectionStateChanged(let state, let info):
            rtcClient(client, didConnectionStateChanged: state, disconnectedInfo: info)
        case .userJoined(let user, let data): rtcClient(client, didJoinOfUserID: user, userData: data)
        case .userLeft(let user): rtcClient(client, didLeaveOfUserID: user)
        case .userReconnecting(let user): rtcClient(client, didReconnectingOfUserID: user)
        case .userReconnected(let user): rtcClient(client, didReconnectedOfUserID: user)
        case .tracksPublished(let tracks, let user): rtcClient(client, didUserPublishTracks: tracks, ofUserID: user)
        case .tracksUnpublished(let tracks, let user):
            rtcClient(client, didUserUnpublishTracks: tracks, ofUserID: user)
        case .tracksSubscribed(let video, let audio, let user):
            rtcClient(client, didSubscribedRemoteVideoTracks: video, audioTracks: audio, ofUserID: user)
        case .muteStateChanged(let track, let user): rtcClient(client, didMuteStateChangedOf: track, ofUserID: user)
        case .profileChanged(let track, let profile):
            rtcClient(client, didProfileChangedOf: track, profile: profile)
        case .messageReceived(let message): rtcClient(client, didReceiveMessage: message)
        case .messageRefused(let id, let error): rtcClient(client, didRefuseMessage: id, error: error)
        case .localTracksLost(let tracks, let error): rtcClient(client, didLoseLocalTracks: tracks, error: error)
        }
    }
}
