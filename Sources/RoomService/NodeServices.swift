package import MediaWire
package import RoomControl
package import WebTransport

/// Everything that the node answers over HTTP, as one function from request to response.
package struct NodeServices: Sendable {
    package struct Settings: Sendable {
        package var plainLegs: PlainLegSettings
        /// Whether what this host says in X-Forwarded-For may be believed.
        package var isTrustedProxy: @Sendable (TransportAddress) -> Bool

        /// Takes a line for whoever runs the node.
        package var log: @Sendable (String) -> Void

        package init(
            plainLegs: PlainLegSettings = PlainLegSettings(),
            isTrustedProxy: @escaping @Sendable (TransportAddress) -> Bool = { _ in false },
            log: @escaping @Sendable (String) -> Void = { _ in }
        ) {
            self.plainLegs = plainLegs
            self.isTrustedProxy = isTrustedProxy
            self.log = log
        }
    }

    private let router: Router

    package init(apps: AppDirectory, directory: RoomDirectory, environment: RoomEnvironment, settings: Settings) {
        var router = Router()
        let endpoint = JoinEndpoint(
            apps: apps, directory: directory, environment: environment, settings: settings.plainLegs)
        LegRoutes(endpoint: endpoint, clientAddress: ClientAddress(isTrustedProxy: settings.isTrustedProxy))
            .add(to: &router)
        let gate = ServerGate(apps: apps, clock: environment.clock)
        AppRoutes(gate: gate, closeRooms: { await NodeServices.closeRooms(of: $0, directory) }, log: settings.log)
            .add(to: &router)
        ServerRoutes(gate: gate, directory: directory).add(to: &router)
        JobRoutes(gate: gate).add(to: &router)
        MetricsRoute(plane: environment.plane).add(to: &router)
        router.on("GET", "/healthz") { _ in HTTPResponse(status: 200, text: "ok\n") }
        self.router = router
    }

    private static func closeRooms(of app: String, _ directory: RoomDirectory) async {
        for name in await directory.list(app: app, prefix: "", offset: 0, limit: .max).rooms {
            await directory.room(RoomKey(app: app, room: name))?.close()
        }
    }

    /// Answers a request. Every answer has an X-Reqid, which the vendor's SDKs want to see, and may be read by any page.
    package func handle(_ request: HTTPRequest) async -> HTTPResponse {
        var response = await router.handle(request)
        var random = RandomSource.system
        response.headers["X-Reqid"] = Base64URL.encode(random.bytes(12), padded: false)
        response.headers["Access-Control-Allow-Origin"] = "*"
        response.headers["Access-Control-Expose-Headers"] = "Location, Retry-After, X-Reqid"
        return response
    }
}
