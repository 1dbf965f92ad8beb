import Synchronization

/// What the doors of a node count, for `GET /metrics`. Every label comes from a closed set, whatever a client sends: so the
/// number of lines is bounded. May be called from any thread; costs one short lock.
package final class NodeCounters: Sendable {
    package enum Direction: String, Hashable, Sendable, CaseIterable {
        case incoming = "in"
        case outgoing = "out"
    }

    /// By which door somebody came.
    package enum Door: String, Hashable, Sendable, CaseIterable {
        case signalling, whip, whep
    }

    struct MessageKind: Hashable {
        var type: String
        var direction: Direction
    }

    struct Join: Hashable {
        var door: Door
        var code: Int
    }

    struct Request: Hashable {
        var route: String
        var method: String
        var statusClass: Int
    }

    /// A copy of all counts.
    struct Counts {
        var joins: [Join: UInt64] = [:]
        var requests: [Request: UInt64] = [:]
        /// WebSockets open for signalling.
        var connections: Int64 = 0
        var connectionsEver: UInt64 = 0
    }

    private let counts = Mutex(Counts())
    /// Apart from the rest: a room's messages come by the thousand each second.
    private let messages = Mutex<[MessageKind: UInt64]>([:])

    package init() {}

    // MARK: Joins

    /// Somebody asked to come in. `code`: 0 for who is in, else the service's code of the refusal.
    package func joined(_ door: Door = .signalling, code: Int) {
        counts.withLock { $0.joins[Join(door: door, code: NodeCounters.known(code)), default: 0] &+= 1 }
    }

    // MARK: Signalling

    package func connectionOpened() {
        counts.withLock {
            $0.connections &+= 1
            $0.connectionsEver &+= 1
        }
    }

    package func connectionClosed() { counts.withLock { $0.connections &-= 1 } }

    /// WebSockets open for signalling.
    package var connections: Int { counts.withLock { Int($0.connections) } }

    /// A message came or went. `type`: as in the frame, `on-player-in`; one that is not of the protocol counts as `other`.
    package func message(type: some StringProtocol, _ direction: Direction, count: Int = 1) {
        let type = NodeCounters.messageTypes.contains(String(type)) ? String(type) : "other"
        messages.withLock { $0[MessageKind(type: type, direction: direction), default: 0] &+= UInt64(max(0, count)) }
    }

    /// The same for a whole frame, `type={…}`.
    package func message(frame: some Collection<UInt8>, _ direction: Direction) {
        let type = frame.prefix(NodeCounters.longestType + 1).prefix { $0 != UInt8(ascii: "=") }
        message(type: String(decoding: type, as: UTF8.self), direction)
    }

    // MARK: HTTP

    /// A request was answered. `route`: the pattern, never the path; `nil`: it fits none.
    func requested(route: String?, method: String, status: Int) {
        let method = NodeCounters.methods.contains(method) ? method : "other"
        let request = Request(
            route: route ?? "none", method: method, statusClass: (1...6).contains(status / 100) ? status / 100 : 0)
        counts.withLock { $0.requests[request, default: 0] &+= 1 }
    }

    // MARK: For the metrics

    func copy() -> (counts: Counts, messages: [MessageKind: UInt64]) {
        (counts.withLock { $0 }, messages.withLock { $0 })
    }

    // MARK: Closed sets

    static let methods: Set<String> = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

    /// A code of the service, or 0; anything else is -1, which nobody should ever see.
    private static func known(_ code: Int) -> Int { code == 0 || (10_000..<10_100).contains(code) ? code : -1 }

    private static let requestTypes = [
        "auth", "pubpc", "pub-tracks", "unpub-tracks", "subpc", "sub-tracks", "unsub-tracks", "pubpc-restart",
        "subpc-restart", "pubpc-close", "subpc-close", "mute-tracks", "set-sub-profile", "send-message",
        "send-qos-message", "control", "set-privileges", "create-merge-job", "update-merge-tracks", "stop-merge",
        "create-forward-job", "stop-forward", "start-media-relay", "update-media-relay", "stop-media-relay",
    ]
    private static let otherTypes = [
        "ping", "pong", "disconnect", "error", "on-player-in", "on-player-out", "on-player-reconnect",
        "on-player-reconnect-in", "on-add-tracks", "on-remove-tracks", "on-pubpc-connected", "on-pubpc-disconnected",
        "on-pubpc-restart-notify", "on-subpc-connected", "on-subpc-disconnected", "on-subpc-restart-notify",
        "on-sub-profile-changed", "on-messages", "on-qos-messages",
    ]
    /// Requests, their answers, and what either side tells unasked.
    static let messageTypes = Set(requestTypes + requestTypes.map { "\($0)-res" } + otherTypes)
    private static let longestType = messageTypes.map(\.utf8.count).max() ?? 0
}
