import Glibc
import MediaTransport
import MediaWire
import WebTransport

/// The node's certificate and key, from the configuration.
enum NodeTLS {
    /// What is wrong, and the configuration's key to change.
    struct Failure: Error {
        var message: String
        var key: String
    }

    /// Larger files are no certificates, in bytes.
    private static let maximumFileSize = 1 << 20
    /// Below the 398 days from which on browsers refuse a certificate.
    private static let selfSignedDays = 397

    static func make(_ tls: NodeConfiguration.TLS) throws(Failure) -> TLSConfiguration {
        switch tls.certificate {
        case .selfSigned: return try selfSigned()
        case .file(let path):
            let certificate = try read(path, "http.tls.certificate", holding: "-----BEGIN CERTIFICATE-----")
            let keyPath = tls.key ?? ""
            let key = try read(keyPath, "http.tls.key", holding: "PRIVATE KEY-----")
            // OpenSSL would ask on the terminal for the passphrase.
            if key.contains("ENCRYPTED") {
                throw Failure(
                    message: "\(keyPath): the key is encrypted, and nobody is there to type its passphrase; decrypt it",
                    key: "http.tls.key")
            }
            do { return try TLSConfiguration(certificateChain: .text(certificate), privateKey: .text(key)) } catch {
                throw Failure(message: "\(path) and \(keyPath): \(error)", key: "http.tls.certificate")
            }
        case nil: throw Failure(message: "there is no certificate", key: "http.tls.certificate")
        }
    }

    /// For this machine only.
    private static func selfSigned() throws(Failure) -> TLSConfiguration {
        let loopback = [
            TransportAddress(ipv4: 0x7F00_0001, port: 0), TransportAddress(high: 0, low: 1, port: 0, isIPv4: false),
        ]
        guard
            let made = Certificate.selfSigned(
                commonName: "localhost", dnsNames: ["localhost"], addresses: loopback, days: selfSignedDays)
        else { throw Failure(message: "no self-signed certificate could be made", key: "http.tls.certificate") }
        do {
            return try TLSConfiguration(
                certificateChain: .text(made.certificatePEM), privateKey: .text(made.privateKeyPEM))
        } catch { throw Failure(message: "\(error)", key: "http.tls.certificate") }
    }

    private static func read(
        _ path: String, _ key: String, holding mark: String
    ) throws(Failure) -> String {
        func failure(_ reason: String) -> Failure { Failure(message: "\(path): \(reason)", key: key) }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(String(cString: strerror(errno))) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count <= maximumFileSize {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0 {
                if errno == EINTR { continue }
                throw failure(String(cString: strerror(errno)))
            }
            if count == 0 { break }
            bytes += chunk[..<count]
        }
        let text = String(decoding: bytes, as: UTF8.self)
        guard bytes.count <= maximumFileSize, text.contains(mark) else {
            throw failure("not a PEM file with \(key == "http.tls.key" ? "a private key" : "a certificate")")
        }
        return text
    }
}
