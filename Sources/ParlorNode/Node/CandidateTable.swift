package import RoomControl
import RoomProtocol

/// The candidates that clients get, for whoever starts the node: what to open in a firewall, and what to check first when nobody is
/// seen or heard.
package enum CandidateTable {
    /// Rows; a node with more of them has ports in the order that the first ones show.
    private static let limit = 24

    package static func lines(_ settings: ConnectionSettings, workers: Int) -> [String] {
        var table = TextTable("WORKER", "ADDRESS", "PROTOCOLS")
        var rows = 0
        for worker in 0..<workers {
            let candidates = settings.candidates(policy: .preferUDP, worker: worker)
            for candidate in candidates where candidate.protocol == "udp" {
                rows += 1
                guard rows <= limit else { continue }
                let hasTCP = candidates.contains { $0.protocol == "tcp" && $0.ip == candidate.ip }
                let host = candidate.ip.contains(":") ? "[\(candidate.ip)]" : candidate.ip
                table.add("\(worker)", "\(host):\(candidate.port)", hasTCP ? "udp, tcp" : "udp")
            }
        }
        var lines = table.text.split(separator: "\n").map(String.init)
        if rows > limit { lines.append("and \(rows - limit) more: each worker has the next port") }
        return lines
    }
}
