import Synchronization
package import WebTransport

/// What the signalling of many clients shares: one thread for all their requests and sockets, the servers, the
/// deadlines.
package struct SignallingTransport: Sendable {
    package var http: HTTPClient
    package var clock: any SignallingClock
    /// URL prefixes, for example `https://rtc.example.com:7880`, in the order in which they are tried.
    package var servers: [String]
    /// For one HTTP exchange, for opening a WebSocket, and for the answer to a request.
    package var requestTimeout: Duration
    /// From one ping to the next; later the connection counts as lost. Runs after the first ping (wire: every 3 s).
    package var pingDeadline: Duration = .seconds(9)
    /// Notifications that came and were not taken; beyond, the connection ends.
    package var notificationLimit = 4096
    /// Bytes of one message of the server; a longer one ends the connection. An auth-res lists all users with their
    /// data (up to 1 KiB each) and all tracks, so that in a big room it goes beyond a WebSocket's usual megabyte.
    package var messageLimit = 64 * 1024 * 1024
    /// Between two rounds through all servers.
    package var roundPause: Duration = .seconds(1)

    package init(
        http: HTTPClient, servers: [String], requestTimeout: Duration = .seconds(5),
        clock: any SignallingClock = ContinuousSignallingClock()
    ) {
        self.http = http
        self.clock = clock
        self.servers = servers.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
        self.requestTimeout = requestTimeout
    }
}

/// The HTTP client of each kind of trust, made once and shared by all clients of the process while one lives.
enum SharedHTTPClients {
    private struct Entry {
        let trust: TLSTrust
        weak var client: HTTPClient?
    }

    private static let entries = Mutex<[Entry]>([])

    static func client(_ trust: TLSTrust) throws(WebTransportError) -> HTTPClient {
        try entries.withLock { entries throws(WebTransportError) in
            entries.removeAll { $0.client == nil }
            if let client = entries.first(where: { $0.trust == trust })?.client { return client }
            let client = try HTTPClient(trust: trust, threadName: "rtc-client")
            entries.append(Entry(trust: trust, client: client))
            return client
        }
    }
}
