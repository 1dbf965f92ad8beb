internal import CWeb

/// Owns the C side's server. Its functions may be called from any thread.
final class ServerCore: @unchecked Sendable {
    let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        parlor_web_server_destroy(pointer)
    }

    func respond(_ response: HTTPResponse, ticket: UInt64) {
        // Statuses of three digits only (RFC 9110, section 15); the lower hundred belongs to the server itself.
        let status = (200...999).contains(response.status) ? UInt32(response.status) : 500
        let reason = (response.reason ?? "").utf8.map { $0 < 0x20 || $0 == 0x7F ? 0x20 : $0 }
        let closes = response.headers.values("Connection").contains { HTTPFields.sameName($0, "close") }
        reason.withWebBytes { reason in
            response.headers.block().withWebBytes { fields in
                response.body.withWebBytes { body in
                    parlor_web_server_respond(pointer, ticket, status, reason, fields, body, closes)
                }
            }
        }
    }

    /// `nil` if the connection has gone.
    func open(_ upgrade: WebSocketUpgrade, ticket: UInt64) async -> WebSocket? {
        let inlet = SocketInlet(upgrade.configuration, client: nil)
        let opened = await withCheckedContinuation { continuation in
            inlet.expect(continuation)
            var limits = inlet.limits
            let subprotocol =
                HTTPFields.isToken(upgrade.subprotocol ?? "") ? Array((upgrade.subprotocol ?? "").utf8) : []
            subprotocol.withWebBytes { subprotocol in
                upgrade.headers.block().withWebBytes { fields in
                    parlor_web_server_upgrade(pointer, ticket, subprotocol, fields, &limits, inlet.callbacks)
                }
            }
        }
        return try? opened.get()
    }
}

/// A request on its way from the server's thread to a task.
struct IncomingRequest: Sendable {
    let ticket: UInt64
    let request: HTTPRequest

    init(_ request: parlor_web_request) {
        ticket = request.ticket
        self.request = HTTPRequest(
            method: String(request.method), target: String(request.target),
            headers: HTTPFields(request.fields, count: request.field_count), body: [UInt8](request.body),
            peerHost: String(request.peer_host), peerPort: request.peer_port, isTLS: request.is_tls,
            wantsWebSocket: request.wants_websocket)
    }
}

/// What the C side holds while the server lives.
final class RequestInlet: Sendable {
    let continuation: AsyncStream<IncomingRequest>.Continuation

    init(_ continuation: AsyncStream<IncomingRequest>.Continuation) {
        self.continuation = continuation
    }
}

final class ContinuationBox: Sendable {
    let continuation: CheckedContinuation<Void, Never>

    init(_ continuation: CheckedContinuation<Void, Never>) {
        self.continuation = continuation
    }
}
