import Foundation
import MediaEngine
package import MediaWire
import RoomControl
import RoomService
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

    private let engine: Engine
    private let directory: RoomDirectory
    private let server: HTTPServer
    private let reports: Task<Void, Never>
    private let notices: Task<Void, Never>

    /// Requests under way get this long when the node stops.
    private static let grace = Duration.milliseconds(300)

    /// Starts everything; when it returns, the node serves.
    ///
    /// - Parameters:
    ///   - machine: the addresses of the machine's interfaces.
    ///   - log: gets a line for what happens later and somebody should know.
    package init(
        _ loaded: ConfigurationLoader.Loaded, machine: [TransportAddress],
        log: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(StartFailure) {
        let configuration = loaded.configuration
        let descriptors = OpenFileLimit.raise()
        let addresses = NodeAddresses(configuration.media, machine: machine)
        let engine: Engine
        do { engine = try Engine(Engine.Configuration(configuration.media, addresses)) } catch {
            throw StartFailure(description: "\(error) (\(Node.place(error, loaded)))")
        }
        self.engine = engine

        let environment = RoomEnvironment(plane: engine)
        directory = RoomDirectory(environment: environment)
        let proxies = configuration.http.trustedProxies
        let services = NodeServices(
            apps: Node.apps(configuration), directory: directory, environment: environment,
            settings: NodeServices.Settings(
                plainLegs: PlainLegSettings(
                    areAllowed: configuration.media.plain.enabled, announced: addresses.announced,
                    ownPorts: [
                        configuration.media
                            .port...UInt16(
                                clamping: Int(configuration.media.port) + max(engine.workerCount, 1) - 1),
                        configuration.media.plain.portRange,
                    ]),
                isTrustedProxy: { client in proxies.contains { $0.contains(client) } }))

        var web = HTTPServerConfiguration()
        web.bodyLimit = configuration.limits.httpBody
        web.maximumConnections = configuration.limits.httpConnections
        server = HTTPServer(configuration: web)
        let listen = configuration.http.listen
        do { httpPort = try server.listen(host: listen.host, port: listen.port) } catch {
            engine.stop()
            throw StartFailure(
                description: "cannot listen on TCP \(listen): \(error) (\(Node.place("http.listen", loaded)))")
        }
        warnings =
            addresses.warnings + engine.warnings + Node.warnings(configuration)
            + OpenFileLimit.warnings(descriptors, configuration)
        summary = Node.summary(configuration, addresses, engine)

        reports = Task { [directory] in await directory.run() }
        notices = Task { [stream = engine.notices] in
            for await notice in stream { log("\(notice)") }
        }
        server.start { await services.handle($0) }
    }

    /// Ends the node in order: no new requests, rooms closed and their plain legs told, then the workers. At most about a
    /// second and a half.
    package func stop() async {
        await server.stop(grace: Node.grace)
        await directory.closeAll()
        engine.stop()
        await reports.value
        notices.cancel()
    }

    // MARK: From the configuration

    private static func apps(_ configuration: NodeConfiguration) -> AppDirectory {
        let plain = configuration.media.plain
        let apps = configuration.apps.map { app in
            var settings = AppSettings()
            settings.maxUsers = app.settings.maxUsers ?? 0
            settings.noAutoKickUser = app.settings.noAutoKickUser
            settings.noAutoCreateRoom = app.settings.noAutoCreateRoom
            settings.noAutoCloseRoom = app.settings.noAutoCloseRoom
            settings.autoCloseTtl = MediaDuration(app.settings.autoCloseTtl)
            settings.legLease = MediaDuration(plain.lease)
            settings.legTimeout = MediaDuration(plain.silence)
            return App(id: app.id, accessKey: app.accessKey, settings: settings)
        }
        let keys = configuration.apps.map { AccessKey(id: $0.accessKey, secret: $0.secret) }
        return AppDirectory(apps: apps, keys: keys)
    }

    // MARK: Words

    private static func summary(
        _ configuration: NodeConfiguration, _ addresses: NodeAddresses, _ engine: Engine
    ) -> [String] {
        let first = Int(configuration.media.port)
        let last = first + engine.workerCount - 1
        let ports = first == last ? "\(first)" : "\(first)-\(last)"
        let hosts = [addresses.ipv4, addresses.ipv6].compactMap { $0?.host }.joined(separator: ", ")
        let workers = engine.workerCount == 1 ? "1 worker" : "\(engine.workerCount) workers"
        let plain = configuration.media.plain
        let range = "\(plain.portRange.lowerBound)-\(plain.portRange.upperBound)"
        return [
            "HTTP       TCP \(configuration.http.listen)",
            "media      UDP \(ports) on \(hosts), \(workers)",
            "announced  \(addresses.announced.map(\.host).joined(separator: ", "))",
            "plain SRTP \(plain.enabled ? "UDP \(range) on \(hosts)" : "off")",
            "crypto     \(engine.sealingName)",
            "apps       \(configuration.apps.map(\.id).joined(separator: ", "))",
        ]
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
        }
        return warnings
    }

    private static func place(_ error: Engine.StartError, _ loaded: ConfigurationLoader.Loaded) -> String {
        switch error {
        case .listen, .portOutOfRange: place("media.port", loaded)
        case .noAddress: place("media.listen", loaded)
        case .noMultiBuffer, .unknownSealing: place("media.crypto", loaded)
        case .resources: place("media.workers", loaded)
        }
    }

    private static func place(_ key: String, _ loaded: ConfigurationLoader.Loaded) -> String {
        "\(key), \(loaded.origin(of: key))"
    }
}
