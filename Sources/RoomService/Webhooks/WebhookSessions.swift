package import RoomControl

/// Numbers the events of each room's life: from `created` to `closed` an instance has a session's name and a counter.
/// What comes before or after has no number and is no event, so a room that is over leaves nothing behind.
package struct WebhookSessions: Sendable {
    /// The last number of each instance that is open.
    private var last: [RoomInstance: UInt64] = [:]
    private let prefix: String

    /// - Parameter prefix: tells this run of the node from its other runs and from other nodes.
    package init(prefix: String) { self.prefix = prefix }

    /// Rooms that have a session.
    package var count: Int { last.count }

    /// The event of a notice, with its number; `nil`: the notice is none, or belongs to no session.
    package mutating func event(
        _ notice: RoomNotice, in room: RoomKey, _ instance: RoomInstance, unixMilliseconds: Int64
    ) -> WebhookEvent? {
        guard let kind = WebhookEvent.Kind(notice) else { return nil }
        if kind == .roomCreated { last[instance] = 0 }
        guard let before = last[instance] else { return nil }
        let sequence = before + 1
        last[instance] = kind == .roomClosed ? nil : sequence
        return WebhookEvent(
            notice, in: room, session: "\(prefix)-\(instance.rawValue)", sequence: sequence,
            unixMilliseconds: unixMilliseconds)
    }
}
