internal import CWeb
internal import Synchronization

/// One side of an open WebSocket. Messages go out from any task; one task at a time takes what comes in:
///
///     for await message in socket.messages { … }
///
/// The loop ends when the socket is closed, by either side; then `closing` says how. The socket closes with 1001 when
/// its last reference goes.
package final class WebSocket: Sendable {
    /// What comes in; bounded, for reading pauses while messages wait.
    package let messages: WebSocketMessages
    private let handle: SocketHandle
    private let inlet: SocketInlet

    init(_ handle: SocketHandle, _ inlet: SocketInlet) {
        self.handle = handle
        self.inlet = inlet
        messages = WebSocketMessages(handle: handle, stream: inlet.messages)
    }

    /// How the socket ended; `nil` while it is open.
    package var closing: WebSocketClose? { inlet.closing }

    package enum SendResult: Sendable, Equatable {
        case queued
        /// Closed or closing; the message is dropped.
        case closed
        /// Too much waits for this peer: the message is dropped, with all that waits, and the socket closes with 1013.
        case tooSlow
    }

    /// Queues a message; never waits.
    @discardableResult
    package func send(text: String) -> SendResult {
        send(Array(text.utf8), isText: true)
    }

    /// Queues a message that is UTF-8 already; never waits. The bytes are copied once: a message for many sockets is
    /// made once and given to each.
    @discardableResult
    package func send(utf8 bytes: [UInt8]) -> SendResult {
        send(bytes, isText: true)
    }

    /// Queues a binary message; never waits.
    @discardableResult
    package func send(binary bytes: [UInt8]) -> SendResult {
        send(bytes, isText: false)
    }

    /// From here on messages may have `maximumMessage` bytes. The peer that waits for something sent after this may rely
    /// on it.
    package func widen() { parlor_web_socket_widen(handle.pointer) }

    /// Sends what is queued, then closes. The messages end when the peer has answered, or at the deadline.
    ///
    /// - Parameters:
    ///   - code: see `WebSocketClose.isSendable`; 0 sends none. Others become 1011 (internal error): no peer would take
    ///     them.
    ///   - reason: up to 123 bytes are sent, whole characters.
    package func close(code: UInt16 = 1000, reason: String = "") {
        let code = code == 0 || WebSocketClose.isSendable(code) ? code : 1011
        Array(reason.utf8).withWebBytes { parlor_web_socket_close(handle.pointer, code, $0) }
    }

    /// Resets the connection, without a closing handshake and without what is still on its way. The messages end;
    /// `closing` says 1006.
    package func abort() {
        parlor_web_socket_abort(handle.pointer)
    }

    private func send(_ bytes: [UInt8], isText: Bool) -> SendResult {
        switch bytes.withWebBytes({ parlor_web_socket_send(handle.pointer, isText, $0) }) {
        case PARLOR_WEB_SENT: .queued
        case PARLOR_WEB_FULL: .tooSlow
        default: .closed
        }
    }
}

/// The incoming messages of one WebSocket.
package struct WebSocketMessages: AsyncSequence, Sendable {
    let handle: SocketHandle
    let stream: AsyncStream<WebSocketMessage>

    package func makeAsyncIterator() -> Iterator {
        Iterator(handle: handle, iterator: stream.makeAsyncIterator())
    }

    package struct Iterator: AsyncIteratorProtocol {
        fileprivate let handle: SocketHandle
        fileprivate var iterator: AsyncStream<WebSocketMessage>.Iterator
        private var takenMessages = 0
        private var takenBytes = 0

        fileprivate init(handle: SocketHandle, iterator: AsyncStream<WebSocketMessage>.Iterator) {
            self.handle = handle
            self.iterator = iterator
        }

        package mutating func next() async -> WebSocketMessage? {
            await next(isolation: nil)
        }

        package mutating func next(isolation actor: isolated (any Actor)?) async -> WebSocketMessage? {
            let message = await iterator.next(isolation: actor)
            switch message {
            case .text(let text): takenBytes += text.utf8.count
            case .binary(let bytes): takenBytes += bytes.count
            case nil: return nil
            }
            takenMessages += 1
            // Not for each one: a report crosses to the socket's thread.
            if takenMessages >= handle.reportMessages || takenBytes >= handle.reportBytes {
                parlor_web_socket_consumed(handle.pointer, takenMessages, takenBytes)
                takenMessages = 0
                takenBytes = 0
            }
            return message
        }
    }
}

