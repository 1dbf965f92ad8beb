internal import CWeb

/// Why a WebSocket could not be opened.
package struct WebSocketOpenError: Error, Sendable, CustomStringConvertible {
    package var error: WebTransportError
    /// What the server answered instead (kind `.refused`), for example a 401 with its body.
    package var response: HTTPResponse?

    package var description: String { error.description }
}

extension HTTPClient {
    /// Opens a WebSocket. The client's thread serves it as long as it is open.
    ///
    /// - Parameters:
    ///   - url: `ws` or `wss`; its path and query are sent as they are.
    ///   - timeout: for name, connection, TLS and the opening handshake.
    package func webSocket(
        _ url: String, subprotocols: [String] = [], headers: HTTPFields = [:], timeout: Duration = .seconds(10),
        configuration: WebSocketConfiguration = WebSocketConfiguration()
    ) async throws(WebSocketOpenError) -> WebSocket {
        let parsed: WebURL
        let handle: TLSHandle?
        do {
            parsed = try WebURL(url)
            handle = parsed.isTLS ? try tls.handle() : nil
        } catch {
            throw WebSocketOpenError(error: error)
        }
        var headers = headers
        if !subprotocols.isEmpty {
            headers["Sec-WebSocket-Protocol"] = subprotocols.joined(separator: ", ")
        }
        let inlet = SocketInlet(configuration, client: core)
        let opening = Cancellation(core)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                inlet.expect(continuation)
                opening.begin {
                    core.open(
                        parsed, tls: handle, headers: headers, timeout: timeout, limits: inlet.limits,
                        callbacks: inlet.callbacks)
                }
            }
        } onCancel: {
            opening.cancel()
        }
        do {
            return try result.get()
        } catch {
            throw WebSocketOpenError(error: error, response: inlet.refusal)
        }
    }
}
