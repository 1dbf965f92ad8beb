package import MediaWire
package import RoomControl
import RoomProtocol
package import WebTransport

/// Everything that the node answers over HTTP, as one function from request to response.
package struct NodeServices: Sendable {
    package struct Settings: Sendable {
        /// The addresses in it may become others while the node runs.
        package let plainLegs: Current<PlainLegSettings>
        /// Whether what this host says in X-Forwarded-For may be believed.
        package var isTrustedProxy: @Sendable (TransportAddress) -> Bool
        /// How clients reach the node, `https://media.example.com`; `nil`: as they reached it.
        package var publicURL: String?
        /// The access key that may drain the node; `nil`: nobody may.
        package var operatorKey: String?
        /// The app with the development keys, for which the page gets tokens; `nil`: the page's visitors bring theirs.
        package var openApp: String?
        /// WebSockets for signalling at one time.
        package var connections = 10_000
        /// Where apps' events may be sent to.
        package var callbacks = WebhookAllowList.everything
        /// Whole families of figures that others count, as Prometheus reads them.
        package var moreMetrics: @Sendable () -> String = { "" }
        /// The HTTP server's own counts, for the metrics.
        package var serverCounters: @Sendable () -> HTTPServerCounters? = { nil }
        /// Stands before the number of a room's life in its session's name, with a hyphen; empty: the number stands alone.
        package var sessionPrefix = ""
        /// What clients of WHIP and WHEP may use to find a way here.
        package var iceServers: [ICEServer] = []
        /// Takes a line for whoever runs the node.
        package var log: @Sendable (String) -> Void = { _ in }

        package init(
            plainLegs: PlainLegSettings = PlainLegSettings(),
            isTrustedProxy: @escaping @Sendable (TransportAddress) -> Bool = { _ in false }
        ) {
            self.plainLegs = Current(plainLegs)
            self.isTrustedProxy = isTrustedProxy
        }
    }

    private let router: Router
    /// What the node has: `GET /v3/apps/:app` and so on.
    package var patterns: [(method: String, pattern: String)] { router.patterns }
    private let signalling: SignallingRoutes
    private let legs: LegRoutes

    /// - Parameters:
    ///   - admission: whether newcomers are let in.
    ///   - counters: what is counted at the doors.
    ///   - onDrained: called when a drain's deadline has come: the node shall end.
    package init(
        apps: AppDirectory, directory: RoomDirectory, savedRooms: SavedRooms = SavedRooms(),
        environment: RoomEnvironment, settings: Settings, admission: Admission = Admission(),
        counters: NodeCounters = NodeCounters(), onDrained: @escaping @Sendable () async -> Void = {}
    ) {
        var router = Router(counters: counters)
        let address = PublicAddress(
            configured: settings.publicURL, clientAddress: ClientAddress(isTrustedProxy: settings.isTrustedProxy))
        let endpoint = JoinEndpoint(
            apps: apps, directory: directory, environment: environment, settings: settings.plainLegs,
            admission: admission)
        legs = LegRoutes(
            endpoint: endpoint, clientAddress: ClientAddress(isTrustedProxy: settings.isTrustedProxy),
            counters: counters, clock: environment.clock, iceServers: settings.iceServers)
        legs.add(to: &router)
        signalling = SignallingRoutes(
            endpoint: SignallingEndpoint(
                apps: apps, directory: directory, environment: environment, admission: admission,
                observe: { counters.joined(code: $0.rawValue) }),
            address: address, counters: counters, mostConnections: settings.connections,
            frameBytes: environment.limits.frameBytes)
        signalling.add(to: &router)
        PageRoutes(address: address, apps: apps, clock: environment.clock, openApp: settings.openApp).add(to: &router)
        let gate = ServerGate(apps: apps, clock: environment.clock)
        AppRoutes(
            gate: gate, callbacks: settings.callbacks,
            closeRooms: { app in
                directory.bans.forget(app: app)
                await directory.closeAll(app: app, .deleted, "the app was deleted")
            },
            log: settings.log
        ).add(to: &router)
        ServerRoutes(gate: gate, directory: directory).add(to: &router)
        RoomRoutes(
            gate: gate, directory: directory, saved: savedRooms, admission: admission, log: settings.log
        ).add(to: &router)
        ModerationRoutes(
            gate: gate, directory: directory, sessionPrefix: settings.sessionPrefix, log: settings.log
        ).add(to: &router)
        JobRoutes(gate: gate).add(to: &router)
        MetricsRoute(
            environment: environment, directory: directory, counters: counters, admission: admission,
            server: settings.serverCounters, more: settings.moreMetrics
        ).add(to: &router)
        NodeRoutes(
            gate: gate, directory: directory, environment: environment, admission: admission,
            drain: Drain(admission: admission, clock: environment.clock, onDeadline: onDrained),
            operatorKey: settings.operatorKey
        ).add(to: &router)
        self.router = router
    }

    /// Answers a request, or opens its WebSocket.
    package func answer(_ request: HTTPRequest) async -> HTTPAnswer {
        switch signalling.upgrade(request) {
        case .response(let response): .response(finished(response))
        case .upgrade(let upgrade): .upgrade(upgrade)
        case nil: .response(await handle(request))
        }
    }

    /// Answers a request that opens no WebSocket.
    package func handle(_ request: HTTPRequest) async -> HTTPResponse {
        finished(legs.finished(await router.handle(request), to: request))
    }

    /// Every answer has an X-Reqid, which the vendor's SDKs want to see, and may be read by any page.
    private func finished(_ response: HTTPResponse) -> HTTPResponse {
        var response = response
        var random = RandomSource.system
        response.headers["X-Reqid"] = Base64URL.encode(random.bytes(12), padded: false)
        response.headers["Access-Control-Allow-Origin"] = "*"
        response.headers["Access-Control-Expose-Headers"] = "Location, ETag, Link, Retry-After, X-Reqid"
        return response
    }
}
