package import RoomProtocol
import Synchronization
import WebTransport

/// One signalling WebSocket: frames out, answers matched to their requests, notifications in order.
///
///     let access = try await transport.access(RoomTokenClaims(token: token))
///     let connection = try await SignallingConnection.open(access, transport: transport)
///     let answer = try await connection.authenticate(SignallingAuth(accessToken: access.accessToken))
///     for await notification in connection.notifications { … }      // ends with the connection; then `end` says how
///
/// It answers pings, and ends when they cease. Its functions may be called from any task. The connection closes, which
/// is a loss to the server and no leave, when its last reference goes.
package final class SignallingConnection: Sendable {
    /// All but ping, in the order of arrival; for one task. Bounded: see `SignallingTransport.notificationLimit`.
    package let notifications: AsyncStream<Notification>
    /// Without the reconnect's query: where to come back to.
    package let url: String

    private struct Waiting {
        /// Of the request.
        var type: String
        var continuation: CheckedContinuation<Result<SignallingFrame, SignallingError>, Never>
        var timer: Task<Void, Never>
    }

    private struct State {
        var socket: WebSocket?
        var reader: Task<Void, Never>?
        var waiting: [String: Waiting] = [:]
        var end: SignallingEnd?
        /// When the next ping must have come; `nil` before the first.
        var pingDue: Duration?
        var watch: Task<Void, Never>?
        var unreadable = 0
        var onRefusedMessage: (@Sendable (FrameError) -> Void)?
        /// Media connections of which the server has said that they are up, the oldest first.
        var connected: [String] = []
    }

    /// Requests that wait for their answers.
    private static let requestLimit = 256
    /// A join has two media connections at a time.
    private static let connectedLimit = 16

    private let state: Mutex<State>
    private let clock: any SignallingClock
    private let requestTimeout: Duration
    private let pingDeadline: Duration
    private let continuation: AsyncStream<Notification>.Continuation

    /// Opens the first of the URLs that answers: without a query at a join, with `?rpcid=` and 16 hexadecimal digits
    /// when coming back.
    ///
    /// - Throws: what went wrong with the last URL: `.unreachable`, `.timeout`, or `.cancelled`.
    package static func open(
        _ access: RoomAccess, isReconnect: Bool = false, transport: SignallingTransport
    ) async throws(SignallingError) -> SignallingConnection {
        var last = SignallingError.unreachable("there is no WebSocket URL to open")
        for url in access.urls {
            do { return try await open(url: url, isReconnect: isReconnect, transport: transport) } catch {
                if error == .cancelled { throw error }
                last = error
            }
        }
        throw last
    }

    /// Opens one URL, as `open(_:isReconnect:transport:)` does.
    package static func open(
        url: String, isReconnect: Bool = false, transport: SignallingTransport
    ) async throws(SignallingError) -> SignallingConnection {
        let full = isReconnect ? "\(url)?rpcid=\(hexadecimal())\(hexadecimal())" : url
        var configuration = WebSocketConfiguration()
        configuration.maximumMessage = transport.messageLimit
        // One message of that size has room.
        configuration.inboxBytes = max(configuration.inboxBytes, transport.messageLimit)
        let socket: WebSocket
        do {
            socket = try await transport.http.webSocket(
                full, timeout: transport.requestTimeout, configuration: configuration)
        } catch {
            switch error.error.kind {
            case .cancelled: throw .cancelled
            case .timeout: throw .timeout("\(url) did not open within \(transport.requestTimeout)")
            default:
                throw .unreachable(error.response.map { "\(url) answered HTTP \($0.status)" } ?? "\(url): \(error)")
            }
        }
        return SignallingConnection(socket, url: url, transport: transport)
    }

    private init(_ socket: WebSocket, url: String, transport: SignallingTransport) {
        self.url = url
        clock = transport.clock
        requestTimeout = transport.requestTimeout
        pingDeadline = transport.pingDeadline
        (notifications, continuation) = AsyncStream.makeStream(
            bufferingPolicy: .bufferingOldest(max(transport.notificationLimit, 1)))
        state = Mutex(State(socket: socket))
        // The reader does not keep the connection; it keeps the socket, until it is cancelled.
        let reader = Task { [weak self] in
            for await message in socket.messages { self?.received(message) }
            let closing = socket.closing ?? WebSocketClose(code: 1006)
            self?.finish(.closed(code: closing.code, reason: closing.reason))
        }
        state.withLock { $0.reader = reader }
    }

    deinit {
        // Nobody else can hold the lock now; what waits for an answer holds a reference.
        let (reader, watch) = state.withLock { ($0.reader, $0.watch) }
        reader?.cancel()
        watch?.cancel()
        continuation.finish()
    }

    /// How the connection ended; `nil` while it is open.
    package var end: SignallingEnd? { state.withLock { $0.end } }

    /// Frames that could not be read and were passed over; 0 with a correct server.
    package var unreadableFrames: Int { state.withLock { $0.unreadable } }

    /// Called with the `error` that a refused `send-message` gets, before any notification that comes after it.
    package func onRefusedMessage(_ handler: @escaping @Sendable (FrameError) -> Void) {
        state.withLock { $0.onRefusedMessage = handler }
    }

    // MARK: Sending

    /// Queues a message without an answer.
    ///
    /// - Throws: `.ended`.
    package func send(_ type: String, _ body: some Encodable) throws(SignallingError) {
        try send(SignallingFrame.encode(type, body))
    }

    private func send(_ frame: [UInt8]) throws(SignallingError) {
        let (socket, end) = state.withLock { ($0.socket, $0.end) }
        guard let socket, end == nil else { throw .ended(end ?? .aborted) }
        switch socket.send(utf8: frame) {
        case .queued: return
        case .closed: throw .ended(.closed(code: socket.closing?.code ?? 1006, reason: ""))
        case .tooSlow:
            // With the code that the socket closes with.
            let end = SignallingEnd.closed(code: 1013, reason: "the server does not read")
            finish(end)
            throw .ended(end)
        }
    }

    /// Sends a request and awaits the answer whose type and rpcid match.
    ///
    /// - Parameters:
    ///   - body: gets the rpcid to put in.
    ///   - timeout: instead of the transport's.
    /// - Throws: `.timeout`, `.ended`, `.unreadable`, `.tooManyRequests`, `.cancelled`, `.cancelledUnsent`; `.refused`
    ///   when the answer has another code than 0 and cannot be read as this type. Else the code is the caller's to look
    ///   at.
    package func request<Response: Decodable>(
        _ type: String, timeout: Duration? = nil, answer: Response.Type = Response.self,
        _ body: (_ rpcid: String) -> some Encodable
    ) async throws(SignallingError) -> Response {
        let rpcid = SignallingConnection.hexadecimal()
        let frame = SignallingFrame.encode(type, body(rpcid))
        let due = clock.now + (timeout ?? requestTimeout)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                expect(type, rpcid, until: due, continuation)
                // A cancellation from before the line above found nothing to resolve.
                if Task.isCancelled { return resolve(rpcid, .failure(.cancelledUnsent)) }
                do throws(SignallingError) { try send(frame) } catch { resolve(rpcid, .failure(error)) }
            }
        } onCancel: {
            resolve(rpcid, .failure(.cancelled))
        }
        let answered = try result.get()
        do throws(MalformedMessage) { return try answered.decode() } catch {
            // A refusal may lack what belongs to a success.
            if let plain = try? answered.decode(Answer.self), plain.code != .ok {
                throw .refused(Refused(plain.code, plain.error ?? "refused with code \(plain.code.rawValue)"))
            }
            throw .unreadable(error.refused.text)
        }
    }

    private func expect(
        _ type: String, _ rpcid: String, until due: Duration, orSay text: String? = nil,
        _ continuation: CheckedContinuation<Result<SignallingFrame, SignallingError>, Never>
    ) {
        let clock = clock
        let timer = Task { [weak self] in
            do { try await clock.sleep(until: due) } catch { return }
            self?.resolve(rpcid, .failure(.timeout(text ?? "no answer to \(type) in time")))
        }
        let refusal: SignallingError? = state.withLock { state in
            if let end = state.end { return .ended(end) }
            if state.waiting.count >= SignallingConnection.requestLimit { return .tooManyRequests }
            state.waiting[rpcid] = Waiting(type: type, continuation: continuation, timer: timer)
            return nil
        }
        guard let refusal else { return }
        timer.cancel()
        continuation.resume(returning: .failure(refusal))
    }

    private func resolve(_ rpcid: String, _ result: Result<SignallingFrame, SignallingError>) {
        guard let waiting = state.withLock({ $0.waiting.removeValue(forKey: rpcid) }) else { return }
        waiting.timer.cancel()
        waiting.continuation.resume(returning: result)
    }

    // MARK: Receiving

    private func received(_ message: WebSocketMessage) {
        guard case .text(let text) = message else { return pass() }
        let read: ServerMessage
        do { read = try ServerMessage(frame: text) } catch { return pass() }
        switch read {
        case .notification(.ping):
            watchPings()
            // Without a socket there is an end, and nobody to tell.
            try? send("pong", EmptyBody())
        case .notification(.frameError(let refusal)) where refusal.type == "send-message":
            state.withLock({ $0.onRefusedMessage })?(refusal)
        case .notification(let notification):
            guard state.withLock({ $0.end == nil }) else { return }
            switch notification {
            case .publishConnected(let notice), .subscribeConnected(let notice):
                noteConnected(notice.connectionID, text)
            default: break
            }
            if case .dropped = continuation.yield(notification) { finish(.overflow) }
        case .answer(let type, let rpcid, let frame):
            guard let rpcid else { return }
            let isExpected = state.withLock { $0.waiting[rpcid]?.type == type }
            if isExpected { resolve(rpcid, .success(frame)) }
        case .unknown: return
        }
    }

    // MARK: Media connections

    /// Waits for `on-pubpc-connected` or `on-subpc-connected` of that connection, which may have come already.
    ///
    /// - Throws: `.timeout` when it does not come in time; what `giveUpWaiting` says; `.ended`; `.cancelled`.
    package func waitForConnected(_ connectionID: String, within limit: Duration) async throws(SignallingError) {
        let key = SignallingConnection.connectedKey(connectionID)
        let due = clock.now + limit
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation {
                (continuation: CheckedContinuation<Result<SignallingFrame, SignallingError>, Never>) in
                expect("", key, until: due, orSay: "the connection for media did not come up in time", continuation)
                // What came before the line above found nothing to resolve.
                if Task.isCancelled { resolve(key, .failure(.cancelled)) }
                if let frame = connectedFrame(connectionID) { resolve(key, .success(frame)) }
            }
        } onCancel: {
            resolve(key, .failure(.cancelled))
        }
        _ = try result.get()
    }

    /// Ends that waiting: the connection cannot come up any more.
    package func giveUpWaiting(for connectionID: String, _ reason: String) {
        resolve(SignallingConnection.connectedKey(connectionID), .failure(.timeout(reason)))
    }

    /// No rpcid looks like it.
    private static func connectedKey(_ connectionID: String) -> String { "connected \(connectionID)" }

    private func connectedFrame(_ connectionID: String) -> SignallingFrame? {
        guard state.withLock({ $0.connected.contains(connectionID) }) else { return nil }
        return try? SignallingFrame("connected={}")
    }

    private func noteConnected(_ connectionID: String, _ text: String) {
        state.withLock { state in
            if state.connected.count >= SignallingConnection.connectedLimit { state.connected.removeFirst() }
            state.connected.append(connectionID)
        }
        if let frame = try? SignallingFrame(text) {
            resolve(SignallingConnection.connectedKey(connectionID), .success(frame))
        }
    }

    private func pass() { state.withLock { $0.unreadable += 1 } }

    /// Starts the watch with the first ping, and moves its end with every other.
    private func watchPings() {
        let clock = clock
        let deadline = pingDeadline
        state.withLock { state in
            guard state.end == nil else { return }
            state.pingDue = clock.now + deadline
            guard state.watch == nil else { return }
            state.watch = Task { [weak self] in
                while let due = self?.pingDue {
                    do { try await clock.sleep(until: due) } catch { return }
                    if let due = self?.pingDue, due <= clock.now {
                        self?.finish(.pingMissing)
                        return
                    }
                }
            }
        }
    }

    private var pingDue: Duration? { state.withLock { $0.end == nil ? $0.pingDue : nil } }

    // MARK: Ending

    /// Leaves the room: `disconnect`, then the socket closes.
    package func leave() {
        try? send("disconnect", EmptyBody())
        finish(.left)
    }

    /// Closes the socket without leaving the room; the server takes it for a loss.
    package func close(code: UInt16 = 1000, reason: String = "") { finish(.aborted, code: code, reason: reason) }

    /// What a loss of the network looks like, for tests.
    package enum Loss: Sendable {
        /// The server sees the connection go (1001).
        case noticed
        /// The server goes on believing in it: nothing is sent any more, what comes is not looked at.
        case silent
    }

    /// Behaves as if the network were lost: this side has ended at once.
    package func abort(_ loss: Loss = .noticed) {
        switch loss {
        case .noticed: finish(.aborted, closes: .byRelease)
        case .silent: finish(.aborted, closes: .never)
        }
    }

    private enum Closing { case properly, byRelease, never }

    private func finish(
        _ end: SignallingEnd, closes: Closing = .properly, code: UInt16 = 1000, reason: String = ""
    ) {
        let taken: State? = state.withLock { state in
            guard state.end == nil else { return nil }
            let taken = state
            state.end = end
            state.waiting = [:]
            state.watch = nil
            state.socket = nil
            // In silence nobody may cancel the reader: it holds the socket until the server gives up.
            state.reader = nil
            return taken
        }
        guard let taken else { return }
        taken.watch?.cancel()
        switch closes {
        case .properly: taken.socket?.close(code: code, reason: reason)
        case .byRelease: taken.reader?.cancel()
        case .never: break
        }
        for waiting in taken.waiting.values {
            waiting.timer.cancel()
            waiting.continuation.resume(returning: .failure(.ended(end)))
        }
        continuation.finish()
    }

    /// 8 random hexadecimal digits.
    static func hexadecimal() -> String {
        let text = String(UInt32.random(in: 0...UInt32.max), radix: 16)
        return String(repeating: "0", count: 8 - text.utf8.count) + text
    }
}
