/// Counts since the start, and two present numbers. Every event offered is in exactly one of `sent`, `failed`, `dropped`
/// and `queued`.
package struct WebhookStatistics: Hashable, Sendable {
    /// Accepted by their receivers.
    package var sent: UInt64 = 0
    /// Given up: too many tries, too old, nowhere to send to, or the node ended.
    package var failed: UInt64 = 0
    /// Attempts that failed and were followed, or will be, by another.
    package var retried: UInt64 = 0
    /// Not taken, for a queue was full.
    package var dropped: UInt64 = 0
    /// Waiting or under way now.
    package var queued = 0
    /// Requests now.
    package var underWay = 0

    package init() {}
}

extension WebhookStatistics {
    /// As Prometheus reads them (text format 0.0.4).
    package var metrics: String {
        var text = "# HELP parlor_webhooks_total Webhook events that came to an end, by how; and attempts repeated.\n"
        text += "# TYPE parlor_webhooks_total counter\n"
        for (result, count) in [("sent", sent), ("failed", failed), ("retried", retried), ("dropped", dropped)] {
            text += "parlor_webhooks_total{result=\"\(result)\"} \(count)\n"
        }
        text += "# HELP parlor_webhooks_queued Webhook events waiting or under way.\n"
        text += "# TYPE parlor_webhooks_queued gauge\nparlor_webhooks_queued \(queued)\n"
        text += "# HELP parlor_webhook_requests Webhook requests under way.\n"
        text += "# TYPE parlor_webhook_requests gauge\nparlor_webhook_requests \(underWay)\n"
        return text
    }
}
