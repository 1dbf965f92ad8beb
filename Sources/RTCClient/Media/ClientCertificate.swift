import MediaTransport

/// The certificate that a client's media connections prove themselves with; its fingerprint stands in the offers.
enum ClientCertificate {
    /// A new one: each client has its own, so that nobody can follow a user by it (RFC 8827, section 9.3).
    ///
    /// - Throws: 21005 when the system makes none.
    static func make() throws(RTCError) -> Certificate {
        guard let certificate = Certificate.selfSigned(commonName: "rtc-client", days: 30) else {
            throw RTCError(.fatal, "no certificate could be made")
        }
        return certificate
    }
}
