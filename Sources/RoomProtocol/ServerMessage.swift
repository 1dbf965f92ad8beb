import FoundationEssentials

/// What a server tells without being asked. The server writes these; clients read them.
public enum Notification: Hashable, Sendable {
    case ping
    /// on-player-in
    case playerJoined(PlayerInfo)
    /// on-player-out
    case playerLeft(PlayerReference)
    /// on-player-reconnect: its connection is lost.
    case playerReconnecting(PlayerReference)
    /// on-player-reconnect-in: it is back.
    case playerReconnected(PlayerReference)
    /// on-add-tracks
    case tracksAdded(TracksAdded)
    /// on-remove-tracks
    case tracksRemoved(TracksRemoved)
    /// mute-tracks
    case tracksMuted(MuteTracks)
    /// on-pubpc-connected
    case publishConnected(ConnectionNotice)
    /// on-pubpc-disconnected
    case publishDisconnected(ConnectionNotice)
    /// on-pubpc-restart-notify
    case publishRestart(ConnectionNotice)
    /// on-subpc-connected
    case subscribeConnected(ConnectionNotice)
    /// on-subpc-disconnected
    case subscribeDisconnected(ConnectionNotice)
    /// on-subpc-restart-notify
    case subscribeRestart(ConnectionNotice)
    /// on-sub-profile-changed
    case subscribeProfileChanged(SubscribeProfileChanged)
    /// on-messages
    case messages(RoomMessages)
    /// on-qos-messages
    case qos(QoSMessages)
    /// disconnect: you are out.
    case disconnect(DisconnectNotice)
    /// error: a frame of yours could not be read, or is a one-way message that is refused.
    case frameError(FrameError)

    /// The frame as UTF-8.
    public var frame: [UInt8] {
        switch self {
        case .ping: SignallingFrame.encode("ping", EmptyBody())
        case .playerJoined(let body): SignallingFrame.encode("on-player-in", body)
        case .playerLeft(let body): SignallingFrame.encode("on-player-out", body)
        case .playerReconnecting(let body): SignallingFrame.encode("on-player-reconnect", body)
        case .playerReconnected(let body): SignallingFrame.encode("on-player-reconnect-in", body)
        case .tracksAdded(let body): SignallingFrame.encode("on-add-tracks", body)
        case .tracksRemoved(let body): SignallingFrame.encode("on-remove-tracks", body)
        case .tracksMuted(let body): SignallingFrame.encode("mute-tracks", body)
        case .publishConnected(let body): SignallingFrame.encode("on-pubpc-connected", body)
        case .publishDisconnected(let body): SignallingFrame.encode("on-pubpc-disconnected", body)
        case .publishRestart(let body): SignallingFrame.encode("on-pubpc-restart-notify", body)
        case .subscribeConnected(let body): SignallingFrame.encode("on-subpc-connected", body)
        case .subscribeDisconnected(let body): SignallingFrame.encode("on-subpc-disconnected", body)
        case .subscribeRestart(let body): SignallingFrame.encode("on-subpc-restart-notify", body)
        case .subscribeProfileChanged(let body): SignallingFrame.encode("on-sub-profile-changed", body)
        case .messages(let body): SignallingFrame.encode("on-messages", body)
        case .qos(let body): SignallingFrame.encode("on-qos-messages", body)
        case .disconnect(let body): SignallingFrame.encode("disconnect", body)
        case .frameError(let body): SignallingFrame.encode("error", body)
        }
    }
}

/// A frame from a server, for clients.
public enum ServerMessage: Hashable, Sendable {
    case notification(Notification)
    /// `<type>-res`: the type without `-res`, the rpcid, and the frame to decode the body of.
    case answer(type: String, rpcid: String?, SignallingFrame)
    /// A type that this client does not know; ignored.
    case unknown(type: String)

    /// Reads a frame.
    public init(frame text: String) throws(MalformedMessage) {
        let frame: SignallingFrame
        do { frame = try SignallingFrame(text) } catch { throw MalformedMessage(type: nil, error) }
        if frame.type.hasSuffix("-res") {
            self = .answer(type: String(frame.type.dropLast(4)), rpcid: frame.rpcid, frame)
            return
        }
        switch frame.type {
        case "ping": self = .notification(.ping)
        case "on-player-in": self = .notification(.playerJoined(try frame.decode()))
        case "on-player-out": self = .notification(.playerLeft(try frame.decode()))
        case "on-player-reconnect": self = .notification(.playerReconnecting(try frame.decode()))
        case "on-player-reconnect-in": self = .notification(.playerReconnected(try frame.decode()))
        case "on-add-tracks": self = .notification(.tracksAdded(try frame.decode()))
        case "on-remove-tracks": self = .notification(.tracksRemoved(try frame.decode()))
        case "mute-tracks": self = .notification(.tracksMuted(try frame.decode()))
        case "on-pubpc-connected": self = .notification(.publishConnected(try frame.decode()))
        case "on-pubpc-disconnected": self = .notification(.publishDisconnected(try frame.decode()))
        case "on-pubpc-restart-notify": self = .notification(.publishRestart(try frame.decode()))
        case "on-subpc-connected": self = .notification(.subscribeConnected(try frame.decode()))
        case "on-subpc-disconnected": self = .notification(.subscribeDisconnected(try frame.decode()))
        case "on-subpc-restart-notify": self = .notification(.subscribeRestart(try frame.decode()))
        case "on-sub-profile-changed": self = .notification(.subscribeProfileChanged(try frame.decode()))
        case "on-messages": self = .notification(.messages(try frame.decode()))
        case "on-qos-messages": self = .notification(.qos(try frame.decode()))
        case "disconnect": self = .notification(.disconnect(try frame.decode()))
        case "error": self = .notification(.frameError(try frame.decode()))
        default: self = .unknown(type: frame.type)
        }
    }
}
