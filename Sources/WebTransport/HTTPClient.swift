internal import CWeb

/// An HTTP/1.1 client on one thread of its own; each request has a connection of its own.
package final class HTTPClient: Sendable {
    let core: ClientCore
    let tls: ClientTLS

    /// - Parameter threadName: as the system's tools show it, up to 15 bytes.
    /// - Throws: `.tls` when the given authorities cannot be read.
    package init(trust: TLSTrust = .system, threadName: String = "web-client") throws(WebTransportError) {
        tls = try ClientTLS(trust)
        core = ClientCore(parlor_web_client_create(threadName))
    }

    /// Sends a request and awaits the whole response; a redirect is a response like any other.
    ///
    /// - Parameters:
    ///   - url: `http` or `https`; its path and query are sent as they are.
    ///   - headers: Host is added if it is not among them; Content-Length always.
    ///   - timeout: for everything: name, connection, TLS, request and response.
    ///   - bodyLimit: bytes of the response's body.
    /// - Throws: see `WebTransportError.Kind`; `.cancelled` when the task is.
    package func request(
        _ method: String, _ url: String, headers: HTTPFields = [:], body: [UInt8] = [],
        timeout: Duration = .seconds(10), bodyLimit: Int = 16 * 1024 * 1024
    ) async throws(WebTransportError) -> HTTPResponse {
        let url = try WebURL(url)
        guard HTTPFields.isToken(method) else { throw WebTransportError(.badURL, "\(method) is not a method") }
        let tls = url.isTLS ? try tls.handle() : nil
        let exchange = Cancellation(core)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<ResponseBox.Value, Never>) in
                let context = Unmanaged.passRetained(ResponseBox(continuation)).toOpaque()
                exchange.begin {
                    core.send(
                        method, url, tls: tls, headers: headers, body: body, timeout: timeout,
                        bodyLimit: bodyLimit, context: context
                    ) { context, response, failure in
                        guard let context else { return }
                        let box = Unmanaged<ResponseBox>.fromOpaque(context).takeRetainedValue()
                        if let response {
                            box.continuation.resume(returning: .success(HTTPResponse(response.pointee)))
                        } else if let failure {
                            box.continuation.resume(returning: .failure(WebTransportError(failure.pointee)))
                        }
                    }
                }
            }
        } onCancel: {
            exchange.cancel()
        }
        return try result.get()
    }
}

/// What the C side holds until the exchange ends.
private final class ResponseBox: Sendable {
    typealias Value = Result<HTTPResponse, WebTransportError>
    let continuation: CheckedContinuation<Value, Never>

    init(_ continuation: CheckedContinuation<Value, Never>) {
        self.continuation = continuation
    }
}
