internal import CWeb

/// The bounds of a server; every wait and every size has one.
package struct HTTPServerConfiguration: Sendable {
    /// Bytes of request line and header fields; above: 431.
    package var headerLimit = 16 * 1024
    /// Bytes of a body; above: 413.
    package var bodyLimit = 1024 * 1024
    /// Connections at one time; more are answered 503 with Retry-After, and closed.
    package var maximumConnections = 10_000
    /// Requests with the handler at one time; more wait, unread.
    package var maximumRunningRequests = 1024
    /// From the first byte (or from accept, TLS handshake included) to the end of the header; then 408, or a close if nothing came.
    package var headerDeadline: Duration = .seconds(10)
    /// From the first byte to the end of the body; then 408.
    package var requestDeadline: Duration = .seconds(30)
    /// The handler's time; then 503.
    package var handlerDeadline: Duration = .seconds(30)
    /// Between two requests of one connection; then a close.
    package var idleDeadline: Duration = .seconds(60)
    /// For one response, or one WebSocket message, to leave; then a close.
    package var writeDeadline: Duration = .seconds(30)
    /// Header fields of what the server answers without the handler (400, 408, 413, 417, 431, 501, 503). Beside them stand
    /// an X-Reqid of 16 random characters, and a problem document (RFC 9457) whose `detail` says what is wrong and what would be
    /// right; `error` is the same.
    /// The handler's own answers go out as they are.
    package var fixedHeaders: HTTPFields = [
        "Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "Location, Retry-After, X-Reqid",
    ]
    /// The thread's name as the system's tools show it, up to 15 bytes.
    package var threadName = "web"

    package init() {}
}

/// An HTTP/1.1 server on one thread of its own, with its handlers in Swift's pool.
///
/// It can be started once, and listens until `stop` or until the last reference goes.
package final class HTTPServer: Sendable {
    private let core: ServerCore
    private let requests: AsyncStream<IncomingRequest>
    private let inlet: RequestInlet

    package init(configuration: HTTPServerConfiguration = HTTPServerConfiguration()) {
        var limits = parlor_web_limits()
        limits.header_bytes = max(configuration.headerLimit, 256)
        limits.body_bytes = max(configuration.bodyLimit, 0)
        limits.connections = max(configuration.maximumConnections, 1)
        limits.running_requests = max(configuration.maximumRunningRequests, 1)
        limits.header_ms = configuration.headerDeadline.webMilliseconds
        limits.request_ms = configuration.requestDeadline.webMilliseconds
        limits.handler_ms = configuration.handlerDeadline.webMilliseconds
        limits.idle_ms = configuration.idleDeadline.webMilliseconds
        limits.write_ms = configuration.writeDeadline.webMilliseconds

        // The C side hands out no more than `maximumRunningRequests`: that bounds this stream.
        let (requests, continuation) = AsyncStream.makeStream(of: IncomingRequest.self)
        self.requests = requests
        inlet = RequestInlet(continuation)
        let callbacks = parlor_web_server_callbacks(
            context: Unmanaged.passRetained(inlet).toOpaque(),
            on_request: { context, request in
                guard let context, let request else { return }
                let inlet = Unmanaged<RequestInlet>.fromOpaque(context).takeUnretainedValue()
                inlet.continuation.yield(IncomingRequest(request.pointee))
            },
            release: { context in
                guard let context else { return }
                let inlet = Unmanaged<RequestInlet>.fromOpaque(context).takeRetainedValue()
                inlet.continuation.finish()
            })
        core = ServerCore(
            configuration.fixedHeaders.block().withWebBytes { fixed in
                parlor_web_server_create(&limits, fixed, callbacks, configuration.threadName)
            })
    }

    /// Opens a listening socket; may be called for several. Connections wait in the kernel until `start`.
    ///
    /// - Parameters:
    ///   - host: a numeric address; `::` means IPv4, too.
    ///   - port: 0 takes any free one.
    /// - Returns: the port.
    /// - Throws: `.listen` with the errno, for example "address already in use".
    @discardableResult
    package func listen(host: String, port: UInt16, tls: TLSConfiguration? = nil) throws(WebTransportError) -> UInt16 {
        var failure = parlor_web_failure()
        let bound = parlor_web_server_listen(core.pointer, host, port, tls?.handle.pointer, &failure)
        guard let bound = UInt16(exactly: bound) else { throw WebTransportError(failure) }
        return bound
    }

    /// Accepts connections, and runs the handler in a task of its own for each request. The tasks are cancelled when
    /// the server has stopped.
    package func start(handler: @escaping @Sendable (HTTPRequest) async -> HTTPResponse) {
        start(answering: { .response(await handler($0)) })
    }

    /// The same for handlers that may open a WebSocket instead of answering.
    package func start(answering handler: @escaping @Sendable (HTTPRequest) async -> HTTPAnswer) {
        // The tasks do not keep the server: it ends with its last reference outside.
        Task { [requests, weak core] in
            await withDiscardingTaskGroup { group in
                for await incoming in requests {
                    group.addTask {
                        switch await handler(incoming.request) {
                        case .response(let response):
                            core?.respond(response, ticket: incoming.ticket)
                        case .upgrade(let upgrade):
                            guard let socket = await core?.open(upgrade, ticket: incoming.ticket) else { return }
                            await upgrade.serve(socket)
                            socket.close()
                        }
                    }
                }
                group.cancelAll()
            }
        }
        parlor_web_server_start(core.pointer)
    }

    /// No new connections; requests under way get `grace`, then every connection is closed. Returns when all are.
    package func stop(grace: Duration = .seconds(1)) async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let context = Unmanaged.passRetained(ContinuationBox(continuation)).toOpaque()
            parlor_web_server_stop(core.pointer, grace.webMilliseconds, context) { context in
                guard let context else { return }
                Unmanaged<ContinuationBox>.fromOpaque(context).takeRetainedValue().continuation.resume()
            }
        }
        inlet.continuation.finish()
    }

    /// Counts since the start, and the present numbers of connections and running requests.
    package var counters: HTTPServerCounters {
        var counters = parlor_web_counters()
        parlor_web_server_counters(core.pointer, &counters)
        return HTTPServerCounters(counters)
    }
}
