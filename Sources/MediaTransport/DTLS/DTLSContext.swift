internal import CCrypto
package import MediaWire

/// What all DTLS associations of a node (or a client) share: its certificate and the rules of the handshake. Any thread.
///
/// DTLS 1.2 alone; ECDHE with AES-GCM or ChaCha20; X25519, P-256 and P-384; no resumption, tickets, renegotiation or
/// compression; the peer must show a certificate.
package final class DTLSContext: Sendable {
    /// OpenSSL counts the references of a context by itself, and changes it by nothing else from here on.
    nonisolated(unsafe) let context: OpaquePointer

    /// - Parameter profiles: SRTP profiles to agree to, the best first (RFC 5764, section 4.1.1); the DTLS server's order
    ///   decides.
    /// - Returns: `nil`: there is no profile, the certificate cannot be used, or out of memory.
    package init?(
        certificate: Certificate, profiles: [SRTPProfile] = [.aeadAES128GCM, .aeadAES256GCM, .aesCM128HmacSHA1_80]
    ) {
        let names = profiles.map { profile in
            switch profile {
            case .aesCM128HmacSHA1_80: "SRTP_AES128_CM_SHA1_80"
            case .aeadAES128GCM: "SRTP_AEAD_AES_128_GCM"
            case .aeadAES256GCM: "SRTP_AEAD_AES_256_GCM"
            }
        }
        guard !names.isEmpty,
            let context = parlor_dtls_context_create(
                certificate.certificatePEM, certificate.certificatePEM.utf8.count, certificate.privateKeyPEM,
                certificate.privateKeyPEM.utf8.count, names.joined(separator: ":"))
        else { return nil }
        self.context = context
    }

    deinit { parlor_dtls_context_destroy(context) }
}
