import RoomProtocol
import Synchronization
import WebTransport

/// The SDK's version.
public enum RTCClientVersion {
    /// Major, minor and patch number, as in "1.2.3"; the server gets it at a join.
    public static let text = "0.3.0"
}

/// A user in a room: joins, hears of the others, sends messages, publishes and subscribes.
///
/// ```swift
/// let client = try RTCClient(configuration: RTCConfiguration(servers: ["https://rtc.example.com:7880"]))
/// client.delegate = room
/// client.join(token: token, userData: "{\"name\":\"Alice\"}")
/// ```
///
/// What happens is told to the `delegate` and to the streams of `events`, both in the same order. A client can be used
/// from any thread. When its last reference goes, it leaves its room.
///
/// After a loss of the network the client comes back by itself, for up to `RTCConfiguration.reconnectTimeout`: the
/// state is `reconnecting` meanwhile, and `reconnected` afterwards; what was missed (users, tracks, mutes, messages) is
/// told then. Tracks stay published and subscribed.
///
/// Media goes over two WebRTC connections, one for all that is published and one for all that is subscribed to. They come up by
/// themselves, find other paths by themselves, and are made anew when they fail.
public final class RTCClient: Sendable {
    private let core: ClientCore

    /// - Throws: 10053 when the configuration cannot be used.
    public convenience init(configuration: RTCConfiguration) throws(RTCError) {
        let http: HTTPClient
        do { http = try SharedHTTPClients.client(configuration.trust.tls) } catch {
            throw RTCError(.invalidParameter, "trust: \(error.message)")
        }
        guard !configuration.servers.isEmpty else {
            throw RTCError(.invalidParameter, "servers: at least one base URL is needed")
        }
        for server in configuration.servers {
            let url = try? WebURL(server)
            guard let url, url.scheme == "http" || url.scheme == "https" else {
                throw RTCError(.invalidParameter, "servers: \(server) is not an http or https URL")
            }
        }
        let transport = SignallingTransport(
            http: http, servers: configuration.servers, requestTimeout: configuration.requestTimeout)
        try self.init(configuration: configuration, transport: transport)
    }

    /// With a transport of the caller's: a clock for tests, an HTTP client for many.
    ///
    /// - Parameters:
    ///   - identity: for DTLS; `nil`: a new one.
    ///   - plane: the threads of its media; `nil`: the one of the process.
    package init(
        configuration: RTCConfiguration, transport: SignallingTransport, identity: ClientIdentity? = nil,
        plane: MediaPlane? = nil
    ) throws(RTCError) {
        let own: ClientIdentity
        if let identity { own = identity } else { own = try ClientIdentity.make() }
        core = ClientCore(
            configuration, transport: transport, identity: own, plane: plane ?? MediaPlane.shared)
        core.delivery.belongs(to: self)
    }

    deinit {
        core.leave()
        core.delivery.finish()
    }

    // MARK: What happens

    /// Is told what happens; not retained.
    public var delegate: (any RTCClientDelegate)? {
        get { core.delivery.delegate }
        set { core.delivery.delegate = newValue }
    }

    /// A new stream, for one task, of all that happens from now on: what the delegate is told. It ends with the
    /// client, or when more than 16,384 events wait in it.
    public var events: AsyncStream<RTCClientEvent> { core.delivery.stream() }

    /// Where the client stands now. When the delegate is told of a state, it is this one or an earlier one.
    public var connectionState: ConnectionState { core.state.withLock { $0.connectionState } }

    // MARK: The room

    /// Joins the room that the token names; the result is the state `connected`, or `disconnected` with the reason.
    ///
    /// It acts only when the state is `disconnected`; else it has no effect.
    ///
    /// - Parameters:
    ///   - token: a room token of the app's back end.
    ///   - userData: up to 1024 bytes that the others get with `didJoinOfUserID`.
    public func join(token: String, userData: String? = nil) { core.join(token: token, userData: userData) }

