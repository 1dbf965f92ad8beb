package import MediaWire
package import RoomService

/// Everything a node is told at start. A pure value: `ConfigurationLoader` makes it from defaults, file, environment and
/// flags, and has checked every value of one that it returns.
package struct NodeConfiguration: Sendable, Equatable {
    package var http = HTTP()
    package var media = Media()
    package var limits = Limits()
    package var admin = Admin()
    package var log = Log()
    package var webhooks = Webhooks()
    /// The folder of what outlives a restart: apps and rooms' settings made by the server API. `nil`: in memory only.
    package var dataDir: String?
    package var apps: [App] = []

    package init() {}

    package struct HTTP: Sendable, Equatable {
        /// Where the node answers HTTP: WHIP, WHEP and the server API.
        package var listen = TransportAddress(ipv4: 0x7F00_0001, port: 7880)
        package var tls = TLS()
        /// How clients reach the node, `https://media.example.com`: what signalling URLs begin with. `nil`: as the client reached
        /// it when it asked.
        package var publicURL: String?
        /// Peers whose X-Forwarded-For is believed.
        package var trustedProxies: [AddressPrefix] = []
    }

    /// HTTPS, beside HTTP and with the same answers.
    package struct TLS: Sendable, Equatable {
        /// `nil`: off.
        package var listen: TransportAddress?
        package var certificate: CertificateChoice?
        /// The PEM file of the certificate's key.
        package var key: String?

        /// Where `parlor serve --dev` answers HTTPS.
        package static let developmentListen = TransportAddress(ipv4: 0x7F00_0001, port: 7843)
    }

    package enum CertificateChoice: Sendable, Equatable {
        /// A PEM file: the node's certificate, then those that lead to an authority.
        case file(String)
        /// Made at each start, for loopback; nobody trusts it.
        case selfSigned

        /// How the configuration writes it.
        package static let selfSignedName = "self-signed"
    }

    /// Who operates the node.
    package struct Admin: Sendable, Equatable {
        /// The access key that may drain the node. `nil`: see `operatorKey`.
        package var accessKey: String?
    }

    package struct Log: Sendable, Equatable {
        /// A line for each user that comes or goes, and for each room that closes.
        package var rooms = true
    }

    package struct Webhooks: Sendable, Equatable {
        /// Hosts that events may be posted to. Empty: every one.
        package var allow = WebhookAllowList.everything
        /// As they were written.
        package var allowed: [String] = []
    }

    package struct Media: Sendable, Equatable {
        /// Addresses of the media sockets, at most one IPv4 and one IPv6; their `port` is 0 and means nothing.
        /// `nil`: all addresses of the machine.
        package var listen: [TransportAddress]?
        /// What clients are told to send to. `nil`: worked out from `listen`.
        package var announce: [AnnouncedHost]?
        /// The first worker's port; worker n has `port + n`.
        package var port: UInt16 = 7900
        /// Whether WebRTC clients may come by TCP, too, on the same addresses and numbers (ICE-TCP, RFC 6544).
        package var tcp = true
        /// Number of worker threads. `nil`: one for each core.
        package var workers: Int?
        /// Size asked for the receive buffer of a worker's shared socket, in bytes; a plain leg's is asked for the same, but
        /// at most `plainBufferLimit`.
        package var receiveBuffer = 4 << 20
        /// The same for the send buffer.
        package var sendBuffer = 4 << 20
        /// The longest time for which a worker lets datagrams collect as its core fills. Zero: never.
        package var collecting = Duration.milliseconds(1)
        /// Runs of packets to one destination leave as one message (UDP_SEGMENT), where the kernel can.
        package var segmentation = true
        /// What seals outgoing packets.
        package var crypto = CryptoChoice.auto
        /// A WebRTC transport from which nothing authentic comes ends after this long (RFC 7675, section 5.1).
        package var silence = Duration.seconds(30)
        /// STUN and TURN servers that clients of WHIP and WHEP are told of.
        package var iceServers: [ICEServer] = []
        package var plain = Plain()

        /// What a plain leg's socket is asked for at most, in bytes: it carries one peer, and there are hundreds of them.
        package static let plainBufferLimit = 1 << 20
    }

    /// STUN and TURN servers with one way in.
    package struct ICEServer: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
        package var urls: [String] = []
        package var username: String?
        package var credential: String?
        /// Shared with the TURN server, which lets in who shows what was made with it.
        package var secret: String?

        /// URLs of all servers together: each is a header field's part in every answer.
        package static let maximumURLs = 16

        package init() {}

        package var description: String { urls.joined(separator: ",") }
        package var customMirror: Mirror { Mirror(self, children: ["urls": urls]) }
    }

    /// Plain SRTP legs: keys in the SDP (RFC 4568), a UDP port of their own.
    package struct Plain: Sendable, Equatable {
        /// Off unless asked for: whoever can read the SDP can read the media.
        package var enabled = false
        /// UDP ports of the legs.
        package var portRange: ClosedRange<UInt16> = 8000...8499
        /// A receiving leg from which nothing is heard ends after this long.
        package var lease = Duration.seconds(3600)
        /// A sending leg from which nothing authentic comes ends after this long.
        package var silence = Duration.seconds(30)
    }

    package enum CryptoChoice: String, Sendable, CaseIterable {
        /// libipsec-mb where the processor has what it needs, else OpenSSL.
        case auto
        /// libipsec-mb or no start.
        case multibuffer
        /// OpenSSL EVP.
        case evp
    }

    /// Bounds. Those of rooms and signalling are what `RoomLimits` has too.
    package struct Limits: Sendable, Equatable {
        /// HTTP connections open at one time, WebSockets among them.
        package var httpConnections = 12_000
        /// Largest request body, in bytes.
        package var httpBody = 256 << 10
        /// WebSockets open for signalling at one time. Fewer than connections, so that some are left for everything else.
        package var connections = 10_000
        /// Largest WebSocket message, in bytes.
        package var signallingFrame = 1 << 20
        /// Largest custom message, in bytes.
        package var message = 64 << 10
        /// Custom messages of one user.
        package var messagesPerSecond = 50
        /// Frames on one signalling connection.
        package var requestsPerSecond = 200
        /// How often one user publishes, unpublishes or mutes: all others are told.
        package var changesPerSecond = 50
        package var subscriptionsPerSecond = 1000
        /// Tracks that one user publishes at one time.
        package var tracksPerUser = 32
        /// Users of one room, whatever its app allows.
        package var usersPerRoom = 5000
        /// Rooms of the node.
        package var rooms = 10_000
        /// Users of the node.
        package var users = 100_000
        /// Apps that one access key may have, those of the configuration among them.
        package var appsPerKey = 1000
    }

    /// An app: a name space of rooms, with the key pair that signs its tokens and API calls.
    package struct App: Sendable, Equatable {
        package var id: String
        package var accessKey: String
        package var secret: String
        package var settings = AppSettings()

        package init(id: String, accessKey: String, secret: String, settings: AppSettings = AppSettings()) {
            self.id = id
            self.accessKey = accessKey
            self.secret = secret
            self.settings = settings
        }
    }

    package struct AppSettings: Sendable, Equatable {
        /// Users in one room at one time. `nil`: no limit of the app's own.
        package var maxUsers: Int?
        /// Refuse a user who is there already, rather than letting the new one take the place.
        package var noAutoKickUser = false
        /// Refuse to join a room that does not exist, rather than creating it.
        package var noAutoCreateRoom = false
        /// Keep empty rooms.
        package var noAutoCloseRoom = false
        /// How long an empty room stays.
        package var autoCloseTtl = Duration.seconds(10)
        /// How long a room made by the server API waits for its first user.
        package var noEnterTtl = Duration.seconds(30)
        /// A user from whom nothing comes for so long has left.
        package var userTimeout = Duration.seconds(30)
        /// The video codec that signalling clients get, since theirs allows one.
        package var videoCodec = Codec.vp8
        /// Where what happens in the app's rooms is reported. `nil`: nowhere.
        package var eventCbUrl: String?
        /// Signs the reports. `nil`: the app's own secret does.
        package var eventCbSecret: String?

        package init() {}
    }
}

extension NodeConfiguration {
    /// What `parlor serve --dev` starts from: HTTP on loopback, media on every address of the machine (a browser on it may use any of
    /// them), one app with well-known keys, plain legs allowed. HTTPS is off until somebody says where; `parlor serve` does.
    package static var development: NodeConfiguration {
        var configuration = NodeConfiguration()
        configuration.media.announce = [.all]
        configuration.media.plain.enabled = true
        configuration.http.tls.certificate = .selfSigned
        configuration.apps = [.development]
        return configuration
    }

    /// The access key that may operate the node: the one named, else the only one there is; else nobody.
    package var operatorKey: String? {
        if let accessKey = admin.accessKey { return accessKey }
        let keys = Set(apps.map(\.accessKey))
        return keys.count == 1 ? keys.first : nil
    }
}

extension NodeConfiguration.App {
    /// The key pair that everybody knows; `--dev` serves it, and the client commands use it unless told otherwise.
    package static let development = NodeConfiguration.App(id: "demo", accessKey: "devkey", secret: "devsecret")
}
