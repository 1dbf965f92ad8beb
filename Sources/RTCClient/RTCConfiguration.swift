import RoomProtocol
package import WebTransport

/// What a client needs to know before it can join.
///
/// ```swift
/// var configuration = RTCConfiguration(servers: ["https://rtc.example.com:7880"])
/// configuration.trust = .authorities(pemFile: "our-ca.pem")
/// let client = try RTCClient(configuration: configuration)
/// ```
public struct RTCConfiguration: Sendable {
    /// Base URLs of the servers, `http` or `https`. At a join the first that serves it is taken.
    public var servers: [String]
    /// Which certificates of `https` servers are believed.
    public var trust: ServerTrust = .system
    /// How long a client that has lost its connection tries to come back. The server gives a user away after 30 s.
    public var reconnectTimeout: Duration = .seconds(30)
    /// For one exchange with the server: HTTP, opening the WebSocket, the answer to a request.
    public var requestTimeout: Duration = .seconds(5)
    /// For a connection for media to come up: `publish` and `subscribe` throw 21008 after it.
    public var mediaTimeout: Duration = .seconds(10)
    /// By which protocols media may go.
    public var transportPolicy: TransportPolicy = .preferUDP
    /// What the room is used for; decides whether `role` counts. `rtc` by default.
    public var mode: ClientMode = .rtc
    /// The role to begin with; of meaning in the mode `live` only.
    public var role: ClientRole = .audience

    /// Everything but the servers at its default.
    ///
    /// - Parameter servers: base URLs, at least one; `RTCClient.init` checks them.
    public init(servers: [String]) {
        self.servers = servers
    }
}

/// By which protocols media may go.
public enum TransportPolicy: Sendable, Hashable {
    /// UDP; TCP when that finds no way for a second.
    case preferUDP
    /// UDP only.
    case forceUDP
    /// TCP only, for networks that are known to let nothing else through.
    case forceTCP

    var candidates: CandidatePolicy {
        switch self {
        case .preferUDP: .preferUDP
        case .forceUDP: .forceUDP
        case .forceTCP: .forceTCP
        }
    }
}

/// Which certificates a client believes.
public enum ServerTrust: Sendable, Hashable {
    /// Those that lead to one of the system's authorities.
    case system
    /// Those of the system, and those that lead to an authority in this PEM file.
    case authorities(pemFile: String)
    /// The same with the PEM text itself.
    case authoritiesPEM(String)
    /// Every certificate: for development only, anybody in between could read everything.
    case everything

    package var tls: TLSTrust {
        switch self {
        case .system: .system
        case .authorities(let file): .authorities(.file(file))
        case .authoritiesPEM(let text): .authorities(.text(text))
        case .everything: .insecure
        }
    }
}

/// What a room is used for.
public enum ClientMode: Sendable, Hashable {
    /// Everybody may publish and subscribe.
    case rtc
    /// Broadcasters publish, the audience only subscribes.
    case live
}

/// What a user does in the mode `live`.
public enum ClientRole: Sendable, Hashable {
    /// Publishes and subscribes.
    case broadcaster
    /// Only subscribes: `publish` throws 24007.
    case audience
}
