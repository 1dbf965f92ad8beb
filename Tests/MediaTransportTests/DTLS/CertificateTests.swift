import Foundation
import MediaTransport
import MediaWire
import Testing

/// Certificates, read back by OpenSSL's own tool.
@Suite struct CertificateTests {
    /// 2026-01-02 03:04:05 UTC.
    private static let now: Int64 = 1_767_323_045

    private static func sample(now: Int64? = now, days: Int = 30) throws -> Certificate {
        try #require(
            Certificate.selfSigned(
                commonName: "parlor tést", dnsNames: ["localhost", "*.example.org"],
                addresses: [
                    TransportAddress(ipv4: 0x7F00_0001, port: 7880),
                    TransportAddress(high: 0x2001_0DB8_0000_0000, low: 0x10, port: 0, isIPv4: false),
                    // IPv4-mapped: an IPv4 address to those who connect.
                    TransportAddress(high: 0, low: 0xFFFF_C000_0201, port: 0, isIPv4: false),
                ], days: days, now: now))
    }

    @Test func theToolReadsWhatWasAskedFor() throws {
        let certificate = try Self.sample()
        let text = try Self.openssl(
            ["x509", "-noout", "-text", "-nameopt", "utf8,sep_comma_plus,-esc_msb"], certificate.certificatePEM)
        for wanted in [
            "Version: 3 (0x2)", "Signature Algorithm: ecdsa-with-SHA256", "Issuer: CN=parlor tést",
            "Subject: CN=parlor tést", "Not Before: Jan  1 03:04:05 2026 GMT", "Not After : Feb  1 03:04:05 2026 GMT",
            "NIST CURVE: P-256", "CA:FALSE", "Digital Signature",
            "TLS Web Server Authentication, TLS Web Client Authentication",
            "DNS:localhost, DNS:*.example.org, IP Address:127.0.0.1, IP Address:2001:DB8:0:0:0:0:0:10, IP Address:192.0.2.1",
        ] {
            #expect(text.contains(wanted), "\(wanted) is missing in\n\(text)")
        }
        let serial = try Self.openssl(["x509", "-noout", "-serial"], certificate.certificatePEM)
        // 127 bits, the highest one set.
        #expect(serial.wholeMatch(of: /serial=[4-7][0-9A-F]{31}\n/) != nil, "\(serial)")
    }

    @Test func theToolComputesTheSameFingerprint() throws {
        let certificate = try Self.sample()
        let printed = try Self.openssl(["x509", "-noout", "-fingerprint", "-sha256"], certificate.certificatePEM)
        #expect(printed.lowercased() == "sha256 fingerprint=\(certificate.fingerprint.lowercased())\n")
        #expect(certificate.fingerprint.wholeMatch(of: /([0-9A-F]{2}:){31}[0-9A-F]{2}/) != nil)
        #expect(Certificate.fingerprint(ofPEM: certificate.certificatePEM) == certificate.fingerprint)
    }

    @Test func theKeyIsThatOfTheCertificate() throws {
        let certificate = try Self.sample()
        let ofKey = try Self.openssl(["pkey", "-pubout"], certificate.privateKeyPEM)
        let ofCertificate = try Self.openssl(["x509", "-noout", "-pubkey"], certificate.certificatePEM)
        #expect(ofKey == ofCertificate)
        #expect(certificate.privateKeyPEM.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
    }

    /// As one who trusts just this certificate would check it: the signature, the time, the purpose, the name.
    @Test func theSignatureAndTheNamesHold() throws {
        let certificate = try Self.sample(now: nil)
        let file = FileManager.default.temporaryDirectory.appending(path: "parlor-\(UUID().uuidString).pem")
        try certificate.certificatePEM.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        for name in [
            ["-verify_hostname", "localhost"], ["-verify_ip", "2001:db8::10"], ["-verify_hostname", "a.example.org"],
        ] {
            for purpose in ["sslserver", "sslclient"] {
                _ = try Self.openssl(
                    ["verify", "-check_ss_sig", "-x509_strict", "-purpose", purpose, "-CAfile", file.path] + name,
                    certificate.certificatePEM)
            }
        }
        #expect(throws: Failed.self) {
            try Self.openssl(
                ["verify", "-CAfile", file.path, "-verify_hostname", "elsewhere.org"], certificate.certificatePEM)
        }
    }

    @Test func noTwoAreAlike() throws {
        let some = try (0..<8).map { _ in try Self.sample() }
        #expect(Set(some.map(\.fingerprint)).count == 8)
        #expect(Set(some.map(\.privateKeyPEM)).count == 8)
        let serials = try some.map { try Self.openssl(["x509", "-noout", "-serial"], $0.certificatePEM) }
        #expect(Set(serials).count == 8)
    }

    @Test func aCertificateFromElsewhereNeedsItsKey() throws {
        let one = try Self.sample()
        let other = try Self.sample()
        let again = try #require(
            Certificate(certificatePEM: one.certificatePEM + other.certificatePEM, privateKeyPEM: one.privateKeyPEM))
        #expect(again.fingerprint == one.fingerprint)
        #expect(Certificate(certificatePEM: one.certificatePEM, privateKeyPEM: other.privateKeyPEM) == nil)
        #expect(Certificate(certificatePEM: one.privateKeyPEM, privateKeyPEM: one.privateKeyPEM) == nil)
        #expect(Certificate(certificatePEM: one.certificatePEM, privateKeyPEM: "") == nil)
        // An encrypted key is refused, and nobody is asked for its passphrase.
        let locked = try Self.openssl(["pkey", "-aes128", "-passout", "pass:secret"], one.privateKeyPEM)
        #expect(locked.contains("ENCRYPTED PRIVATE KEY"))
        #expect(Certificate(certificatePEM: one.certificatePEM, privateKeyPEM: locked) == nil)
        for text in ["", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            #expect(Certificate.fingerprint(ofPEM: text) == nil)
        }
    }

    @Test func badArgumentsMakeNone() {
        func made(_ name: String = "x", _ dns: [String] = [], _ days: Int = 1, _ count: Int = 0) -> Certificate? {
            Certificate.selfSigned(
                commonName: name, dnsNames: dns,
                addresses: (0..<count).map { TransportAddress(ipv4: UInt32($0), port: 0) }, days: days, now: Self.now)
        }
        #expect(made() != nil)
        #expect(made(String(repeating: "x", count: 64)) != nil)
        #expect(made(String(repeating: "x", count: 65)) == nil)
        #expect(made("") == nil)
        for name in ["", "a b", "a,IP:1.2.3.4", "ä.org", "a\0b", String(repeating: "a", count: 254)] {
            #expect(made("x", [name]) == nil, "\(name)")
        }
        for days in [0, -1, 36_501, Int.max, Int.min] { #expect(made("x", [], days) == nil, "\(days)") }
        #expect(made("x", [], 36_500) != nil)
        #expect(made("x", [], 1, 64) != nil)
        #expect(made("x", [], 1, 65) == nil)
        #expect(Certificate.selfSigned(commonName: "x", days: 1, now: Int64.max) == nil)
        #expect(Certificate.selfSigned(commonName: "x", days: 1, now: -1) == nil)
    }

    @Test func noDescriptionShowsTheKey() throws {
        let certificate = try Self.sample()
        let secret = try #require(certificate.privateKeyPEM.split(separator: "\n").dropFirst().first)
        var dumped = ""
        dump([certificate], to: &dumped)
        for shown in ["\(certificate)", String(reflecting: certificate), "\([certificate])", dumped] {
            #expect(shown.contains(certificate.fingerprint))
            #expect(!shown.contains(secret))
            #expect(!shown.contains("PRIVATE"))
        }
    }

    // MARK: The tool

    private struct Failed: Error { var text: String }

    private static func openssl(_ arguments: [String], _ input: String) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        process.arguments = arguments
        let (standardInput, output, errors) = (Pipe(), Pipe(), Pipe())
        process.standardInput = standardInput
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        standardInput.fileHandleForWriting.write(Data(input.utf8))
        try standardInput.fileHandleForWriting.close()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let trouble = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failed(text: text + trouble) }
        return text
    }
}
