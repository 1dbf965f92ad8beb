import MediaWire
import RoomControl

/// One key of the configuration: its names in file, environment and flags, its meaning, and how its value is read.
package struct ConfigurationKey<Root: Sendable>: Sendable {
    /// Path in the file: `media.plain.portRange`.
    package let path: String
    /// What stands for the value in help texts.
    package let placeholder: String
    /// One line of help.
    package let meaning: String
    /// Reads a value and stores it.
    let apply: @Sendable (ConfigurationValue, inout Root) throws(ValueComplaint) -> Void
    /// The value as the file would write it.
    package let show: @Sendable (Root) -> String

    init<T>(
        _ path: String, _ placeholder: String, _ meaning: String, _ keyPath: any WritableKeyPath<Root, T> & Sendable,
        _ reader: ValueReader<T>, show: @escaping @Sendable (T) -> String = { "\($0)" }
    ) {
        self.path = path
        self.placeholder = placeholder
        self.meaning = meaning
        apply = { (value, root) throws(ValueComplaint) in root[keyPath: keyPath] = try reader.read(value) }
        self.show = { show($0[keyPath: keyPath]) }
    }

    /// `media.plain.portRange` -> `media-plain-port-range`
    package var flagName: String { Self.spell(path, separator: "-", upper: false) }
    /// `media.plain.portRange` -> `PARLOR_MEDIA_PLAIN_PORT_RANGE`
    package var variableName: String { "PARLOR_" + Self.spell(path, separator: "_", upper: true) }

    private static func spell(_ path: String, separator: Character, upper: Bool) -> String {
        var result = ""
        for character in path {
            if character == "." {
                result.append(separator)
            } else if character.isUppercase {
                result.append(separator)
                result.append(contentsOf: upper ? character.uppercased() : character.lowercased())
            } else {
                result.append(contentsOf: upper ? character.uppercased() : String(character))
            }
        }
        return result
    }
}

extension ConfigurationKey where Root == NodeConfiguration {
    package static var all: [ConfigurationKey<NodeConfiguration>] { http + media + limits + others }

    private static var http: [ConfigurationKey<NodeConfiguration>] {
        [
            .init("http.listen", "ADDRESS:PORT", "where the node answers HTTP", \.http.listen, .endpoint),
            .init(
                "http.tls.listen", "ADDRESS:PORT", "where it answers HTTPS, or off", \.http.tls.listen,
                .endpointOrOff, show: { $0.map { "\($0)" } ?? "off" }),
            .init(
                "http.tls.certificate", "FILE", "the certificate and its chain, PEM, or self-signed",
                \.http.tls.certificate, .optional(.certificate), show: certificate),
            .init(
                "http.tls.key", "FILE", "the certificate's key, PEM", \.http.tls.key, .optional(.path),
                show: { $0 ?? "none" }),
            .init(
                "http.publicUrl", "URL", "how clients reach the node (default: as they reached it)", \.http.publicURL,
                .optional(.url(schemes: ["http", "https"], pathAllowed: false)), show: { $0 ?? "none" }),
            .init(
                "http.trustedProxies", "LIST", "proxies whose X-Forwarded-For is believed, as addresses or blocks",
                \.http.trustedProxies, .prefixes, show: list),
        ]
    }