    /// Leaves the room, at once: the state is `disconnected` when this returns. Without effect when it is already.
    public func leave() { core.leave() }

    /// The others in the room, in the order in which this client heard of them; empty outside a room.
    public var remoteUserList: [RemoteUser] { core.state.withLock { $0.session?.room.remoteUsers ?? [] } }

    /// Another user in the room; `nil` when there is none of that id.
    public func remoteUser(_ userID: String) -> RemoteUser? {
        core.state.withLock { $0.session?.room.remoteUser(userID) }
    }

    // MARK: Messages and control

    /// Sends a message through the server, which stamps it. The sender does not get it.
    ///
    /// - Parameters:
    ///   - message: not empty; the server sets the limit (64 KiB by default).
    ///   - users: ids; empty: everybody in the room.
    ///   - messageID: for the receivers; empty: a random one.
    /// - Returns: the message id.
    /// - Throws: 21002 unless connected. A refusal by the server comes as `didRefuseMessage`.
    @discardableResult
    public func sendMessage(
        _ message: String, toUsers users: [String] = [], messageID: String = ""
    ) throws(RTCError) -> String {
        try core.sendMessage(message, to: users, messageID: messageID)
    }

    /// Puts a user out of the room. It may join again, unless it is banned.
    ///
    /// - Throws: 10051 without a token that has the permission admin; 10021 for an unknown user; 21002 unless connected.
    public func kick(_ userID: String) async throws(RTCError) { try await core.kick(userID) }

    /// Changes the role, in the mode `live`. Before a join it is the role to join with.
    ///
    /// - Throws: 24006 in the mode `rtc`; 21002 while joining or cut off, and when tracks are published that the audience
    ///   may not have; what the server says. The role stays as it was then.
    public func setClientRole(_ role: ClientRole) async throws(RTCError) { try await core.setRole(role) }

    /// The role now, or the one of the next join: `RTCConfiguration.role` until `setClientRole` has changed it. Of meaning
    /// in the mode `live` only.
    public var clientRole: ClientRole { core.state.withLock { $0.role } }

    // MARK: Tracks

    /// Whether every track of the others is subscribed to as it comes; true by default. Set to true it also takes the
    /// present tracks that were never subscribed to; set to false it ends no subscription.
    public var autoSubscribe: Bool {
        get { core.state.withLock { $0.autoSubscribe } }
        set { core.setAutoSubscribe(newValue) }
    }

    /// This client's published tracks.
    public var publishedTracks: [LocalTrack] { core.state.withLock { $0.session?.publishing.tracks ?? [] } }

    /// Publishes tracks: when this returns, they have their ids, the others hear of them, and `LocalTrack.send` sends.
    ///
    /// Without an answer in time, or when its task is cancelled meanwhile, the connection begins anew, so that nobody goes
    /// on to see what the server may have published.
    ///
    /// - Throws: 10033 for a track that is published already; 24007 in the role audience; 21002 unless connected, also
    ///   when the client leaves meanwhile; 21008 without an answer, and when no connection for media comes up within
    ///   `RTCConfiguration.mediaTimeout`; 21005 in a room without a codec for one of them; what the server says. All or
    ///   none of the tracks are published.
    public func publish(_ tracks: [LocalTrack]) async throws(RTCError) { try await core.publish(tracks) }

    /// Takes tracks back. Without an answer in time they are gone, too, and the connection begins anew.
    ///
    /// - Throws: 10031 for a track that is not published; 21002 unless connected; what the server says: then they are
    ///   published still.
    public func unpublish(_ tracks: [LocalTrack]) async throws(RTCError) { try await core.unpublish(tracks) }

    /// Subscribes to tracks of the others; those that are subscribed already stay so.
    ///
    /// - Returns: those of them that are subscribed now; the server may refuse single ones.
    /// - Throws: 10041 for a track that is not in the room; 21002 unless connected; 21008 when no connection for media comes
    ///   up within `RTCConfiguration.mediaTimeout`; what the server says.
    @discardableResult
    public func subscribe(_ tracks: [RemoteTrack]) async throws(RTCError) -> [RemoteTrack] {
        try await core.subscribe(tracks)
    }

