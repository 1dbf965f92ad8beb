package import RoomControl

/// Numbers the events of each room's life: from `created` to `closed` a room has a session's name and a counter. What
/// comes outside of a session has no number, so a room that is over leaves nothing behind.
package struct WebhookSessions: Sendable {
    private struct Session {
        let name: String
        var last: UInt64 = 0
    }

    private var sessions: [RoomKey: Session] = [:]
    private let prefix: String
    private var sessionsBegun: UInt64 = 0

    /// - Parameter prefix: tells this run of the node from its other runs and from other nodes.
    package init(prefix: String) { self.prefix = prefix }

    /// Rooms that have a session.
    package var count: Int { sessions.count }

    /// The event of a notice, with its number; `nil`: the notice is none, or belongs to no session.
    package mutating func event(_ notice: RoomNotice, in room: RoomKey, unixMilliseconds: Int64) -> WebhookEvent? {
        guard let kind = WebhookEvent.Kind(notice) else { return nil }
        if kind == .roomCreated {
            sessionsBegun += 1
            sessions[room] = Session(name: "\(prefix)-\(sessionsBegun)")
        }
        guard var session = sessions[room] else { return nil }
        session.last += 1
        sessions[room] = kind == .roomClosed ? nil : session
        return WebhookEvent(
            notice, in: room, session: session.name, sequence: session.last, unixMilliseconds: unixMilliseconds)
    }
}
