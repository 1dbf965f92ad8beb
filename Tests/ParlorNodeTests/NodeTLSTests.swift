import Foundation
import MediaWire
import ParlorNode
import RoomControl
import Testing
import WebTransport

/// HTTPS beside HTTP, and the certificates that stop a start.
struct NodeTLSTests {
    private func configuration(_ certificate: NodeConfiguration.CertificateChoice, key: String? = nil) throws
        -> ConfigurationLoader.Loaded
    {
        var base = NodeConfiguration.development
        base.http.listen.port = try FreePorts.tcp()
        base.http.tls.listen = TransportAddress(ipv4: 0x7F00_0001, port: try FreePorts.tcp())
        base.http.tls.certificate = certificate
        base.http.tls.key = key
        base.media.workers = 1
        base.media.port = try FreePorts.udp()
        base.media.plain.portRange = 21200...21299
        return ConfigurationLoader.Loaded(
            configuration: base,
            origins: [
                "http.tls.certificate": .file(path: "p.yaml", line: 7), "http.tls.key": .file(path: "p.yaml", line: 8),
            ])
    }

    @Test func oneNodeAnswersBoth() async throws {
        let node = try Node(try configuration(.selfSigned), machine: [])
        let https = try #require(node.httpsPort)
        #expect(node.summary.contains { $0.hasPrefix("HTTPS ") && $0.hasSuffix(":\(https), self-signed") })
        for url in ["http://127.0.0.1:\(node.httpPort)", "https://127.0.0.1:\(https)"] {
            let rooms = try await CommandRunner.run("rooms", "--json", "--insecure", "--url", url)
            #expect(rooms.output == "{\"rooms\":[]}\n", "\(rooms.errors)")
            let client = try HTTPClient(trust: .insecure)
            #expect(try await client.request("GET", url + "/readyz").status == 200)
        }
        let careful = try await CommandRunner.run("rooms", "--url", "https://127.0.0.1:\(https)")
        #expect(careful.code == 1)
        #expect(careful.errors.contains("--insecure"), "\(careful.errors)")
        await node.stop()
    }

    /// The files of the configuration, as an operator has them: made by OpenSSL's own program, trusted because asked to.
    @Test func certificateAndKeyFromFiles() async throws {
        let folder = try TemporaryFolder()
        let (certificate, key) = try Self.pair(in: folder, "a")
        let node = try Node(try configuration(.file(certificate), key: key), machine: [])
        let https = try #require(node.httpsPort)
        let client = try HTTPClient(trust: .authorities(.file(certificate)))
        #expect(try await client.request("GET", "https://localhost:\(https)/healthz").text == "ok\n")
        await node.stop()
    }

    @Test func whatDoesNotFitStopsTheStart() throws {
        let folder = try TemporaryFolder()
        let (certificate, key) = try Self.pair(in: folder, "a")
        let (_, otherKey) = try Self.pair(in: folder, "b")
        let garbage = try folder.write("hello", to: "garbage.pem")
        let cut = try folder.write(
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", to: "cut.pem")
        let encrypted = try folder.write(
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n", to: "encrypted.pem")
        let cases: [(String, String, [String])] = [
            ("/nonexistent.pem", key, ["/nonexistent.pem: No such file", "(http.tls.certificate, p.yaml:7)"]),
            (certificate, "/nonexistent.pem", ["/nonexistent.pem: No such file", "(http.tls.key, p.yaml:8)"]),
            (certificate, otherKey, ["cannot be used with this certificate", "(http.tls.certificate, p.yaml:7)"]),
            (garbage, key, ["not a PEM file with a certificate", "(http.tls.certificate, p.yaml:7)"]),
            (key, key, ["not a PEM file with a certificate", "(http.tls.certificate, p.yaml:7)"]),
            (certificate, certificate, ["not a PEM file with a private key", "(http.tls.key, p.yaml:8)"]),
            (certificate, encrypted, ["encrypted", "(http.tls.key, p.yaml:8)"]),
            (cut, key, ["the certificate chain", "(http.tls.certificate, p.yaml:7)"]),
            (folder.path, key, ["(http.tls.certificate, p.yaml:7)"]),
        ]
        let secret = try String(contentsOfFile: key, encoding: .utf8).split(separator: "\n")[1]
        for (certificate, key, words) in cases {
            let loaded = try configuration(.file(certificate), key: key)
            let failure = #expect(throws: Node.StartFailure.self) { try Node(loaded, machine: []) }
            let text = failure?.description ?? ""
            for word in words { #expect(text.contains(word), "\(text)") }
            #expect(!text.contains(secret))
        }
    }

    private static func pair(in folder: TemporaryFolder, _ name: String) throws -> (certificate: String, key: String) {
        let (certificate, key) = ("\(folder.path)/\(name).crt", "\(folder.path)/\(name).key")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate,
        ]
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return (certificate, key)
    }
}
