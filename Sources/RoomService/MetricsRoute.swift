import MediaContract
import RoomControl
import WebTransport

/// `GET /metrics`: the node's figures as Prometheus reads them. Low in cardinality on purpose: by worker, route, type, code and the
/// name of a drop, never by room, user or path.
struct MetricsRoute {
    let environment: RoomEnvironment
    let directory: RoomDirectory
    let counters: NodeCounters
    let admission: Admission
    /// The HTTP server's own; `nil`: there is none.
    let server: @Sendable () -> HTTPServerCounters?
    let more: @Sendable () -> String

    func add(to router: inout Router) {
        router.on("GET", "/metrics") { [self] _ in
            HTTPResponse(
                status: 200, text: await text(), contentType: "text/plain; version=0.0.4; charset=utf-8")
        }
    }

    private func text() async -> String {
        var metrics = MetricsText()
        metrics.family("parlor_rooms", .gauge, "Rooms open.", UInt64(await directory.roomCount))
        addDoors(to: &metrics)
        if let server = server() { Self.add(server, to: &metrics) }
        Self.add(await WorkerSnapshots.all(of: environment), to: &metrics)
        return metrics.text + more()
    }

    // MARK: Rooms, signalling, routes

    private func addDoors(to metrics: inout MetricsText) {
        let (counts, messages) = counters.copy()
        metrics.family("parlor_users", .gauge, "Users in all rooms.", UInt64(clamping: environment.population.users))
        metrics.family("parlor_accepting", .gauge, "1 while newcomers are let in.", admission.isOpen ? 1 : 0)
        metrics.family(
            "parlor_signalling_connections", .gauge, "WebSockets open for signalling.",
            UInt64(clamping: counts.connections))
        metrics.family(
            "parlor_signalling_connections_total", .counter, "WebSockets ever opened.", counts.connectionsEver)
        let messageRows = messages.sorted {
            ($0.key.direction.rawValue, $0.key.type) < ($1.key.direction.rawValue, $1.key.type)
        }
        metrics.family(
            "parlor_signalling_messages_total", .counter, "Signalling messages by direction and type.",
            messageRows.map { row -> (labels: [MetricsText.Label], value: UInt64) in
                ([("direction", row.key.direction.rawValue), ("type", row.key.type)], row.value)
            })
        let joinRows = counts.joins.sorted { ($0.key.door.rawValue, $0.key.code) < ($1.key.door.rawValue, $1.key.code) }
        metrics.family(
            "parlor_joins_total", .counter, "First joins asked for, by door and result code; 0 is who came in.",
            joinRows.map { row -> (labels: [MetricsText.Label], value: UInt64) in
                ([("door", row.key.door.rawValue), ("code", "\(row.key.code)")], row.value)
            })
        let requestRows = counts.requests.sorted {
            ($0.key.route, $0.key.method, $0.key.statusClass) < ($1.key.route, $1.key.method, $1.key.statusClass)
        }
        metrics.family(
            "parlor_http_requests_total", .counter, "Requests answered, by route, method and class of status.",
            requestRows.map { row -> (labels: [MetricsText.Label], value: UInt64) in
                (
                    [
                        ("route", row.key.route), ("method", row.key.method),
                        ("status", "\(row.key.statusClass)xx"),
                    ], row.value
                )
            })
    }

    // MARK: The HTTP server

    private static func add(_ server: HTTPServerCounters, to metrics: inout MetricsText) {
        metrics.family(
            "parlor_http_connections", .gauge, "TCP connections open, WebSockets among them.", server.connections)
        metrics.family("parlor_http_running", .gauge, "Requests being answered.", server.running)
        metrics.family("parlor_http_accepted_total", .counter, "TCP connections accepted.", server.accepted)
        metrics.family("parlor_http_received_total", .counter, "Requests received whole.", server.requests)
        metrics.family("parlor_http_responses_total", .counter, "Responses sent.", server.responses)
        metrics.family("parlor_http_upgrades_total", .counter, "Requests that became WebSockets.", server.upgrades)
        let drops: [(String, UInt64)] = [
            ("refused", server.refused), ("accept_error", server.acceptErrors), ("malformed", server.malformed),
            ("header_too_large", server.headerTooLarge), ("body_too_large", server.bodyTooLarge),
            ("timed_out", server.timedOut), ("handler_late", server.handlerLate),
            ("tls_failure", server.tlsFailures), ("broken", server.broken), ("slow_reader", server.slowReaders),
        ]
        metrics.family(
            "parlor_http_dropped_total", .counter, "Connections and requests that the server itself ended, by reason.",
            drops.map { drop -> (labels: [MetricsText.Label], value: UInt64) in ([("reason", drop.0)], drop.1) })
    }

