internal import CWeb

/// Why a socket could not be opened, or an exchange did not succeed.
package struct WebTransportError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Kind: Sendable, Equatable {
        /// The listening socket could not be opened; `code` is the errno.
        case listen
        /// The name has no address.
        case resolve
        /// Refused or unreachable; `code` is the errno.
        case connect
        /// Certificate, key, handshake or verification.
        case tls
        case timeout
        /// The peer went before the exchange was complete.
        case closed
        /// The peer sent something that is not HTTP, or not WebSocket.
        case protocolViolation
        case tooLarge
        case cancelled
        /// The server answered a WebSocket request with an ordinary response.
        case refused
        /// The URL cannot be used.
        case badURL
    }

    package var kind: Kind
    /// The system's error number; 0 when there is none.
    package var code: Int32
    /// A sentence for people.
    package var message: String

    package init(_ kind: Kind, code: Int32 = 0, _ message: String) {
        self.kind = kind
        self.code = code
        self.message = message
    }

    package var description: String { message }

    init(_ failure: parlor_web_failure) {
        let kind: Kind =
            switch failure.kind {
            case PARLOR_WEB_LISTEN: .listen
            case PARLOR_WEB_RESOLVE: .resolve
            case PARLOR_WEB_CONNECT: .connect
            case PARLOR_WEB_TLS: .tls
            case PARLOR_WEB_TIMEOUT: .timeout
            case PARLOR_WEB_PROTOCOL: .protocolViolation
            case PARLOR_WEB_TOO_LARGE: .tooLarge
            case PARLOR_WEB_CANCELLED: .cancelled
            case PARLOR_WEB_REFUSED: .refused
            default: .closed
            }
        let message = withUnsafeBytes(of: failure.message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        self.init(kind, code: failure.code, message)
    }
}