    private static var media: [ConfigurationKey<NodeConfiguration>] {
        [
            .init(
                "media.listen", "LIST", "addresses of the media sockets, at most one IPv4 and one IPv6 (default: all)",
                \.media.listen, .hosts, show: hosts),
            .init(
                "media.announce", "LIST",
                "addresses or names that clients are told to send to, auto, or all of the machine's",
                \.media.announce, .announced,
                show: { $0.map { $0.map(\.description).joined(separator: ",") } ?? "auto" }),
            .init("media.port", "PORT", "port of the first worker; the next has the next", \.media.port, .port),
            .init("media.tcp", "BOOL", "WebRTC over TCP, too, on the same ports (ICE-TCP)", \.media.tcp, .flag),
            .init(
                "media.workers", "N", "worker threads, or auto: one for each core", \.media.workers,
                .countOrAuto(1...256, of: "workers"), show: { $0.map { "\($0)" } ?? "auto" }),
            .init(
                "media.receiveBuffer", "SIZE",
                "receive buffer of each media socket; at most 1MiB of it for a plain leg's",
                \.media.receiveBuffer, .size(64 << 10...1 << 30), show: Numbers.size),
            .init(
                "media.sendBuffer", "SIZE", "send buffer of each media socket; at most 1MiB of it for a plain leg's",
                \.media.sendBuffer, .size(64 << 10...1 << 30), show: Numbers.size),
            .init(
                "media.collecting", "TIME", "how long datagrams may collect as a core fills; 0 turns it off",
                \.media.collecting, .time(.zero ... .milliseconds(20)), show: Numbers.time),
            .init(
                "media.segmentation", "BOOL", "send runs to one destination as one message (UDP_SEGMENT)",
                \.media.segmentation, .flag),
            .init(
                "media.crypto", "NAME", "what seals packets: auto, multibuffer or evp", \.media.crypto, .crypto,
                show: { $0.rawValue }),
            .init(
                "media.silence", "TIME", "life of a WebRTC connection that is not heard", \.media.silence,
                .time(
                    .seconds(5) ... .seconds(30),
                    noLongerSince: "to a client that was not heard for 30s nothing may be sent (RFC 7675)"),
                show: Numbers.time),
            .init(
                "media.plain.enabled", "BOOL", "allow plain SRTP legs, whose keys are in the SDP",
                \.media.plain.enabled,
                .flag),
            .init(
                "media.plain.portRange", "FIRST-LAST", "UDP ports of plain legs", \.media.plain.portRange, .portRange,
                show: { "\($0.lowerBound)-\($0.upperBound)" }),
            .init(
                "media.plain.lease", "TIME", "life of a receiving leg that is not heard", \.media.plain.lease,
                .time(.seconds(1) ... .seconds(604_800)), show: Numbers.time),
            .init(
                "media.plain.silence", "TIME", "life of a sending leg that is not heard", \.media.plain.silence,
                .time(.seconds(1) ... .seconds(3600)), show: Numbers.time),
        ]
    }

    private static var limits: [ConfigurationKey<NodeConfiguration>] {
        [
            .init(
                "limits.httpConnections", "N", "HTTP connections at one time, WebSockets among them",
                \.limits.httpConnections, .count(1...1_000_000, of: "connections")),
            .init(
                "limits.httpBody", "SIZE", "largest body of a request", \.limits.httpBody, .size(4 << 10...64 << 20),
                show: Numbers.size),
            .init(
                "limits.connections", "N", "WebSockets for signalling at one time", \.limits.connections,
                .count(1...1_000_000, of: "connections")),
            .init(
                "limits.signallingFrame", "SIZE", "largest message on a WebSocket", \.limits.signallingFrame,
                .size(16 << 10...16 << 20), show: Numbers.size),
            .init(
                "limits.message", "SIZE", "largest custom message", \.limits.message, .size(1...4 << 20),
                show: Numbers.size),
            .init(
                "limits.messagesPerSecond", "N", "custom messages of one user; twice as many at once",
                \.limits.messagesPerSecond, .count(1...100_000, of: "messages")),
            .init(
                "limits.requestsPerSecond", "N", "messages of any type on one WebSocket; twice as many at once",
                \.limits.requestsPerSecond, .count(1...100_000, of: "messages")),
            .init(
                "limits.changesPerSecond", "N", "times one user publishes, unpublishes or mutes; twice as many at once",
                \.limits.changesPerSecond, .count(1...100_000, of: "changes")),
            .init(
                "limits.subscriptionsPerSecond", "N", "tracks one user's requests name; more at once",
                \.limits.subscriptionsPerSecond, .count(1...1_000_000, of: "tracks")),
            .init(
                "limits.tracksPerUser", "N", "tracks that one user publishes at one time", \.limits.tracksPerUser,
                .count(1...PublishOffer.maximumTracks, of: "tracks")),
            .init(
                "limits.usersPerRoom", "N", "users in one room, whatever its app allows", \.limits.usersPerRoom,
                .count(1...1_000_000, of: "users")),
            .init("limits.rooms", "N", "rooms on the node", \.limits.rooms, .count(1...1_000_000, of: "rooms")),
            .init("limits.users", "N", "users on the node", \.limits.users, .count(1...1_000_000, of: "users")),
            .init(
                "limits.appsPerKey", "N", "apps of one access key", \.limits.appsPerKey, .count(1...100_000, of: "apps")
            ),
        ]
    }

