import Synchronization

/// A track of this client's own.
///
/// ```swift
/// let microphone = LocalTrack(kind: .audio, tag: "microphone")
/// try await client.publish([microphone])
/// try microphone.updateMute(true)
/// ```
///
/// In this version publishing announces the track to the room, and everybody can subscribe to it; the media itself
/// does not flow over this path yet.
public final class LocalTrack: Sendable {
    /// What it carries; never changes.
    public let kind: TrackKind
    /// A word of the app's own that the others get with the track, for example "camera".
    public let tag: String
    /// Wished bitrate in kbit/s; `nil` leaves it to the server.
    public let bitrate: Int?

    /// The client's own name for it on the wire.
    let localID: String

    private struct State {
        var trackID: String?
        /// By this client: what the server is told.
        var isMuted = false
        /// By the app's back end: what the server says.
        var isMutedByServer = false
        weak var core: ClientCore?
    }

    private let state = Mutex(State())

    /// A track that is not published yet.
    ///
    /// - Parameters:
    ///   - kind: what it carries.
    ///   - tag: a word of the app's own for the others; empty: none.
    ///   - bitrate: wished, in kbit/s; `nil` leaves it to the server.
    public init(kind: TrackKind, tag: String = "", bitrate: Int? = nil) {
        self.kind = kind
        self.tag = tag
        self.bitrate = bitrate
        // Shaped like the identifier of a browser's track.
        localID = [8, 4, 4, 4, 12].map { length in
            String((0..<length).map { _ in Character(String(UInt8.random(in: 0..<16), radix: 16)) })
        }.joined(separator: "-")
    }

    /// The server's id for it, the same for everybody in the room; `nil` unless published.
    public var trackID: String? { state.withLock { $0.trackID } }

    /// Whether the room has it: from the end of `publish` until `unpublish`, the end of the join, or `didLoseLocalTracks`.
    public var isPublished: Bool { trackID != nil }

    /// Whether the others see it as muted: by `updateMute`, or by the app's back end. False at first.
    public var isMuted: Bool { state.withLock { $0.isMuted || $0.isMutedByServer } }

    /// Whether the app's back end has muted it. Only the back end can take that back; it ends with the publication.
    public var isMutedByServer: Bool { state.withLock { $0.isMutedByServer } }

    /// What `updateMute` said last.
    var isMutedByClient: Bool { state.withLock { $0.isMuted } }

    /// Mutes the track or takes that back; the others are told. The state outlives a reconnect. A mute by the app's
    /// back end is another one, and stays.
    ///
    /// - Throws: 21002 unless the track is published.
    public func updateMute(_ isMuted: Bool) throws(RTCError) {
        let core: ClientCore? = state.withLock { state in
            guard state.trackID != nil, let core = state.core else { return nil }
            state.isMuted = isMuted
            return core
        }
        guard let core else { throw RTCError(.wrongState, "a track can be muted while it is published") }
        core.sendMutes(of: [self])
    }

    func published(as trackID: String, by core: ClientCore) {
        state.withLock {
            $0.trackID = trackID
            $0.isMutedByServer = false
            $0.core = core
        }
    }

    func unpublished() {
        state.withLock {
            $0.trackID = nil
            $0.isMutedByServer = false
            $0.core = nil
        }
    }

    func setMutedByServer(_ isMuted: Bool) { state.withLock { $0.isMutedByServer = isMuted } }
}

extension LocalTrack: Hashable {
    /// Whether both are the same object: a track made twice alike is two tracks.
    public static func == (a: LocalTrack, b: LocalTrack) -> Bool { a === b }
    /// By identity, as `==`.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