    /// Ends subscriptions; tracks without one are passed over.
    ///
    /// - Throws: 21002 unless connected.
    public func unsubscribe(_ tracks: [RemoteTrack]) async throws(RTCError) { try await core.unsubscribe(tracks) }

    // MARK: Media

    /// What pictures are encoded as in this room, in both directions; `nil` outside a room, and in one that has none.
    public var codec: MediaCodec? { core.state.withLock { $0.session?.numbers?.video.map { MediaCodec($0.codec) } } }

    /// The frames of a track as they were encoded, in order, without gaps from a key frame on: after a loss that could not be
    /// repaired, the next one is a key frame. It ends with the track or the join, and goes on over new connections.
    ///
    /// For one task. It may be called before the track is subscribed to. More than 64 frames that nobody takes are left
    /// out.
    ///
    /// - Parameter playout: whether they come as they are, or spaced as they were captured.
    /// - Throws: 10041 for a track that is not in the room.
    public func encodedFrames(
        of track: RemoteTrack, playout: PlayoutDelay = .immediate
    ) throws(RTCError) -> AsyncStream<RTCEncodedFrame> {
        try core.receiver(of: track).frames(playout)
    }

    /// The pictures of a video track, decoded on a task of the client's own, spaced as they were captured; of several that wait
    /// the newest 8 are kept. VP8 and VP9 are decoded, of other codecs nothing comes. Otherwise as `encodedFrames`.
    ///
    /// - Parameter playout: how long pictures may be held to come evenly.
    /// - Throws: 10041 for a track that is not in the room.
    public func videoFrames(
        of track: RemoteTrack, playout: PlayoutDelay = .adaptive()
    ) throws(RTCError) -> AsyncStream<RTCVideoFrame> {
        FrameDecoding.pictures(of: try core.receiver(of: track), playout)
    }

    /// The sound of an audio track, decoded on a task of the client's own, in one channel, spaced as it was captured; what is
    /// lost or late is made up, up to 120 ms in a row. Otherwise as `encodedFrames`.
    ///
    /// - Parameter playout: how long sound may be held to come evenly.
    /// - Throws: 10041 for a track that is not in the room.
    public func audioFrames(
        of track: RemoteTrack, playout: PlayoutDelay = .adaptive()
    ) throws(RTCError) -> AsyncStream<RTCAudioFrame> {
        FrameDecoding.sound(of: try core.receiver(of: track), playout)
    }

    /// Which layer of a track with several this client wants: from the next key frame on, or from its subscription. Without a
    /// wish it is the largest. `profileChanged` tells of the change.
    ///
    /// - Throws: 10041 for a track that is not in the room.
    public func setProfile(_ profile: TrackProfile, of track: RemoteTrack) throws(RTCError) {
        try core.setProfile(profile, of: track)
    }

    /// What has come of a subscribed track; `nil` of others.
    public func statistics(of track: RemoteTrack) async -> RemoteTrackStatistics? {
        await core.statistics(of: track)
    }

    /// How long the steps of the last join took, up to the first frame.
    public var joinTimeline: JoinTimeline { core.state.withLock { $0.timeline } }

    /// Has the packets of a track go to a sink in place of its frames' streams: for load tests, before it is subscribed to.
    package func setSink(_ sink: any TrackSink, of track: RemoteTrack) { core.setSink(sink, of: track.trackID) }

    // MARK: Tests

    /// The TCP connections of its media break.
    package func breakStreams() { core.breakStreams() }

    /// Asks the server for new ICE credentials for both connections, and checks with them.
    package func restartMedia() async { await core.restartMedia() }

    /// Behaves as if the network were lost at this moment; the client then comes back as it would.
    package func loseConnection(_ loss: SignallingConnection.Loss = .noticed) { core.loseConnection(loss) }
}
