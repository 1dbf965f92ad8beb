internal import CWeb
internal import Synchronization

/// Where PEM text comes from.
package enum PEMSource: Sendable, Equatable {
    case file(String)
    case text(String)

    fileprivate var content: String {
        switch self {
        case .file(let name): name
        case .text(let text): text
        }
    }

    fileprivate var isFile: Bool {
        if case .file = self { true } else { false }
    }
}

/// A server's certificate and key, checked when it is made. TLS 1.2 and 1.3.
package final class TLSConfiguration: Sendable {
    let handle: TLSHandle

    /// - Parameter certificateChain: the server's certificate first, then those that lead to an authority.
    /// - Throws: `.tls` when one cannot be read, or the key does not belong to the certificate.
    package init(certificateChain: PEMSource, privateKey: PEMSource) throws(WebTransportError) {
        var failure = parlor_web_failure()
        let pointer = parlor_web_tls_server(
            certificateChain.content, certificateChain.isFile, privateKey.content, privateKey.isFile, &failure)
        guard let pointer else { throw WebTransportError(failure) }
        handle = TLSHandle(pointer)
    }
}

/// What a client trusts.
package enum TLSTrust: Sendable, Equatable {
    /// The system's authorities.
    case system
    /// The system's authorities, and these.
    case authorities(PEMSource)
    /// Every certificate: for tests and for `--insecure`.
    case insecure

    func makeHandle() throws(WebTransportError) -> TLSHandle {
        var failure = parlor_web_failure()
        let pointer: OpaquePointer? =
            switch self {
            case .system: parlor_web_tls_client(nil, false, false, &failure)
            case .insecure: parlor_web_tls_client(nil, false, true, &failure)
            case .authorities(let source): parlor_web_tls_client(source.content, source.isFile, false, &failure)
            }
        guard let pointer else { throw WebTransportError(failure) }
        return TLSHandle(pointer)
    }
}

/// A client's TLS context, made with its first use: the system's authorities take tens of milliseconds to read.
final class ClientTLS: Sendable {
    private let trust: TLSTrust
    private let made = Mutex<TLSHandle?>(nil)

    /// Given authorities are read at once, so that a mistake shows at once.
    init(_ trust: TLSTrust) throws(WebTransportError) {
        self.trust = trust
        if case .authorities = trust {
            _ = try handle()
        }
    }

    func handle() throws(WebTransportError) -> TLSHandle {
        try made.withLock { handle throws(WebTransportError) in
            if let handle { return handle }
            let new = try trust.makeHandle()
            handle = new
            return new
        }
    }
}

/// Owns a context of the C side, which is immutable after its making.
final class TLSHandle: @unchecked Sendable {
    let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        parlor_web_tls_release(pointer)
    }
}
