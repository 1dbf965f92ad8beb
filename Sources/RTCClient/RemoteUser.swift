/// What a track carries.
public enum TrackKind: String, Sendable, Hashable {
    /// Sound.
    case audio
    /// Pictures: a camera or a screen.
    case video
}

/// Another user in the room, as it was when this value was taken; `RTCClient.remoteUser(_:)` gives it anew.
public struct RemoteUser: Sendable, Hashable, Identifiable {
    /// The id in its room token; unique in the room.
    public let userID: String
    /// What the user gave at its join; empty if nothing.
    public let userData: String
    /// Whether it is cut off at the moment; it still counts as in the room.
    public let isReconnecting: Bool
    /// Its published audio tracks, the first published first.
    public let audioTracks: [RemoteTrack]
    /// Its published video tracks, the first published first.
    public let videoTracks: [RemoteTrack]

    /// The `userID`.
    public var id: String { userID }

    package init(
        userID: String, userData: String, isReconnecting: Bool, audioTracks: [RemoteTrack], videoTracks: [RemoteTrack]
    ) {
        self.userID = userID
        self.userData = userData
        self.isReconnecting = isReconnecting
        self.audioTracks = audioTracks
        self.videoTracks = videoTracks
    }
}

/// A track that another user publishes, as it was when this value was taken.
public struct RemoteTrack: Sendable, Hashable, Identifiable {
    /// Made by the server; unique in the room.
    public let trackID: String
    /// Whose it is.
    public let userID: String
    /// What it carries; never changes.
    public let kind: TrackKind
    /// The publisher's own word for it, for example "camera".
    public let tag: String
    /// Whether this client has subscribed to it.
    public let isSubscribed: Bool
    /// Whether the publisher has muted it: then silence or black pictures come.
    public let isMuted: Bool

    /// The `trackID`.
    public var id: String { trackID }

    package init(
        trackID: String, userID: String, kind: TrackKind, tag: String, isSubscribed: Bool, isMuted: Bool
    ) {
        self.trackID = trackID
        self.userID = userID
        self.kind = kind
        self.tag = tag
        self.isSubscribed = isSubscribed
        self.isMuted = isMuted
    }
}

/// A message of another user, or of the app's back end.
public struct MessageInfo: Sendable, Hashable {
    /// The id that the sender gave it.
    public let identifier: String
    /// The sender; empty when the app's back end sent it.
    public let userID: String
    /// The text as it was sent.
    public let content: String
    /// When the server took it, in milliseconds since 1970.
    public let timestamp: Int64

    package init(identifier: String, userID: String, content: String, timestamp: Int64) {
        self.identifier = identifier
        self.userID = userID
        self.content = content
        self.timestamp = timestamp
    }
}
