package import MediaWire
package import RTCClient

/// One step of a join, over all joins: from the end of the step before it.
package struct JoinPhase: Codable, Sendable, Equatable {
    package var name: String
    package var count: UInt64
    package var p50Milliseconds: Double?
    package var p95Milliseconds: Double?
    package var longestMilliseconds: Double
}

/// How long the steps of joins took.
package struct JoinPhases: Sendable {
    /// In the order in which they come; the last is the whole.
    private static let names = [
        "HTTP", "WebSocket", "auth", "subscribe", "ICE", "DTLS", "first packet", "first frame", "all",
    ]

    private var times = [LatencyHistogram](repeating: LatencyHistogram(), count: names.count)

    package init() {}

    /// - Parameter firstFrame: from the beginning of the join to the first decoded frame.
    package mutating func add(_ timeline: JoinTimeline, firstFrame: MediaDuration) {
        let ends = [
            timeline.http, timeline.webSocket, timeline.authenticated, timeline.subscribed, timeline.ice, timeline.dtls,
            timeline.firstPacket, .nanoseconds(firstFrame.nanoseconds),
        ]
        var before = Duration.zero
        for (place, end) in ends.enumerated() {
            guard let end else { continue }
            times[place].add(microseconds: (end - before).microseconds)
            before = end
        }
        times[ends.count].add(microseconds: firstFrame.nanoseconds / 1000)
    }

    package var report: [JoinPhase] {
        zip(Self.names, times).map { name, times in
            JoinPhase(
                name: name, count: times.count, p50Milliseconds: times.milliseconds(part: 0.5),
                p95Milliseconds: times.milliseconds(part: 0.95), longestMilliseconds: Double(times.largest) / 1000)
        }
    }
}

extension Duration {
    fileprivate var microseconds: Int64 { components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000 }
}