    // MARK: Workers

    /// A worker that did not answer has no figures, and `parlor_worker_up` says so.
    private static func add(_ workers: [MediaSnapshot?], to metrics: inout MetricsText) {
        let snapshots = workers.enumerated().compactMap { worker, snapshot in snapshot.map { (worker, $0) } }
        func each(_ value: (MediaSnapshot) -> UInt64) -> [(labels: [MetricsText.Label], value: UInt64)] {
            snapshots.map { ([("worker", "\($0.0)")], value($0.1)) }
        }
        metrics.family(
            "parlor_worker_up", .gauge, "1 for a worker that answered.",
            workers.enumerated().map { worker, snapshot -> (labels: [MetricsText.Label], value: UInt64) in
                ([("worker", "\(worker)")], snapshot == nil ? 0 : 1)
            })
        metrics.family(
            "parlor_worker_load", .gauge, "How busy the worker's thread has lately been, 0 to 1.",
            snapshots.map { worker, snapshot -> (labels: [MetricsText.Label], value: Double) in
                ([("worker", "\(worker)")], snapshot.load)
            })
        metrics.family("parlor_packets_in_total", .counter, "Authentic packets received.", each(\.packetsIn))
        metrics.family("parlor_bytes_in_total", .counter, "Their bytes.", each(\.bytesIn))
        metrics.family("parlor_packets_out_total", .counter, "Packets sent.", each(\.packetsOut))
        metrics.family("parlor_bytes_out_total", .counter, "Their bytes.", each(\.bytesOut))
        metrics.family(
            "parlor_batches_in_total", .counter, "Batches taken in; packets over batches is their size.",
            each(\.batchesIn))
        metrics.family("parlor_batches_out_total", .counter, "Flushes that sent something.", each(\.batchesOut))
        metrics.family("parlor_transports", .gauge, "Transports open.", each { UInt64($0.transports.count) })
        metrics.family(
            "parlor_media_tcp_connections", .gauge, "TCP connections of clients for media.",
            each { UInt64(max(0, $0.tcpConnections)) })
        metrics.family("parlor_tracks", .gauge, "Tracks published.", each { UInt64($0.tracks.count) })
        metrics.family(
            "parlor_subscriptions", .gauge, "Tracks on their way to a subscriber.",
            each { UInt64($0.subscriptions.count) })
        metrics.family(
            "parlor_dropped_total", .counter, "Packets that went no further, by reason.",
            snapshots.flatMap { worker, snapshot in
                DropReason.allCases.map { reason -> (labels: [MetricsText.Label], value: UInt64) in
                    ([("worker", "\(worker)"), ("reason", reason.name)], snapshot.drops(reason))
                }
            })
    }
}

/// Asks all workers at once, so that one that is silent costs its second only once.
enum WorkerSnapshots {
    /// In the order of the workers; `nil` for one that did not answer.
    static func all(of environment: RoomEnvironment) async -> [MediaSnapshot?] {
        let (figures, count) = (environment.figures, environment.plane.workerCount)
        return await withTaskGroup(of: (Int, MediaSnapshot?).self) { group in
            for worker in 0..<count {
                group.addTask { (worker, await figures.of(worker: worker)) }
            }
            var snapshots = [MediaSnapshot?](repeating: nil, count: count)
            for await (worker, snapshot) in group { snapshots[worker] = snapshot }
            return snapshots
        }
    }
}
