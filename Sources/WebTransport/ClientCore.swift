internal import CWeb
internal import Synchronization

/// Owns the C side's client. Its functions may be called from any thread.
final class ClientCore: @unchecked Sendable {
    let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        parlor_web_client_destroy(pointer)
    }

    func cancel(_ number: UInt64) {
        parlor_web_client_cancel(pointer, number)
    }

    /// Returns the number that cancels.
    func send(
        _ method: String, _ url: WebURL, tls: TLSHandle?, headers: HTTPFields, body: [UInt8], timeout: Duration,
        bodyLimit: Int, context: UnsafeMutableRawPointer, done: parlor_web_on_response
    ) -> UInt64 {
        var request = parlor_web_outgoing_request()
        request.port = url.port
        request.tls = tls?.pointer
        request.has_host = headers["Host"] != nil
        request.timeout_ms = timeout.webMilliseconds
        request.header_limit = 64 * 1024
        request.body_limit = max(bodyLimit, 0)
        // Swift's strings are C strings within these closures only; the C side copies.
        return url.host.withCString { host in
            url.target.withCString { target in
                method.withCString { method in
                    headers.block().withWebBytes { fields in
                        body.withWebBytes { body in
                            request.host = host
                            request.target = target
                            request.method = method
                            request.fields = fields
                            request.body = body
                            return parlor_web_client_request(pointer, &request, context, done)
                        }
                    }
                }
            }
        }
    }
}

/// An exchange between its task and the client's thread: ended once, cancelled at most once, in any order.
final class PendingExchange<Value: Sendable>: Sendable {
    private struct State {
        var continuation: CheckedContinuation<Result<Value, WebTransportError>, Never>?
        var number: UInt64?
        var isCancelled = false
    }

    private let core: ClientCore
    private let state = Mutex(State())

    init(_ core: ClientCore) {
        self.core = core
    }

    /// `send` starts the exchange and returns its number.
    func begin(
        _ continuation: CheckedContinuation<Result<Value, WebTransportError>, Never>, send: () -> UInt64
    ) {
        state.withLock { $0.continuation = continuation }
        let number = send()
        let isCancelled = state.withLock {
            $0.number = number
            return $0.isCancelled
        }
        if isCancelled {
            core.cancel(number)
        }
    }

    func cancel() {
        let number = state.withLock { state in
            state.isCancelled = true
            return state.number
        }
        if let number {
            core.cancel(number)
        }
    }

    func end(_ result: Result<Value, WebTransportError>) {
        let continuation = state.withLock { state in
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume(returning: result)
    }
}