    private static var others: [ConfigurationKey<NodeConfiguration>] {
        [
            .init(
                "dataDir", "FOLDER", "where apps and rooms made by the server API are kept (default: in memory)",
                \.dataDir, .optional(.path), show: { $0 ?? "none" }),
            .init(
                "admin.accessKey", "NAME", "the access key that may drain the node (default: the only one there is)",
                \.admin.accessKey, .optional(.name(upTo: 128)), show: { $0 ?? "none" }),
            .init("log.rooms", "BOOL", "log who comes and goes, a line each", \.log.rooms, .flag),
            .init(
                "webhooks.allow", "LIST", "hosts that webhooks may be sent to: [SCHEME://]HOST[:PORT] (default: all)",
                \.webhooks, .webhookHosts, show: { list($0.allowed) }),
        ]
    }

    private static func certificate(_ choice: NodeConfiguration.CertificateChoice?) -> String {
        switch choice {
        case nil: "none"
        case .selfSigned: NodeConfiguration.CertificateChoice.selfSignedName
        case .file(let path): path
        }
    }

    private static func list<T: CustomStringConvertible>(_ elements: [T]) -> String {
        elements.isEmpty ? "none" : elements.map(\.description).joined(separator: ",")
    }

    private static func hosts(_ elements: [TransportAddress]?) -> String {
        elements.map { $0.map(\.host).joined(separator: ",") } ?? "auto"
    }
}

extension ConfigurationKey where Root == NodeConfiguration.ICEServer {
    /// The keys of one element of `media.iceServers`.
    package static var all: [ConfigurationKey<NodeConfiguration.ICEServer>] {
        [
            .init("urls", "LIST", "stun:, stuns:, turn: or turns: and HOST", \.urls, .iceURLs, show: { "\($0)" }),
            .init(
                "username", "TEXT", "of the TURN servers", \.username, .optional(.turnWord("a user name")),
                show: { $0 ?? "none" }),
            .init(
                "credential", "TEXT", "the password that goes with it", \.credential,
                .optional(.turnWord("a credential")), show: { _ in "(secret)" }),
            .init(
                "secret", "TEXT", "makes a name and a password for each leg", \.secret, .optional(.secret),
                show: { _ in "(secret)" }),
        ]
    }
}

extension ConfigurationKey where Root == NodeConfiguration.App {
    /// The keys of one element of `apps`.
    package static var all: [ConfigurationKey<NodeConfiguration.App>] {
        [
            .init("id", "NAME", "the app's id, as tokens name it", \.id, .name(upTo: 64)),
            .init("accessKey", "NAME", "the public half of the key pair", \.accessKey, .name(upTo: 128)),
            .init("secret", "TEXT", "the secret half", \.secret, .secret, show: { _ in "(secret)" }),
            .init(
                "settings.maxUsers", "N", "users in one room", \.settings.maxUsers,
                .optionalCount(1...1_000_000, of: "users"), show: { $0.map { "\($0)" } ?? "no limit" }),
            .init(
                "settings.noAutoKickUser", "BOOL", "refuse a user who is in the room already",
                \.settings.noAutoKickUser, .flag),
            .init(
                "settings.noAutoCreateRoom", "BOOL", "refuse to join a room that does not exist",
                \.settings.noAutoCreateRoom, .flag),
            .init(
                "settings.noAutoCloseRoom", "BOOL", "keep empty rooms", \.settings.noAutoCloseRoom, .flag),
            .init(
                "settings.autoCloseTtl", "TIME", "life of an empty room", \.settings.autoCloseTtl,
                .time(.seconds(1) ... .seconds(604_800)), show: Numbers.time),
            .init(
                "settings.noEnterTtl", "TIME", "how long a room made by the server API waits for its first user",
                \.settings.noEnterTtl, .time(.seconds(1) ... .seconds(604_800)), show: Numbers.time),
            .init(
                "settings.userTimeout", "TIME", "a user that is silent for so long has left", \.settings.userTimeout,
                .time(
                    .seconds(AppSettings.userTimeouts.lowerBound) ... .seconds(AppSettings.userTimeouts.upperBound)),
                show: Numbers.time),
            .init(
                "settings.videoCodec", "NAME", "what signalling clients get: VP8, VP9, H264 or AV1",
                \.settings.videoCodec, .videoCodec, show: { $0.name }),
            .init(
                "settings.eventCbUrl", "URL", "where what happens in the app's rooms is reported",
                \.settings.eventCbUrl, .optional(.url(schemes: ["http", "https"], pathAllowed: true)),
                show: { $0 ?? "none" }),
            .init(
                "settings.eventCbSecret", "TEXT", "signs the reports (default: the app's secret)",
                \.settings.eventCbSecret, .optional(.secret), show: { _ in "(secret)" }),
        ]
    }
}
