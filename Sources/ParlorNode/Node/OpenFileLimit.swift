import Glibc

/// How many descriptors the process may have. The system's soft limit is made for programs that use select; the node takes what it
/// may have, and says so when that is too little for its own configuration.
enum OpenFileLimit {
    /// Raises the soft limit to the hard one; returns what holds now.
    static func raise() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
        if limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = limit.rlim_max
            if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }

    /// - Parameter streams: media connections over TCP that all workers together may keep.
    static func warnings(_ limit: Int, _ configuration: NodeConfiguration, streams: Int) -> [String] {
        let ports = configuration.media.plain.enabled ? configuration.media.plain.portRange.count : 0
        // Listeners, workers and what the runtime has open.
        let needed = ports + streams + configuration.limits.httpConnections + 64
        guard limit < needed else { return [] }
        return [
            "the process may open \(limit) files, but plain ports, HTTP connections and media over TCP together may want "
                + "\(needed): raise the limit (ulimit -n, or LimitNOFILE in systemd) or lower limits.httpConnections"
        ]
    }
}
