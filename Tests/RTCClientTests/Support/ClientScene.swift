import RTCClient
import RoomProtocol
import Testing
import WebTransport

/// A client, a scripted server, and what the client tells, in order.
struct ClientScene {
    let server: ScriptedServer
    let client: RTCClient
    var events: AsyncStream<RTCClientEvent>.Iterator

    init(mode: ClientMode = .rtc, role: ClientRole = .audience, autoSubscribe: Bool = false) throws {
        server = try ScriptedServer()
        var configuration = RTCConfiguration(servers: [server.base])
        configuration.mode = mode
        configuration.role = role
        client = try RTCClient(configuration: configuration, transport: server.transport(try HTTPClient()))
        client.autoSubscribe = autoSubscribe
        events = client.events.makeAsyncIterator()
    }

    /// The next event must be this.
    mutating func expect(_ event: RTCClientEvent, sourceLocation: SourceLocation = #_sourceLocation) async {
        let next = await events.next(isolation: nil)
        #expect(next == event, sourceLocation: sourceLocation)
    }

    mutating func expect(_ state: ConnectionState, sourceLocation: SourceLocation = #_sourceLocation) async {
        await expect(.connectionStateChanged(state, nil), sourceLocation: sourceLocation)
    }

    /// The next event must be the end; gives its reason.
    mutating func expectEnd() async throws -> DisconnectedInfo {
        let next = await events.next(isolation: nil)
        guard case .connectionStateChanged(.disconnected, let info?) = next else {
            throw Unexpected("disconnected was expected, \(String(describing: next)) came")
        }
        return info
    }

    /// Joins, and is admitted; the users and tracks are told as events that the caller reads.
    mutating func join(
        userData: String? = nil, token: Int = 7, players: [PlayerInfo] = [], tracks: [TrackInfo] = []
    ) async throws -> Peer {
        client.join(token: vectorToken, userData: userData)
        await expect(.connecting)
        let peer = try await server.nextPeer()
        try await peer.admit(token: token, players: players, tracks: tracks)
        await expect(.connected)
        return peer
    }

    /// After a loss: lets the pause pass, and gives the socket on which the client comes back.
    mutating func returning() async throws -> Peer {
        await expect(.reconnecting)
        await server.clock.passPause(upTo: .seconds(1))
        return try await server.nextPeer()
    }

    func stop() async {
        client.leave()
        await server.stop()
    }
}

func remote(
    _ id: String, of user: String, _ kind: RoomProtocol.TrackKind = .audio, subscribed: Bool = false,
    muted: Bool = false
) -> RemoteTrack {
    RemoteTrack(
        trackID: id, userID: user, kind: kind == .audio ? .audio : .video, tag: "t", isSubscribed: subscribed,
        isMuted: muted)
}
