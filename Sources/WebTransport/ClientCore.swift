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

    /// Returns the number that cancels. `done` comes exactly once.
    func send(
        _ method: String, _ url: WebURL, tls: TLSHandle?, headers: HTTPFields, body: [UInt8], timeout: Duration,
        bodyLimit: Int, context: UnsafeMutableRawPointer, done: parlor_web_on_response
    ) -> UInt64 {
        withRequest(url, tls: tls, headers: headers, timeout: timeout) { request in
            method.withCString { method in
                body.withWebBytes { body in
                    request.method = method
                    request.body = body
                    request.body_limit = max(bodyLimit, 0)
                    return parlor_web_client_request(pointer, &request, context, done)
                }
            }
        }
    }

    /// Returns the number that cancels.
    func open(
        _ url: WebURL, tls: TLSHandle?, headers: HTTPFields, timeout: Duration, limits: parlor_web_socket_limits,
        callbacks: parlor_web_socket_callbacks
    ) -> UInt64 {
        withRequest(url, tls: tls, headers: headers, timeout: timeout) { request in
            var limits = limits
            return parlor_web_client_open(pointer, &request, &limits, callbacks)
        }
    }

    /// Swift's strings are C strings within `body` only; the C side copies.
    private func withRequest(
        _ url: WebURL, tls: TLSHandle?, headers: HTTPFields, timeout: Duration,
        _ body: (inout parlor_web_outgoing_request) -> UInt64
    ) -> UInt64 {
        var request = parlor_web_outgoing_request()
        request.port = url.port
        request.tls = tls?.pointer
        request.has_host = headers["Host"] != nil
        request.timeout_ms = timeout.webMilliseconds
        request.header_limit = 64 * 1024
        return url.host.withCString { host in
            url.target.withCString { target in
                headers.block().withWebBytes { fields in
                    request.host = host
                    request.target = target
                    request.fields = fields
                    return body(&request)
                }
            }
        }
    }
}

/// The number of an exchange between the task that starts it and whoever cancels it, in any order.
final class Cancellation: Sendable {
    private struct State {
        var number: UInt64?
        var isCancelled = false
    }

    private let core: ClientCore
    private let state = Mutex(State())

    init(_ core: ClientCore) {
        self.core = core
    }

    /// `send` starts the exchange and returns its number.
    func begin(send: () -> UInt64) {
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
}