/// Owns the C side's socket, and its loop with it. Its functions may be called from any thread.
final class SocketHandle: @unchecked Sendable {
    let pointer: OpaquePointer
    let reportMessages: Int
    let reportBytes: Int
    private let client: ClientCore?

    init(_ pointer: OpaquePointer, _ configuration: WebSocketConfiguration, client: ClientCore?) {
        self.pointer = pointer
        self.client = client
        reportMessages = Swift.max(configuration.inboxMessages / 4, 1)
        reportBytes = Swift.max(configuration.inboxBytes / 4, 1)
    }

    deinit {
        parlor_web_socket_release(pointer)
    }
}

/// What the C side holds while the socket lives.
final class SocketInlet: Sendable {
    typealias Opened = Result<WebSocket, WebTransportError>

    private struct State {
        var opening: CheckedContinuation<Opened, Never>?
        var closing: WebSocketClose?
        var refusal: HTTPResponse?
    }

    let messages: AsyncStream<WebSocketMessage>
    private let continuation: AsyncStream<WebSocketMessage>.Continuation
    private let configuration: WebSocketConfiguration
    private let client: ClientCore?
    private let state = Mutex(State())

    init(_ configuration: WebSocketConfiguration, client: ClientCore?) {
        self.configuration = configuration
        self.client = client
        (messages, continuation) = AsyncStream.makeStream(of: WebSocketMessage.self)
    }

    var closing: WebSocketClose? { state.withLock { $0.closing } }
    /// What a server answered instead of opening.
    var refusal: HTTPResponse? { state.withLock { $0.refusal } }

    func expect(_ opening: CheckedContinuation<Opened, Never>) {
        state.withLock { $0.opening = opening }
    }

    private func opened(_ result: Opened) {
        let opening = state.withLock { state in
            defer { state.opening = nil }
            return state.opening
        }
        opening?.resume(returning: result)
    }

    private func closed(_ closing: WebSocketClose) {
        state.withLock { $0.closing = closing }
        continuation.finish()
    }

    var limits: parlor_web_socket_limits {
        var limits = parlor_web_socket_limits()
        limits.message_bytes = max(configuration.maximumMessage, 1)
        limits.first_bytes = max(configuration.maximumFirstMessage ?? 0, 0)
        limits.inbox_messages = max(configuration.inboxMessages, 1)
        limits.inbox_bytes = max(configuration.inboxBytes, 1)
        limits.outbox_messages = max(configuration.outboxMessages, 1)
        limits.outbox_bytes = max(configuration.outboxBytes, 1)
        limits.idle_ms = max(configuration.idleDeadline.webMilliseconds, 2)
        limits.write_ms = configuration.writeDeadline.webMilliseconds
        limits.close_ms = configuration.closeDeadline.webMilliseconds
        return limits
    }

    /// Retains this object until the C side's `release`.
    var callbacks: parlor_web_socket_callbacks {
        parlor_web_socket_callbacks(
            context: Unmanaged.passRetained(self).toOpaque(),
            on_open: { context, pointer in
                guard let inlet = SocketInlet.from(context), let pointer else { return }
                let handle = SocketHandle(pointer, inlet.configuration, client: inlet.client)
                inlet.opened(.success(WebSocket(handle, inlet)))
            },
            on_failure: { context, failure, response in
                guard let inlet = SocketInlet.from(context), let failure else { return }
                if let response {
                    inlet.state.withLock { $0.refusal = HTTPResponse(response.pointee) }
                }
                inlet.opened(.failure(WebTransportError(failure.pointee)))
            },
            on_message: { context, isText, bytes in
                guard let inlet = SocketInlet.from(context) else { return }
                inlet.continuation.yield(isText ? .text(String(bytes)) : .binary([UInt8](bytes)))
            },
            on_close: { context, code, reason in
                SocketInlet.from(context)?.closed(WebSocketClose(code: code, reason: String(reason)))
            },
            release: { context in
                guard let context else { return }
                Unmanaged<SocketInlet>.fromOpaque(context).release()
            })
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> SocketInlet? {
        context.map { Unmanaged<SocketInlet>.fromOpaque($0).takeUnretainedValue() }
    }
}
