package import RoomProtocol

/// How a signalling connection ended.
package enum SignallingEnd: Sendable, Equatable {
    /// The server closed, or the connection broke (1006).
    case closed(code: UInt16, reason: String)
    /// No ping for too long: the path is dead in silence.
    case pingMissing
    /// Notifications came faster than they were taken.
    case overflow
    /// `leave` was called.
    case left
    /// `close` or `abort` was called.
    case aborted
}

/// Why something of the signalling failed.
package enum SignallingError: Error, Sendable, Equatable {
    /// The room token cannot be read; nothing was sent.
    case badToken(String)
    /// The authentication over HTTP was answered with 400 to 499: final. `code` is that of the body, if it has one.
    case denied(status: Int, code: ResultCode?, text: String)
    /// No server could be reached, or each answered 500 or more.
    case unreachable(String)
    case timeout(String)
    /// The answer of a request has a code other than 0.
    case refused(Refused)
    /// The server sent something that is no answer to the request.
    case unreadable(String)
    case ended(SignallingEnd)
    /// More requests wait for their answers than a connection may have.
    case tooManyRequests
    /// The task was cancelled. A request was sent, and may be executed.
    case cancelled
    /// The task was cancelled before the request was sent: the server does not hear of it.
    case cancelledUnsent
}

extension SignallingError {
    /// Whether a request that failed so may have been executed all the same.
    var leavesUncertain: Bool {
        switch self {
        case .ended, .timeout, .cancelled, .unreadable: true
        default: false
        }
    }
}

extension SignallingError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .badToken(let text), .unreachable(let text), .timeout(let text), .unreadable(let text): text
        case .denied(let status, let code, let text):
            code.map { "HTTP \(status), code \($0.rawValue): \(text)" } ?? "HTTP \(status): \(text)"
        case .refused(let refused): "\(refused.text) (\(refused.code.rawValue))"
        case .ended(let end): end.description
        case .tooManyRequests: "too many requests wait for their answers"
        case .cancelled, .cancelledUnsent: "cancelled"
        }
    }
}

extension SignallingEnd: CustomStringConvertible {
    package var description: String {
        switch self {
        case .closed(let code, let reason):
            reason.isEmpty
                ? "the signalling connection closed (\(code))" : "the signalling connection closed (\(code): \(reason))"
        case .pingMissing: "the server has not pinged for too long"
        case .overflow: "notifications came faster than they were handled"
        case .left: "the client has left"
        case .aborted: "the client closed the signalling connection"
        }
    }
}
