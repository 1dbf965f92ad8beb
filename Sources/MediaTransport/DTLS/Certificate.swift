internal import CCrypto
package import MediaWire

/// An X.509 certificate with its private key: what a peer shows in DTLS, and what an HTTPS server shows.
///
/// In WebRTC nobody asks who signed it: the fingerprint in signalling says which certificate is right (RFC 8827, section
/// 5.5). Neither its description nor a dump of it shows the key.
package struct Certificate: Sendable {
    /// One certificate, or a chain that begins with the one that belongs to the key.
    package let certificatePEM: String
    /// PKCS #8. A secret: it belongs into no log and no error.
    package let privateKeyPEM: String
    /// SHA-256 of the certificate's DER: 32 upper-case hexadecimal bytes with colons between them (RFC 8122, section 5).
    package let fingerprint: String

    /// A new ECDSA P-256 key, and a certificate that it signs itself with SHA-256: random serial, valid from a day before
    /// `now`, for servers and clients.
    ///
    /// - Parameters:
    ///   - commonName: 1 to 64 characters.
    ///   - dnsNames: subjectAltNames; ASCII, `*.` at the front is a wildcard.
    ///   - addresses: more of them; ports do not count.
    ///   - days: how long it is valid from `now` on, 1 to 36500. Some browsers refuse HTTPS certificates of more than 398
    ///     days in all, so 397 are the most for these.
    ///   - now: seconds since 1970; `nil`: what the system's clock says.
    /// - Returns: `nil` when an argument is none of these, when there are more than 64 names, or when OpenSSL fails.
    package static func selfSigned(
        commonName: String, dnsNames: [String] = [], addresses: [TransportAddress] = [], days: Int,
        now: Int64? = nil
    ) -> Certificate? {
        var name = commonName
        guard let days = Int32(exactly: days),
            let request = name.withUTF8({ bytes in
                bytes.withMemoryRebound(to: CChar.self) {
                    parlor_certificate_request_create($0.baseAddress, $0.count)
                }
            })
        else { return nil }
        defer { parlor_certificate_request_destroy(request) }
        for var name in dnsNames {
            let added = name.withUTF8 { bytes in
                bytes.withMemoryRebound(to: CChar.self) {
                    parlor_certificate_request_add_dns_name(request, $0.baseAddress, $0.count)
                }
            }
            guard added else { return nil }
        }
        for address in addresses {
            let bytes = networkBytes(of: address)
            guard parlor_certificate_request_add_address(request, bytes, bytes.count) else { return nil }
        }
        var made = parlor_certificate()
        guard parlor_certificate_request_sign(request, now ?? 0, days, &made) else { return nil }
        defer { parlor_certificate_free(&made) }
        guard let certificate = made.certificate, let key = made.private_key else { return nil }
        return Certificate(
            certificatePEM: String(cString: certificate), privateKeyPEM: String(cString: key),
            fingerprint: text(of: &made.fingerprint))
    }

    /// A certificate from somewhere else, such as a file.
    ///
    /// - Returns: `nil` when the first text holds no certificate, or the second one not the key of the first certificate.
    package init?(certificatePEM: String, privateKeyPEM: String) {
        guard let fingerprint = Certificate.fingerprint(ofPEM: certificatePEM),
            parlor_certificate_has_key(
                certificatePEM, certificatePEM.utf8.count, privateKeyPEM, privateKeyPEM.utf8.count)
        else { return nil }
        self.init(certificatePEM: certificatePEM, privateKeyPEM: privateKeyPEM, fingerprint: fingerprint)
    }

    /// The fingerprint of the first certificate in a PEM text; `nil` if there is none.
    package static func fingerprint(ofPEM pem: String) -> String? {
        var made = parlor_certificate()
        let size = MemoryLayout.size(ofValue: made.fingerprint)
        let found = withUnsafeMutablePointer(to: &made.fingerprint) { place in
            place.withMemoryRebound(to: CChar.self, capacity: size) {
                parlor_certificate_fingerprint(pem, pem.utf8.count, $0)
            }
        }
        return found ? text(of: &made.fingerprint) : nil
    }

    private init(certificatePEM: String, privateKeyPEM: String, fingerprint: String) {
        self.certificatePEM = certificatePEM
        self.privateKeyPEM = privateKeyPEM
        self.fingerprint = fingerprint
    }

    /// A C array is a tuple in Swift.
    private static func text<Tuple>(of characters: inout Tuple) -> String {
        withUnsafeBytes(of: &characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }

    private static func networkBytes(of address: TransportAddress) -> [UInt8] {
        let address = address.unmapped
        if address.isIPv4 {
            return withUnsafeBytes(of: UInt32(truncatingIfNeeded: address.low).bigEndian) { Array($0) }
        }
        return withUnsafeBytes(of: (address.high.bigEndian, address.low.bigEndian)) { Array($0) }
    }
}

extension Certificate: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "certificate \(fingerprint)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["fingerprint": fingerprint]) }
}
