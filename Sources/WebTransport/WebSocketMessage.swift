/// One whole message (RFC 6455, section 5.6).
package enum WebSocketMessage: Sendable, Equatable {
    case text(String)
    case binary([UInt8])
}

/// How a WebSocket ended.
package struct WebSocketClose: Sendable, Equatable {
    /// The peer's code (RFC 6455, section 7.4); 1005 if it gave none, 1006 if the connection broke. Our own if we
    /// refused what the peer sent: 1002, 1007, 1009; 1013 if it took our messages too slowly.
    package var code: UInt16
    package var reason: String

    package init(code: UInt16, reason: String = "") {
        self.code = code
        self.reason = reason
    }

    /// Whether a closing frame may carry that code: those of RFC 6455, section 7.4.1, that are not reserved, the later
    /// ones of IANA's registry (1012 to 1014), and 3000 to 4999, for libraries and applications.
    package static func isSendable(_ code: UInt16) -> Bool {
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}

/// The bounds of a WebSocket.
package struct WebSocketConfiguration: Sendable {
    /// Bytes of an incoming message; above: close 1009.
    package var maximumMessage = 1024 * 1024
    /// The same until `WebSocket.widen()`: for a peer that has not said who it is yet. `nil`: `maximumMessage` from the start.
    package var maximumFirstMessage: Int?
    /// Messages and bytes that have come and were not taken; then reading pauses.
    package var inboxMessages = 64
    package var inboxBytes = 2 * 1024 * 1024
    /// Messages and bytes that wait to be written; above, the peer is too slow, and the socket closes with 1013 ("try
    /// again later").
    package var outboxMessages = 256
    package var outboxBytes = 4 * 1024 * 1024
    /// Silence after which the connection counts as broken; a ping goes out at half of it.
    package var idleDeadline: Duration = .seconds(60)
    /// For one message to leave; then the connection is reset.
    package var writeDeadline: Duration = .seconds(20)
    /// For the closing handshake.
    package var closeDeadline: Duration = .seconds(2)

    package init() {}
}

/// A handler's decision to open a WebSocket.
package struct WebSocketUpgrade: Sendable {
    /// One of those that the request's Sec-WebSocket-Protocol offers, or none.
    package var subprotocol: String?
    package var headers: HTTPFields
    package var configuration: WebSocketConfiguration
    /// Runs in the request's task; when it returns, the socket closes with 1000 if it is still open. The task is
    /// cancelled when the server has stopped.
    package var serve: @Sendable (WebSocket) async -> Void

    package init(
        subprotocol: String? = nil, headers: HTTPFields = [:],
        configuration: WebSocketConfiguration = WebSocketConfiguration(),
        serve: @escaping @Sendable (WebSocket) async -> Void
    ) {
        self.subprotocol = subprotocol
        self.headers = headers
        self.configuration = configuration
        self.serve = serve
    }
}

/// What a handler decides about a request.
package enum HTTPAnswer: Sendable {
    case response(HTTPResponse)
    /// Only for a request that `wantsWebSocket`; others are answered 400.
    case upgrade(WebSocketUpgrade)
}
