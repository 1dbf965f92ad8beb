import MediaContract
import WebTransport

/// `GET /metrics`: the workers' figures as Prometheus reads them (text format 0.0.4). Low in cardinality on purpose: by worker and by
/// the name of a drop, never by room or user.
struct MetricsRoute {
    let plane: any MediaPlane

    func add(to router: inout Router) {
        router.on("GET", "/metrics") { [plane] _ in
            var snapshots: [(worker: Int, snapshot: MediaSnapshot)] = []
            for worker in 0..<plane.workerCount {
                guard let snapshot = await plane.snapshot(worker: worker) else { continue }
                snapshots.append((worker, snapshot))
            }
            return HTTPResponse(
                status: 200, text: Self.text(snapshots), contentType: "text/plain; version=0.0.4; charset=utf-8")
        }
    }

    /// A worker that did not answer is left out, and `parlor_worker_up` says so.
    static func text(_ snapshots: [(worker: Int, snapshot: MediaSnapshot)]) -> String {
        var text = ""
        func family(_ name: String, _ type: String, _ help: String, _ value: (MediaSnapshot) -> UInt64) {
            text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
            for (worker, snapshot) in snapshots { text += "\(name){worker=\"\(worker)\"} \(value(snapshot))\n" }
        }
        family("parlor_worker_up", "gauge", "Workers that answered.") { _ in 1 }
        family("parlor_packets_in_total", "counter", "Authentic packets received.") { $0.packetsIn }
        family("parlor_bytes_in_total", "counter", "Their bytes.") { $0.bytesIn }
        family("parlor_packets_out_total", "counter", "Packets sent.") { $0.packetsOut }
        family("parlor_bytes_out_total", "counter", "Their bytes.") { $0.bytesOut }
        family("parlor_batches_in_total", "counter", "Batches taken in; packets over batches is their size.") {
            $0.batchesIn
        }
        family("parlor_batches_out_total", "counter", "Flushes that sent something.") { $0.batchesOut }
        family("parlor_transports", "gauge", "Transports open.") { UInt64($0.transports.count) }
        family("parlor_tracks", "gauge", "Tracks published.") { UInt64($0.tracks.count) }
        family("parlor_subscriptions", "gauge", "Tracks on their way to a subscriber.") {
            UInt64($0.subscriptions.count)
        }

        let drops = "parlor_dropped_total"
        text += "# HELP \(drops) Packets that went no further, by reason.\n# TYPE \(drops) counter\n"
        for (worker, snapshot) in snapshots {
            for reason in DropReason.allCases {
                text += "\(drops){worker=\"\(worker)\",reason=\"\(reason.name)\"} \(snapshot.drops(reason))\n"
            }
        }
        return text
    }
}
