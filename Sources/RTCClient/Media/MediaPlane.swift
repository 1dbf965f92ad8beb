package import ClientEngine
import MediaTransport
package import MediaWire
import Synchronization

/// The threads on which clients' media runs: one for all clients of a process, or as many as somebody makes who has thousands of
/// clients. They start with the first connection.
package final class MediaPlane: Sendable {
    private struct State {
        var engines: [ClientEngine<MediaSession>] = []
        var nextName: UInt64 = 0
    }

    private struct Shared {
        weak var plane: MediaPlane?
    }

    private static let common = Mutex(Shared())

    private let state = Mutex(State())
    private let threads: Int

    /// - Parameter threads: 1 to 256.
    package init(threads: Int = 1) { self.threads = min(max(threads, 1), 256) }

    /// The one that all clients share that bring none of their own; it ends with the last of them.
    static var shared: MediaPlane {
        common.withLock { common in
            if let plane = common.plane { return plane }
            let plane = MediaPlane()
            common.plane = plane
            return plane
        }
    }

    deinit {
        let engines = state.withLock { $0.engines }
        guard !engines.isEmpty else { return }
        // The last reference may go on the engine's own thread, which cannot wait for itself.
        Task.detached { for engine in engines { engine.stop() } }
    }

    /// An engine, in turn, and a name for a connection there.
    func place() throws(RTCError) -> (engine: ClientEngine<MediaSession>, name: ClientName) {
        try state.withLock { state throws(RTCError) in
            while state.engines.count < threads {
                do throws(ClientSystemError) {
                    state.engines.append(try ClientEngine(name: "rtc-media-\(state.engines.count)"))
                } catch { throw RTCError(.fatal, "no thread for media: \(error)") }
            }
            state.nextName += 1
            return (state.engines[Int(state.nextName % UInt64(threads))], ClientName(state.nextName))
        }
    }

    /// For those who look at all connections, such as load tests; empty before the first.
    package var engines: [ClientEngine<MediaSession>] { state.withLock { $0.engines } }
}

/// What a client proves itself with in DTLS.
package struct ClientIdentity: Sendable {
    package let fingerprint: String
    let context: DTLSContext

    /// A new certificate: each client has its own, so that nobody can follow a user by it (RFC 8827, section 9.3). Load
    /// tests share one among their users.
    ///
    /// - Parameter profiles: of SRTP, the best first; `nil`: all.
    /// - Throws: 21005 when the system makes none.
    package static func make(profiles: [SRTPProfile]? = nil) throws(RTCError) -> ClientIdentity {
        guard let certificate = Certificate.selfSigned(commonName: "rtc-client", days: 30),
            let context = profiles.map({ DTLSContext(certificate: certificate, profiles: $0) })
                ?? DTLSContext(certificate: certificate)
        else { throw RTCError(.fatal, "no certificate could be made") }
        return ClientIdentity(fingerprint: certificate.fingerprint, context: context)
    }

    private init(fingerprint: String, context: DTLSContext) {
        self.fingerprint = fingerprint
        self.context = context
    }
}
