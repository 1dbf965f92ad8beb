import Foundation
import MediaEngine
import MediaTransport
package import MediaWire
import RoomControl
import RoomService
import Synchronization
import WebTransport

/// A running node: the media engine, the rooms and the HTTP server, put together from a configuration.
package final class Node: Sendable {
    /// Why a node did not start: one line that names the key to change.
    package struct StartFailure: Error, CustomStringConvertible {
        package var description: String
    }

    /// What it listens on and how it works, a line for each thing, for whoever started it.
    package let summary: [String]
    package let warnings: [String]
    /// The port of HTTP.
    package let httpPort: UInt16
    /// The port of HTTPS; `nil`: off.
    package let httpsPort: UInt16?

    private let engine: Engine
    private let admission: Admission
    private let log: LogQueue
    private let directory: RoomDirectory
    private let server: HTTPServer
    private let reports: Task<Void, Never>
    private let notices: Task<Void, Never>
    private let savedRooms: SavedRooms
    private let webhooks: WebhookSender
    private let opening: Task<Void, Never>
    /// `nil`: no name is announced.
    private let names: NameWatch?

    /// Longer than a node runs; clients do not look at it (RFC 8827, section 6.5), but some libraries do.
    private static let certificateDays = 3650

    /// Clients check every 4 to 6 s (RFC 7675, section 5.1), and a path that is quiet for 10 s needs time for its restart.
    private static let shortSilence = Duration.seconds(15)
    /// Requests under way get this long when the node stops.
    private static let grace = Duration.milliseconds(300)
    /// The last lines of the log get this long.
    private static let logPatience = Duration.milliseconds(300)

    /// Starts everything; when it returns, the node serves.
    ///
    /// - Parameters:
    ///   - machine: the addresses of the machine's interfaces.
    ///   - lookUp: finds the addresses of a name; may block.
    ///   - write: gets a line for what happens later and somebody should know, one at a time; it may block, and nobody
    ///     but `stop`, and that for a moment, waits for it.
    ///   - onDrained: called when a drain's deadline has come: whoever started the node shall stop it.
    package init(
        _ loaded: ConfigurationLoader.Loaded, machine: [TransportAddress],
        lookUp: @escaping @Sendable (String) -> HostNames.Found = HostNames.look(up:),
        log write: @escaping @Sendable (String) -> Void = { _ in }, onDrained: @escaping @Sendable () -> Void = {}
    ) throws(StartFailure) {
        let configuration = loaded.configuration
        // What can be wrong in a file comes before threads and ports.
        let tls = try Node.tls(loaded)
        let (apps, savedRooms, bans) = try Node.apps(loaded)
        self.savedRooms = savedRooms
        // What the node shows in DTLS; signalling tells its fingerprint, so a new one at each start is as good as an old one.
        guard let certificate = Certificate.selfSigned(commonName: "parlor", days: Node.certificateDays),
            let dtls = DTLSContext(certificate: certificate)
        else {
            throw StartFailure(description: "no certificate for DTLS could be made")
        }
        let descriptors = OpenFileLimit.raise()
        let found = HostNames.look(up: configuration.media.announce, by: lookUp)
        let addresses = NodeAddresses(configuration.media, machine: machine, names: found)
        if let failure = addresses.failure {
            throw StartFailure(description: "\(failure) (\(Node.place("media.announce", loaded)))")
        }
        var engineConfiguration = Engine.Configuration(configuration.media, addresses)
        engineConfiguration.dtls = dtls
        engineConfiguration.localAddresses = machine.filter { !$0.isLoopback }
        let engine: Engine
        do { engine = try Engine(engineConfiguration) } catch {
            throw StartFailure(description: "\(error) (\(Node.place(error, loaded)))")
        }
        self.engine = engine

        let counters = NodeCounters()
        let admission = Admission()
        self.admission = admission
        let logsRooms = configuration.log.rooms
        let queue = LogQueue(write: write)
        self.log = queue
        // Rooms, requests and webhooks must not wait for whoever reads the log.
        let log: @Sendable (String) -> Void = { queue.post($0) }
        let webhooks: WebhookSender
        do { webhooks = try Node.webhooks(configuration, apps, log) } catch {
            engine.stop()
            throw StartFailure(description: "webhooks cannot be sent: \(error)")
        }
        self.webhooks = webhooks
        let connections = ConnectionSettings(
            fingerprint: certificate.fingerprint, announced: addresses.candidates,
            firstPort: configuration.media.port, tcp: configuration.media.tcp)
        let environment = RoomEnvironment(
            plane: engine, limits: RoomLimits(configuration.limits, configuration.media), connections: connections
        ) { room, instance, notice in
            savedRooms.observe(room, instance, notice)
            webhooks.observe(room, instance, notice)
            if logsRooms, let line = RoomLog.line(room, notice) { log(line) }
        }
        directory = RoomDirectory(environment: environment, bans: bans)

        var web = HTTPServerConfiguration()
        web.bodyLimit = configuration.limits.httpBody
        web.maximumConnections = configuration.limits.httpConnections
        let server = HTTPServer(configuration: web)
        self.server = server
        let proxies = configuration.http.trustedProxies
        var settings = NodeServices.Settings(
            plainLegs: PlainLegSettings(
                areAllowed: configuration.media.plain.enabled, announced: addresses.announced,
                ownPorts: [
                    configuration.media
                        .port...UInt16(
                            clamping: Int(configuration.media.port) + max(engine.workerCount, 1) - 1),
                    configuration.media.plain.portRange,
                ]),
            isTrustedProxy: { client in proxies.contains { $0.contains(client) } })
        settings.publicURL = configuration.http.publicURL
        settings.operatorKey = configuration.operatorKey
        settings.openApp =
            configuration.apps.contains(.development) ? NodeConfiguration.App.development.id : nil
        settings.connections = configuration.limits.connections
        settings.callbacks = configuration.webhooks.allow
        settings.iceServers = configuration.media.iceServers.map { ICEServer($0) }
        // The server's tasks keep the services; the services must not keep the server.
        settings.serverCounters = { [weak server] in server?.counters }
        settings.sessionPrefix = webhooks.sessionPrefix
        settings.log = log
        settings.moreMetrics = { webhooks.statistics.metrics }
        let plainLegs = settings.plainLegs
        let announcement = Mutex(Announcement(addresses))
        names =
            found.isEmpty
            ? nil
            : NameWatch(configuration.media.announce ?? [], found: found, lookUp: lookUp, log: log) { names in
                let addresses = NodeAddresses(configuration.media, machine: machine, names: names)
                // Who is in stays where it is; who joins or restarts learns the new ones.
                return announcement.withLock { announcement in
                    let lines = announcement.take(addresses)
                    environment.announcing.value.announced = announcement.addresses.candidates
                    plainLegs.value.announced = announcement.addresses.announced
                    return lines
                }
            }
        let services = NodeServices(
            apps: apps, directory: directory, savedRooms: savedRooms, environment: environment, settings: settings,
            admission: admission, counters: counters, onDrained: onDrained)

        do throws(StartFailure) {
            httpPort = try Node.listen(server, configuration.http.listen, "http.listen", loaded)
            if let listen = configuration.http.tls.listen, let tls {
                httpsPort = try Node.listen(server, listen, "http.tls.listen", loaded, tls)
            } else {
                httpsPort = nil
            }
        } catch {
            engine.stop()
            throw error
        }
        warnings =
            addresses.warnings + engine.warnings + Node.warnings(configuration)
            + OpenFileLimit.warnings(
                descriptors, configuration,
                streams: configuration.media.tcp ? engineConfiguration.streams.connections * engine.workerCount : 0)
        summary = Node.summary(configuration, addresses, engine, connections)

        reports = Task { [directory] in await directory.run() }
        notices = Task { [stream = engine.notices] in
            for await notice in stream { log("\(notice)") }
        }
        // Clients wait in the kernel until the rooms of the last run are there.
        names?.start()
        opening = Task { [directory] in
            await savedRooms.restore(apps, in: directory)
            server.start(answering: { await services.answer($0) })
        }
    }

    /// Ends the node in order: newcomers are refused, rooms closed, their signalling clients and plain legs told so, then come the
    /// connections and at last the workers. At most about a second and a half.
    package func stop() async {
        admission.stop()
        names?.stop()
        await opening.value
        await directory.closeAll()
        // The rooms' last events beside the connections' last answers.
        async let delivered: Void = webhooks.stop()
        await server.stop(grace: Node.grace)
        await delivered
        engine.stop()
        savedRooms.forgetEnded()
        await reports.value
        notices.cancel()
        await log.flush(within: Node.logPatience)
    }

    /// Looks the announced names up now, as happens once a minute. Blocks as the resolver does.
    package func lookUpNames() { names?.look() }

    // MARK: From the configuration

    private static func tls(_ loaded: ConfigurationLoader.Loaded) throws(StartFailure) -> TLSConfiguration? {
        let tls = loaded.configuration.http.tls
        guard tls.listen != nil else { return nil }
        do { return try NodeTLS.make(tls) } catch {
            throw StartFailure(description: "\(error.message) (\(place(error.key, loaded)))")
        }
    }

    /// Each app's events go where the app says now, signed by its own secret or else its key's.
    private static func webhooks(
        _ configuration: NodeConfiguration, _ apps: AppDirectory, _ log: @escaping @Sendable (String) -> Void
    ) throws(WebTransportError) -> WebhookSender {
        var settings = WebhookSender.Settings()
        settings.allowed = configuration.webhooks.allow
        return try WebhookSender(settings: settings, log: log) { id in
            guard let app = apps.app(id), !app.details.eventCbUrl.isEmpty, let key = apps.key(app.accessKey) else {
                return nil
            }
            let secret = app.details.eventCbSecret
            return WebhookTarget(
                url: app.details.eventCbUrl, secret: secret.isEmpty ? key.secret : secret, keyID: key.id)
        }
    }

    private static func listen(
        _ server: HTTPServer, _ address: TransportAddress, _ key: String, _ loaded: ConfigurationLoader.Loaded,
        _ tls: TLSConfiguration? = nil
    ) throws(StartFailure) -> UInt16 {
        do { return try server.listen(host: address.host, port: address.port, tls: tls) } catch {
            throw StartFailure(description: "cannot listen on TCP \(address): \(error) (\(place(key, loaded)))")
        }
    }

    /// The apps, rooms and bans of the configuration and of earlier runs.
    private static func apps(
        _ loaded: ConfigurationLoader.Loaded
    ) throws(StartFailure) -> (AppDirectory, SavedRooms, BanTable) {
        let configuration = loaded.configuration
        let plain = configuration.media.plain
        var defaults = AppSettings()
        defaults.legLease = MediaDuration(plain.lease)
        defaults.legTimeout = MediaDuration(plain.silence)
        let apps = configuration.apps.map { app in
            var settings = defaults
            settings.maxUsers = app.settings.maxUsers ?? 0
            settings.noAutoKickUser = app.settings.noAutoKickUser
            settings.noAutoCreateRoom = app.settings.noAutoCreateRoom
            settings.noAutoCloseRoom = app.settings.noAutoCloseRoom
            settings.autoCloseTtl = MediaDuration(app.settings.autoCloseTtl)
            settings.noEnterTtl = MediaDuration(app.settings.noEnterTtl)
            settings.userTimeout = MediaDuration(app.settings.userTimeout)
            settings.videoCodec = app.settings.videoCodec
            var made = App(id: app.id, accessKey: app.accessKey, settings: settings)
            made.details.eventCbUrl = app.settings.eventCbUrl ?? ""
            made.details.eventCbSecret = app.settings.eventCbSecret ?? ""
            return made
        }
        let keys = configuration.apps.map { AccessKey(id: $0.accessKey, secret: $0.secret) }
        do throws(StoreError) {
            let store: AppStore
            if let folder = configuration.dataDir {
                store = try AppStore.open(directory: folder)
            } else {
                store = try AppStore.inMemory()
            }
            return (
                try AppDirectory(
                    apps: apps, keys: keys, store: store, defaults: defaults,
                    appsPerKey: configuration.limits.appsPerKey),
                try SavedRooms(store: store),
                try BanTable(store: store, unixTime: RoomClock.system.unixTime())
            )
        } catch { throw StartFailure(description: "\(error.message) (\(place("dataDir", loaded)))") }
    }

    // MARK: Words

    private static func summary(
        _ configuration: NodeConfiguration, _ addresses: NodeAddresses, _ engine: Engine,
        _ connections: ConnectionSettings
    ) -> [String] {
        let first = Int(configuration.media.port)
        let last = first + engine.workerCount - 1
        let ports = first == last ? "\(first)" : "\(first)-\(last)"
        let hosts = [addresses.ipv4, addresses.ipv6].compactMap { $0?.host }.joined(separator: ", ")
        let workers = engine.workerCount == 1 ? "1 worker" : "\(engine.workerCount) workers"
        let plain = configuration.media.plain
        let range = "\(plain.portRange.lowerBound)-\(plain.portRange.upperBound)"
        let https = configuration.http.tls.listen.map { address in
            let isSelfSigned = configuration.http.tls.certificate == .selfSigned
            return "TCP \(address)\(isSelfSigned ? ", self-signed" : "")"
        }
        // Without what lets in.
        let iceServers = configuration.media.iceServers.flatMap(\.urls).joined(separator: ", ")
        return [
            "HTTP       TCP \(configuration.http.listen)",
            "HTTPS      \(https ?? "off")",
            "media      UDP\(configuration.media.tcp ? " and TCP" : "") \(ports) on \(hosts), \(workers)",
            "plain SRTP \(plain.enabled ? "UDP \(range) on \(hosts)" : "off")",
            "crypto     \(engine.sealingName)",
            "apps       \(configuration.apps.map(\.id).joined(separator: ", "))",
            "data       \(configuration.dataDir ?? "in memory")",
        ] + (iceServers.isEmpty ? [] : ["ICE        \(iceServers)"]) + ["candidates of each worker:"]
            + CandidateTable.lines(connections, workers: engine.workerCount).map { "  \($0)" }
    }

    private static func warnings(_ configuration: NodeConfiguration) -> [String] {
        var warnings: [String] = []
        if configuration.media.plain.enabled {
            let advice = "plain SRTP legs carry their keys in the SDP"
            warnings.append(
                configuration.http.listen.isLoopback
                    ? "\(advice): keep HTTP on loopback, as it is, or behind TLS"
                    : "\(advice), and HTTP on \(configuration.http.listen) is not on loopback: put TLS before it")
        }
        if configuration.apps.contains(.development) {
            warnings.append("the app demo has the development keys, which everybody knows")
        } else if configuration.dataDir == nil {
            warnings.append("apps and rooms made by the server API end with the node: dataDir is not set")
        }
        if configuration.media.silence < Node.shortSilence {
            warnings.append(
                "media.silence is below 15s: clients check every 4 to 6 s, so a lost check or two end a sound connection"
            )
        }
        return warnings
    }

    private static func place(_ error: Engine.StartError, _ loaded: ConfigurationLoader.Loaded) -> String {
        switch error {
        case .listen, .portOutOfRange: place("media.port", loaded)
        case .listenTCP: "\(place("media.port", loaded)); media.tcp: false does without"
        case .noAddress: place("media.listen", loaded)
        case .noMultiBuffer, .unknownSealing: place("media.crypto", loaded)
        case .resources: place("media.workers", loaded)
        }
    }

    private static func place(_ key: String, _ loaded: ConfigurationLoader.Loaded) -> String {
        "\(key), \(loaded.origin(of: key))"
    }
}
